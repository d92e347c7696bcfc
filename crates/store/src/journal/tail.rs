//! Follows a journal that others write: takes no lock, writes nothing, keeps no file open.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::place::Place;
use super::{Header, JournalError, Record};
use crate::disk::{DiskError, read_from, sync};

/// How often a file is read again that changes while it is read.
const READS_MAX: usize = 5;

/// A reader that remembers how far it has come. A file that is not there is an empty one.
#[derive(Clone, Debug)]
pub struct Tail {
    path: PathBuf,
    place: Place,
    sync: bool,
    /// Set when a sync failed: the next one might succeed without having written anything.
    unsynced: bool,
}

impl Tail {
    /// Begins at the start of a journal, which need not exist yet.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf(), place: Place::default(), sync: true, unsynced: false }
    }

    /// Leaves out the sync: for a screen, which does nothing that must not be undone.
    #[must_use]
    pub fn without_sync(self) -> Self {
        Self { sync: false, ..self }
    }

    /// Returns the header, once [`Self::poll`] has seen it.
    pub fn header(&self) -> Option<&Header> {
        self.place.header.as_ref()
    }

    /// Returns the number of the last record that was read; 0 when there is none.
    pub fn last_seq(&self) -> u64 {
        self.place.last_seq()
    }

    /// Returns the whole records that were added since, and makes them durable first.
    ///
    /// Their writer may not have synced them yet, and whoever acts on a record must be sure that
    /// it will still be there after a power failure.
    pub fn poll(&mut self) -> Result<Vec<Record>, JournalError> {
        if self.unsynced {
            return Err(JournalError::Unsynced { path: self.path.clone() });
        }
        let metadata = match fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.nothing(0),
            Err(error) => return Err(self.io("read", error)),
        };
        if !metadata.is_file() {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "not a plain file");
            return Err(self.io("read", error));
        }
        if metadata.len() <= self.place.offset {
            return self.nothing(metadata.len());
        }
        let file = File::open(&self.path).map_err(|error| self.io("open", error))?;
        let before = self.place.offset;
        let records = self.read(&file)?;
        if self.sync && self.place.offset != before {
            self.unsynced = true;
            sync(&file, &self.path)?;
            self.unsynced = false;
        }
        Ok(records)
    }

    fn nothing(&self, length: u64) -> Result<Vec<Record>, JournalError> {
        if length < self.place.offset {
            return Err(JournalError::Shrunk { path: self.path.clone() });
        }
        Ok(Vec::new())
    }

    /// Reads what follows. A writer may cut off a torn tail and write on while this reads, which
    /// mixes old bytes with new ones; damage is only believed when it is still there.
    fn read(&mut self, file: &File) -> Result<Vec<Record>, JournalError> {
        let mut seen = None;
        for _ in 0..READS_MAX {
            let bytes =
                read_from(file, self.place.offset).map_err(|error| self.io("read", error))?;
            match self.place.advance(&self.path, &bytes) {
                Err(error) if seen.as_ref() == Some(&bytes) => return Err(error),
                Err(_) => seen = Some(bytes),
                Ok(records) => return Ok(records),
            }
        }
        Ok(Vec::new())
    }

    fn io(&self, action: &'static str, source: io::Error) -> JournalError {
        DiskError::Io { action, path: self.path.clone(), source }.into()
    }
}
