//! Serialises changes to a repository.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mow_store::disk::Lock;
use mow_store::project::Project;
use mow_store::worktree_home::worktrees_lock;

use crate::EngineError;

/// How long to wait for another mow process that changes the repository.
pub(crate) const REPOSITORY_LOCK_WAIT: Duration = Duration::from_secs(600);

/// Serialises changes to the repository: against other threads of this process, against leads of
/// other projects in the repository, and against commands that make worktrees.
#[derive(Debug)]
pub(crate) struct RepositoryLock {
    /// Serialises the threads of this process.
    threads: Mutex<()>,
    /// The lock file that serialises processes.
    path: PathBuf,
}

impl RepositoryLock {
    pub(crate) fn new(project: &Project) -> Self {
        Self { threads: Mutex::default(), path: worktrees_lock(project) }
    }

    /// Runs a function while this process holds the lock.
    pub(crate) fn exclusively<T>(
        &self,
        act: impl FnOnce() -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let _threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let _processes = Lock::acquire(&self.path, REPOSITORY_LOCK_WAIT)?;
        act()
    }
}
