//! Merges phases outside of a run (`mow merge`), in the way a run does it.
//!
//! The merges are made on a separate ref for each target branch. The ref is deleted once the branch
//! is fast-forwarded to it; if a crash leaves the ref, the next manual merge continues from it.

use std::path::Path;
use std::sync::mpsc;

use mow_core::lead::{ConflictedFile, Outcome};
use mow_core::money::{AgentSpending, Spending};
use mow_core::phase::PhaseNumber;
use mow_host::git::Git;
use mow_host::merge::{self as host_merge, MergeComputation, MergeOutcome};
use mow_host::rescue;
use mow_store::project::Project;
use mow_store::run_files::RunDir;

use super::effects::RepositoryAccess;
use super::merge::{PhaseMerge, conflicted_files};
use super::run_ref::run_ref;
use super::user_branch::fast_forward_branch;
use super::wake_reason::{QUEUE_MAX, WakeReason};
use super::{acquire_lead_lock, merge_check, resolve_target};
use crate::EngineError;
use crate::run_context::{BY_HAND, RunContext};

/// Which phases to merge, and into which branch.
#[derive(Clone, Copy, Debug)]
pub struct ManualMerge<'a> {
    /// The project of the phases.
    pub project: &'a Project,
    /// The mow program.
    pub exe: &'a Path,
    /// The phases, in the order in which they are merged.
    pub phases: &'a [PhaseNumber],
    /// The target branch; `None` for the one that a run would use.
    pub into: Option<&'a str>,
    /// Whether to compute the result without changing anything.
    pub dry_run: bool,
}

/// The result of a manual merge.
#[derive(Clone, Debug)]
pub struct ManualMergeResult {
    /// The target branch.
    pub target: String,
    /// Each phase with its branch and its outcome.
    pub phases: Vec<(PhaseNumber, String, ManualMergeOutcome)>,
    /// If the target branch could not be fast-forwarded: the reason, and the command that does it.
    pub refused: Option<(String, String)>,
    /// What agents used to resolve conflicts, by phase.
    pub spent: Vec<(PhaseNumber, AgentSpending)>,
}

/// The outcome for one phase.
#[derive(Clone, Debug)]
pub enum ManualMergeOutcome {
    /// The phase was merged; in a dry run, it can be merged.
    Merged {
        /// The merge commit; `None` in a dry run.
        commit: Option<String>,
        /// What was left out of the merge; may be empty.
        note: String,
    },
    /// The phase was in the target before.
    AlreadyMerged,
    /// The phase conflicts with the target; nothing was changed.
    Conflict {
        /// The files in conflict.
        files: Vec<ConflictedFile>,
        /// How a person resolves the conflicts.
        settle: String,
    },
    /// The phase could not be merged.
    Failed {
        /// The reason, for people.
        reason: String,
    },
}

/// Merges phases one after the other, then fast-forwards the target branch.
///
/// A phase that cannot be merged is skipped; the following ones are merged without it.
pub fn merge_manually(job: ManualMerge<'_>) -> Result<ManualMergeResult, EngineError> {
    let project = job.project.in_main_worktree()?;
    let _lock = acquire_lead_lock(&project)?;
    let git = Git::new(project.repository.as_ref().map_or(&project.root, |r| &r.top));
    let (target, tip) = resolve_target(&project, &git, job.into)?;
    let name = format!("{BY_HAND}-{}", target.replace('%', "%25").replace('/', "%2F"));
    let run = RunDir::new(&project.engine_dir.join(BY_HAND), &name)?;
    let ctx = RunContext::at(project, run, job.exe);
    let mut result =
        ManualMergeResult { target, phases: Vec::new(), refused: None, spent: Vec::new() };
    if job.dry_run {
        dry_run(&ctx, &git, job.phases, &tip, &mut result)?;
        return Ok(result);
    }
    set_run_ref(&ctx, &git, &tip)?;
    // One merge sends a few messages. They are taken out before the next merge, because nobody
    // else reads them.
    let (sender, messages) = mpsc::sync_channel(QUEUE_MAX);
    let repository = RepositoryAccess::new(&ctx, sender);
    for number in job.phases {
        let phase = phase_merge(&ctx, number)?;
        let branch = phase.worktree.branch().to_owned();
        let head = branch_head(&git, &branch)?;
        let before = git.commit_of(&run_ref(&ctx))?;
        let was_merged = before.is_some_and(|tip| git.is_ancestor(&head, &tip).unwrap_or(false));
        let outcome = phase.merge(&head, (None, None), &repository)?;
        result.phases.push((*number, branch, manual_outcome(outcome, was_merged)));
        result.spent.extend(messages.try_iter().filter_map(spending_of));
    }
    fast_forward_target(&ctx, &git, &mut result, &repository)?;
    result.spent.extend(messages.try_iter().filter_map(spending_of));
    Ok(result)
}

