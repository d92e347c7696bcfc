//! Writes files atomically and durably, one writer at a time. No other module writes files.
//!
//! Readers never take a lock. A file is only replaced by renaming a finished file over it, so a
//! reader sees the old bytes or the new ones. A writer holds the project's lock as long as its
//! [`Writer`] lives. The kernel drops the lock when its holder dies, and the next holder removes
//! the temporary file that was left.
//!
//! A crash may interrupt a replacement after any step:
//!
//! | step | left after a crash |
//! |---|---|
//! | 1 lock, clean up after a holder that died | nothing |
//! | 2 note the temporary file's name in the lock file | a note about a file that does not exist |
//! | 3 create, fill and sync the temporary file | a hidden file that the next holder removes |
//! | 4 rename it over the old file | the new content, perhaps not durable |
//! | 5 sync the directory | the new content; the next holder syncs again, without need |
//! | 6 erase the note, unlock, return | the new content |
//!
//! This module never prints, never interprets a file, and never writes outside its roots.
//! Start with [`update`] for one change, or with [`Writer::open`] for several under one lock.

#![expect(clippy::disallowed_methods, reason = "this is the only module that writes files")]

mod append;
#[cfg(debug_assertions)]
#[doc(hidden)]
pub mod call_recorder;
mod journal_file;
mod large_output;
mod lock;
mod replace;
mod rotating_file;
mod space;
mod syscalls;
#[cfg(test)]
mod tests;
mod writable_roots;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

pub use append::{AppendOptions, LineLimit};
pub(crate) use journal_file::{JournalFile, read_from, sync};
pub use large_output::write_large_output;
pub use lock::{Holder, Lock, holder, is_held_by_live_process, is_locked};
pub use rotating_file::RotatingFile;
pub use space::{free_bytes, is_writable};

use crate::project::Project;
use replace::{OldFile, SyncMode};
use writable_roots::WritableRoots;

/// How long a writer waits for a lock before it gives up.
pub const WAIT_DEFAULT: Duration = Duration::from_secs(30);

/// How often [`Writer::update`] starts again because another program saved the file meanwhile.
const UPDATE_ATTEMPTS_MAX: usize = 20;

/// The start of every temporary file's name.
const TEMP_PREFIX: &str = ".mow-tmp-";
/// The line in `info/exclude` that hides temporary files from `git status`.
pub const TEMP_PATTERN: &str = ".mow-tmp-*";

/// Why a file operation failed.
///
/// The file keeps its old content, with one exception: when the sync of its directory failed, it
/// has the new content, which may not survive a power failure.
#[derive(Debug, Error)]
pub enum DiskError {
    /// A system call failed.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The verb for the message: `read`, `write`, `lock` and so on.
        action: &'static str,
        /// The file or directory of the failed call.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// The path, or the symbolic link at it, leads out of the writable directories.
    #[error("{} leads outside of {}", path.display(), root.display())]
    Outside {
        /// The path as the caller gave it.
        path: PathBuf,
        /// The first of the writable directories.
        root: PathBuf,
    },
    /// Another process held the lock during the whole waiting time.
    #[error(
        "{} is locked by {}, gave up after {:.1} s",
        path.display(),
        holder.as_ref().map_or_else(|| "another process".to_owned(), ToString::to_string),
        waited.as_secs_f32()
    )]
    Busy {
        /// The lock file, or the locked directory.
        path: PathBuf,
        /// The process that holds the lock; `None` when the lock file does not name one.
        holder: Option<Holder>,
        /// How long this writer waited.
        waited: Duration,
    },
    /// The filesystem has no working locks, so writing to it is not safe.
    #[error("the filesystem of {} does not support file locks", path.display())]
    LocksUnsupported {
        /// The lock file, or the directory to lock.
        path: PathBuf,
        /// The error of the lock call.
        source: io::Error,
    },
    /// The line to append contains a line break.
    #[error("a line for {} contains a line break", path.display())]
    NotOneLine {
        /// The file that was not changed.
        path: PathBuf,
    },
}

impl DiskError {
    /// Returns a function for `map_err` that adds the action and the path to an I/O error.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_path_buf(), source }
    }
}

/// Whether a call changed the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The disk had the wanted content already.
    Unchanged,
    /// The change was made and is durable.
    Written,
}

/// Reads a file; `None` when it does not exist.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, DiskError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(DiskError::io("read", path)(error)),
    }
}

