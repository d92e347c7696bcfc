//! Puts a finished file in the place of an old one.
//!
//! The temporary file lies beside the target, because a rename is atomic only within one
//! filesystem. Its name is noted in the lock file while it exists. Only the holder of a lock comes
//! here, so nobody else changes the target in between.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;
use std::process;

use super::{Change, DiskError, Lock, TEMP_PREFIX, calls, sync_parent};

/// The bits of a mode that are kept.
const MODE_MASK: u32 = 0o777;
/// The mode of a file that replaces nothing, before the umask.
const MODE_NEW: u32 = 0o666;

/// A file as it is before a change.
pub(super) struct Old {
    pub(super) bytes: Vec<u8>,
    metadata: Metadata,
}

impl Old {
    /// Reads a file; `None` when there is none. The path is a real one, without links.
    ///
    /// Refuses what is not a plain file: reading a pipe could wait for ever, and a device cannot
    /// be replaced by a rename.
    pub(super) fn load(path: &Path) -> Result<Option<Self>, DiskError> {
        match Self::read(path) {
            Ok(old) => Ok(Some(old)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(DiskError::io("read", path)(error)),
        }
    }

    fn read(path: &Path) -> io::Result<Self> {
        let metadata = fs::symlink_metadata(path)?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file"));
        }
        let mut bytes = Vec::new();
        File::open(path)?.read_to_end(&mut bytes)?;
        Ok(Self { bytes, metadata })
    }
}

/// Writes `bytes` to `path`, unless `old` has them already.
pub(super) fn put(
    lock: &Lock,
    path: &Path,
    old: Option<&Old>,
    bytes: &[u8],
) -> Result<Change, DiskError> {
    if is_there(lock, path, old, bytes)? {
        return Ok(Change::Unchanged);
    }
    let swapped = swap(lock, path, old.map(|old| &old.metadata), bytes, || true)?;
    Ok(swapped.unwrap_or(Change::Unchanged))
}

/// Does the same, unless `path` is not what was read any more; then it returns nothing.
pub(super) fn put_on(
    lock: &Lock,
    path: &Path,
    old: Option<&Old>,
    bytes: &[u8],
) -> Result<Option<Change>, DiskError> {
    if is_there(lock, path, old, bytes)? {
        return Ok(Some(Change::Unchanged));
    }
    let stamp = |about: &Metadata| {
        let times = (about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec());
        (about.dev(), about.ino(), about.len(), times)
    };
    let is_as_read = || {
        let now = fs::symlink_metadata(path).ok();
        now.as_ref().map(stamp) == old.map(|old| stamp(&old.metadata))
    };
    swap(lock, path, old.map(|old| &old.metadata), bytes, is_as_read)
}

/// Returns whether a file has its bytes already; refuses one that may not be written.
fn is_there(lock: &Lock, path: &Path, old: Option<&Old>, bytes: &[u8]) -> Result<bool, DiskError> {
    if old.is_some_and(|old| old.bytes == bytes) && !lock.is_in_doubt() {
        return Ok(true);
    }
    // A rename would go over a write-protected file without asking; its owner protected it.
    if old.is_some_and(|old| old.metadata.permissions().readonly()) {
        return Err(DiskError::io("write", path)(io::ErrorKind::PermissionDenied.into()));
    }
    Ok(false)
}

/// Writes a new file with the content and mode of another.
pub(super) fn create_like(lock: &Lock, path: &Path, source: &Old) -> Result<Change, DiskError> {
    let swapped = swap(lock, path, Some(&source.metadata), &source.bytes, || true)?;
    Ok(swapped.unwrap_or(Change::Unchanged))
}

/// Puts a file in its place, if that may be at the last moment.
fn swap(
    lock: &Lock,
    path: &Path,
    like: Option<&Metadata>,
    bytes: &[u8],
    may_be: impl Fn() -> bool,
) -> Result<Option<Change>, DiskError> {
    let temp = path.with_file_name(format!("{TEMP_PREFIX}{}-{:016x}", process::id(), random()));
    lock.note_temp(&temp)?;
    failpoint::reach("disk.temp.noted");
    let swapped = fill(&temp, like, bytes).and_then(|()| match may_be() {
        true => calls::rename(&temp, path).map(|()| true),
        false => Ok(false),
    });
    if !matches!(swapped, Ok(true)) {
        calls::remove_file(&temp).ok();
        lock.forget_temp();
        return swapped.map(|_| None).map_err(DiskError::io("write", path));
    }
    failpoint::reach("disk.renamed");
    sync_parent(path).inspect_err(|_| lock.doubt())?;
    failpoint::reach("disk.named");
    lock.forget_temp();
    Ok(Some(Change::Written))
}

/// Returns a number nobody can guess; the standard library's hasher is seeded by the system.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(0)
}

/// Creates a temporary file with all that it needs to take the place of another.
fn fill(temp: &Path, like: Option<&Metadata>, bytes: &[u8]) -> io::Result<()> {
    let mode = like.map_or(MODE_NEW, |like| like.mode() & MODE_MASK);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    let file = calls::open(&options, temp)?;
    if let Some(like) = like {
        keep_owner_and_mode(&file, like)?;
    }
    let half = &bytes[..bytes.len() / 2];
    failpoint::reach_torn("disk.temp.torn", || drop((&file).write_all(half)));
    calls::append(&file, temp, bytes)?;
    failpoint::reach("disk.temp.written");
    calls::sync(&file, temp)?;
    failpoint::reach("disk.temp.synced");
    Ok(())
}

fn keep_owner_and_mode(file: &File, like: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (like.uid(), like.gid()) {
        // Only root may give files away; for others the file becomes theirs, as with any editor.
        fchown(file, Some(like.uid()), Some(like.gid())).ok();
    }
    let mode = like.mode() & MODE_MASK;
    if new.mode() & MODE_MASK == mode {
        return Ok(());
    }
    // The umask took bits away that the old file has.
    file.set_permissions(Permissions::from_mode(mode))
}
