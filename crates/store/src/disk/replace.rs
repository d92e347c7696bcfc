//! Replaces a file by renaming a finished temporary file over it.
//!
//! The temporary file is in the target's directory, because a rename is atomic only within one
//! filesystem. Its name is noted in the lock file while it exists. Callers hold the lock, so no
//! other mow process changes the target at the same time.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;
use std::process;

use super::{DiskError, Lock, TEMP_PREFIX, WriteOutcome, sync_parent, syscalls};

/// The mode bits that a new file takes from the old one.
const MODE_MASK: u32 = 0o777;
/// The mode of a file that replaces no other, before the umask.
const MODE_NEW: u32 = 0o666;

/// Whether a change survives a power failure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SyncMode {
    Synced,
    Unsynced,
}

/// The content of a new file, and the file whose mode and owner it takes.
struct NewFile<'a> {
    like: Option<&'a Metadata>,
    bytes: &'a [u8],
    durability: SyncMode,
}

/// The content and metadata of a file before a change.
pub(super) struct OldFile {
    pub(super) bytes: Vec<u8>,
    metadata: Metadata,
}

impl OldFile {
    /// Reads a file; `None` when it does not exist. The path must have no symbolic links.
    ///
    /// Only a plain file is accepted: reading a pipe could block forever, and a device must not be
    /// replaced by a rename.
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

/// Writes `bytes` to `path`, unless the old file has them already.
pub(super) fn replace_file(
    lock: &Lock,
    path: &Path,
    old: Option<&OldFile>,
    bytes: &[u8],
) -> Result<WriteOutcome, DiskError> {
    if is_up_to_date(lock, path, old, bytes)? {
        return Ok(WriteOutcome::Unchanged);
    }
    let new = NewFile { like: old.map(|old| &old.metadata), bytes, durability: SyncMode::Synced };
    let written = write_and_rename(lock, path, &new, || true)?;
    Ok(written.unwrap_or(WriteOutcome::Unchanged))
}

/// Like [`replace_file`], but returns `None` when the file at `path` is no longer `old`.
pub(super) fn replace_if_unchanged(
    lock: &Lock,
    path: &Path,
    old: Option<&OldFile>,
    bytes: &[u8],
    durability: SyncMode,
) -> Result<Option<WriteOutcome>, DiskError> {
    if is_up_to_date(lock, path, old, bytes)? {
        return Ok(Some(WriteOutcome::Unchanged));
    }
    let stamp = |metadata: &Metadata| {
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        (metadata.dev(), metadata.ino(), metadata.len(), modified, changed)
    };
    let is_unchanged = || {
        let current = fs::symlink_metadata(path).ok();
        current.as_ref().map(stamp) == old.map(|old| stamp(&old.metadata))
    };
    let new = NewFile { like: old.map(|old| &old.metadata), bytes, durability };
    write_and_rename(lock, path, &new, is_unchanged)
}

/// Returns whether the file has the bytes already and durably; refuses a write-protected file.
fn is_up_to_date(
    lock: &Lock,
    path: &Path,
    old: Option<&OldFile>,
    bytes: &[u8],
) -> Result<bool, DiskError> {
    if old.is_some_and(|old| old.bytes == bytes) && !lock.has_failed_sync() {
        return Ok(true);
    }
    // A rename would replace a write-protected file, but its owner does not want that.
    if old.is_some_and(|old| old.metadata.permissions().readonly()) {
        return Err(DiskError::io("write", path)(io::ErrorKind::PermissionDenied.into()));
    }
    Ok(false)
}

/// Writes a new file with the content and mode of another file.
pub(super) fn create_like(
    lock: &Lock,
    path: &Path,
    source: &OldFile,
) -> Result<WriteOutcome, DiskError> {
    let (like, bytes) = (Some(&source.metadata), source.bytes.as_slice());
    let new = NewFile { like, bytes, durability: SyncMode::Synced };
    let written = write_and_rename(lock, path, &new, || true)?;
    Ok(written.unwrap_or(WriteOutcome::Unchanged))
}

/// Writes a temporary file and renames it to `path`.
///
/// Returns `None` and changes nothing if `may_rename` is false just before the rename.
fn write_and_rename(
    lock: &Lock,
    path: &Path,
    new: &NewFile<'_>,
    may_rename: impl Fn() -> bool,
) -> Result<Option<WriteOutcome>, DiskError> {
    let temp = path.with_file_name(format!("{TEMP_PREFIX}{}-{:016x}", process::id(), random()));
    lock.note_temp(&temp)?;
    failpoint::reach("disk.temp.noted");
    let renamed = write_temp(&temp, new).and_then(|()| match may_rename() {
        true => syscalls::rename(&temp, path).map(|()| true),
        false => Ok(false),
    });
    if !matches!(renamed, Ok(true)) {
        syscalls::remove_file(&temp).ok();
        lock.erase_temp_note();
        return renamed.map(|_| None).map_err(DiskError::io("write", path));
    }
    failpoint::reach("disk.renamed");
    if new.durability == SyncMode::Synced {
        sync_parent(path).inspect_err(|_| lock.mark_sync_failed())?;
        failpoint::reach("disk.named");
    }
    lock.erase_temp_note();
    Ok(Some(WriteOutcome::Written))
}

/// Returns an unpredictable number. The standard library seeds the hasher from the system.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(0)
}

/// Creates a temporary file with content, mode and owner, and syncs it if it must be durable.
fn write_temp(temp: &Path, new: &NewFile<'_>) -> io::Result<()> {
    let NewFile { like, bytes, durability } = *new;
    let mode = like.map_or(MODE_NEW, |like| like.mode() & MODE_MASK);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    let file = syscalls::open(&options, temp)?;
    if let Some(like) = like {
        keep_owner_and_mode(&file, like)?;
    }
    let half = &bytes[..bytes.len() / 2];
    failpoint::reach_torn("disk.temp.torn", || drop((&file).write_all(half)));
    syscalls::append(&file, temp, bytes)?;
    failpoint::reach("disk.temp.written");
    if durability == SyncMode::Synced {
        syscalls::sync(&file, temp)?;
        failpoint::reach("disk.temp.synced");
    }
    Ok(())
}

fn keep_owner_and_mode(file: &File, like: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (like.uid(), like.gid()) {
        // Only root may change the owner. For other users the new file is theirs, as with an
        // editor.
        fchown(file, Some(like.uid()), Some(like.gid())).ok();
    }
    let mode = like.mode() & MODE_MASK;
    if new.mode() & MODE_MASK == mode {
        return Ok(());
    }
    // The umask removed bits that the old file has.
    file.set_permissions(Permissions::from_mode(mode))
}
