//! A checkout beside all others, to try a merge in before anybody sees it.
//!
//! Nothing in it is anybody's work, and whatever was there is gone with the next use: who lets a
//! person or an agent work in it keeps the result. Ignored files stay, so that a build need not
//! begin anew each time. It is removed when its run is closed.

use std::path::Path;

use crate::git::index::PrivateIndex;
use crate::git::{Git, GitError, locks};
use crate::phase_worktree::WorktreeError;
use crate::rescue::{RescueError, add_all};

/// Makes the checkout stand at a commit, with nothing else in it; makes it if it is not there.
pub fn check_out(root: &Path, path: &Path, commit: &str) -> Result<Git, WorktreeError> {
    let git = Git::new(root).plumbing();
    let is_there = path.join(".git").is_file() && is_ours(&git, path)?;
    if !is_there {
        if path.exists() {
            return Err(WorktreeError::InTheWay { path: path.to_path_buf() });
        }
        // An entry without its directory is in the way, and never anything else.
        let words = ["worktree", "add", "--quiet", "--force", "--detach"].map(AsRef::as_ref);
        git.run(&[&words[..], &[path.as_os_str(), commit.as_ref()]].concat())?;
    }
    let scratch = Git::at_top(path).plumbing();
    if is_there {
        locks::clear_stale(&scratch)?;
        scratch.run(&["reset", "--quiet", "--hard"])?;
        scratch.run(&["clean", "--quiet", "-d", "--force"])?;
        scratch.run(&["checkout", "--quiet", "--force", "--detach", commit])?;
    }
    Ok(scratch)
}

/// Returns the tree of all that is in the checkout now, but for what is ignored. A merge that is in
/// progress stays as it is.
pub fn snapshot(git: &Git) -> Result<String, RescueError> {
    let index = PrivateIndex::of_worktree(git)?;
    add_all(&index)?;
    Ok(index.write_tree()?)
}

/// Removes the checkout, if it is there and a checkout of this repository.
pub fn remove(root: &Path, path: &Path) -> Result<(), GitError> {
    let git = Git::new(root).plumbing();
    if !path.join(".git").is_file() || !is_ours(&git, path)? {
        return Ok(());
    }
    let words = ["worktree", "remove", "--force"].map(AsRef::as_ref);
    git.run(&[&words[..], &[path.as_os_str()]].concat()).map(drop)
}

/// Returns whether a directory is a checkout of this repository without a branch.
fn is_ours(git: &Git, path: &Path) -> Result<bool, GitError> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let is_it = |place: &Path| place.canonicalize().is_ok_and(|place| place == real);
    Ok(git.worktrees()?.iter().any(|tree| tree.branch.is_none() && is_it(&tree.path)))
}

#[cfg(test)]
mod tests;
