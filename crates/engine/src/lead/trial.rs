//! Tries a merge before anybody sees it: an agent may settle its conflicts, a command of the project
//! may say that the result does not work. Both happen in a checkout of their own.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mow_core::money::Money;
use mow_core::phase::PhaseNumber;
use mow_host::custody::holds;
use mow_host::git::Git;
use mow_host::merge::{self, Conflict, Merge, Ready};
use mow_host::process::{self, TOKEN};
use mow_host::shell::{self, ShellJob};
use mow_host::stop::Stop;
use mow_host::{empty_dirs, rescue, scratch};
use mow_store::disk;

use super::effects::{END_GRACE, Repository};
use crate::EngineError;
use crate::cast::{self, Cast};
use crate::job;
use crate::site::{self, Site};
use crate::worker::complaint;

/// The name of the checkout beside the worktrees of the phases.
const DIRECTORY: &str = "merge";
/// The role that settles conflicts.
pub(super) const RESOLVER: &str = "conflict-resolver";
/// How long a command may take where the project does not say.
const WALL_DEFAULT: Duration = Duration::from_secs(60 * 60);
/// How much of a command's output goes into the reason.
const OUTPUT_LINES: usize = 12;

/// What a trial is about.
pub(super) struct Trial<'a> {
    pub(super) site: &'a Site,
    pub(super) phase: Option<&'a PhaseNumber>,
    pub(super) attempt: u32,
    /// The worktree of the phase.
    pub(super) worktree: Option<&'a Path>,
    /// What the phase has cost so far.
    pub(super) spent: &'a Cell<Money>,
    /// Whether no agent may be started for it.
    pub(super) alone: bool,
}

/// Who settles conflicts.
pub(super) enum Resolver {
    Command(String),
    Agent(Box<Cast>),
}

/// What there is to settle: two commits, and a checkout in which their merge has begun.
pub(super) struct Dispute<'a> {
    pub(super) git: &'a Git,
    pub(super) ours: &'a str,
    pub(super) theirs: &'a str,
    pub(super) files: &'a [Conflict],
    /// A file with the names of these files.
    pub(super) list: PathBuf,
}

