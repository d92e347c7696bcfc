//! Lock files that a killed git left in a worktree, which would keep every later git out.
//!
//! Only those of one worktree and of its own branch are touched, and only when no git works there.

#![expect(clippy::disallowed_methods, reason = "the lock files are nobody's any more")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::{Git, GitError};
use crate::process::programs_in;

/// On systems that do not tell where programs work, a lock of this age is taken for left behind.
const OLD_AFTER: Duration = Duration::from_secs(60);

/// Removes what a killed git left locked in this worktree.
pub(crate) fn clear_stale(worktree: &Git) -> Result<(), GitError> {
    let own = worktree.git_dir()?;
    let mut locks = vec![own.join("index.lock"), own.join("HEAD.lock")];
    if let Some(branch) = worktree.current_branch()? {
        locks.push(worktree.common_dir()?.join(format!("refs/heads/{branch}.lock")));
    }
    locks.retain(|lock| lock.exists());
    if locks.is_empty() || is_busy(worktree.dir(), &locks[0]) {
        return Ok(());
    }
    for lock in locks {
        // If it cannot be removed, the next step of git says so.
        fs::remove_file(lock).ok();
    }
    Ok(())
}

fn is_busy(dir: &Path, lock: &Path) -> bool {
    match programs_in(dir, "git") {
        Some(pids) => !pids.is_empty(),
        None => {
            let age = fs::metadata(lock).and_then(|lock| lock.modified()).map(|at| at.elapsed());
            !matches!(age, Ok(Ok(age)) if age > OLD_AFTER)
        }
    }
}

#[cfg(test)]
mod tests;