fn spending_of(message: WakeReason) -> Option<(PhaseNumber, AgentSpending)> {
    match message {
        WakeReason::Spent(phase, spent) => Some((phase, spent)),
        _ => None,
    }
}

fn phase_merge<'a>(
    ctx: &'a RunContext,
    number: &'a PhaseNumber,
) -> Result<PhaseMerge<'a>, EngineError> {
    PhaseMerge::new(ctx, number, 0, Spending::default())
}

fn branch_head(git: &Git, branch: &str) -> Result<String, EngineError> {
    git.commit_of(&format!("refs/heads/{branch}"))?.ok_or_else(|| {
        EngineError::refused(format!("there is no branch {branch}"), "git branch --list")
    })
}

fn manual_outcome(outcome: Outcome, was_merged: bool) -> ManualMergeOutcome {
    match outcome {
        Outcome::Merged { .. } if was_merged => ManualMergeOutcome::AlreadyMerged,
        Outcome::Merged { commit, note } => {
            ManualMergeOutcome::Merged { commit: Some(commit), note }
        }
        Outcome::Conflict { files, settle } => ManualMergeOutcome::Conflict { files, settle },
        Outcome::Failed { reason } => ManualMergeOutcome::Failed { reason },
        _ => ManualMergeOutcome::Failed { reason: "git gave no answer".to_owned() },
    }
}

/// Sets the run ref to the commit of the branch, unless it is ahead of the branch.
///
/// It is ahead if the fast-forward after an earlier manual merge was refused.
fn set_run_ref(ctx: &RunContext, git: &Git, tip: &str) -> Result<(), EngineError> {
    let name = run_ref(ctx);
    let old = git.commit_of(&name)?;
    if let Some(old) = &old {
        if git.is_ancestor(tip, old)? {
            return Ok(());
        }
        if !git.is_ancestor(old, tip)? {
            rescue::keep_commit(git, ctx.run.run(), old)?;
        }
    }
    let from = old.unwrap_or_default();
    git.run(&["update-ref", "-m", "mow: merge by hand", &name, tip, &from])?;
    Ok(())
}

/// Fast-forwards the target branch; deletes the run ref when that worked.
fn fast_forward_target(
    ctx: &RunContext,
    git: &Git,
    result: &mut ManualMergeResult,
    repository: &RepositoryAccess,
) -> Result<(), EngineError> {
    merge_check::remove_checkout(ctx)?;
    let name = run_ref(ctx);
    let Some(tip) = git.commit_of(&name)? else { return Ok(()) };
    match fast_forward_branch(ctx, &result.target, ["", &tip], repository)? {
        Outcome::Refused { reason, command } => result.refused = Some((reason, command)),
        Outcome::Failed { reason } => result.refused = Some((reason, String::new())),
        _ => {
            for (number, _, outcome) in &result.phases {
                if matches!(
                    outcome,
                    ManualMergeOutcome::Merged { .. } | ManualMergeOutcome::AlreadyMerged
                ) {
                    phase_merge(ctx, number)?.finish(&tip)?;
                }
            }
            let tip = git.commit_of(&name)?.unwrap_or(tip);
            if git.is_ancestor(&tip, &format!("refs/heads/{}", result.target))? {
                git.run(&["update-ref", "-d", &name, &tip])?;
            }
        }
    }
    Ok(())
}

/// Computes the outcome of merging the phases, each on top of the ones before it.
fn dry_run(
    ctx: &RunContext,
    git: &Git,
    phases: &[PhaseNumber],
    tip: &str,
    result: &mut ManualMergeResult,
) -> Result<(), EngineError> {
    let mut onto = tip.to_owned();
    for number in phases {
        let phase = phase_merge(ctx, number)?;
        let head = branch_head(git, phase.worktree.branch())?;
        let mut job = phase.job(git, &head)?;
        // The message has no trailers, so earlier merges are known by their commits alone.
        (job.run_ref, job.message) = (onto.clone(), format!("Merge phase {number}"));
        let outcome = match host_merge::compute(git, &job)? {
            MergeComputation::Ready(ready) => {
                onto = host_merge::trial_commit(git, &ready)?;
                let left = ready.left_out.join(", ");
                let note = if left.is_empty() { left } else { format!("left out: {left}") };
                ManualMergeOutcome::Merged { commit: None, note }
            }
            MergeComputation::Final(MergeOutcome::Conflict { files }) => {
                let settle = phase.resolution_hint(&result.target, &files);
                ManualMergeOutcome::Conflict { files: conflicted_files(&files), settle }
            }
            MergeComputation::Final(_) => ManualMergeOutcome::AlreadyMerged,
        };
        result.phases.push((*number, phase.worktree.branch().to_owned(), outcome));
    }
    Ok(())
}
