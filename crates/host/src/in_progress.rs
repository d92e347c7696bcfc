//! Detects and quits unfinished git operations in a worktree: merge, cherry-pick, revert, rebase,
//! `am`.

use std::path::Path;

use crate::git::{Git, GitError};

/// Files that exist while git waits for a person to resolve conflicts.
const CONFLICT_STATE: [&str; 4] = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "sequencer"];
/// Directories that exist while git rebases or applies a series of commits.
const REBASE_STATE: [&str; 2] = ["rebase-merge", "rebase-apply"];

/// Returns whether a merge in this worktree is unfinished.
pub fn is_merging(worktree: &Path) -> bool {
    let own = Git::at_top(worktree).git_dir();
    own.is_ok_and(|own| own.join("MERGE_HEAD").exists())
}

/// Returns whether any operation is unfinished.
pub fn has_operation(worktree: &Git) -> Result<bool, GitError> {
    let own = worktree.git_dir()?;
    Ok(CONFLICT_STATE.iter().chain(&REBASE_STATE).any(|name| own.join(name).exists()))
}

/// Quits unfinished operations; files, index and branch stay as they are.
pub fn quit_operation(worktree: &Git) -> Result<(), GitError> {
    let (git, own) = (worktree.plumbing(), worktree.git_dir()?);
    if REBASE_STATE.iter().any(|name| own.join(name).exists()) {
        // `git am` uses the same directory as a rebase, but each needs its own `--quit`.
        let is_applying = own.join("rebase-apply/applying").exists();
        git.run(&[if is_applying { "am" } else { "rebase" }, "--quit"])?;
    }
    if CONFLICT_STATE.iter().any(|name| own.join(name).exists()) {
        // This command also quits merges and reverts.
        git.run(&["cherry-pick", "--quit"])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
