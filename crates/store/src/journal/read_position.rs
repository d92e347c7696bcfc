//! How far a journal has been read, and how its next lines are parsed.
//!
//! Tells a torn last line from damage. A killed writer leaves the beginning of its bytes, so a torn
//! line has no line break. A power failure may also leave blocks that were never written; they read
//! as NUL, which no valid line contains. Everything else is damage. It is also damage when the torn
//! bytes do not begin like the next record, or when a valid record follows them.

use std::path::Path;

use memchr::{memchr, memrchr};

use super::header::{self, Header, VERSION};
use super::{JournalError, Record, line};

/// A position between two lines of a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadPosition {
    /// The byte offset of the next line.
    pub(super) offset: u64,
    /// The sequence number of the next record.
    pub(super) next_seq: u64,
    /// The header, once it was read.
    pub(super) header: Option<Header>,
}

impl ReadPosition {
    /// Returns the sequence number of the last record before this position; 0 without records.
    pub(super) fn last_seq(&self) -> u64 {
        self.next_seq.saturating_sub(1)
    }

    /// Moves past the whole lines in `bytes` and returns their records, without the header.
    ///
    /// Does not move when the bytes are damaged.
    pub(super) fn advance(
        &mut self,
        path: &Path,
        bytes: &[u8],
    ) -> Result<Vec<Record>, JournalError> {
        let mut position = self.clone();
        let mut records = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let end = memchr(b'\n', rest);
            let parsed = end.and_then(|end| Some((end, line::parse(&rest[..end])?)));
            let Some((end, record)) = parsed else {
                position.check_is_torn(path, rest, end)?;
                break;
            };
            if record.seq != position.next_seq {
                return Err(position.corrupt(path, "its number does not follow the one before"));
            }
            if position.header.is_none() {
                position.header = Some(position.parse_header(path, &record)?);
            } else {
                records.push(record);
            }
            position.next_seq += 1;
            position.offset += end as u64 + 1;
            rest = &rest[end + 1..];
        }
        *self = position;
        Ok(records)
    }

    /// Refuses bytes that no torn write can leave. The first line ends at `end`, if it has an end.
    fn check_is_torn(
        &self,
        path: &Path,
        tail: &[u8],
        end: Option<usize>,
    ) -> Result<(), JournalError> {
        let line = &tail[..end.unwrap_or(tail.len())];
        let before_nul = &line[..memchr(0, line).unwrap_or(line.len())];
        if before_nul.len() == line.len() && end.is_some() {
            return Err(self.corrupt(path, "its checksum or form is wrong"));
        }
        let start = format!("{{\"seq\":{},\"crc\":\"", self.next_seq);
        if !before_nul.iter().zip(start.as_bytes()).all(|(found, wanted)| found == wanted) {
            return Err(self.corrupt(path, "it does not begin like a record"));
        }
        let is_valid = |line: &[u8]| {
            let start = memrchr(0, line).map_or(0, |at| at + 1);
            line::parse(&line[start..]).is_some()
        };
        let ended_lines = &tail[..memrchr(b'\n', tail).unwrap_or(0)];
        if ended_lines.split(|&byte| byte == b'\n').any(is_valid) {
            return Err(self.corrupt(path, "it is unreadable, and a valid record follows"));
        }
        Ok(())
    }

    fn parse_header(&self, path: &Path, record: &Record) -> Result<Header, JournalError> {
        match header::version(&record.body) {
            Some(version) if version > VERSION => {
                Err(JournalError::Newer { path: path.to_path_buf(), version })
            }
            _ => record.parse().map_err(|_| self.corrupt(path, "it is not a journal header")),
        }
    }

    /// Returns the error for a problem in the line at this position.
    fn corrupt(&self, path: &Path, problem: &'static str) -> JournalError {
        JournalError::Corrupt { path: path.to_path_buf(), line: self.next_seq + 1, problem }
    }
}