/// Reads, changes and replaces one file under the project's lock.
///
/// See [`Writer::update`].
pub fn update<E: From<DiskError>>(
    project: &Project,
    path: &Path,
    change: impl FnMut(Option<&[u8]>) -> Result<Option<Vec<u8>>, E>,
) -> Result<WriteOutcome, E> {
    Writer::open(project, WAIT_DEFAULT)?.update(path, change)
}

/// Appends one line to one file under the project's lock.
///
/// See [`Writer::append_line`].
pub fn append_line(
    project: &Project,
    path: &Path,
    line: &[u8],
    options: AppendOptions,
) -> Result<(), DiskError> {
    Writer::open(project, WAIT_DEFAULT)?.append_line(path, line, options)
}

/// Lists the temporary files in a directory: left by a power failure, or in use by a writer.
pub fn list_temp_files(dir: &Path) -> Result<Vec<PathBuf>, DiskError> {
    let mut temp_files = Vec::new();
    for entry in fs::read_dir(dir).map_err(DiskError::io("read directory", dir))? {
        let name = entry.map_err(DiskError::io("read directory", dir))?.file_name();
        if name.as_encoded_bytes().starts_with(TEMP_PREFIX.as_bytes()) {
            temp_files.push(dir.join(name));
        }
    }
    Ok(temp_files)
}

/// Creates a directory of the engine, with missing parents, durably.
///
/// Needs no lock: two processes that create the same directory do the same thing.
pub fn create_engine_dir(path: &Path) -> Result<(), DiskError> {
    create_missing(path).map_err(DiskError::io("create directory", path))?;
    failpoint::reach("disk.dir.made");
    // Also for an existing directory: its creator may have been killed before the sync.
    sync_parent(path)
}

/// Writes a file of the engine, durably, and creates its directory if needed.
///
/// Every writer of that directory must use this function or [`remove_engine_file`].
pub fn write_engine_file(path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
    let dir = path.parent().unwrap_or(path);
    create_engine_dir(dir)?;
    engine_dir_writer(dir)?.replace(path, bytes).map(drop)
}

/// Removes a file of the engine, if it exists.
pub fn remove_engine_file(path: &Path) -> Result<(), DiskError> {
    let dir = path.parent().unwrap_or(path);
    if dir.exists() {
        engine_dir_writer(dir)?.remove_file(path)?;
    }
    Ok(())
}

/// Locks a directory of the engine and removes temporary files of killed writers.
///
/// A locked directory carries no note about a temporary file. But all writers of this directory
/// lock it, so no other process uses a temporary file in it now. A file that cannot be removed is
/// left to the next writer.
fn engine_dir_writer(dir: &Path) -> Result<Writer, DiskError> {
    let writer = Writer::open_dir(dir, WAIT_DEFAULT)?;
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(TEMP_PREFIX.as_bytes()) {
            syscalls::remove_file(&entry.path()).ok();
        }
    }
    Ok(writer)
}

/// Permission to write below some directories; holds the lock until it is dropped.
///
/// Relative paths start at the first of those directories. A second writer for the same project in
/// the same process waits for the first one, so never open one while holding another.
#[derive(Debug)]
pub struct Writer {
    lock: Lock,
    roots: WritableRoots,
    /// See [`lock_project_root`].
    _root_lock: Option<Lock>,
}

/// Waits for a process that creates `.planning/` outside of a repository.
///
/// That process has locked the project's root, because there was no directory for a lock file yet.
fn lock_project_root(project: &Project, wait: Duration) -> Result<Option<Lock>, DiskError> {
    match Lock::acquire(&project.root, wait) {
        Ok(lock) => Ok(Some(lock)),
        Err(busy @ DiskError::Busy { .. }) => Err(busy),
        // Where directories cannot be locked, no process holds one.
        Err(_) => Ok(None),
    }
}

impl Writer {
    /// Takes the project's lock.
    ///
    /// Writes are limited to the project's root and to the target of `.planning/`, if that is a
    /// link.
    pub fn open(project: &Project, wait: Duration) -> Result<Self, DiskError> {
        let mut path = project.lock_path();
        let mut lock = Lock::acquire(&path, wait)?;
        // Another process may have created `.planning/` during the wait; then the lock file moved.
        let current_path = project.lock_path();
        if current_path != path {
            drop(lock);
            path = current_path;
            lock = Lock::acquire(&path, wait)?;
        }
        let root_lock = if project.repository.is_none() && path != project.root {
            lock_project_root(project, wait)?
        } else {
            None
        };
        let roots = WritableRoots::new(vec![project.root.clone(), project.planning_target()]);
        Ok(Self { lock, roots, _root_lock: root_lock })
    }

