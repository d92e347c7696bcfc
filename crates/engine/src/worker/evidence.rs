//! Runs checks on commits and keeps what came of them, so that nothing is checked twice.
//!
//! A check runs in the worktree when that holds nothing but the commit and what git ignores, else in
//! a fresh checkout, which goes away afterwards. What passed is known by the code: all committed
//! files but the planning files.

use std::path::{Path, PathBuf};

use mow_core::hash;
use mow_core::worker::{Evidence, Input};
use mow_host::commit::{self, Paths};
use mow_host::custody::holds;
use mow_host::empty_dirs::{self, SetAside};
use mow_host::git::NO_REPLACE_VARIABLE;
use mow_host::scratch;
use mow_host::shell::End;
use mow_store::disk;

use super::custody::short;
use super::desk::{Desk, Script, complaint};
use super::task::one_line;
use crate::EngineError;
use crate::clock::Clock;

/// Some checks to run.
pub(super) struct Checks<'a> {
    pub(super) commands: &'a [String],
    /// How their logs are called.
    pub(super) label: &'a str,
    pub(super) env: &'a [(&'a str, String)],
    /// Whether a fresh checkout is needed in any case, and why.
    pub(super) fresh: Option<&'a str>,
}

/// Where checks run.
enum Place {
    /// The worktree, which holds nothing but the commit, the planning files and what git ignores.
    Here(SetAside),
    Elsewhere(Fresh),
}

impl Place {
    fn fresh(&self) -> Option<&Path> {
        match self {
            Self::Here(_) => None,
            Self::Elsewhere(fresh) => Some(&fresh.path),
        }
    }

    /// Says what is different here from where the agent was, if anything is.
    fn remark(&self, tip: &Tip, why: Option<&str>) -> String {
        match self {
            Self::Here(aside) => match aside.paths().next_back().and_then(Path::file_name) {
                Some(dir) => {
                    format!(" (without `{}`: no commit has an empty directory)", dir.display())
                }
                None => String::new(),
            },
            Self::Elsewhere(_) => {
                let why = why.unwrap_or("the worktree holds more than the commit");
                format!(" (in a fresh checkout of {}: {why})", short(&tip.commit))
            }
        }
    }
}

/// A fresh checkout, which goes away with the value.
struct Fresh {
    root: PathBuf,
    path: PathBuf,
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // What stays is removed before the next one is made.
        scratch::remove(&self.root, &self.path).ok();
    }
}

/// What checks run on.
struct Tip {
    commit: String,
    tree: String,
    code: String,
}

impl Desk {
    /// Runs checks on the last commit; returns the first one that does not pass, and why.
    pub(super) fn prove(&self, checks: &Checks<'_>) -> Result<Option<String>, EngineError> {
        let mut first = None;
        for (check, gap) in self.prove_all(checks, true)? {
            if let Some(gap) = gap {
                first.get_or_insert(format!("its check `{}` failed, {gap}", one_line(&check)));
            }
        }
        Ok(first)
    }

    /// Runs checks on the last commit; returns each with why it does not pass.
    pub(super) fn prove_all(
        &self,
        checks: &Checks<'_>,
        until_first: bool,
    ) -> Result<Vec<(String, Option<String>)>, EngineError> {
        let mut all = Vec::new();
        if checks.commands.is_empty() {
            return Ok(all);
        }
        let tip = self.tip()?;
        let mut place = None;
        for (n, command) in checks.commands.iter().enumerate() {
            let mut gap = None;
            // The same code is not checked twice.
            if !self.has_passed(&tip.code, command) {
                let here = match place.take() {
                    Some(place) => place,
                    None => self.place(&tip, checks.fresh.is_some())?,
                };
                let label = format!("{}-{}", checks.label, n + 1);
                let (said, here) = self.run_check(command, &tip, (&label, here), checks)?;
                gap = said.map(|said| format!("{said}{}", here.remark(&tip, checks.fresh)));
                place = Some(here);
            }
            let is_gap = gap.is_some();
            all.push((command.clone(), gap));
            if self.stop.is_stopped() || (is_gap && until_first) {
                break;
            }
        }
        Ok(all)
    }

    /// Runs one check and writes down what came of it; returns why it does not pass, and where it ran.
    ///
    /// One that somebody has killed says nothing about the code, and is run once more: not on what it left.
    fn run_check(
        &self,
        command: &str,
        tip: &Tip,
        (label, here): (&str, Place),
        checks: &Checks<'_>,
    ) -> Result<(Option<String>, Place), EngineError> {
        let (gap, is_cut_off) = self.run_once(command, tip, (label, here.fresh()), checks.env)?;
        if !is_cut_off || self.stop.is_stopped() {
            return Ok((gap, here));
        }
        drop(here);
        let here = self.place(tip, checks.fresh.is_some())?;
        let label = format!("{label}-again");
        let (gap, _) = self.run_once(command, tip, (&label, here.fresh()), checks.env)?;
        Ok((gap.map(|gap| format!("{gap} (it was killed before that, and run again)")), here))
    }

