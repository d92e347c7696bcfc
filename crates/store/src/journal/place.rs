//! How far a journal has been read, and the way on from there.
//!
//! Tells a torn tail from damage. A write that a kill cuts short leaves the beginning of what was
//! to be written, so a torn line has no end. A power failure may also leave blocks that never
//! arrived; they read as NUL, which no line contains. Everything else is damage, and so is a tail
//! that begins unlike the next record or has a sound record in it.

use std::path::Path;

use memchr::{memchr, memrchr};

use super::header::{self, Header, VERSION};
use super::{JournalError, Record, line};

/// A place between two lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Where the next line begins.
    pub(super) offset: u64,
    /// The number of the next record.
    pub(super) next: u64,
    /// The header, once it was passed.
    pub(super) header: Option<Header>,
}

impl Place {
    /// Returns the number of the last record that was passed; 0 when there is none.
    pub(super) fn last_seq(&self) -> u64 {
        self.next.saturating_sub(1)
    }

    /// Moves over the whole lines of what follows and returns their records without the header.
    ///
    /// Stays where it is when there is damage.
    pub(super) fn advance(
        &mut self,
        path: &Path,
        bytes: &[u8],
    ) -> Result<Vec<Record>, JournalError> {
        let mut place = self.clone();
        let mut records = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let end = memchr(b'\n', rest);
            let parsed = end.and_then(|end| Some((end, line::parse(&rest[..end])?)));
            let Some((end, record)) = parsed else {
                place.must_be_torn(path, rest, end)?;
                break;
            };
            if record.seq != place.next {
                return Err(place.corrupt(path, "its number does not follow the one before"));
            }
            if place.header.is_none() {
                place.header = Some(place.parse_header(path, &record)?);
            } else {
                records.push(record);
            }
            place.next += 1;
            place.offset += end as u64 + 1;
            rest = &rest[end + 1..];
        }
        *self = place;
        Ok(records)
    }

    /// Refuses a tail that no torn write can leave; its first line ends at `end`, if it does.
    fn must_be_torn(
        &self,
        path: &Path,
        tail: &[u8],
        end: Option<usize>,
    ) -> Result<(), JournalError> {
        let line = &tail[..end.unwrap_or(tail.len())];
        let begun = &line[..memchr(0, line).unwrap_or(line.len())];
        if begun.len() == line.len() && end.is_some() {
            return Err(self.corrupt(path, "its checksum or form is wrong"));
        }
        let start = format!("{{\"seq\":{},\"crc\":\"", self.next);
        if !begun.iter().zip(start.as_bytes()).all(|(found, wanted)| found == wanted) {
            return Err(self.corrupt(path, "it does not begin like a record"));
        }
        let is_sound = |line: &[u8]| {
            let start = memrchr(0, line).map_or(0, |at| at + 1);
            line::parse(&line[start..]).is_some()
        };
        let ended = &tail[..memrchr(b'\n', tail).unwrap_or(0)];
        if ended.split(|&byte| byte == b'\n').any(is_sound) {
            return Err(self.corrupt(path, "it is unreadable, and a sound record follows"));
        }
        Ok(())
    }

    fn parse_header(&self, path: &Path, record: &Record) -> Result<Header, JournalError> {
        match header::version(&record.body) {
            Some(version) if version > VERSION => {
                Err(JournalError::Newer { path: path.to_path_buf(), version })
            }
            _ => record.parse().map_err(|_| self.corrupt(path, "it is no header of a journal")),
        }
    }

    /// Blames the line at this place.
    fn corrupt(&self, path: &Path, what: &'static str) -> JournalError {
        JournalError::Corrupt { path: path.to_path_buf(), line: self.next + 1, what }
    }
}
