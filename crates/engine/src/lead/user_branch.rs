//! Fast-forwards the user's branch to a commit of the run.
//!
//! Never removes commits that people made on the branch, and never brings back what they removed.

use std::cell::Cell;

use mow_core::lead::Outcome;
use mow_host::commit::with_trailers;
use mow_host::fast_forward::{self, FastForwardOutcome};
use mow_host::git::Git;
use mow_host::merge::{self, MergeComputation, MergeJob, MergeOutcome};
use mow_store::planning_merge;

use super::effects::RepositoryAccess;
use super::merge::conflicted_files;
use super::merge_check::MergeCheck;
use super::run_ref::run_ref;
use crate::EngineError;
use crate::run_context::RunContext;

/// Fast-forwards the user's branch to a commit of the run, if that loses no work.
///
/// Commits that people made on the branch meanwhile are merged onto the run's ref first. If people
/// have set the branch back from `from`, it is left alone: the run must not bring back what they
/// removed.
pub(super) fn fast_forward_branch(
    ctx: &RunContext,
    target: &str,
    [from, commit]: [&str; 2],
    repository: &RepositoryAccess,
) -> Result<Outcome, EngineError> {
    let git = Git::new(ctx.top());
    let planning = ctx.project.planning_below_top();
    let theirs = git.commit_of(&format!("refs/heads/{target}"))?;
    if let Some(theirs) = theirs.as_deref().filter(|theirs| *theirs != from && !from.is_empty())
        && git.is_ancestor(theirs, from)?
    {
        let [had, has] = [from, theirs].map(|one| one.get(..8).unwrap_or(one));
        let reason = format!("somebody set {target} back from {had}; it is at {has} now");
        let command = fast_forward::fast_forward_command(ctx.top(), (target, commit), &[planning])?;
        return Ok(Outcome::Refused { reason, command });
    }
    let moved = match theirs {
        Some(theirs) if repository.run_ref.is_before(&theirs, commit) => None,
        Some(theirs) if !git.is_ancestor(&theirs, commit)? => Some(theirs),
        _ => None,
    };
    let merged = match moved {
        Some(theirs) if !git.is_ancestor(commit, &theirs)? => {
            repository.restore_run_ref(ctx, &git, commit)?;
            match merge_branch_commits(ctx, target, &theirs, repository)? {
                Ok(merged) => {
                    failpoint::reach("follow.taken_in");
                    Some(merged)
                }
                Err(refused) => return Ok(refused),
            }
        }
        _ => None,
    };
    failpoint::reach("follow.begun");
    let to = merged.as_deref().unwrap_or(commit);
    let followed = fast_forward::fast_forward_branch(ctx.top(), target, to, &[planning])?;
    failpoint::reach("follow.ended");
    Ok(match (followed, merged) {
        (FastForwardOutcome::Refused { reason, command_to_finish }, _) => {
            Outcome::Refused { reason, command: command_to_finish }
        }
        (FastForwardOutcome::Updated | FastForwardOutcome::UpToDate, Some(commit)) => {
            Outcome::Merged { commit, note: String::new() }
        }
        (FastForwardOutcome::Updated | FastForwardOutcome::UpToDate, None) => Outcome::Done,
    })
}

/// Merges commits that people made on the user's branch onto the run's ref.
fn merge_branch_commits(
    ctx: &RunContext,
    target: &str,
    theirs: &str,
    repository: &RepositoryAccess,
) -> Result<Result<String, Outcome>, EngineError> {
    let git = &Git::new(ctx.top());
    let job = MergeJob {
        run_ref: run_ref(ctx),
        branch_commit: theirs.to_owned(),
        message: with_trailers(
            &format!("Merge what is new on {target}"),
            &[("Mow-Run", ctx.run.run()), ("Mow-Taken-In", theirs)],
        ),
        keep_from_ours: Vec::new(),
        own: None,
        overlay: Vec::new(),
        join: Some(merge_planning_file),
    };
    let refused = |reason: String| {
        let command = fast_forward::merge_command(ctx.top(), target, &run_ref(ctx))?;
        Ok(Err(Outcome::Refused { reason, command }))
    };
    let ready = match merge::compute(git, &job)? {
        MergeComputation::Ready(ready) => ready,
        MergeComputation::Final(MergeOutcome::Conflict { files }) => {
            let files: Vec<_> = conflicted_files(&files).iter().map(ToString::to_string).collect();
            return refused(format!("{target} has commits that conflict in {}", files.join(", ")));
        }
        MergeComputation::Final(MergeOutcome::AlreadyMerged { commit, .. }) => {
            return Ok(Ok(commit));
        }
        MergeComputation::Final(_) => return refused(format!("{} was moved", run_ref(ctx))),
    };
    let sealed = merge::create_commit(git, &job, &ready)?;
    let spent = &Cell::default();
    let check = MergeCheck { ctx, phase: None, attempt: 0, worktree: None, spent, no_agents: true };
    if let Some(command) = check.verify_command()?
        && let Some(why) = check.verify(&command, &sealed, &ready.tree)?
    {
        return refused(format!("with the new commits on {target}, {why}"));
    }
    repository.run_ref.add_commits_of_people();
    let land = || Ok(merge::move_target(git, &job, &ready, &sealed)?.then_some(()));
    match repository.run_ref.advance(ctx, (&ready.ours, &sealed), land)? {
        Some(()) => Ok(Ok(sealed)),
        None => refused(format!("{} was moved by somebody else", run_ref(ctx))),
    }
}

/// Merges a planning file that both the run and people changed; `None` for other files.
fn merge_planning_file(path: &str, versions: [&[u8]; 3]) -> Option<Vec<u8>> {
    let (dir, file) = path.rsplit_once('/')?;
    let is_planning = dir == ".planning" || dir.ends_with("/.planning");
    planning_merge::merge_file(file, versions).filter(|_| is_planning)
}
