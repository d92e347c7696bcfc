//! What somebody began in a worktree and did not finish: a merge, a cherry-pick, a revert, a rebase.

use std::path::Path;

use crate::git::{Git, GitError};

/// What git keeps while it waits for a person to settle conflicts.
const SETTLING: [&str; 4] = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "sequencer"];
/// What it keeps of a series of commits that it puts elsewhere.
const MOVING: [&str; 2] = ["rebase-merge", "rebase-apply"];

/// Returns whether somebody merges in a worktree, by hand, and has not finished.
pub fn is_merging(worktree: &Path) -> bool {
    let own = Git::at_top(worktree).git_dir();
    own.is_ok_and(|own| own.join("MERGE_HEAD").exists())
}

/// Returns whether anything was begun and not finished.
pub fn is_anything(worktree: &Git) -> Result<bool, GitError> {
    let own = worktree.git_dir()?;
    Ok(SETTLING.iter().chain(&MOVING).any(|name| own.join(name).exists()))
}

/// Forgets what was begun; files, index and branch stay as they are.
pub fn quit(worktree: &Git) -> Result<(), GitError> {
    let (git, own) = (worktree.plumbing(), worktree.git_dir()?);
    if MOVING.iter().any(|name| own.join(name).exists()) {
        // Patches that are applied one by one look like a rebase, and git knows which it is.
        let is_applying = own.join("rebase-apply/applying").exists();
        git.run(&[if is_applying { "am" } else { "rebase" }, "--quit"])?;
    }
    if SETTLING.iter().any(|name| own.join(name).exists()) {
        // It forgets merges and reverts, too.
        git.run(&["cherry-pick", "--quit"])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
