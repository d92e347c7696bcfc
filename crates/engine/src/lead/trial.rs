//! Tries a merge before anybody sees it: an agent may settle its conflicts, a command of the project
//! may say that the result does not work. Both happen in a checkout of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mow_core::phase::PhaseNumber;
use mow_host::git::Git;
use mow_host::merge::{self, Conflict, Merge, Ready};
use mow_host::process::{self, TOKEN};
use mow_host::shell::{self, ShellJob};
use mow_host::stop::Stop;
use mow_host::{rescue, scratch};
use mow_store::disk::{WAIT_DEFAULT, Writer};

use super::effects::END_GRACE;
use crate::EngineError;
use crate::site::Site;
use crate::worker::complaint;

/// The name of the checkout beside the worktrees of the phases.
const DIRECTORY: &str = "merge";
/// The role that settles conflicts.
const RESOLVER: &str = "conflict-resolver";
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
}

impl Trial<'_> {
    /// Returns the command that checks a merged tree, if one is set.
    pub(super) fn verify_command(&self) -> Result<Option<String>, EngineError> {
        setting(self.site, "multi_phase.verify")
    }

    /// Returns the command of the role that settles conflicts, if one is set.
    pub(super) fn resolver(&self) -> Result<Option<String>, EngineError> {
        setting(self.site, &format!("roles.{RESOLVER}.command"))
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
        self.end_others()?;
        let git = match self.worktree.map(Git::at_top) {
            Some(own) if holds(&own, tree)? => own,
            _ => self.check_out(commit)?,
        };
        let end = self.run(&git, command, "verify", &[("MOW_COMMIT", commit.to_owned())])?;
        Ok(complaint(&end).map(|why| {
            let lines: Vec<_> = end.tail.trim().lines().collect();
            let from = lines.len().saturating_sub(OUTPUT_LINES);
            let said = lines[from..].join("\n");
            format!("multi_phase.verify (`{command}`) fails on the merged tree, {why}\n{said}")
        }))
    }

    /// Lets the role settle conflicts; returns the result, or why there is none.
    pub(super) fn resolve(
        &self,
        command: &str,
        job: &Merge,
        files: &[Conflict],
    ) -> Result<Result<Ready, String>, EngineError> {
        self.end_others()?;
        let root = Git::new(self.site.top());
        let ours = root.commit_of(&job.run_ref)?.unwrap_or_default();
        let git = self.check_out(&ours)?;
        git.ask(&["merge", "--no-commit", "--no-ff", "--quiet", &job.branch_commit])?;
        take_owners(&git, job, files)?;
        let list = self.log("conflicts").with_extension("txt");
        let names: String = files.iter().map(|file| format!("{}\n", file.path)).collect();
        self.site.run.create()?;
        let writer = Writer::open_engine(&self.site.project, WAIT_DEFAULT)?;
        writer.replace(&list, names.as_bytes())?;
        drop(writer);
        let env = [
            ("MOW_ROLE_NAME", RESOLVER.to_owned()),
            ("MOW_CONFLICTS_FILE", list.display().to_string()),
            ("MOW_OURS", ours.clone()),
            ("MOW_THEIRS", job.branch_commit.clone()),
        ];
        let end = self.run(&git, command, RESOLVER, &env)?;
        let problem = complaint(&end).or_else(|| marked(&git, files));
        if let Some(problem) = problem {
            let name =
                self.phase.map_or("merge".to_owned(), |phase| format!("phase-{}", phase.padded()));
            // What it did may still help a person.
            let kept = rescue::rescue(&git, &name).map_err(|e| EngineError::Host(e.into()))?;
            let kept = kept.map_or(String::new(), |kept| {
                let name = kept.name.strip_prefix("refs/mow/rescue/").unwrap_or(&kept.name);
                format!("; what it did is kept: mow rescue restore {name}")
            });
            return Ok(Err(format!("the {RESOLVER} did not settle it, {problem}{kept}")));
        }
        git.run(&["add", "--all", "--sparse"])?;
        let tree = git.run(&["write-tree"])?.text();
        let ready = merge::settled(&root, job, &ours, &tree);
        Ok(Ok(ready.map_err(|error| EngineError::Host(error.into()))?))
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

    fn run(
        &self,
        git: &Git,
        command: &str,
        label: &str,
        env: &[(&str, String)],
    ) -> Result<shell::ShellEnd, EngineError> {
        let config = self.site.config()?;
        let minutes = |key: &str| {
            let value = config.lookup(key).and_then(|value| value.as_u64());
            value.filter(|minutes| *minutes > 0).map(|minutes| Duration::from_secs(minutes * 60))
        };
        let cwd = git.dir().join(self.site.below_top());
        let planning = cwd.join(".planning").display().to_string();
        let mut all = vec![
            (TOKEN, self.token()),
            // Whoever works here is no person.
            ("MOW_ROLE", "worker".to_owned()),
            ("MOW_RUN", self.site.run.run().to_owned()),
            ("MOW_ATTEMPT", self.attempt.to_string()),
            ("MOW_WORKTREE", git.dir().display().to_string()),
            ("MOW_PLANNING", planning),
        ];
        all.extend(self.phase.map(|phase| ("MOW_PHASE", phase.to_string())));
        all.extend(env.iter().map(|(name, value)| (*name, value.clone())));
        let job = ShellJob {
            script: command.to_owned(),
            program: "sh".to_owned(),
            cwd,
            env: all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            log: self.log(label),
            wall_max: minutes("multi_phase.worker_timeout_min").or(Some(WALL_DEFAULT)),
            // The time above ends it; nobody is asked about it.
            stuck_after: None,
            watched: Vec::new(),
        };
        self.site.run.create()?;
        let stop = Stop::new().map_err(EngineError::io("make a pipe"))?;
        shell::run(&job, &stop, &mut |_| {}).map_err(|error| EngineError::Host(error.into()))
    }

    fn log(&self, label: &str) -> PathBuf {
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

/// Returns whether a worktree holds this tree and nothing else but ignored files.
fn holds(worktree: &Git, tree: &str) -> Result<bool, EngineError> {
    let own = worktree.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{tree}"])?;
    Ok(own.success && own.text() == tree && !worktree.is_dirty(true)?)
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
    let has_marks = |file: &&Conflict| {
        let bytes = fs::read(git.dir().join(&file.path)).unwrap_or_default();
        let mut lines = bytes.split(|byte| *byte == b'\n');
        lines.any(|line| line.starts_with(b"<<<<<<< ") || line.starts_with(b">>>>>>> "))
    };
    let file = files.iter().find(has_marks)?;
    Some(format!("{} still has the marks of the conflict", file.path))
}
