//! Journals: append-only files of one record a line, the memory of a run.
//!
//! A line is `{"seq":7,"crc":"1a2b3c4d","at":1763251812345,"body":{…}}`. The numbers run from 0
//! without a gap; the checksum (CRC-32) is over the bytes from `"at"` to the end of the line,
//! followed by the digits of the number. Record 0 is the [`Header`]; its form never changes, so that
//! every version can tell what it cannot read.
//!
//! A record is acknowledged once it is synced. What comes after the last whole line is the rest of a
//! write that somebody was killed in, and the next writer cuts it off. A line that is damaged in any
//! other way is never cut: the file is refused until a person has looked.
//!
//! [`Journal`] writes, [`Tail`] only reads. Nothing here knows what the records mean.

mod header;
mod line;
mod pen;
mod place;
mod tail;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

pub use header::{Header, Kind, VERSION};
pub use tail::Tail;

use crate::disk::{DiskError, JournalFile, WAIT_DEFAULT};
use pen::Pen;
use place::Place;

/// One record of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its number; the first one after the header is 1.
    pub seq: u64,
    /// When it was written, in milliseconds since 1970.
    pub at: u64,
    /// What it says, as JSON text on one line.
    pub body: Box<str>,
}

impl Record {
    /// Reads what the record says.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, JournalError> {
        serde_json::from_str(&self.body)
            .map_err(|source| JournalError::Body { seq: self.seq, source })
    }
}

/// Why a journal could not be read or written.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The disk refused, or another writer kept the lock for too long.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A line is not what was written.
    #[error("{} is damaged in line {line}: {what}", path.display())]
    Corrupt {
        /// The journal.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The journal has a format that this program does not know.
    #[error(
        "{} has journal format {version}, and this mow reads up to {VERSION}: use a newer one",
        path.display()
    )]
    Newer {
        /// The journal.
        path: PathBuf,
        /// Its format.
        version: u32,
    },
    /// The file is another journal than the one that was meant.
    #[error("{} is the journal of {found}, not of {wanted}", path.display())]
    Foreign {
        /// The journal.
        path: PathBuf,
        /// What it says it is.
        found: Box<Header>,
        /// What it should be.
        wanted: Box<Header>,
    },
    /// The file lost records that were read from it before.
    #[error("{} lost records that were already read", path.display())]
    Shrunk {
        /// The journal.
        path: PathBuf,
    },
    /// An earlier sync failed, so nobody knows what is on disk.
    #[error("an earlier write to {} did not reach the disk", path.display())]
    Unsynced {
        /// The journal.
        path: PathBuf,
    },
    /// A body cannot be said in JSON.
    #[error("a record for {} cannot be written as JSON", path.display())]
    Unwritable {
        /// The journal.
        path: PathBuf,
        /// What the serializer said.
        source: serde_json::Error,
    },
    /// A record is sound but says something else than was expected.
    #[error("record {seq} says something that is not expected there")]
    Body {
        /// The number of the record.
        seq: u64,
        /// What the parser said.
        source: serde_json::Error,
    },
}

/// What the bytes of a journal say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The header; `None` while there is no whole line.
    pub header: Option<Header>,
    /// The records after the header.
    pub records: Vec<Record>,
    /// How many bytes the whole lines have; what follows was torn.
    pub whole: usize,
}

/// Reads the bytes of a journal; `path` is for the errors.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Parsed, JournalError> {
    let mut place = Place::default();
    let records = place.advance(path, bytes)?;
    let whole = usize::try_from(place.offset).expect("it lies within the bytes");
    Ok(Parsed { header: place.header, records, whole })
}

/// A journal that is open for writing. Several processes may have it open.
#[derive(Debug)]
pub struct Journal {
    file: JournalFile,
    pen: Pen,
    /// Whether the file may hold what is not durable yet.
    loose: bool,
}

impl Journal {
    /// Opens the journal and returns its records, all of them durable.
    ///
    /// If there is none, it is made with its header; the directory must exist. A torn tail is cut
    /// off, and a file that is damaged or belongs to something else is refused.
    pub fn open(path: &Path, header: &Header) -> Result<(Self, Vec<Record>), JournalError> {
        let mut file = JournalFile::open(path)?;
        failpoint::reach("journal.open.made");
        let mut pen = Pen::new(header.clone());
        file.locked(WAIT_DEFAULT, |file| {
            pen.take_in(file)?;
            if pen.place.header.is_none() { pen.begin(file) } else { Ok(()) }
        })?;
        failpoint::reach("journal.open.begun");
        file.sync()?;
        let records = std::mem::take(&mut pen.found);
        if records.is_empty() {
            // Whoever made the file may have been killed before its name was durable.
            file.sync_name()?;
            failpoint::reach("journal.open.named");
        }
        Ok((Self { file, pen, loose: false }, records))
    }

    /// Returns what the journal is for.
    pub fn header(&self) -> &Header {
        &self.pen.header
    }

    /// Returns the number of the last record that this writer knows; 0 when there is none.
    pub fn last_seq(&self) -> u64 {
        self.pen.place.last_seq()
    }

    /// Appends records with one write and one sync; returns the number of the last one.
    ///
    /// When this fails, nothing is acknowledged. Of several bodies the first ones may be in the
    /// file, as after a crash; [`Self::catch_up`] then returns them.
    pub fn append<T: Serialize>(&mut self, at: u64, bodies: &[T]) -> Result<u64, JournalError> {
        let last = self.append_unsynced(at, bodies)?;
        failpoint::reach("journal.sync.before");
        self.sync()?;
        failpoint::reach("journal.synced");
        Ok(last)
    }

    /// Appends records without a sync, for what may be lost in a power failure together with all
    /// who read it. Whatever is appended durably later makes them durable, too.
    pub fn append_unsynced<T: Serialize>(
        &mut self,
        at: u64,
        bodies: &[T],
    ) -> Result<u64, JournalError> {
        self.must_be_synced()?;
        self.loose = true;
        let Self { file, pen, .. } = self;
        file.locked(WAIT_DEFAULT, |file| {
            pen.take_in(file)?;
            pen.write(file, at, bodies).inspect_err(|_| {
                // What is cut off here was never acknowledged. A line that is whole stays, because
                // somebody may have read it, and its number must not be given away twice. If this
                // fails too, the next writer does it.
                pen.take_in(file).ok();
            })
        })?;
        Ok(self.last_seq())
    }

    /// Returns the records that others have appended since, all of them durable.
    pub fn catch_up(&mut self) -> Result<Vec<Record>, JournalError> {
        self.must_be_synced()?;
        let Self { file, pen, .. } = self;
        if file.length()? != pen.place.offset {
            self.loose = true;
            file.locked(WAIT_DEFAULT, |file| pen.take_in(file))?;
        }
        // Some may have been found by an append that was not synced.
        if self.loose && !self.pen.found.is_empty() {
            self.sync()?;
        }
        Ok(std::mem::take(&mut self.pen.found))
    }

    fn must_be_synced(&self) -> Result<(), JournalError> {
        if self.file.is_lost() {
            return Err(JournalError::Unsynced { path: self.file.path().to_path_buf() });
        }
        Ok(())
    }

    /// Makes everything in the file durable.
    fn sync(&mut self) -> Result<(), JournalError> {
        self.file.sync()?;
        self.loose = false;
        Ok(())
    }
}
