//! Merges a branch with `git merge` in the main root.
//!
//! This is the only merge that does not go through the engine, because the contract asks for it.
//! If the target is checked out and clean in the main root, the merge has the contract's message
//! and runs the user's hooks. With conflicts it stays in progress, for a person to resolve.
//! The merges of a run and of `mow merge` never touch a checkout before they are complete, so they
//! leave nothing in progress.

use mow_host::git::Git;

use super::{BranchMerge, BranchMergeResult};
use crate::failure::Failure;

/// Merges in the main root, where the target is checked out; `abort` aborts a merge with conflicts.
pub(super) fn merge(
    git: &Git,
    merge: &BranchMerge,
    abort: bool,
) -> Result<BranchMergeResult, Failure> {
    let full = format!("refs/heads/{}", merge.branch);
    let answer = git.ask(&["merge", "--no-ff", "--quiet", "-m", &merge.message, &full])?;
    if answer.success {
        return Ok(BranchMergeResult::Merged);
    }
    let conflicts = git.conflicts()?;
    if conflicts.is_empty() {
        return Err(Failure::refused(format!(
            "git could not merge {}: {}",
            merge.branch,
            answer.error_line()
        )));
    }
    if abort {
        git.run(&["merge", "--abort"])?;
    }
    Ok(BranchMergeResult::Conflicts(conflicts))
}
