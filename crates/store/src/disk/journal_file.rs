//! The file of a journal: opened once, locked for each write, truncated after a torn write.
//!
//! It does not use the project's lock. Each journal is locked by itself, so that the processes of a
//! run never wait for a command of the user. The lines are not interpreted here.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use super::lock::{lock_error, lock_within};
use super::{DiskError, sync_parent, syscalls};

/// An append-only file, open for reading and appending.
#[derive(Debug)]
pub(crate) struct JournalFile {
    file: File,
    path: PathBuf,
    /// Set when a sync failed; see [`Self::sync`].
    is_lost: Cell<bool>,
}

impl JournalFile {
    /// Opens the file, or creates an empty one. A symbolic link is refused.
    pub(crate) fn open(path: &Path) -> Result<Self, DiskError> {
        let file = open(path, true).map_err(DiskError::io("open", path))?;
        Ok(Self { file, path: path.to_path_buf(), is_lost: Cell::new(false) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `act` while no other process or thread can write to the file.
    pub(crate) fn with_lock<T, E: From<DiskError>>(
        &mut self,
        wait: Duration,
        act: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        self.lock(wait)?;
        let outcome = act(self);
        self.file.unlock().map_err(DiskError::io("unlock", &self.path))?;
        outcome
    }

    fn lock(&mut self, wait: Duration) -> Result<(), DiskError> {
        if self.file.try_lock().is_ok() {
            return Ok(());
        }
        // After a timeout, the waiting thread still locks its file handle at some time. So the wait
        // uses a new handle, which replaces this one when it gets the lock.
        let start = Instant::now();
        let new = open(&self.path, false).map_err(DiskError::io("open", &self.path))?;
        match lock_within(new, wait).map_err(|error| lock_error(&self.path, error))? {
            Some(file) => {
                self.file = file;
                Ok(())
            }
            None => Err(DiskError::Busy {
                path: self.path.clone(),
                holder: None,
                waited: start.elapsed(),
            }),
        }
    }

    /// Returns the file's length in bytes; a deleted file is an error.
    pub(crate) fn length(&self) -> Result<u64, DiskError> {
        let metadata = self.file.metadata().map_err(DiskError::io("read", &self.path))?;
        if metadata.nlink() == 0 {
            return Err(DiskError::io("find", &self.path)(io::ErrorKind::NotFound.into()));
        }
        Ok(metadata.len())
    }

    /// Reads all bytes from an offset to the end.
    pub(crate) fn read_from(&self, offset: u64) -> Result<Vec<u8>, DiskError> {
        read_from(&self.file, offset).map_err(DiskError::io("read", &self.path))
    }

    /// Writes bytes at the end. After an error, some of them may be in the file.
    pub(crate) fn append(&self, bytes: &[u8]) -> Result<(), DiskError> {
        syscalls::append(&self.file, &self.path, bytes)
            .map_err(DiskError::io("append to", &self.path))
    }

    /// Truncates the file to a length, durably.
    ///
    /// Without the sync, the next write could reach the disk before the truncation does, followed
    /// by the rest of the old bytes.
    pub(crate) fn truncate(&self, length: u64) -> Result<(), DiskError> {
        syscalls::truncate(&self.file, &self.path, length)
            .map_err(DiskError::io("cut", &self.path))?;
        self.sync()
    }

    /// Makes the content durable.
    ///
    /// After a failed sync the kernel may drop the unwritten data and report success for the next
    /// sync. So the failure is remembered, and [`Self::is_lost`] is true from then on.
    pub(crate) fn sync(&self) -> Result<(), DiskError> {
        let synced = sync(&self.file, &self.path);
        self.is_lost.set(self.is_lost.get() || synced.is_err());
        synced
    }

    /// Returns whether a sync failed, so that the content of the disk is unknown.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.get()
    }

    /// Makes the file's directory entry durable.
    pub(crate) fn sync_name(&self) -> Result<(), DiskError> {
        sync_parent(&self.path)
    }
}

fn open(path: &Path, create: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(create);
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    let file = syscalls::open(&options, path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file"))
}

/// Makes the content of a file durable, also bytes that another process wrote.
pub(crate) fn sync(file: &File, path: &Path) -> Result<(), DiskError> {
    syscalls::sync(file, path).map_err(DiskError::io("sync", path))
}

/// Reads all bytes of a file from an offset to the end.
pub(crate) fn read_from(file: &File, offset: u64) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len().saturating_sub(offset);
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            // Another process truncated the file meanwhile.
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
