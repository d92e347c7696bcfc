//! Git's way to change a file: a new one beside it keeps others out, and takes its place when it is
//! whole.
//!
//! A lock that is there is never touched: somebody else has it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use gix::lock::acquire::Fail;

/// How long somebody else, an agent's git for instance, may have a lock.
const GIVEN_BACK_WITHIN: Duration = Duration::from_secs(1);

/// A file that keeps others out while it is there.
pub(super) struct Lock(gix::lock::File);

impl Lock {
    /// Takes the lock of a file; `None` when somebody else does not give it back in time.
    pub(super) fn take(target: &Path) -> Option<Self> {
        let patience = Fail::AfterDurationWithBackoff(GIVEN_BACK_WITHIN);
        gix::lock::File::acquire_to_update_resource(target, patience, None, 0).ok().map(Self)
    }

    /// Writes the new file.
    pub(super) fn write<T>(&mut self, write: impl FnOnce(&mut File) -> io::Result<T>) -> Option<T> {
        self.0.with_mut(write).ok()
    }

    /// Puts the new file in the place of the old one.
    pub(super) fn commit(self) -> Option<()> {
        self.0.commit().ok().map(drop)
    }
}
