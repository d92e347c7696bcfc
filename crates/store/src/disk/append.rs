//! Appends lines to log files, optionally bounded in length.
//!
//! A line is one write under the lock, so lines never mix. When a write fails halfway, the file is
//! truncated to its old length. The content of a line is not interpreted.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::replace::{self, OldFile};
use super::{DiskError, Lock, sync_parent, syscalls};

/// Options of [`Writer::append_line`](super::Writer::append_line).
#[derive(Clone, Copy, Debug, Default)]
pub struct AppendOptions {
    /// Whether to sync before the call returns, so that the line survives a power failure.
    pub durable: bool,
    /// When to drop old lines; `None` lets the file grow without limit.
    pub line_limit: Option<LineLimit>,
}

/// A bound for the number of lines in a file.
#[derive(Clone, Copy, Debug)]
pub struct LineLimit {
    /// Old lines are dropped when the file would have more lines than this. Blank lines do not
    /// count.
    pub lines_max: usize,
    /// How many of the last lines then stay, the new one included.
    pub lines_kept: usize,
}

/// Appends a line to a file. The path must be free of symbolic links.
pub(super) fn append_line(
    lock: &Lock,
    path: &Path,
    line: &[u8],
    options: AppendOptions,
) -> Result<(), DiskError> {
    if line.contains(&b'\n') {
        return Err(DiskError::NotOneLine { path: path.to_path_buf() });
    }
    if let Some(limit) = options.line_limit
        && let Some(old) = OldFile::load(path)?
        && let Some(bytes) = last_lines(&old.bytes, line, limit)
    {
        return replace::replace_file(lock, path, Some(&old), &bytes).map(drop);
    }
    let created =
        write_line(path, line, options.durable).map_err(DiskError::io("append to", path))?;
    if created && options.durable { sync_parent(path) } else { Ok(()) }
}

/// Returns the last lines with the new one, when the new line exceeds the limit.
fn last_lines(old: &[u8], line: &[u8], limit: LineLimit) -> Option<Vec<u8>> {
    let lines = old.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let lines: Vec<&[u8]> = lines.chain([line]).collect();
    if lines.len() <= limit.lines_max {
        return None;
    }
    let last = &lines[lines.len().saturating_sub(limit.lines_kept)..];
    Some(last.iter().flat_map(|line| [*line, b"\n"]).collect::<Vec<_>>().concat())
}

/// Writes the line at the end of the file; returns whether the file is new.
fn write_line(path: &Path, line: &[u8], durable: bool) -> io::Result<bool> {
    let created = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => false,
        Ok(_) => return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file")),
        Err(_) => true,
    };
    let file = syscalls::open(OpenOptions::new().read(true).append(true).create(true), path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(line.len() + 2);
    if !ends_with_line_break(&file, length)? {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(line);
    bytes.push(b'\n');
    failpoint::reach_torn("disk.line.torn", || drop((&file).write_all(&bytes[..bytes.len() / 2])));
    if let Err(error) = syscalls::append(&file, path, &bytes) {
        // On a full disk, the first part of the line may have been written.
        syscalls::truncate(&file, path, length).ok();
        return Err(error);
    }
    failpoint::reach("disk.line.written");
    if durable {
        syscalls::sync(&file, path)?;
    }
    Ok(created)
}

/// Returns whether the file ends with a line break, or is empty.
pub(super) fn ends_with_line_break(file: &File, length: u64) -> io::Result<bool> {
    let Some(last_at) = length.checked_sub(1) else {
        return Ok(true);
    };
    let mut last = [0];
    file.read_exact_at(&mut last, last_at)?;
    Ok(last == *b"\n")
}
