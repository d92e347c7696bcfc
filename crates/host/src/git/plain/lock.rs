//! Files that are written beside their place and put there when they are whole, as git does it.
//!
//! A lock that is there is never touched: somebody else has it.

#![expect(clippy::disallowed_methods, reason = "these files are made and removed here alone")]

use std::fs::{self, File};
use std::path::PathBuf;

/// A file that keeps others out while it is there.
pub(super) struct Lock {
    path: PathBuf,
    target: PathBuf,
    pub(super) file: File,
    is_held: bool,
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.is_held {
            fs::remove_file(&self.path).ok();
        }
    }
}

impl Lock {
    /// `None` when somebody else has it.
    pub(super) fn take(target: PathBuf) -> Option<Self> {
        let mut path = target.clone().into_os_string();
        path.push(".lock");
        let path = PathBuf::from(path);
        let file = fs::OpenOptions::new().write(true).create_new(true).open(&path).ok()?;
        Some(Self { path, target, file, is_held: true })
    }

    /// Puts the file in the place of its target.
    pub(super) fn commit(mut self) -> Option<()> {
        fs::rename(&self.path, &self.target).ok()?;
        // Another one of this name is somebody else's.
        self.is_held = false;
        Some(())
    }
}
