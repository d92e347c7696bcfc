//! Fast-forwards the user's branch to the last run before a new run starts, if it was left behind.
//!
//! A branch is behind if the lead died while it fast-forwarded the branch, or if the fast-forward
//! was refused. A new run starts from the files in the main root, so this runs before phases are
//! selected.

use std::path::Path;
use std::sync::mpsc;

use mow_core::lead::{Lead, Outcome, RunStatus};
use mow_host::fast_forward::{self, RETRY_COMMAND};
use mow_host::git::Git;
use mow_store::disk::Lock;
use mow_store::project::Project;
use mow_store::run_files;
use mow_store::worktree_home::worktrees_lock;

use super::effects::RepositoryAccess;
use super::wake_reason::{QUEUE_MAX, WakeReason};
use super::{acquire_lead_lock, load_run, user_branch};
use crate::EngineError;
use crate::repository_lock::REPOSITORY_LOCK_WAIT;
use crate::run_context::RunContext;

/// A branch that could not be fast-forwarded to the last run.
#[derive(Clone, Debug)]
pub struct StaleBranch {
    /// The run whose work is not in the branch.
    pub run: String,
    /// The user's branch.
    pub branch: String,
    /// Why the fast-forward was refused.
    pub reason: String,
    /// The command that a person can run to finish the fast-forward.
    pub command: String,
}

/// Finishes a fast-forward that a dead lead began, and retries the one that the last run was
/// refused.
///
/// Returns the reason if the branch is still behind. Does nothing while a lead runs: that lead
/// fast-forwards the branch itself. Progress is passed to `notify`.
pub fn catch_up_branch(
    project: &Project,
    exe: &Path,
    mut notify: impl FnMut(&str),
) -> Result<Option<StaleBranch>, EngineError> {
    let project = project.in_main_worktree()?;
    let top = project.top();
    let last = load_refused_run(&project, exe)?;
    if last.is_none() && !fast_forward::has_unfinished(top)? {
        return Ok(None);
    }
    let _lock = match acquire_lead_lock(&project) {
        Err(EngineError::LeadRunning { .. }) => return Ok(None),
        lock => lock?,
    };
    // A lead of another project in the same repository may be fast-forwarding the same branch.
    let _alone = Lock::acquire(&worktrees_lock(&project), REPOSITORY_LOCK_WAIT)?;
    // An interrupted fast-forward leaves half of the files, which must not count as changes of the
    // user.
    let planning = project.planning_below_top();
    if let Some(branch) = fast_forward::finish_interrupted(top, &[planning])? {
        notify(&format!("the interrupted fast-forward of {branch} is finished"));
    }
    last.map_or(Ok(None), |(ctx, lead)| retry_fast_forward(&ctx, lead, notify))
}

/// Returns the last run if it is finished and its fast-forward was refused.
fn load_refused_run(
    project: &Project,
    exe: &Path,
) -> Result<Option<(RunContext, Lead)>, EngineError> {
    let Some(run) = run_files::latest_run(project)? else { return Ok(None) };
    let ctx = RunContext::new(project, &run, exe)?;
    let (lead, _) = load_run(&ctx.run)?;
    let is_refused = lead.target.refusal.is_some() && lead.status() == RunStatus::Done;
    Ok(is_refused.then_some((ctx, lead)))
}

/// Retries the fast-forward of the last run.
fn retry_fast_forward(
    ctx: &RunContext,
    lead: Lead,
    mut notify: impl FnMut(&str),
) -> Result<Option<StaleBranch>, EngineError> {
    // One fast-forward sends at most a few notices, which are read after it.
    let (sender, messages) = mpsc::sync_channel(QUEUE_MAX);
    let (commits, repository) =
        ([&*lead.target.branch_tip, &*lead.target.tip], RepositoryAccess::new(ctx, sender));
    let full = format!("refs/heads/{}", lead.target.branch);
    let branch_commit = || Git::new(ctx.top()).commit_of(&full);
    let before = branch_commit()?;
    let outcome = user_branch::fast_forward_branch(ctx, &lead.target.branch, commits, &repository)?;
    for message in messages.try_iter() {
        if let WakeReason::Notice(text) = message {
            notify(&text);
        }
    }
    let (run, branch) = (ctx.run.run().to_owned(), lead.target.branch);
    Ok(match outcome {
        Outcome::Refused { reason, command } => Some(StaleBranch { run, branch, reason, command }),
        Outcome::Failed { reason } => {
            Some(StaleBranch { run, branch, reason, command: RETRY_COMMAND.to_owned() })
        }
        _ => {
            if branch_commit()? != before {
                notify(&format!("{branch} now has the work of run {run}"));
            }
            None
        }
    })
}
