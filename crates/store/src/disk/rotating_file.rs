//! A file of lines with a bounded size: a full file becomes the older one, and a new one begins.
//!
//! It is for output that people follow while a program runs. Nothing is synced: a power failure may
//! take the last lines. One process writes at a time. The lines are not interpreted here.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use rustix::fs::OFlags;

use super::append::ends_with_line_break;
use super::{DiskError, syscalls};

/// A file of lines and its older part. Both together have at most twice the limit of one.
#[derive(Debug)]
pub struct RotatingFile {
    path: PathBuf,
    older: PathBuf,
    /// The most bytes of one file.
    bytes_max: u64,
    /// The open file and its length; `None` before the first line.
    open: Option<(File, u64)>,
}

impl RotatingFile {
    /// Names the two files, whose directory must exist; creates nothing.
    pub fn new(path: PathBuf, older: PathBuf, bytes_max: u64) -> Self {
        Self { path, older, bytes_max, open: None }
    }

    /// Appends whole lines with one write. Starts a new file first, if the lines do not fit.
    ///
    /// Lines that are longer than a whole file are refused.
    pub fn append(&mut self, lines: &[u8]) -> Result<(), DiskError> {
        let failed =
            |source| DiskError::Io { action: "append to", path: self.path.clone(), source };
        let new = lines.len() as u64;
        if new > self.bytes_max {
            return Err(failed(io::ErrorKind::FileTooLarge.into()));
        }
        let (mut file, mut length) = match self.open.take() {
            Some(open) => open,
            None => self.open_existing().map_err(failed)?,
        };
        if length + new > self.bytes_max {
            syscalls::rename(&self.path, &self.older).map_err(failed)?;
            (file, length) = self.open_existing().map_err(failed)?;
        }
        syscalls::append(&file, &self.path, lines).map_err(failed)?;
        self.open = Some((file, length + new));
        Ok(())
    }

    /// Opens the file, or creates it; ends a line that a killed writer has not completed.
    fn open_existing(&self) -> io::Result<(File, u64)> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        let file = syscalls::open(&options, &self.path)?;
        let mut length = file.metadata()?.len();
        if !ends_with_line_break(&file, length)? {
            syscalls::append(&file, &self.path, b"\n")?;
            length += 1;
        }
        Ok((file, length))
    }
}

#[cfg(test)]
mod tests;
