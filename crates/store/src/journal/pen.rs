//! The writing half of a journal: what it knows of the file, and the lines it adds.
//!
//! Everything here needs the lock on the file, which [`super::Journal`] takes.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::place::Place;
use super::{Header, JournalError, Record, line};
use crate::disk::JournalFile;

#[derive(Debug)]
pub(super) struct Pen {
    /// What the journal must be for.
    pub(super) header: Header,
    pub(super) place: Place,
    /// What others appended, found on the way and not yet handed out.
    pub(super) found: Vec<Record>,
    /// The lines that are about to be written; kept because it has its size already.
    buffer: Vec<u8>,
}

impl Pen {
    pub(super) fn new(header: Header) -> Self {
        Self { header, place: Place::default(), found: Vec::new(), buffer: Vec::new() }
    }

    /// Reads what was added since and cuts off a torn tail.
    pub(super) fn take_in(&mut self, file: &JournalFile) -> Result<(), JournalError> {
        let length = file.length()?;
        if length == self.place.offset {
            return Ok(());
        }
        let path = file.path();
        if length < self.place.offset {
            return Err(JournalError::Shrunk { path: path.to_path_buf() });
        }
        let bytes = file.read_from(self.place.offset)?;
        let records = self.place.advance(path, &bytes)?;
        if let Some(found) = self.place.header.as_ref().filter(|found| **found != self.header) {
            let (found, wanted) = (Box::new(found.clone()), Box::new(self.header.clone()));
            return Err(JournalError::Foreign { path: path.to_path_buf(), found, wanted });
        }
        self.found.extend(records);
        if self.place.offset < length {
            file.cut(self.place.offset)?;
            failpoint::reach("journal.tail.cut");
        }
        Ok(())
    }

    /// Writes the header into an empty file.
    pub(super) fn begin(&mut self, file: &JournalFile) -> Result<(), JournalError> {
        // The time is only for people who look at the file.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let header = self.header.clone();
        let at = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        self.write(file, at, std::slice::from_ref(&header))?;
        self.place.header = Some(header);
        Ok(())
    }

    /// Writes records at the end, where the place must be.
    pub(super) fn write<T: Serialize>(
        &mut self,
        file: &JournalFile,
        at: u64,
        bodies: &[T],
    ) -> Result<(), JournalError> {
        self.buffer.clear();
        let mut next = self.place.next;
        for body in bodies {
            line::encode(&mut self.buffer, next, at, body).map_err(|source| {
                JournalError::Unwritable { path: file.path().to_path_buf(), source }
            })?;
            next += 1;
        }
        failpoint::reach("journal.append.before");
        let half = &self.buffer[..self.buffer.len() / 2];
        failpoint::reach_torn("journal.append.torn", || drop(file.append(half)));
        file.append(&self.buffer)?;
        failpoint::reach("journal.append.written");
        self.place.offset += self.buffer.len() as u64;
        self.place.next = next;
        Ok(())
    }
}
