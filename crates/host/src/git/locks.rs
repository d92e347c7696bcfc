//! What an earlier git left in a worktree: itself, still at work, or the lock files of one that was
//! killed, which would keep every later git out.
//!
//! A git that we started goes on when we are killed, and so do the helpers of one that was killed.
//! They are waited for. Only lock files of one worktree and of its own branch are removed, and only
//! when no git works there.

#![expect(clippy::disallowed_methods, reason = "the lock files are nobody's any more")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Git, GitError};
use crate::process::wait_for_programs;

/// How long an earlier git may take to finish.
const FINISHED_WITHIN: Duration = Duration::from_secs(60);
/// How long one that works in a worktree with lock files may take: it may be the user's, and wait
/// for an editor.
const UNLOCKED_WITHIN: Duration = Duration::from_secs(10);
/// On systems that do not tell where programs work, a lock of this age is taken for left behind.
const OLD_AFTER: Duration = Duration::from_secs(60);

/// Waits for a git that was started by an earlier process of ours to finish with a worktree; returns
/// those that do not.
pub(crate) fn wait_until_quiet(path: &Path) -> Vec<u32> {
    wait_for_programs("git", path, false, FINISHED_WITHIN).unwrap_or_default()
}

/// Removes what a killed git left locked in this worktree.
pub(crate) fn clear_stale(worktree: &Git) -> Result<(), GitError> {
    let own = worktree.git_dir()?;
    let names = ["index.lock", "HEAD.lock", "ORIG_HEAD.lock"];
    let mut locks: Vec<_> = names.iter().map(|name| own.join(name)).collect();
    if let Some(branch) = worktree.current_branch()? {
        locks.push(worktree.common_dir()?.join(format!("refs/heads/{branch}.lock")));
    }
    locks.retain(|lock| lock.exists());
    locks.extend(partial_commits(&own));
    if locks.is_empty() || is_busy(worktree.dir(), &locks[0]) {
        return Ok(());
    }
    for lock in locks {
        // If it cannot be removed, the next step of git says so.
        fs::remove_file(lock).ok();
    }
    Ok(())
}

/// Removes the lock of a reference that was left by somebody who was making or moving it.
pub(crate) fn clear_reference(git: &Git, name: &str) -> Result<(), GitError> {
    let lock = git.common_dir()?.join(format!("{name}.lock"));
    if lock.exists() && !is_busy(git.dir(), &lock) {
        fs::remove_file(lock).ok();
    }
    Ok(())
}

/// Finds the indexes of commits of a part of the changes, which keep nobody out but stay for ever.
fn partial_commits(git_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(git_dir).into_iter().flatten().flatten();
    let is_one = |name: &str| name.starts_with("next-index-") && name.ends_with(".lock");
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_one))
        .map(|entry| entry.path())
        .collect()
}

fn is_busy(dir: &Path, lock: &Path) -> bool {
    match wait_for_programs("git", dir, true, UNLOCKED_WITHIN) {
        Some(pids) => !pids.is_empty(),
        None => {
            let age = fs::metadata(lock).and_then(|lock| lock.modified()).map(|at| at.elapsed());
            !matches!(age, Ok(Ok(age)) if age > OLD_AFTER)
        }
    }
}

#[cfg(test)]
mod tests;
