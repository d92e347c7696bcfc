//! Wraps every system call that changes the disk, so that tests can record and refuse them.
//!
//! In a build with debug assertions, [`super::call_recorder`] may record the calls and refuse some.
//! Tests build from the record every state that a power failure may leave. In a release build these
//! are the bare calls. `path` is the path by which a file was opened.

#![cfg_attr(
    not(debug_assertions),
    expect(unused_variables, reason = "paths are for the recorder, which a release does not have")
)]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

#[cfg(debug_assertions)]
use super::call_recorder::{self, RecordedCall};

/// Opens a file, or creates it if the options say so.
pub(super) fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(debug_assertions)]
    call_recorder::check_room_for_new_file(path)?;
    let file = options.open(path)?;
    #[cfg(debug_assertions)]
    call_recorder::record(|| RecordedCall::Open { path: path.to_path_buf() })?;
    Ok(file)
}

/// Appends bytes to a file that was opened for appending.
pub(super) fn append(mut file: &File, path: &Path, bytes: &[u8]) -> io::Result<()> {
    #[cfg(debug_assertions)]
    if let Some(room) = call_recorder::take_room(bytes.len()) {
        file.write_all(&bytes[..room])?;
        call_recorder::record(|| RecordedCall::Append {
            path: path.to_path_buf(),
            bytes: bytes[..room].to_vec(),
        })?;
        return Err(io::ErrorKind::StorageFull.into());
    }
    file.write_all(bytes)?;
    #[cfg(debug_assertions)]
    call_recorder::record(|| RecordedCall::Append {
        path: path.to_path_buf(),
        bytes: bytes.to_vec(),
    })?;
    Ok(())
}

/// Overwrites the beginning of a file.
pub(super) fn write_over(file: &File, path: &Path, bytes: &[u8]) -> io::Result<()> {
    file.write_all_at(bytes, 0)?;
    #[cfg(debug_assertions)]
    call_recorder::record(|| RecordedCall::WriteOver {
        path: path.to_path_buf(),
        bytes: bytes.to_vec(),
    })?;
    Ok(())
}

/// Truncates a file to a length.
pub(super) fn truncate(file: &File, path: &Path, length: u64) -> io::Result<()> {
    file.set_len(length)?;
    #[cfg(debug_assertions)]
    call_recorder::record(|| RecordedCall::Truncate { path: path.to_path_buf(), length })?;
    Ok(())
}

/// Makes a file's content durable.
pub(super) fn sync(file: &File, path: &Path) -> io::Result<()> {
    #[cfg(debug_assertions)]
    call_recorder::record(|| RecordedCall::Sync { path: path.to_path_buf() })?;
    file.sync_data()
}

/// Makes the names in a directory durable.
pub(super) fn sync_dir(path: &Path) -> io::Result<()> {
    #[cfg(debug_assertions)]
    call_recorder::record(|| RecordedCall::SyncDir { path: path.to_path_buf() })?;
    File::open(path)?.sync_all()
}

/// Creates a directory.
pub(super) fn create_dir(path: &Path) -> io::Result<()> {
    fs::create_dir(path)?;
    #[cfg(debug_assertions)]
    call_recorder::record(|| RecordedCall::CreateDir { path: path.to_path_buf() })?;
    Ok(())
}

/// Renames a file or directory.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    #[cfg(debug_assertions)]
    call_recorder::record(|| RecordedCall::Rename {
        from: from.to_path_buf(),
        to: to.to_path_buf(),
    })?;
    Ok(())
}

/// Removes a file or a symbolic link.
pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    #[cfg(debug_assertions)]
    call_recorder::record(|| RecordedCall::Remove { path: path.to_path_buf() })?;
    Ok(())
}

/// Removes a directory and its content.
pub(super) fn remove_dir_all(path: &Path) -> io::Result<()> {
    #[cfg(debug_assertions)]
    let entries = call_recorder::entries_in_removal_order(path);
    fs::remove_dir_all(path)?;
    #[cfg(debug_assertions)]
    for path in entries {
        call_recorder::record(|| RecordedCall::Remove { path })?;
    }
    Ok(())
}
