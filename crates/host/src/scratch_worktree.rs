//! A detached worktree in which merges and checks are tried before anybody sees them.
//!
//! It holds nobody's work: the next use discards all changes. A caller that lets a person or an
//! agent work in it saves the result. Ignored files stay, so that builds are incremental. It is
//! removed when its run is closed.

use std::path::Path;

use crate::git::private_index::PrivateIndex;
use crate::git::{Git, GitError, locks};
use crate::phase_worktree::WorktreeError;
use crate::rescue::{RescueError, add_all};

/// Checks out a commit in the scratch worktree without any other changes; creates the worktree if
/// needed.
pub fn check_out(root: &Path, path: &Path, commit: &str) -> Result<Git, WorktreeError> {
    let git = Git::new(root).plumbing();
    let exists = path.join(".git").is_file() && is_scratch_worktree(&git, path)?;
    if !exists {
        if path.exists() {
            return Err(WorktreeError::PathOccupied { path: path.to_path_buf() });
        }
        // `--force` only overrides a stale entry whose directory is gone.
        let words = ["worktree", "add", "--quiet", "--force", "--detach"].map(AsRef::as_ref);
        git.run(&[&words[..], &[path.as_os_str(), commit.as_ref()]].concat())?;
    }
    let scratch = Git::at_top(path).plumbing();
    if exists {
        locks::remove_stale_locks(&scratch)?;
        scratch.run(&["reset", "--quiet", "--hard"])?;
        scratch.run(&["clean", "--quiet", "-d", "--force"])?;
        scratch.run(&["checkout", "--quiet", "--force", "--detach", commit])?;
    }
    Ok(scratch)
}

/// Writes all files that are not ignored as a tree, and returns its hash. A merge in progress stays
/// as it is.
pub fn snapshot(git: &Git) -> Result<String, RescueError> {
    let index = PrivateIndex::of_worktree(git)?;
    add_all(&index)?;
    Ok(index.write_tree()?)
}

/// Removes the scratch worktree, if it exists and belongs to this repository.
pub fn remove(root: &Path, path: &Path) -> Result<(), GitError> {
    let git = Git::new(root).plumbing();
    if !path.join(".git").is_file() || !is_scratch_worktree(&git, path)? {
        return Ok(());
    }
    let words = ["worktree", "remove", "--force"].map(AsRef::as_ref);
    git.run(&[&words[..], &[path.as_os_str()]].concat()).map(drop)
}

/// Returns whether a directory is a detached worktree of this repository.
fn is_scratch_worktree(git: &Git, path: &Path) -> Result<bool, GitError> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let is_same = |other: &Path| other.canonicalize().is_ok_and(|other| other == real);
    Ok(git.worktrees()?.iter().any(|tree| tree.branch.is_none() && is_same(&tree.path)))
}

#[cfg(test)]
mod tests;
