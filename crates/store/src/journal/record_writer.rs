//! Appends records to a journal file, after reading what other writers appended.
//!
//! Every method needs the lock on the file, which [`super::Journal`] takes.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::read_position::ReadPosition;
use super::{Header, JournalError, Record, line};
use crate::disk::JournalFile;

/// The state of one writer: how far it has read, and records not yet returned to the caller.
#[derive(Debug)]
pub(super) struct RecordWriter {
    /// The header that the file must have.
    pub(super) header: Header,
    pub(super) position: ReadPosition,
    /// Records of other writers that were read during an append and not yet returned.
    pub(super) undelivered: Vec<Record>,
    /// The lines to write; kept between writes to reuse the allocation.
    buffer: Vec<u8>,
}

impl RecordWriter {
    pub(super) fn new(header: Header) -> Self {
        Self {
            header,
            position: ReadPosition::default(),
            undelivered: Vec::new(),
            buffer: Vec::new(),
        }
    }

    /// Reads the records added since the last call, and truncates a torn last line.
    pub(super) fn read_and_cut_torn_tail(
        &mut self,
        file: &JournalFile,
    ) -> Result<(), JournalError> {
        let length = file.length()?;
        if length == self.position.offset {
            return Ok(());
        }
        let path = file.path();
        if length < self.position.offset {
            return Err(JournalError::Shrunk { path: path.to_path_buf() });
        }
        let bytes = file.read_from(self.position.offset)?;
        let records = self.position.advance(path, &bytes)?;
        if let Some(found) = self.position.header.as_ref().filter(|found| **found != self.header) {
            let (found, wanted) = (Box::new(found.clone()), Box::new(self.header.clone()));
            return Err(JournalError::Foreign { path: path.to_path_buf(), found, wanted });
        }
        self.undelivered.extend(records);
        if self.position.offset < length {
            file.truncate(self.position.offset)?;
            failpoint::reach("journal.tail.cut");
        }
        Ok(())
    }

    /// Writes the header into an empty file.
    pub(super) fn write_header(&mut self, file: &JournalFile) -> Result<(), JournalError> {
        // No program reads this time; it is for people who look at the file.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let header = self.header.clone();
        let at = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        self.write(file, at, std::slice::from_ref(&header))?;
        self.position.header = Some(header);
        Ok(())
    }

    /// Writes records at the end of the file. The read position must be there.
    pub(super) fn write<T: Serialize>(
        &mut self,
        file: &JournalFile,
        at: u64,
        bodies: &[T],
    ) -> Result<(), JournalError> {
        self.buffer.clear();
        let mut next_seq = self.position.next_seq;
        for body in bodies {
            line::encode(&mut self.buffer, next_seq, at, body).map_err(|source| {
                JournalError::Unwritable { path: file.path().to_path_buf(), source }
            })?;
            next_seq += 1;
        }
        failpoint::reach("journal.append.before");
        let half = &self.buffer[..self.buffer.len() / 2];
        failpoint::reach_torn("journal.append.torn", || drop(file.append(half)));
        file.append(&self.buffer)?;
        failpoint::reach("journal.append.written");
        self.position.offset += self.buffer.len() as u64;
        self.position.next_seq = next_seq;
        Ok(())
    }
}
