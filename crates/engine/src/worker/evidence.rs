//! Runs checks on the last commit and keeps the evidence, so that no code is checked twice.
//!
//! A check runs in the worktree if that holds nothing but the commit, planning files and what git
//! ignores. Otherwise it runs in a fresh checkout, which is removed afterwards. Evidence is keyed
//! by the code digest: all committed files except the planning files.

use std::path::{Path, PathBuf};

use mow_core::hash;
use mow_core::worker::{Evidence, Input};
use mow_host::commit::{self, Paths};
use mow_host::empty_dirs::{self, RemovedEmptyDirs};
use mow_host::git::NO_REPLACE_VARIABLE;
use mow_host::scratch_worktree;
use mow_host::shell::ShellExit;
use mow_host::tamper_detection::files_match_tree;
use mow_store::disk;

use super::phase_workspace::PhaseWorkspace;
use super::repository_guard::RepositoryGuard;
use super::script::{self, ShellScript, describe_failure};
use super::task_runner::TaskId;
use super::text::{one_line, short};
use crate::EngineError;
use crate::activity::CHECK_ROLE;
use crate::clock::Clock;

/// Checks to run on the last commit.
pub(super) struct CheckList<'a> {
    pub(super) commands: &'a [String],
    /// The beginning of the checks' log names.
    pub(super) label: &'a str,
    /// The task that the checks prove; `None` for the checks of a whole phase.
    pub(super) task: Option<TaskId<'a>>,
    pub(super) env: &'a [(&'a str, String)],
    /// Why the checks need a fresh checkout in any case; `None` if the worktree may do.
    pub(super) fresh_reason: Option<&'a str>,
}

/// Where checks run.
enum CheckLocation {
    /// The worktree, which holds nothing but the commit, the planning files and what git ignores.
    /// Empty directories are set aside while the value lives.
    Worktree(RemovedEmptyDirs),
    Fresh(FreshCheckout),
}

impl CheckLocation {
    fn fresh_path(&self) -> Option<&Path> {
        match self {
            Self::Worktree(_) => None,
            Self::Fresh(checkout) => Some(&checkout.path),
        }
    }

    /// Says how this location differs from the agent's worktree, if it does.
    fn remark(&self, tip: &CheckedCommit, fresh_reason: Option<&str>) -> String {
        match self {
            Self::Worktree(aside) => match aside.paths().next_back().and_then(Path::file_name) {
                Some(dir) => {
                    format!(" (without `{}`: no commit has an empty directory)", dir.display())
                }
                None => String::new(),
            },
            Self::Fresh(_) => {
                let reason = fresh_reason.unwrap_or("the worktree holds more than the commit");
                format!(" (in a fresh checkout of {}: {reason})", short(&tip.commit))
            }
        }
    }
}

/// A temporary checkout of a commit, which is removed on drop.
struct FreshCheckout {
    root: PathBuf,
    path: PathBuf,
}

impl Drop for FreshCheckout {
    fn drop(&mut self) {
        // If the removal fails, the next fresh checkout removes the rest before it begins.
        scratch_worktree::remove(&self.root, &self.path).ok();
    }
}

/// The commit that checks run on.
struct CheckedCommit {
    commit: String,
    tree: String,
    /// See [`EvidenceChecker::code_digest`].
    code: String,
}

/// Runs checks on the last commit and records evidence.
#[derive(Clone, Copy)]
pub(super) struct EvidenceChecker<'a> {
    workspace: &'a PhaseWorkspace,
    guard: RepositoryGuard<'a>,
}

impl<'a> EvidenceChecker<'a> {
    pub(super) fn new(workspace: &'a PhaseWorkspace) -> Self {
        Self { workspace, guard: RepositoryGuard::new(workspace) }
    }

    /// Runs checks up to the first one that fails; returns that check and why it failed.
    pub(super) fn first_failure(
        &self,
        checks: &CheckList<'_>,
    ) -> Result<Option<String>, EngineError> {
        let mut first = None;
        for (check, failure) in self.run_all(checks, true)? {
            if let Some(failure) = failure {
                first.get_or_insert(format!("its check `{}` failed, {failure}", one_line(&check)));
            }
        }
        Ok(first)
    }

    /// Runs checks; returns each one with the reason if it failed.
    pub(super) fn run_all(
        &self,
        checks: &CheckList<'_>,
        until_failure: bool,
    ) -> Result<Vec<(String, Option<String>)>, EngineError> {
        let mut all = Vec::new();
        if checks.commands.is_empty() {
            return Ok(all);
        }
        let tip = self.tip()?;
        let mut location = None;
        for (n, command) in checks.commands.iter().enumerate() {
            let mut failure = None;
            // Code that has passed this check is not checked again.
            if !self.workspace.trusted().has_passed(&tip.code, command) {
                let current = match location.take() {
                    Some(location) => location,
                    None => self.prepare_location(&tip, checks.fresh_reason.is_some())?,
                };
                let label = format!("{}-{}", checks.label, n + 1);
                let (reason, current) = self.run_check(command, &tip, (&label, current), checks)?;
                let remark = |text| format!("{text}{}", current.remark(&tip, checks.fresh_reason));
                failure = reason.map(remark);
                location = Some(current);
            }
            let has_failed = failure.is_some();
            all.push((command.clone(), failure));
            if self.workspace.stop.is_stopped() || (has_failed && until_failure) {
                break;
            }
        }
        Ok(all)
    }