    /// Takes the lock of the engine directory, which all worktrees of a repository share.
    ///
    /// Writes are limited to that directory, and relative paths start there.
    pub fn open_engine(project: &Project, wait: Duration) -> Result<Self, DiskError> {
        let lock = Lock::acquire(&project.engine_dir.join("locks/engine.lock"), wait)?;
        let root = fs::canonicalize(&project.engine_dir)
            .map_err(DiskError::io("enter", &project.engine_dir))?;
        Ok(Self { lock, roots: WritableRoots::new(vec![root]), _root_lock: None })
    }

    /// Locks a directory that need not belong to a project, and creates it if needed.
    ///
    /// Writes are limited to that directory, and relative paths start there.
    pub fn open_dir(dir: &Path, wait: Duration) -> Result<Self, DiskError> {
        create_missing(dir).map_err(DiskError::io("create directory", dir))?;
        let root = fs::canonicalize(dir).map_err(DiskError::io("enter", dir))?;
        let lock = Lock::acquire(&root, wait)?;
        Ok(Self { lock, roots: WritableRoots::new(vec![root]), _root_lock: None })
    }

    /// Allows this writer to write below one more directory.
    pub fn with_root(mut self, dir: &Path) -> Result<Self, DiskError> {
        let dir = self.roots.absolute(dir);
        self.roots.add(fs::canonicalize(&dir).map_err(DiskError::io("enter", &dir))?);
        Ok(self)
    }

