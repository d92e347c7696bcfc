//! Checks a merge before it lands: resolves its conflicts by a role, and runs `multi_phase.verify`.
//!
//! Both work in a separate checkout beside the worktrees of the phases, so that a failure changes
//! neither a branch nor a worktree.

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use mow_core::money::Spending;
use mow_core::phase::PhaseNumber;
use mow_host::git::Git;
use mow_host::launch::AttemptMarks;
use mow_host::merge::{self, Conflict, MergeJob, ReadyMerge};
use mow_host::process;
use mow_host::shell::{self, ShellJob};
use mow_host::stop_signal::StopSignal;
use mow_host::tamper_detection::files_match_tree;
use mow_host::{empty_dirs, rescue, scratch_worktree};
use mow_store::disk;

use super::effects::RepositoryAccess;
use crate::EngineError;
use crate::activity::{self, ActivityStream, ActivityWriter, CHECK_ROLE};
use crate::agent_config::{self, AgentConfig};
use crate::agent_job;
use crate::link::LocalWorktree;
use crate::run_context::{self, RunContext};
use crate::worker::describe_failure;

/// The directory of the checkout, beside the worktrees of the phases.
const DIRECTORY: &str = "merge";
/// The name of the role that resolves conflicts.
pub(super) const RESOLVER: &str = "conflict-resolver";
/// The time limit of a command if `multi_phase.worker_timeout_min` is not set.
const WALL_DEFAULT: Duration = Duration::from_secs(60 * 60);
/// How long processes of an earlier check may take to end after SIGTERM.
const END_GRACE: Duration = Duration::from_secs(5);
/// How many lines of a command's output go into the reason of a failure.
const OUTPUT_LINES: usize = 12;

/// The merge that is checked.
pub(super) struct MergeCheck<'a> {
    pub(super) ctx: &'a RunContext,
    pub(super) phase: Option<&'a PhaseNumber>,
    pub(super) attempt: u32,
    /// The worktree of the phase; `None` when commits of people are merged.
    pub(super) worktree: Option<&'a LocalWorktree<'a>>,
    /// What the phase has cost so far; an agent that resolves conflicts adds to it.
    pub(super) spent: &'a Cell<Spending>,
    /// Whether no agent may be started to resolve conflicts.
    pub(super) no_agents: bool,
}

/// What resolves conflicts.
pub(super) enum Resolver {
    Command(String),
    Agent(Box<AgentConfig>),
}

/// A merge with conflicts: its two commits, and the checkout in which git stopped.
pub(super) struct ConflictedMerge<'a> {
    pub(super) git: &'a Git,
    pub(super) ours: &'a str,
    pub(super) theirs: &'a str,
    pub(super) files: &'a [Conflict],
    /// The path of a text file that lists the files in conflict.
    pub(super) list: PathBuf,
}

