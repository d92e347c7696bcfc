//! Tries merges out; no ref ever points to their commits.

use super::conflict::{Conflict, merge_tree};
use super::{MergeError, MergeJob, ReadyMerge};
use crate::git::{Git, GitError};
use crate::rescue;

/// Merges two commits without checking whether they were merged before.
///
/// Returns a commit that no ref points to, or the open conflicts.
pub fn try_merge(git: &Git, job: &MergeJob) -> Result<Result<String, Vec<Conflict>>, MergeError> {
    let git = &git.plumbing();
    let (ours, theirs) = (&job.run_ref, &job.branch_commit);
    let merged = merge_tree(git, ours, theirs)?;
    let unresolved = merged.conflicts.into_iter().map(|conflict| conflict.conflict);
    let unresolved: Vec<_> =
        unresolved.filter(|conflict| !job.can_resolve(&conflict.path)).collect();
    if !unresolved.is_empty() {
        return Ok(Err(unresolved));
    }
    let (ours, theirs) = (ours.clone(), theirs.clone());
    let ready = ReadyMerge { ours, theirs, tree: merged.tree, left_out: Vec::new() };
    Ok(Ok(trial_commit(git, &ready)?))
}

/// Creates the commit of a trial merge, with mow as its author. It must never get a ref.
pub fn trial_commit(git: &Git, ready: &ReadyMerge) -> Result<String, GitError> {
    let parents = [ready.ours.clone(), ready.theirs.clone()];
    rescue::commit_tree(&git.plumbing(), &ready.tree, &parents, "A merge that is tried")
}
