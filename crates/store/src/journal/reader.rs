//! Reads a journal that other processes write. Takes no lock, writes nothing, keeps no file open.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::read_position::ReadPosition;
use super::{Header, JournalError, Record};
use crate::disk::{DiskError, read_from, sync};

/// How often a file is read again when it changes during the read.
const READS_MAX: usize = 5;

/// A reader that remembers its position. A missing file counts as empty.
#[derive(Clone, Debug)]
pub struct JournalReader {
    path: PathBuf,
    position: ReadPosition,
    sync: bool,
    /// Set when a sync failed: the next sync might succeed without writing the lost data.
    unsynced: bool,
}

impl JournalReader {
    /// Starts at the beginning of a journal, which need not exist yet.
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            position: ReadPosition::default(),
            sync: true,
            unsynced: false,
        }
    }

    /// Reads without a sync, for displays: they do nothing that depends on durable records.
    #[must_use]
    pub fn without_sync(self) -> Self {
        Self { sync: false, ..self }
    }

    /// Returns the header, once [`Self::poll`] has read it.
    pub fn header(&self) -> Option<&Header> {
        self.position.header.as_ref()
    }

    /// Returns the sequence number of the last record that was read; 0 without records.
    pub fn last_seq(&self) -> u64 {
        self.position.last_seq()
    }

    /// Returns the whole records that were added since the last call, and makes them durable first.
    ///
    /// Their writer may not have synced them yet. A process that acts on a record must be sure that
    /// the record survives a power failure.
    pub fn poll(&mut self) -> Result<Vec<Record>, JournalError> {
        if self.unsynced {
            return Err(JournalError::Unsynced { path: self.path.clone() });
        }
        let metadata = match fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.no_records(0),
            Err(error) => return Err(self.io("read", error)),
        };
        if !metadata.is_file() {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "not a plain file");
            return Err(self.io("read", error));
        }
        if metadata.len() <= self.position.offset {
            return self.no_records(metadata.len());
        }
        let file = File::open(&self.path).map_err(|error| self.io("open", error))?;
        let before = self.position.offset;
        let records = self.read(&file)?;
        if self.sync && self.position.offset != before {
            self.unsynced = true;
            sync(&file, &self.path)?;
            self.unsynced = false;
        }
        Ok(records)
    }

    /// Returns no records, or an error when the file is shorter than what was read.
    fn no_records(&self, length: u64) -> Result<Vec<Record>, JournalError> {
        if length < self.position.offset {
            return Err(JournalError::Shrunk { path: self.path.clone() });
        }
        Ok(Vec::new())
    }

    /// Reads the records after the position.
    ///
    /// A writer may truncate a torn line and append during the read, which mixes old and new bytes.
    /// So damage is reported only when a second read gives the same bytes.
    fn read(&mut self, file: &File) -> Result<Vec<Record>, JournalError> {
        let mut previous_bytes = None;
        for _ in 0..READS_MAX {
            let bytes =
                read_from(file, self.position.offset).map_err(|error| self.io("read", error))?;
            match self.position.advance(&self.path, &bytes) {
                Err(error) if previous_bytes.as_ref() == Some(&bytes) => return Err(error),
                Err(_) => previous_bytes = Some(bytes),
                Ok(records) => return Ok(records),
            }
        }
        Ok(Vec::new())
    }

    fn io(&self, action: &'static str, source: io::Error) -> JournalError {
        DiskError::Io { action, path: self.path.clone(), source }.into()
    }
}