impl Trial<'_> {
    /// Returns the command that checks a merged tree, if one is set.
    pub(super) fn verify_command(&self) -> Result<Option<String>, EngineError> {
        setting(self.site, "multi_phase.verify")
    }

    /// Returns who settles conflicts, if anybody is set.
    pub(super) fn resolver(&self) -> Result<Option<Resolver>, EngineError> {
        if let Some(cast) = cast::cast(&self.site.config()?, RESOLVER) {
            return Ok(Some(Resolver::Agent(Box::new(cast))));
        }
        Ok(setting(self.site, &format!("roles.{RESOLVER}.command"))?.map(Resolver::Command))
    }

    /// Checks a merged tree; returns why it is not good enough.
    ///
    /// Where the phase's own worktree holds the very same tree, no other checkout is made.
    pub(super) fn verify(
        &self,
        command: &str,
        commit: &str,
        tree: &str,
    ) -> Result<Option<String>, EngineError> {
        let mut end = self.verify_once((command, "verify"), commit, tree)?;
        if end.end.is_cut_off() {
            // Whoever killed it said nothing about the tree.
            end = self.verify_once((command, "verify-again"), commit, tree)?;
        }
        Ok(complaint(&end).map(|why| {
            let lines: Vec<_> = end.tail.trim().lines().collect();
            let from = lines.len().saturating_sub(OUTPUT_LINES);
            let said = lines[from..].join("\n");
            format!("multi_phase.verify (`{command}`) fails on the merged tree, {why}\n{said}")
        }))
    }

    fn verify_once(
        &self,
        (command, label): (&str, &str),
        commit: &str,
        tree: &str,
    ) -> Result<shell::ShellEnd, EngineError> {
        self.end_others()?;
        let git = match self.worktree.map(Git::at_top) {
            Some(own) if holds_only(&own, tree)? => own,
            _ => self.check_out(commit)?,
        };
        // No commit has an empty directory.
        let planning = self.site.project.planning_below_top();
        let _aside = empty_dirs::set_aside(&git, &planning)?;
        self.run(&git, command, label, &[("MOW_COMMIT", commit.to_owned())])
    }

    /// Lets the role settle conflicts; returns the result, or why there is none.
    pub(super) fn resolve(
        &self,
        resolver: &Resolver,
        job: &Merge,
        (files, repository): (&[Conflict], &Repository),
    ) -> Result<Result<Ready, String>, EngineError> {
        if let Resolver::Agent(_) = resolver
            && let Some(why) = self.why_nobody_is_asked()?
        {
            return Ok(Err(format!("the {RESOLVER} was not asked, {why}")));
        }
        self.end_others()?;
        let root = Git::new(self.site.top());
        let ours = root.commit_of(&job.run_ref)?.unwrap_or_default();
        let git = self.check_out(&ours)?;
        git.ask(&["merge", "--no-commit", "--no-ff", "--quiet", &job.branch_commit])?;
        take_owners(&git, job, files)?;
        let list = self.log("conflicts").with_extension("txt");
        let names: String = files.iter().map(|file| format!("{}\n", file.path)).collect();
        self.site.run.create()?;
        disk::put(&list, names.as_bytes())?;
        let dispute = Dispute { git: &git, ours: &ours, theirs: &job.branch_commit, files, list };
        // What is to be checked is settled before anybody could change it.
        let checks = self.checks(&dispute)?;
        let problem = match resolver {
            Resolver::Command(command) => self.resolve_by_command(command, &dispute)?,
            Resolver::Agent(cast) => self.resolve_by_agent(cast, &dispute, repository)?,
        };
        if let Some(problem) = problem.or_else(|| marked(&git, files)) {
            return self.unresolved(&git, &problem);
        }
        git.run(&["add", "--all", "--sparse"])?;
        let tree = git.run(&["write-tree"])?.text();
        if !holds(&git, &tree, "")? {
            return self.unresolved(&git, "it hid changes from git");
        }
        if let Some(problem) = self.recheck(&git, &checks)? {
            return self.unresolved(&git, &problem);
        }
        let ready = merge::settled(&root, job, &ours, &tree);
        Ok(Ok(ready.map_err(|error| EngineError::Host(error.into()))?))
    }

    fn resolve_by_command(
        &self,
        command: &str,
        dispute: &Dispute<'_>,
    ) -> Result<Option<String>, EngineError> {
        let env = [
            ("MOW_ROLE_NAME", RESOLVER.to_owned()),
            ("MOW_CONFLICTS_FILE", dispute.list.display().to_string()),
            ("MOW_OURS", dispute.ours.to_owned()),
            ("MOW_THEIRS", dispute.theirs.to_owned()),
        ];
        Ok(complaint(&self.run(dispute.git, command, RESOLVER, &env)?))
    }

    /// Keeps what the role did, which may still help a person, and says why it will not do.
    fn unresolved(&self, git: &Git, problem: &str) -> Result<Result<Ready, String>, EngineError> {
        let name =
            self.phase.map_or("merge".to_owned(), |phase| format!("phase-{}", phase.padded()));
        let kept = rescue::rescue(git, &name).map_err(|e| EngineError::Host(e.into()))?;
        let kept = kept.map_or(String::new(), |kept| {
            let name = kept.short_name();
            format!("; what it did is kept: mow rescue restore {name}")
        });
        Ok(Err(format!("the {RESOLVER} did not settle it, {problem}{kept}")))
    }

    /// Ends what a lead that was killed has left at work.
    fn end_others(&self) -> Result<(), EngineError> {
        let ended = process::end_token(&self.token(), END_GRACE);
        ended.map(drop).map_err(|error| EngineError::Host(error.into()))
    }

    fn check_out(&self, commit: &str) -> Result<Git, EngineError> {
        let path = place(self.site)?;
        scratch::check_out(self.site.top(), &path, commit)
            .map_err(|error| EngineError::Host(error.into()))
    }

    pub(super) fn run(
        &self,
        git: &Git,
        command: &str,
        label: &str,
        env: &[(&str, String)],
    ) -> Result<shell::ShellEnd, EngineError> {
        let cwd = git.dir().join(self.site.below_top());
        let own = self.environment(git).into_iter();
        let more = env.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let job = ShellJob {
            script: command.to_owned(),
            program: "sh".to_owned(),
            cwd,
            env: own.chain(more).collect(),
            log: self.log(label),
            wall_max: Some(self.wall_max()?),
            // The time above ends it; nobody is asked about it.
            stuck_after: None,
            watched: Vec::new(),
        };
        self.site.run.create()?;
        let stop = Stop::new().map_err(EngineError::io("make a pipe"))?;
        shell::run(&job, &stop, &mut |_| {}).map_err(|error| EngineError::Host(error.into()))
    }

    fn why_nobody_is_asked(&self) -> Result<Option<String>, EngineError> {
        if self.alone {
            return Ok(Some("since nothing new is started (see mow inbox)".to_owned()));
        }
        self.over_budget()
    }

    /// Says that the phase has used what it may.
    pub(super) fn over_budget(&self) -> Result<Option<String>, EngineError> {
        let budget = site::budget(&self.site.config()?, "phase");
        Ok(job::over_budget(&budget, &self.spent.get(), &self.again()))
    }

    /// Returns the command that has the phase merged once more.
    pub(super) fn again(&self) -> String {
        let number = self.phase.map(ToString::to_string).unwrap_or_default();
        let command = if self.attempt == 0 { "merge" } else { "resume" };
        format!("mow {command} {number}")
    }

    /// Returns how long somebody may take.
    pub(super) fn wall_max(&self) -> Result<Duration, EngineError> {
        let minutes = site::minutes(&self.site.config()?, "multi_phase.worker_timeout_min");
        Ok(minutes.unwrap_or(WALL_DEFAULT))
    }

    /// Returns what whoever works in the checkout finds in the environment.
    pub(super) fn environment(&self, git: &Git) -> Vec<(String, String)> {
        let planning = git.dir().join(self.site.below_top()).join(".planning");
        let mut all = vec![
            (TOKEN, self.token()),
            // Whoever works here is no person.
            ("MOW_ROLE", "worker".to_owned()),
            ("MOW_RUN", self.site.run.run().to_owned()),
            ("MOW_ATTEMPT", self.attempt.to_string()),
            ("MOW_WORKTREE", git.dir().display().to_string()),
            ("MOW_PLANNING", planning.display().to_string()),
        ];
        all.extend(self.phase.map(|phase| ("MOW_PHASE", phase.to_string())));
        all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    pub(super) fn log(&self, label: &str) -> PathBuf {
        let logs = self.site.run.path().join("logs");
        match self.phase {
            Some(phase) => {
                logs.join(format!("{}-{}-merge-{label}.log", phase.padded(), self.attempt))
            }
            None => logs.join(format!("merge-{label}.log")),
        }
    }

    /// Returns the word that marks all processes of the trial.
    fn token(&self) -> String {
        format!("{}/merge", self.site.run.run())
    }
}

