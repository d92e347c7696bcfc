//! The file under a journal: opened once, locked for each write, cut back when a write was torn.
//!
//! It is not under the project's lock: each journal has its own, on the file itself, so that the
//! processes of a run never wait for a person's command. Knows nothing of what the lines say.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use super::lock::{lock_within, refused};
use super::{DiskError, calls, sync_parent};

/// A file that only grows, open for reading and appending.
#[derive(Debug)]
pub(crate) struct JournalFile {
    file: File,
    path: PathBuf,
    /// Set when a sync failed; see [`Self::sync`].
    is_lost: Cell<bool>,
}

impl JournalFile {
    /// Opens the file and makes an empty one if there is none. A symbolic link is refused.
    pub(crate) fn open(path: &Path) -> Result<Self, DiskError> {
        let file = open(path, true).map_err(DiskError::io("open", path))?;
        Ok(Self { file, path: path.to_path_buf(), is_lost: Cell::new(false) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Does something while no other process or thread can write.
    pub(crate) fn locked<T, E: From<DiskError>>(
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
        // The one who waits may give up, and the file it waited with is then locked at some later
        // time. So it waits with a file of its own, which takes the place of this one.
        let start = Instant::now();
        let other = open(&self.path, false).map_err(DiskError::io("open", &self.path))?;
        match lock_within(other, wait).map_err(|error| refused(&self.path, error))? {
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

    /// Returns how long the file is; one that was deleted is an error.
    pub(crate) fn length(&self) -> Result<u64, DiskError> {
        let metadata = self.file.metadata().map_err(DiskError::io("read", &self.path))?;
        if metadata.nlink() == 0 {
            return Err(DiskError::io("find", &self.path)(io::ErrorKind::NotFound.into()));
        }
        Ok(metadata.len())
    }

    /// Reads all bytes from a position to the end.
    pub(crate) fn read_from(&self, offset: u64) -> Result<Vec<u8>, DiskError> {
        read_from(&self.file, offset).map_err(DiskError::io("read", &self.path))
    }

    /// Writes bytes at the end; when that fails, some of them may be there.
    pub(crate) fn append(&self, bytes: &[u8]) -> Result<(), DiskError> {
        calls::append(&self.file, &self.path, bytes).map_err(DiskError::io("append to", &self.path))
    }

    /// Cuts the file back to a length, durably: what is written next could otherwise be on disk
    /// before the cut is, with the rest of what was there behind it.
    pub(crate) fn cut(&self, length: u64) -> Result<(), DiskError> {
        calls::cut(&self.file, &self.path, length).map_err(DiskError::io("cut", &self.path))?;
        self.sync()
    }

    /// Makes the content durable.
    ///
    /// After a failure the kernel may forget what it could not write and call the next sync a
    /// success, so there must be no next one: [`Self::is_lost`] says so from then on.
    pub(crate) fn sync(&self) -> Result<(), DiskError> {
        let synced = sync(&self.file, &self.path);
        self.is_lost.set(self.is_lost.get() || synced.is_err());
        synced
    }

    /// Returns whether nobody knows what of the file is on disk.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.get()
    }

    /// Makes the file's name durable.
    pub(crate) fn sync_name(&self) -> Result<(), DiskError> {
        sync_parent(&self.path)
    }
}

fn open(path: &Path, create: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(create);
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    let file = calls::open(&options, path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file"))
}

/// Makes the content of a file durable, whoever wrote it.
pub(crate) fn sync(file: &File, path: &Path) -> Result<(), DiskError> {
    calls::sync(file, path).map_err(DiskError::io("sync", path))
}

/// Reads all bytes of a file from a position to the end.
pub(crate) fn read_from(file: &File, offset: u64) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len().saturating_sub(offset);
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            // Somebody cut the file just now.
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
