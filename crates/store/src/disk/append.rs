//! Appends lines to files of one record a line.
//!
//! A line goes out in one write, under the lock, so lines never mix. A write that fails half way
//! is cut off again. Knows nothing of what a line says.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::replace::{self, Old};
use super::{DiskError, Lock, calls, sync_parent};

/// How to append.
#[derive(Clone, Copy, Debug, Default)]
pub struct Append {
    /// Whether the line must survive a power failure before the call returns.
    pub durable: bool,
    /// When to cut the file, if ever.
    pub keep: Option<Keep>,
}

/// A bound for a file that would grow for ever.
#[derive(Clone, Copy, Debug)]
pub struct Keep {
    /// The file is cut when it would have more lines than this; blank ones do not count.
    pub lines_max: usize,
    /// How many of the last lines a cut leaves, the new one included.
    pub lines_kept: usize,
}

/// Appends a line to a file at a real path.
pub(super) fn append_line(
    lock: &Lock,
    path: &Path,
    line: &[u8],
    options: Append,
) -> Result<(), DiskError> {
    if line.contains(&b'\n') {
        return Err(DiskError::NotOneLine { path: path.to_path_buf() });
    }
    if let Some(keep) = options.keep
        && let Some(old) = Old::load(path)?
        && let Some(bytes) = cut(&old.bytes, line, keep)
    {
        return replace::put(lock, path, Some(&old), &bytes).map(drop);
    }
    let created = extend(path, line, options.durable).map_err(DiskError::io("append to", path))?;
    if created && options.durable { sync_parent(path) } else { Ok(()) }
}

/// Returns what is left with the new line, when that makes the file too long.
fn cut(old: &[u8], line: &[u8], keep: Keep) -> Option<Vec<u8>> {
    let lines = old.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let lines: Vec<&[u8]> = lines.chain([line]).collect();
    if lines.len() <= keep.lines_max {
        return None;
    }
    let last = &lines[lines.len().saturating_sub(keep.lines_kept)..];
    Some(last.iter().flat_map(|line| [*line, b"\n"]).collect::<Vec<_>>().concat())
}

/// Writes the line at the end; returns whether the file is new.
fn extend(path: &Path, line: &[u8], durable: bool) -> io::Result<bool> {
    let created = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => false,
        Ok(_) => return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file")),
        Err(_) => true,
    };
    let file = calls::open(OpenOptions::new().read(true).append(true).create(true), path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(line.len() + 2);
    if !ends_whole(&file, length)? {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(line);
    bytes.push(b'\n');
    failpoint::reach_torn("disk.line.torn", || drop((&file).write_all(&bytes[..bytes.len() / 2])));
    if let Err(error) = calls::append(&file, path, &bytes) {
        // A full disk may have taken the first half of the line.
        calls::cut(&file, path, length).ok();
        return Err(error);
    }
    failpoint::reach("disk.line.written");
    if durable {
        calls::sync(&file, path)?;
    }
    Ok(created)
}

/// Whether the file ends with a line break, or is empty.
fn ends_whole(file: &File, length: u64) -> io::Result<bool> {
    let Some(last_at) = length.checked_sub(1) else {
        return Ok(true);
    };
    let mut last = [0];
    file.read_exact_at(&mut last, last_at)?;
    Ok(last == *b"\n")
}