/// Removes the checkout that merges are tried in.
pub(super) fn clear(site: &Site) -> Result<(), EngineError> {
    Ok(scratch::remove(site.top(), &place(site)?)?)
}

fn place(site: &Site) -> Result<PathBuf, EngineError> {
    Ok(site.home()?.path().join(DIRECTORY))
}

fn setting(site: &Site, key: &str) -> Result<Option<String>, EngineError> {
    let config = site.config()?;
    let value = config.value(key).and_then(|value| value.as_str().map(str::to_owned));
    Ok(value.filter(|command| !command.trim().is_empty()))
}

/// Returns whether a worktree holds this tree and nothing else but ignored files; an agent may have
/// written into its index.
fn holds_only(worktree: &Git, tree: &str) -> Result<bool, EngineError> {
    let own = worktree.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{tree}"])?;
    let is_its_own = own.success && own.text() == tree && !worktree.is_dirty(true)?;
    Ok(is_its_own && holds(worktree, tree, "")?)
}

/// Gives planning files in conflict that have an owner the owner's version: they are none of the
/// role's business.
fn take_owners(git: &Git, job: &Merge, files: &[Conflict]) -> Result<(), EngineError> {
    for path in git.conflicts()? {
        if files.iter().any(|file| file.path == path) {
            continue;
        }
        let from = if job.is_own(&path) { job.branch_commit.as_str() } else { "HEAD" };
        let taken = git.ask(&["--literal-pathspecs", "checkout", "--quiet", from, "--", &path])?;
        if !taken.success {
            git.run(&["--literal-pathspecs", "rm", "--quiet", "--force", "--", &path])?;
        }
    }
    Ok(())
}

/// Names a file that still has the marks of a conflict.
fn marked(git: &Git, files: &[Conflict]) -> Option<String> {
    let file = files.iter().find(|file| has_marks(git, file))?;
    Some(format!("{} still has the marks of the conflict", file.path))
}

pub(super) fn has_marks(git: &Git, file: &Conflict) -> bool {
    let bytes = fs::read(git.dir().join(&file.path)).unwrap_or_default();
    let mut lines = bytes.split(|byte| *byte == b'\n');
    lines.any(|line| line.starts_with(b"<<<<<<< ") || line.starts_with(b">>>>>>> "))
}
