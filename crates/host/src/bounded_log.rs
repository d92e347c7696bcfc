//! A log file of bounded size: it keeps the beginning and the end of the output.
//!
//! The end part follows the beginning in the file. When it has grown to twice its limit, its older
//! half is dropped and a line says how many bytes were left out. So the file shows current output
//! at any time, a crash loses nothing, and no output is buffered in memory.

#![expect(clippy::disallowed_methods, reason = "the log is the engine's own file")]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How many bytes of the beginning, and of the end, are kept.
pub const KEPT_BYTES: u64 = 256 * 1024;

/// A bounded log file that is being written.
#[derive(Debug)]
pub struct BoundedLog {
    file: File,
    /// The limit in bytes, for the beginning and for the end.
    kept: u64,
    /// The length of the beginning so far, in bytes.
    head: u64,
    /// Offset at which the end part starts, after the note about left out bytes.
    tail_from: u64,
    length: u64,
    left_out: u64,
}

impl BoundedLog {
    /// Creates the file and its directory, or truncates the file.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::create_with(path, KEPT_BYTES)
    }

    fn create_with(path: &Path, kept: u64) -> io::Result<Self> {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true).open(path)?;
        Ok(Self { file, kept, head: 0, tail_from: 0, length: 0, left_out: 0 })
    }

    /// Appends output.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = self.kept.saturating_sub(self.head);
        let to_head = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
        let (head, tail) = bytes.split_at(to_head);
        self.write(head)?;
        if !head.is_empty() {
            self.head = self.length;
            self.tail_from = self.length;
        }
        // Written in chunks, so that one long output cannot exceed the limit.
        for piece in tail.chunks(usize::try_from(self.kept.max(1)).unwrap_or(usize::MAX)) {
            self.write(piece)?;
            if self.length - self.tail_from >= 2 * self.kept {
                self.shorten()?;
            }
        }
        Ok(())
    }

    /// Returns how many bytes were left out so far.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Shortens the file to its final size.
    pub fn finish(&mut self) -> io::Result<()> {
        if self.length - self.tail_from > self.kept {
            self.shorten()?;
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.length)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Drops all but the last `kept` bytes of the end part and updates the note.
    fn shorten(&mut self) -> io::Result<()> {
        let from = self.length - self.kept;
        let mut kept = vec![0; usize::try_from(self.kept).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut kept, from)?;
        self.left_out += from - self.tail_from;
        let note = format!("\n[… {} bytes left out …]\n", self.left_out);
        let text = [note.as_bytes(), &kept].concat();
        self.file.write_all_at(&text, self.head)?;
        self.length = self.head + text.len() as u64;
        self.tail_from = self.head + note.len() as u64;
        self.file.set_len(self.length)
    }
}

#[cfg(test)]
mod tests;
