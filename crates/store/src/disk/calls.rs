//! The calls that change something on disk, each made in one place.
//!
//! In a build with debug assertions a [`super::tape`] may take them down and refuse some, so that
//! tests can put together whatever a power failure may leave. Otherwise they are the bare calls. The
//! path of a file is the one that it was opened by.

#![cfg_attr(
    not(debug_assertions),
    expect(unused_variables, reason = "paths are for the tape, which a release does not have")
)]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

#[cfg(debug_assertions)]
use super::tape::{self, Call};

/// Opens a file, or makes one if the options say so.
pub(super) fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(debug_assertions)]
    tape::make_room(path)?;
    let file = options.open(path)?;
    #[cfg(debug_assertions)]
    tape::take(|| Call::Open { path: path.to_path_buf() })?;
    Ok(file)
}

/// Writes at the end.
pub(super) fn append(mut file: &File, path: &Path, bytes: &[u8]) -> io::Result<()> {
    #[cfg(debug_assertions)]
    if let Some(room) = tape::room(bytes.len()) {
        file.write_all(&bytes[..room])?;
        tape::take(|| Call::Append { path: path.to_path_buf(), bytes: bytes[..room].to_vec() })?;
        return Err(io::ErrorKind::StorageFull.into());
    }
    file.write_all(bytes)?;
    #[cfg(debug_assertions)]
    tape::take(|| Call::Append { path: path.to_path_buf(), bytes: bytes.to_vec() })?;
    Ok(())
}

/// Writes over the beginning.
pub(super) fn write_over(file: &File, path: &Path, bytes: &[u8]) -> io::Result<()> {
    file.write_all_at(bytes, 0)?;
    #[cfg(debug_assertions)]
    tape::take(|| Call::WriteOver { path: path.to_path_buf(), bytes: bytes.to_vec() })?;
    Ok(())
}

/// Cuts a file off.
pub(super) fn cut(file: &File, path: &Path, length: u64) -> io::Result<()> {
    file.set_len(length)?;
    #[cfg(debug_assertions)]
    tape::take(|| Call::Cut { path: path.to_path_buf(), length })?;
    Ok(())
}

/// Makes what is in a file durable.
pub(super) fn sync(file: &File, path: &Path) -> io::Result<()> {
    #[cfg(debug_assertions)]
    tape::take(|| Call::Sync { path: path.to_path_buf() })?;
    file.sync_data()
}

/// Makes the names in a directory durable.
pub(super) fn sync_dir(path: &Path) -> io::Result<()> {
    #[cfg(debug_assertions)]
    tape::take(|| Call::SyncDir { path: path.to_path_buf() })?;
    File::open(path)?.sync_all()
}

/// Makes a directory.
pub(super) fn create_dir(path: &Path) -> io::Result<()> {
    fs::create_dir(path)?;
    #[cfg(debug_assertions)]
    tape::take(|| Call::CreateDir { path: path.to_path_buf() })?;
    Ok(())
}

/// Gives a file or directory another name.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    #[cfg(debug_assertions)]
    tape::take(|| Call::Rename { from: from.to_path_buf(), to: to.to_path_buf() })?;
    Ok(())
}

/// Removes a file or a link.
pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    #[cfg(debug_assertions)]
    tape::take(|| Call::Remove { path: path.to_path_buf() })?;
    Ok(())
}

/// Removes a directory with all that is in it.
pub(super) fn remove_dir_all(path: &Path) -> io::Result<()> {
    #[cfg(debug_assertions)]
    let entries = tape::entries(path);
    fs::remove_dir_all(path)?;
    #[cfg(debug_assertions)]
    for path in entries {
        tape::take(|| Call::Remove { path })?;
    }
    Ok(())
}
