//! Merges that are only tried: their commits are for no reference.

use super::conflict::{Conflict, merge_tree};
use super::{Merge, MergeError, Ready};
use crate::git::{Git, GitError};
use crate::rescue;

/// Merges two commits in memory, without regard to what was merged before; returns a commit that is
/// for no reference, or the conflicts.
pub fn glimpse(git: &Git, merge: &Merge) -> Result<Result<String, Vec<Conflict>>, MergeError> {
    let git = &git.plumbing();
    let (ours, theirs) = (&merge.run_ref, &merge.branch_commit);
    let merged = merge_tree(git, ours, theirs)?;
    let open = merged.conflicts.into_iter().map(|found| found.conflict);
    let open: Vec<_> = open.filter(|conflict| !merge.settles(&conflict.path)).collect();
    if !open.is_empty() {
        return Ok(Err(open));
    }
    let (ours, theirs) = (ours.clone(), theirs.clone());
    let ready = Ready { ours, theirs, tree: merged.tree, left_out: Vec::new() };
    Ok(Ok(sketch(git, &ready)?))
}

/// Makes a commit of a merge that is only tried: in nobody's name, and never for a reference.
pub fn sketch(git: &Git, ready: &Ready) -> Result<String, GitError> {
    let parents = [ready.ours.clone(), ready.theirs.clone()];
    rescue::commit_tree(&git.plumbing(), &ready.tree, &parents, "A merge that is tried")
}