    /// Runs one check; returns why it does not pass, and whether somebody has killed it.
    fn run_once(
        &self,
        command: &str,
        tip: &Tip,
        (label, top): (&str, Option<&Path>),
        env: &[(&str, String)],
    ) -> Result<(Option<String>, bool), EngineError> {
        // No check is about something that merely stands for what is committed.
        let own = [(NO_REPLACE_VARIABLE, "1".to_owned())];
        let env = &[env, &own].concat();
        let before = self.before()?;
        let end =
            self.shell(&Script { text: command, program: "sh", label, top, env, files: &[] })?;
        // What agents wrote runs here, and may do no more than they may themselves.
        if let Some(text) = self.meddled(&before)? {
            return Ok((Some(text), false));
        }
        let printed = disk::read(&self.log(label))?.unwrap_or_default();
        let evidence = Evidence {
            commit: tip.commit.clone(),
            tree: tip.tree.clone(),
            code: tip.code.clone(),
            command: command.to_owned(),
            exit: match end.end {
                End::Exited(code) => Some(code),
                _ => None,
            },
            output: hash::hex(&printed),
            at: Clock::default().now(),
            fresh: top.is_some(),
            seal: self.trust().seal_proof()?,
        };
        self.believe(&evidence);
        failpoint::reach("evidence.seen");
        self.tell(Input::Proved(evidence));
        Ok((complaint(&end), end.end.is_cut_off()))
    }

    /// Takes in evidence that a worker of this phase has sealed.
    pub(super) fn believe(&self, evidence: &Evidence) {
        if evidence.exit == Some(0) {
            let key = (evidence.code.clone(), evidence.command.clone());
            self.trust().passed.insert(key, evidence.clone());
        }
    }

    fn has_passed(&self, code: &str, command: &str) -> bool {
        self.trust().passed.contains_key(&(code.to_owned(), command.to_owned()))
    }

    /// Returns the newest evidence that commands have passed.
    pub(super) fn evidence(&self, commands: &[String]) -> Vec<Evidence> {
        let trust = self.trust();
        let newest = commands.iter().map(|command| {
            trust.passed.values().filter(|one| one.command == *command).max_by_key(|one| one.at)
        });
        newest.flatten().cloned().collect()
    }

    fn tip(&self) -> Result<Tip, EngineError> {
        let names = self.git().run(&["rev-parse", "HEAD", "HEAD^{tree}"])?.text();
        let (commit, tree) = names.split_once('\n').unwrap_or((&names, ""));
        Ok(Tip { commit: commit.to_owned(), tree: tree.to_owned(), code: self.code()? })
    }

    /// Returns what stands for all committed files but the planning files.
    pub(super) fn code(&self) -> Result<String, EngineError> {
        let planning = self.planning_below_top();
        let is_deep = planning.contains('/');
        let args: &[&str] = if is_deep { &["ls-tree", "-r", "HEAD"] } else { &["ls-tree", "HEAD"] };
        let listing = self.git().run(args)?.text();
        let code = listing.lines().filter(|line| {
            let path = line.split_once('\t').map_or("", |(_, path)| path);
            let rest = path.strip_prefix(&planning);
            !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        Ok(hash::hex(code.collect::<Vec<_>>().join("\n").as_bytes()))
    }

    /// Returns whether all code is committed.
    fn is_clean(&self) -> Result<bool, EngineError> {
        let planning = self.planning_below_top();
        if self.trust().index_doubted && !holds(&self.git(), "HEAD", &planning)? {
            return Ok(false);
        }
        if commit::is_clean(&self.git(), &Paths::AllBut(planning.clone())) == Some(true) {
            return Ok(true);
        }
        let rest = format!(":(exclude,top){planning}");
        let args = ["status", "--porcelain", "-z", "--ignore-submodules=none", "--", ":(top)"];
        Ok(self.git().run(&[&args[..], &[&rest]].concat())?.stdout.is_empty())
    }

    /// Returns where checks may run.
    fn place(&self, tip: &Tip, fresh: bool) -> Result<Place, EngineError> {
        if !fresh && self.is_clean()? {
            let aside = empty_dirs::set_aside(&self.git(), &self.planning_below_top())?;
            return Ok(Place::Here(aside));
        }
        let path = self.site.home()?.path().join(format!("{}-fresh", self.padded()));
        let fresh = Fresh { root: self.site.top().to_path_buf(), path };
        // One that a killed worker left may hold what git ignores.
        scratch::remove(&fresh.root, &fresh.path)?;
        scratch::check_out(&fresh.root, &fresh.path, &tip.commit)
            .map_err(|error| EngineError::Host(error.into()))?;
        Ok(Place::Elsewhere(fresh))
    }
}
