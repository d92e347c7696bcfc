//! Journals: append-only files with one record per line, from which a run is restored.
//!
//! A line is `{"seq":7,"crc":"1a2b3c4d","at":1763251812345,"body":{…}}`. The sequence numbers start
//! at 0 and have no gaps. The checksum (CRC-32) covers the bytes from `"at"` to the end of the
//! line, followed by the digits of the sequence number. Record 0 is the [`Header`]. Its form never
//! changes, so that every version recognizes a format that it cannot read.
//!
//! A record is acknowledged once it is synced. Bytes after the last whole line come from a writer
//! that was killed; the next writer truncates them. A file that is damaged in any other way is
//! never changed: it is refused until a person has looked at it.
//!
//! [`Journal`] writes, [`JournalReader`] only reads. Records are not interpreted here.

mod header;
mod line;
mod read_position;
mod reader;
mod record_writer;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

pub use header::{Header, JournalKind, VERSION};
pub use reader::JournalReader;

use crate::disk::{DiskError, JournalFile, WAIT_DEFAULT};
use read_position::ReadPosition;
use record_writer::RecordWriter;

/// One record of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The sequence number; the first record after the header is 1.
    pub seq: u64,
    /// The time of writing, in milliseconds since 1970.
    pub at: u64,
    /// The content, as JSON text on one line.
    pub body: Box<str>,
}

impl Record {
    /// Deserializes the body.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, JournalError> {
        serde_json::from_str(&self.body)
            .map_err(|source| JournalError::Body { seq: self.seq, source })
    }
}

/// Why a journal could not be read or written.
#[derive(Debug, Error)]
pub enum JournalError {
    /// A file operation failed, or another writer held the lock for too long.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A line is not what was written.
    #[error("{} is damaged in line {line}: {problem}", path.display())]
    Corrupt {
        /// The journal file.
        path: PathBuf,
        /// The damaged line, counted from 1.
        line: u64,
        /// What is wrong with the line.
        problem: &'static str,
    },
    /// A newer mow wrote the journal, in a format that this version cannot read.
    #[error(
        "{} has journal format {version}, and this mow reads up to {VERSION}: use a newer one",
        path.display()
    )]
    Newer {
        /// The journal file.
        path: PathBuf,
        /// The format version in the header.
        version: u32,
    },
    /// The file belongs to another run, phase, attempt or kind of journal.
    #[error("{} is the journal of {found}, not of {wanted}", path.display())]
    Foreign {
        /// The journal file.
        path: PathBuf,
        /// The header of the file.
        found: Box<Header>,
        /// The header that the caller expected.
        wanted: Box<Header>,
    },
    /// The file is shorter than what was already read from it.
    #[error("{} lost records that were already read", path.display())]
    Shrunk {
        /// The journal file.
        path: PathBuf,
    },
    /// An earlier sync failed, so the content of the disk is unknown.
    #[error("an earlier write to {} did not reach the disk", path.display())]
    Unsynced {
        /// The journal file.
        path: PathBuf,
    },
    /// A body cannot be serialized to JSON.
    #[error("a record for {} cannot be written as JSON", path.display())]
    Unwritable {
        /// The journal file.
        path: PathBuf,
        /// The serializer's error.
        source: serde_json::Error,
    },
    /// A record is intact, but its body is not of the expected type.
    #[error("record {seq} has an unexpected body")]
    Body {
        /// The sequence number of the record.
        seq: u64,
        /// The parser's error.
        source: serde_json::Error,
    },
}

/// The content of a journal file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedJournal {
    /// The header; `None` while there is no whole line.
    pub header: Option<Header>,
    /// The records after the header.
    pub records: Vec<Record>,
    /// The length of all whole lines in bytes; the bytes after them are a torn write.
    pub whole_bytes: usize,
}

/// Parses the bytes of a journal; `path` is only used in errors.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<ParsedJournal, JournalError> {
    let mut position = ReadPosition::default();
    let records = position.advance(path, bytes)?;
    let whole_bytes = usize::try_from(position.offset).expect("the offset is within the bytes");
    Ok(ParsedJournal { header: position.header, records, whole_bytes })
}

