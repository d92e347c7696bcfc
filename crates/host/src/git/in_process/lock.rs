//! Lock files as git uses them: the new content is written to `<file>.lock`, then renamed over the
//! file.
//!
//! A lock file that exists already belongs to another process and is never touched.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use gix::lock::acquire::Fail;

/// How long to wait for a lock that another process holds, an agent's git for instance.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(1);

/// A lock file held by this process; dropping it releases the lock.
pub(super) struct LockFile(gix::lock::File);

impl LockFile {
    /// Locks a file; `None` when another process does not release the lock in time.
    pub(super) fn acquire(target: &Path) -> Option<Self> {
        let wait = Fail::AfterDurationWithBackoff(LOCK_WAIT_MAX);
        gix::lock::File::acquire_to_update_resource(target, wait, None, 0).ok().map(Self)
    }

    /// Writes the new content to the lock file.
    pub(super) fn write<T>(&mut self, write: impl FnOnce(&mut File) -> io::Result<T>) -> Option<T> {
        self.0.with_mut(write).ok()
    }

    /// Renames the lock file over the locked file.
    pub(super) fn commit(self) -> Option<()> {
        self.0.commit().ok().map(drop)
    }
}
