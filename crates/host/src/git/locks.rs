//! Waits for earlier git processes in a worktree, and removes the lock files of killed ones, which
//! would keep every later git out.
//!
//! A git that mow started goes on when mow is killed, and so do the helpers of a killed git. This
//! module waits for them. It removes only lock files of one worktree and its branch, and only when
//! no git runs there.

#![expect(clippy::disallowed_methods, reason = "the owners of these lock files are gone")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Git, GitError};
use crate::process::wait_for_programs;

/// How long an earlier git may take to finish.
const FINISHED_WITHIN: Duration = Duration::from_secs(60);
/// How long a git may take that runs in a worktree with lock files. It may be the user's and wait
/// for an editor.
const UNLOCKED_WITHIN: Duration = Duration::from_secs(10);
/// The age at which a lock counts as stale, on systems that do not tell in which directory a
/// program runs.
const OLD_AFTER: Duration = Duration::from_secs(60);

/// Waits until no git that an earlier mow process started works on a worktree; returns the process
/// ids that remain.
pub(crate) fn wait_for_running_git(path: &Path) -> Vec<u32> {
    wait_for_programs("git", path, false, FINISHED_WITHIN).unwrap_or_default()
}

/// Removes the lock files that a killed git left in this worktree.
pub(crate) fn remove_stale_locks(worktree: &Git) -> Result<(), GitError> {
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
        // If a lock cannot be removed, the next git command reports it.
        fs::remove_file(lock).ok();
    }
    Ok(())
}

/// Removes the lock file of a ref whose writer was killed.
pub(crate) fn remove_stale_ref_lock(git: &Git, name: &str) -> Result<(), GitError> {
    let lock = git.common_dir()?.join(format!("{name}.lock"));
    if lock.exists() && !is_busy(git.dir(), &lock) {
        fs::remove_file(lock).ok();
    }
    Ok(())
}

/// Finds the temporary indexes of killed partial commits. They block nobody, but nothing else
/// removes them.
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