/// A journal that is open for writing. Several processes may write to the same journal.
#[derive(Debug)]
pub struct Journal {
    file: JournalFile,
    writer: RecordWriter,
    /// Whether the file may hold bytes that are not durable yet.
    has_unsynced: bool,
}

impl Journal {
    /// Opens the journal and returns its records, all of them durable.
    ///
    /// A missing journal is created with its header; the directory must exist. A torn last line is
    /// truncated. A damaged file, or one with another header, is refused.
    pub fn open(path: &Path, header: &Header) -> Result<(Self, Vec<Record>), JournalError> {
        let mut file = JournalFile::open(path)?;
        failpoint::reach("journal.open.made");
        let mut writer = RecordWriter::new(header.clone());
        file.with_lock(WAIT_DEFAULT, |file| {
            writer.read_and_cut_torn_tail(file)?;
            if writer.position.header.is_none() { writer.write_header(file) } else { Ok(()) }
        })?;
        failpoint::reach("journal.open.begun");
        file.sync()?;
        let records = std::mem::take(&mut writer.undelivered);
        if records.is_empty() {
            // The process that created the file may have been killed before its name was durable.
            file.sync_name()?;
            failpoint::reach("journal.open.named");
        }
        Ok((Self { file, writer, has_unsynced: false }, records))
    }

    /// Returns the header, which says to which run, phase and attempt the journal belongs.
    pub fn header(&self) -> &Header {
        &self.writer.header
    }

    /// Returns the sequence number of the last record that was read or written; 0 without records.
    pub fn last_seq(&self) -> u64 {
        self.writer.position.last_seq()
    }

    /// Appends records with one write and one sync; returns the last sequence number.
    ///
    /// After an error, no record is acknowledged. The first of several bodies may be in the file,
    /// as after a crash; [`Self::catch_up`] then returns them.
    pub fn append<T: Serialize>(&mut self, at: u64, bodies: &[T]) -> Result<u64, JournalError> {
        let last = self.append_unsynced(at, bodies)?;
        failpoint::reach("journal.sync.before");
        self.sync()?;
        failpoint::reach("journal.synced");
        Ok(last)
    }

    /// Appends records without a sync.
    ///
    /// For records that a power failure may take, because it also ends every process that read
    /// them. The next durable append makes these records durable as well.
    pub fn append_unsynced<T: Serialize>(
        &mut self,
        at: u64,
        bodies: &[T],
    ) -> Result<u64, JournalError> {
        self.check_not_lost()?;
        self.has_unsynced = true;
        let Self { file, writer, .. } = self;
        file.with_lock(WAIT_DEFAULT, |file| {
            writer.read_and_cut_torn_tail(file)?;
            writer.write(file, at, bodies).inspect_err(|_| {
                // This truncates bytes that were never acknowledged. A whole line stays: a reader
                // may have seen it, and its sequence number must not be used twice. If this fails
                // too, the next writer does it.
                writer.read_and_cut_torn_tail(file).ok();
            })
        })?;
        Ok(self.last_seq())
    }

    /// Returns the records that other writers have appended since, all of them durable.
    pub fn catch_up(&mut self) -> Result<Vec<Record>, JournalError> {
        self.check_not_lost()?;
        let Self { file, writer, .. } = self;
        if file.length()? != writer.position.offset {
            self.has_unsynced = true;
            file.with_lock(WAIT_DEFAULT, |file| writer.read_and_cut_torn_tail(file))?;
        }
        // An append without a sync may have read some of them.
        if self.has_unsynced && !self.writer.undelivered.is_empty() {
            self.sync()?;
        }
        Ok(std::mem::take(&mut self.writer.undelivered))
    }

    /// Returns an error when an earlier sync failed.
    fn check_not_lost(&self) -> Result<(), JournalError> {
        if self.file.is_lost() {
            return Err(JournalError::Unsynced { path: self.file.path().to_path_buf() });
        }
        Ok(())
    }

    /// Makes the whole file durable.
    fn sync(&mut self) -> Result<(), JournalError> {
        self.file.sync()?;
        self.has_unsynced = false;
        Ok(())
    }
}