    /// Runs one check and records evidence; returns why it failed, and the location it ran in.
    ///
    /// A check that was killed proves nothing about the code. It runs once more, in a newly
    /// prepared location, so that it does not see what the killed one left.
    fn run_check(
        &self,
        command: &str,
        tip: &CheckedCommit,
        (label, location): (&str, CheckLocation),
        checks: &CheckList<'_>,
    ) -> Result<(Option<String>, CheckLocation), EngineError> {
        let top = location.fresh_path();
        let (failure, was_killed) = self.run_once(command, tip, (label, top), checks)?;
        if !was_killed || self.workspace.stop.is_stopped() {
            return Ok((failure, location));
        }
        drop(location);
        let location = self.prepare_location(tip, checks.fresh_reason.is_some())?;
        let label = format!("{label}-again");
        let top = location.fresh_path();
        let (failure, _) = self.run_once(command, tip, (&label, top), checks)?;
        let again = |text| format!("{text} (it was killed before that, and run again)");
        Ok((failure.map(again), location))
    }

    /// Runs one check once; returns why it failed, and whether it was killed from outside.
    fn run_once(
        &self,
        command: &str,
        tip: &CheckedCommit,
        (label, top): (&str, Option<&Path>),
        checks: &CheckList<'_>,
    ) -> Result<(Option<String>, bool), EngineError> {
        let workspace = self.workspace;
        // A replace ref could show the check other objects than those that are committed.
        let own = [(NO_REPLACE_VARIABLE, "1".to_owned())];
        let env = &[checks.env, &own].concat();
        let before = self.guard.snapshot()?;
        let (text, program, source) = (command, "sh", (CHECK_ROLE, checks.task));
        let script = ShellScript { text, program, label, top, env, source, files: &[] };
        let end = script::run(workspace, &script)?;
        // Checks run code that agents wrote. The same rules hold for it as for the agents.
        if let Some(text) = self.guard.git_tampering(&before)? {
            return Ok((Some(text), false));
        }
        let printed = disk::read(&workspace.log_file(label))?.unwrap_or_default();
        let evidence = Evidence {
            commit: tip.commit.clone(),
            tree: tip.tree.clone(),
            code: tip.code.clone(),
            command: command.to_owned(),
            exit: match end.exit {
                ShellExit::Exited(code) => Some(code),
                _ => None,
            },
            output: hash::hex(&printed),
            at: Clock::default().now(),
            fresh: top.is_some(),
            seal: workspace.trusted().next_evidence_seal()?,
        };
        workspace.trusted().accept_evidence(&evidence);
        failpoint::reach("evidence.seen");
        workspace.send(Input::CheckRan(evidence));
        Ok((describe_failure(&end), end.exit.is_externally_killed()))
    }

    fn tip(&self) -> Result<CheckedCommit, EngineError> {
        let names = self.workspace.git().run(&["rev-parse", "HEAD", "HEAD^{tree}"])?.text();
        let (commit, tree) = names.split_once('\n').unwrap_or((&names, ""));
        let (commit, tree) = (commit.to_owned(), tree.to_owned());
        Ok(CheckedCommit { commit, tree, code: self.code_digest()? })
    }

    /// Returns a digest of all committed files except the planning files.
    pub(super) fn code_digest(&self) -> Result<String, EngineError> {
        let planning = self.workspace.planning_below_top();
        let is_deep = planning.contains('/');
        let args: &[&str] = if is_deep { &["ls-tree", "-r", "HEAD"] } else { &["ls-tree", "HEAD"] };
        let listing = self.workspace.git().run(args)?.text();
        let code = listing.lines().filter(|line| {
            let path = line.split_once('\t').map_or("", |(_, path)| path);
            let rest = path.strip_prefix(&planning);
            !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        Ok(hash::hex(code.collect::<Vec<_>>().join("\n").as_bytes()))
    }

    /// Returns whether all code in the worktree is committed.
    fn is_clean(&self) -> Result<bool, EngineError> {
        let (git, planning) = (self.workspace.git(), self.workspace.planning_below_top());
        if self.workspace.trusted().index_doubted && !files_match_tree(&git, "HEAD", &planning)? {
            return Ok(false);
        }
        if commit::is_clean(&git, &Paths::AllExcept(planning.clone())) == Some(true) {
            return Ok(true);
        }
        let exclude = format!(":(exclude,top){planning}");
        let args = ["status", "--porcelain", "-z", "--ignore-submodules=none", "--", ":(top)"];
        Ok(git.run(&[&args[..], &[&exclude]].concat())?.stdout.is_empty())
    }

    /// Prepares the worktree for checks if it is clean, else a fresh checkout.
    fn prepare_location(
        &self,
        tip: &CheckedCommit,
        needs_fresh: bool,
    ) -> Result<CheckLocation, EngineError> {
        let workspace = self.workspace;
        if !needs_fresh && self.is_clean()? {
            let aside =
                empty_dirs::remove_empty_dirs(&workspace.git(), &workspace.planning_below_top())?;
            return Ok(CheckLocation::Worktree(aside));
        }
        let ctx = &workspace.ctx;
        let path = ctx.home()?.path().join(format!("{}-fresh", workspace.file_prefix()));
        let checkout = FreshCheckout { root: ctx.top().to_path_buf(), path };
        // A checkout that a killed worker left may hold files that git ignores.
        scratch_worktree::remove(&checkout.root, &checkout.path)?;
        scratch_worktree::check_out(&checkout.root, &checkout.path, &tip.commit)?;
        Ok(CheckLocation::Fresh(checkout))
    }
}