impl MergeCheck<'_> {
    /// Returns the command that checks a merged tree, if one is set.
    pub(super) fn verify_command(&self) -> Result<Option<String>, EngineError> {
        setting(self.ctx, "multi_phase.verify")
    }

    /// Returns what resolves conflicts; `None` if nothing is configured.
    pub(super) fn resolver(&self) -> Result<Option<Resolver>, EngineError> {
        if let Some(agent) = agent_config::agent_for_role(&self.ctx.config()?, RESOLVER) {
            return Ok(Some(Resolver::Agent(Box::new(agent))));
        }
        Ok(setting(self.ctx, &format!("roles.{RESOLVER}.command"))?.map(Resolver::Command))
    }

    /// Runs the verify command on a merged tree; returns why it fails.
    ///
    /// If the phase's worktree contains exactly this tree, no other checkout is made.
    pub(super) fn verify(
        &self,
        command: &str,
        commit: &str,
        tree: &str,
    ) -> Result<Option<String>, EngineError> {
        let mut end = self.verify_once((command, "verify"), commit, tree)?;
        if end.exit.is_externally_killed() {
            // A command that was killed says nothing about the tree, so it is run once more.
            end = self.verify_once((command, "verify-again"), commit, tree)?;
        }
        Ok(describe_failure(&end).map(|why| {
            let lines: Vec<_> = end.tail.trim().lines().collect();
            let from = lines.len().saturating_sub(OUTPUT_LINES);
            let output = lines[from..].join("\n");
            format!("multi_phase.verify (`{command}`) fails on the merged tree, {why}\n{output}")
        }))
    }

    fn verify_once(
        &self,
        (command, label): (&str, &str),
        commit: &str,
        tree: &str,
    ) -> Result<shell::ShellResult, EngineError> {
        self.end_leftover_processes()?;
        let own = self.worktree.map(|worktree| worktree.with_tree(tree)).transpose()?.flatten();
        let git = match own {
            Some(own) => own,
            None => self.check_out(commit)?,
        };
        // Empty directories are not part of a commit, so the command must not see them.
        let planning = self.ctx.project.planning_below_top();
        let _aside = empty_dirs::remove_empty_dirs(&git, &planning)?;
        self.run(&git, command, label, &[("MOW_COMMIT", commit.to_owned())])
    }

    /// Lets the role resolve conflicts; returns the resolved merge, or why there is none.
    pub(super) fn resolve(
        &self,
        resolver: &Resolver,
        job: &MergeJob,
        (files, repository): (&[Conflict], &RepositoryAccess),
    ) -> Result<Result<ReadyMerge, String>, EngineError> {
        if let Resolver::Agent(_) = resolver
            && let Some(why) = self.agent_refusal()?
        {
            return Ok(Err(format!("the {RESOLVER} was not asked, {why}")));
        }
        self.end_leftover_processes()?;
        let root = Git::new(self.ctx.top());
        let ours = root.commit_of(&job.run_ref)?.unwrap_or_default();
        let git = self.check_out(&ours)?;
        git.ask(&["merge", "--no-commit", "--no-ff", "--quiet", &job.branch_commit])?;
        take_owner_versions(&git, job, files)?;
        let list = self.log("conflicts").with_extension("txt");
        let names: String = files.iter().map(|file| format!("{}\n", file.path)).collect();
        self.ctx.run.create()?;
        disk::write_engine_file(&list, names.as_bytes())?;
        let conflict =
            ConflictedMerge { git: &git, ours: &ours, theirs: &job.branch_commit, files, list };
        // The checks are loaded before the resolver could change the plans.
        let checks = self.checks(&conflict)?;
        let problem = match resolver {
            Resolver::Command(command) => self.resolve_by_command(command, &conflict)?,
            Resolver::Agent(agent) => self.resolve_by_agent(agent, &conflict, repository)?,
        };
        if let Some(problem) = problem.or_else(|| find_markers(&git, files)) {
            return self.rescue_unresolved(&git, &problem);
        }
        git.run(&["add", "--all", "--sparse"])?;
        let tree = git.run(&["write-tree"])?.text();
        if !files_match_tree(&git, &tree, "")? {
            return self.rescue_unresolved(&git, "it hid changes from git");
        }
        if let Some(problem) = self.recheck(&git, &checks)? {
            return self.rescue_unresolved(&git, &problem);
        }
        let ready = merge::from_resolved_tree(&root, job, &ours, &tree);
        Ok(Ok(ready?))
    }

    fn resolve_by_command(
        &self,
        command: &str,
        conflict: &ConflictedMerge<'_>,
    ) -> Result<Option<String>, EngineError> {
        let env = [
            ("MOW_ROLE_NAME", RESOLVER.to_owned()),
            ("MOW_CONFLICTS_FILE", conflict.list.display().to_string()),
            ("MOW_OURS", conflict.ours.to_owned()),
            ("MOW_THEIRS", conflict.theirs.to_owned()),
        ];
        Ok(describe_failure(&self.run(conflict.git, command, RESOLVER, &env)?))
    }

    /// Rescues what the role did, which may help a person, and returns why it cannot be used.
    fn rescue_unresolved(
        &self,
        git: &Git,
        problem: &str,
    ) -> Result<Result<ReadyMerge, String>, EngineError> {
        let name =
            self.phase.map_or("merge".to_owned(), |phase| format!("phase-{}", phase.padded()));
        let kept = rescue::rescue_uncommitted(git, &name)?;
        let kept = kept.map_or(String::new(), |kept| {
            let name = kept.short_name();
            format!("; what it did is kept: mow rescue restore {name}")
        });
        Ok(Err(format!("the {RESOLVER} did not resolve it, {problem}{kept}")))
    }

    /// Ends processes of an earlier check that a killed lead left running.
    fn end_leftover_processes(&self) -> Result<(), EngineError> {
        let ended = process::end_with_token(&self.token(), END_GRACE);
        ended.map(drop).map_err(EngineError::from)
    }

    fn check_out(&self, commit: &str) -> Result<Git, EngineError> {
        let path = checkout_path(self.ctx)?;
        scratch_worktree::check_out(self.ctx.top(), &path, commit).map_err(EngineError::from)
    }

    pub(super) fn run(
        &self,
        git: &Git,
        command: &str,
        label: &str,
        env: &[(&str, String)],
    ) -> Result<shell::ShellResult, EngineError> {
        let cwd = git.dir().join(self.ctx.below_top());
        let own = self.environment(git).into_iter();
        let more = env.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let job = ShellJob {
            script: command.to_owned(),
            program: "sh".to_owned(),
            cwd,
            env: own.chain(more).collect(),
            marks: Some(self.marks()),
            log: self.log(label),
            timeout: Some(self.wall_max()?),
            // The time limit ends the command; no person is asked.
            stuck_after: None,
            watched: Vec::new(),
        };
        self.ctx.run.create()?;
        let stop = StopSignal::new().map_err(EngineError::io("make a pipe"))?;
        let role = if label == RESOLVER { RESOLVER } else { CHECK_ROLE };
        let stream = self.activity(role, git);
        activity::run_shell(&job, &stop, &mut |_| {}, &stream).map_err(EngineError::from)
    }

    /// Returns the stream that shows people what a command or an agent does for this merge.
    ///
    /// It belongs to the attempt that is merged. A merge outside of a run has none.
    pub(super) fn activity(&self, role: &str, git: &Git) -> ActivityStream {
        let phase = self.phase.filter(|_| self.attempt > 0);
        let writer = phase.map(|phase| ActivityWriter::new(&self.ctx.run, phase, self.attempt));
        writer.unwrap_or_default().stream(role, None).within(git.dir())
    }

    fn agent_refusal(&self) -> Result<Option<String>, EngineError> {
        if self.no_agents {
            return Ok(Some("since nothing new is started (see mow inbox)".to_owned()));
        }
        self.over_budget()
    }

    /// Returns a message if the phase has used up its budget.
    pub(super) fn over_budget(&self) -> Result<Option<String>, EngineError> {
        let budget = run_context::budget(&self.ctx.config()?, "phase");
        Ok(agent_job::over_budget(&budget, &self.spent.get(), &self.retry_command()))
    }

    /// Returns the command that merges the phase again.
    pub(super) fn retry_command(&self) -> String {
        let number = self.phase.map(ToString::to_string).unwrap_or_default();
        let command = if self.attempt == 0 { "merge" } else { "resume" };
        format!("mow {command} {number}")
    }

    /// Returns the time limit of a command or an agent.
    pub(super) fn wall_max(&self) -> Result<Duration, EngineError> {
        let minutes =
            run_context::minutes_setting(&self.ctx.config()?, "multi_phase.worker_timeout_min");
        Ok(minutes.unwrap_or(WALL_DEFAULT))
    }

    /// Returns the environment variables for a command or an agent in the checkout.
    pub(super) fn environment(&self, git: &Git) -> Vec<(String, String)> {
        let planning = git.dir().join(self.ctx.below_top()).join(".planning");
        let all = [("MOW_WORKTREE", git.dir()), ("MOW_PLANNING", &planning)];
        all.map(|(name, path)| (name.to_owned(), path.display().to_string())).to_vec()
    }

    /// Returns the marks of all processes of a check.
    pub(super) fn marks(&self) -> AttemptMarks {
        AttemptMarks {
            token: self.token(),
            run: self.ctx.run.run().to_owned(),
            phase: self.phase.map(ToString::to_string),
            attempt: self.attempt,
        }
    }

    pub(super) fn log(&self, label: &str) -> PathBuf {
        let logs = self.ctx.run.path().join("logs");
        match self.phase {
            Some(phase) => {
                logs.join(format!("{}-{}-merge-{label}.log", phase.padded(), self.attempt))
            }
            None => logs.join(format!("merge-{label}.log")),
        }
    }

    /// Returns the token in the environment of all processes of a check.
    fn token(&self) -> String {
        format!("{}/merge", self.ctx.run.run())
    }
}