    /// Replaces a file's content. Equal content is not written again.
    ///
    /// Mode and owner of the old file are kept. A symbolic link stays a link; the file it leads to
    /// is replaced. The directory must exist.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> Result<WriteOutcome, DiskError> {
        let target = self.roots.resolve_target(path)?;
        let old = OldFile::load(&target)?;
        replace::replace_file(&self.lock, &target, old.as_ref(), bytes)
    }

    /// Passes a file's bytes to `change` (`None` without a file) and writes the bytes it returns.
    ///
    /// When `change` returns `None` or fails, nothing is written. Editors do not take the lock: if
    /// another program saved the file meanwhile, `change` is called again with the new bytes.
    pub fn update<E: From<DiskError>>(
        &self,
        path: &Path,
        change: impl FnMut(Option<&[u8]>) -> Result<Option<Vec<u8>>, E>,
    ) -> Result<WriteOutcome, E> {
        self.update_with(path, SyncMode::Synced, change)
    }

    /// Like [`Self::update`], but a power failure may undo the change or empty the file.
    ///
    /// Only for files that are written again from other records.
    pub fn update_unsynced<E: From<DiskError>>(
        &self,
        path: &Path,
        change: impl FnMut(Option<&[u8]>) -> Result<Option<Vec<u8>>, E>,
    ) -> Result<WriteOutcome, E> {
        self.update_with(path, SyncMode::Unsynced, change)
    }

    fn update_with<E: From<DiskError>>(
        &self,
        path: &Path,
        durability: SyncMode,
        mut change: impl FnMut(Option<&[u8]>) -> Result<Option<Vec<u8>>, E>,
    ) -> Result<WriteOutcome, E> {
        let target = self.roots.resolve_target(path)?;
        for _ in 0..UPDATE_ATTEMPTS_MAX {
            let old = OldFile::load(&target)?;
            let Some(bytes) = change(old.as_ref().map(|old| old.bytes.as_slice()))? else {
                return Ok(WriteOutcome::Unchanged);
            };
            let (lock, old) = (&self.lock, old.as_ref());
            let written = replace::replace_if_unchanged(lock, &target, old, &bytes, durability)?;
            if let Some(outcome) = written {
                return Ok(outcome);
            }
        }
        let busy = io::Error::other("another program keeps writing it");
        Err(DiskError::io("write", &target)(busy).into())
    }

    /// Appends a line, given without its line break; creates the file if needed.
    ///
    /// If a crash left an unfinished last line, a line break is written first.
    pub fn append_line(
        &self,
        path: &Path,
        line: &[u8],
        options: AppendOptions,
    ) -> Result<(), DiskError> {
        append::append_line(&self.lock, &self.roots.resolve_target(path)?, line, options)
    }

    /// Creates a directory with its missing parents.
    pub fn create_dir(&self, path: &Path) -> Result<WriteOutcome, DiskError> {
        let full = self.roots.absolute(path);
        // A name that cannot exist is refused before some of its parents are created.
        if let Err(error) = fs::metadata(&full)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(DiskError::io("create directory", &full)(error));
        }
        let missing: Vec<&Path> = full.ancestors().take_while(|dir| !dir.is_dir()).collect();
        for dir in missing.iter().rev() {
            let entry = self.roots.resolve_entry(dir)?;
            syscalls::create_dir(&entry).map_err(DiskError::io("create directory", &entry))?;
            failpoint::reach("disk.dir.created");
            sync_parent(&entry)?;
        }
        Ok(if missing.is_empty() { WriteOutcome::Unchanged } else { WriteOutcome::Written })
    }

    /// Removes a file, or the symbolic link at the path.
    pub fn remove_file(&self, path: &Path) -> Result<WriteOutcome, DiskError> {
        self.remove(path, syscalls::remove_file)
    }

    /// Removes a directory and its content; symbolic links in it are removed, not followed.
    pub fn remove_dir_all(&self, path: &Path) -> Result<WriteOutcome, DiskError> {
        self.remove(path, syscalls::remove_dir_all)
    }

    /// Renames a file, link or directory. An existing entry at `to` is an error.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        let (from, to) = (self.roots.resolve_entry(from)?, self.roots.resolve_entry(to)?);
        if fs::symlink_metadata(&to).is_ok() {
            return Err(DiskError::io("create", &to)(io::ErrorKind::AlreadyExists.into()));
        }
        syscalls::rename(&from, &to).map_err(DiskError::io("rename", &from))?;
        // The new name is synced first: a crash between the two syncs may leave both names, but
        // never none.
        sync_parent(&to)?;
        if from.parent() == to.parent() { Ok(()) } else { sync_parent(&from) }
    }

    /// Copies a file, which may be outside the roots. A new copy gets the mode of the original.
    pub fn copy(&self, from: &Path, to: &Path) -> Result<WriteOutcome, DiskError> {
        let from = self.roots.absolute(from);
        let Some(source) =
            OldFile::load(&fs::canonicalize(&from).map_err(DiskError::io("read", &from))?)?
        else {
            return Err(DiskError::io("read", &from)(io::ErrorKind::NotFound.into()));
        };
        let target = self.roots.resolve_target(to)?;
        match OldFile::load(&target)? {
            Some(old) => replace::replace_file(&self.lock, &target, Some(&old), &source.bytes),
            None => replace::create_like(&self.lock, &target, &source),
        }
    }

    /// Removes the temporary files that a power failure left in a directory; returns their number.
    ///
    /// A killed process needs no call of this: the next writer finds its file named in the lock
    /// file.
    pub fn remove_temp_files(&self, dir: &Path) -> Result<usize, DiskError> {
        let temp_files = list_temp_files(&self.roots.absolute(dir))?;
        for path in &temp_files {
            self.remove_file(path)?;
        }
        Ok(temp_files.len())
    }

    fn remove(
        &self,
        path: &Path,
        remove: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<WriteOutcome, DiskError> {
        let entry = self.roots.resolve_entry(path)?;
        match remove(&entry) {
            Ok(()) => {
                failpoint::reach("disk.removed");
                sync_parent(&entry).map(|()| WriteOutcome::Written)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(WriteOutcome::Unchanged),
            Err(error) => Err(DiskError::io("remove", &entry)(error)),
        }
    }
}

/// Creates a directory with its missing parents, durably.
fn create_missing(path: &Path) -> io::Result<()> {
    let current_dir = Path::new(".");
    let is_missing = |dir: &&Path| !dir.as_os_str().is_empty() && !dir.is_dir();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    for dir in missing.into_iter().rev() {
        match syscalls::create_dir(dir) {
            // Another process created it at the same time.
            Err(_) if dir.is_dir() => {}
            created => created?,
        }
        let parent = dir.parent().filter(|dir| !dir.as_os_str().is_empty());
        syscalls::sync_dir(parent.unwrap_or(current_dir))?;
    }
    Ok(())
}

/// Makes the names in a path's parent directory durable.
fn sync_parent(path: &Path) -> Result<(), DiskError> {
    let dir = path.parent().unwrap_or(path);
    syscalls::sync_dir(dir).map_err(DiskError::io("sync directory", dir))
}
