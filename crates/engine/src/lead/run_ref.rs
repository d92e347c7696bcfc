//! Guards the target ref of a run, onto which phases are merged. Only the lead may move it.
//!
//! A commit that somebody else puts there would become part of all later merges without a check. So
//! each move is written to a file before it is made, and the ref is checked before anything is
//! built on it. A ref that was moved elsewhere is moved back; the foreign commit goes to a rescue
//! ref.
//!
//! The history of the ref saves git calls, too. The commits of a worker are younger than the
//! worker, so a ref that only merges of other phases moved since the worker started contains none
//! of them.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mow_core::phase::PhaseNumber;
use mow_host::git::Git;
use mow_host::rescue;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};

use crate::EngineError;
use crate::run_context::RunContext;

/// How many earlier commits of the ref are remembered.
const COMMITS_MAX: usize = 256;

/// Returns the name of a run's ref.
pub(super) fn run_ref(ctx: &RunContext) -> String {
    format!("refs/mow/run/{}/target", ctx.run.run())
}

/// The commits that the run's ref had in this process, and the only way to move the ref.
#[derive(Debug, Default)]
pub(super) struct RunRef {
    history: Mutex<RefHistory>,
}

#[derive(Debug, Default)]
struct RefHistory {
    /// The commits of the ref since it was first checked; the last one is the current one.
    commits: VecDeque<String>,
    /// Attempts (phase and number) whose commits the ref cannot contain yet.
    unmerged: BTreeSet<(PhaseNumber, u32)>,
}

impl RunRef {
    /// Moves the ref back if somebody else moved it, or creates it at `onto`. Returns a notice for
    /// people if it was moved back.
    ///
    /// The caller must hold the repository lock.
    pub(super) fn check(
        &self,
        ctx: &RunContext,
        git: &Git,
        onto: &str,
    ) -> Result<Option<String>, EngineError> {
        let (name, at) = (run_ref(ctx), git.commit_of(&run_ref(ctx))?);
        let mut history = self.history();
        let wanted = match history.current() {
            Some(commit) => commit.to_owned(),
            // An earlier lead may have moved the ref and died before it recorded that in the
            // journal.
            None if at.is_some() && at == load_intent(ctx)? => at.clone().unwrap_or_default(),
            None => onto.to_owned(),
        };
        let notice = match at {
            Some(at) if at == wanted => None,
            Some(at) => Some(move_back(ctx, git, (&at, &wanted))?),
            None => {
                git.run(&["update-ref", &name, &wanted, ""])?;
                failpoint::reach("run.ref.made");
                None
            }
        };
        history.add(&wanted);
        Ok(notice)
    }

    /// Moves the ref from one commit to another with `swap`; `None` if it is not at `from` any
    /// more.
    ///
    /// If the ref was never checked, as in a manual merge, any commit is accepted.
    pub(super) fn advance<T>(
        &self,
        ctx: &RunContext,
        (from, to): (&str, &str),
        swap: impl FnOnce() -> Result<Option<T>, EngineError>,
    ) -> Result<Option<T>, EngineError> {
        let mut history = self.history();
        match history.current() {
            None => return swap(),
            Some(commit) if commit != from => return Ok(None),
            Some(_) => {}
        }
        save_intent(ctx, to)?;
        let swapped = swap()?;
        if swapped.is_some() {
            history.add(to);
        }
        Ok(swapped)
    }

    /// Records that a new worker is about to start, whose commits the ref cannot contain.
    pub(super) fn worker_starts(&self, phase: PhaseNumber, attempt: u32) {
        self.history().unmerged.insert((phase, attempt));
    }

    /// Records that commits of people are merged, which may contain commits of workers.
    pub(super) fn add_commits_of_people(&self) {
        self.history().unmerged.clear();
    }

    /// Returns the commit of the ref if it contains no commit of an attempt.
    ///
    /// Answers once per attempt, since the caller is about to merge it.
    pub(super) fn commit_without_attempt(
        &self,
        phase: PhaseNumber,
        attempt: u32,
    ) -> Option<String> {
        let mut history = self.history();
        let was_started = history.unmerged.remove(&(phase, attempt));
        history.current().filter(|_| was_started).map(str::to_owned)
    }

    /// Returns whether the ref is known to have had one commit before another, or the same.
    pub(super) fn is_before(&self, one: &str, other: &str) -> bool {
        let history = self.history();
        let index = |commit: &str| history.commits.iter().position(|other| other == commit);
        index(one).zip(index(other)).is_some_and(|(one, other)| one <= other)
    }

    fn history(&self) -> MutexGuard<'_, RefHistory> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RefHistory {
    fn current(&self) -> Option<&str> {
        self.commits.back().map(String::as_str)
    }

    fn add(&mut self, commit: &str) {
        if self.current() != Some(commit) {
            self.commits.push_back(commit.to_owned());
            let surplus = self.commits.len().saturating_sub(COMMITS_MAX);
            self.commits.drain(..surplus);
        }
    }
}

/// Moves the ref back to the commit that the lead set; returns a notice for people.
fn move_back(
    ctx: &RunContext,
    git: &Git,
    (at, wanted): (&str, &str),
) -> Result<String, EngineError> {
    let name = run_ref(ctx);
    let kept = rescue::keep_commit(git, ctx.run.run(), at)?;
    failpoint::reach("run.ref.kept");
    git.run(&["update-ref", "-m", "mow: moved back", &name, wanted, at])?;
    failpoint::reach("run.ref.moved_back");
    let (rescued, short) = (kept.short_name(), at.get(..8).unwrap_or(at));
    Ok(format!(
        "somebody moved {name} to {short}, which nobody has checked; it was moved back, and what it \
         stood at is kept: mow rescue restore {rescued}"
    ))
}

/// Writes the commit to which the ref is about to be moved.
fn save_intent(ctx: &RunContext, to: &str) -> Result<(), EngineError> {
    ctx.run.create()?;
    let writer = Writer::open_engine(&ctx.project, WAIT_DEFAULT)?;
    writer.replace(&intent_path(ctx), format!("{to}\n").as_bytes())?;
    failpoint::reach("run.ref.noted");
    Ok(())
}

/// Loads the commit to which the ref was to be moved last.
fn load_intent(ctx: &RunContext) -> Result<Option<String>, EngineError> {
    let bytes = disk::read(&intent_path(ctx))?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()))
}

fn intent_path(ctx: &RunContext) -> PathBuf {
    ctx.run.path().join("target.next")
}

#[cfg(test)]
mod tests;