/// Removes the checkout in which merges are checked.
pub(super) fn remove_checkout(ctx: &RunContext) -> Result<(), EngineError> {
    Ok(scratch_worktree::remove(ctx.top(), &checkout_path(ctx)?)?)
}

fn checkout_path(ctx: &RunContext) -> Result<PathBuf, EngineError> {
    Ok(ctx.home()?.path().join(DIRECTORY))
}

fn setting(ctx: &RunContext, key: &str) -> Result<Option<String>, EngineError> {
    let config = ctx.config()?;
    let value = config.value(key).and_then(|value| value.as_str().map(str::to_owned));
    Ok(value.filter(|command| !command.trim().is_empty()))
}

/// Resolves conflicts in planning files by taking the version of their owner: the phase for its own
/// directory, the run for the rest. The role must not touch them.
fn take_owner_versions(git: &Git, job: &MergeJob, files: &[Conflict]) -> Result<(), EngineError> {
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

/// Returns a message that names a file which still has conflict markers.
fn find_markers(git: &Git, files: &[Conflict]) -> Option<String> {
    let file = files.iter().find(|file| has_conflict_markers(git, file))?;
    Some(format!("{} still has conflict markers", file.path))
}

pub(super) fn has_conflict_markers(git: &Git, file: &Conflict) -> bool {
    let bytes = fs::read(git.dir().join(&file.path)).unwrap_or_default();
    let mut lines = bytes.split(|byte| *byte == b'\n');
    lines.any(|line| line.starts_with(b"<<<<<<< ") || line.starts_with(b">>>>>>> "))
}
