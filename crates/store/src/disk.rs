//! The one place that writes files: whole or not at all, durable, one writer at a time.
//!
//! Readers take no lock, ever: a file is only replaced by renaming a finished one over it, so a
//! reader sees the old bytes or the new ones. Whoever writes holds the project's lock for as long
//! as it has a [`Writer`]; the lock dies with its holder, and the next one clears up after it.
//!
//! A replacement goes like this, and may be cut off after any step:
//!
//! | step | a crash after it leaves |
//! |---|---|
//! | 1 lock, clear up after a holder that died | nothing |
//! | 2 note the temporary file's name in the lock file | a note about a file that is not there |
//! | 3 create, fill and sync the temporary file | a hidden file that the next holder removes |
//! | 4 rename it over the old one | the new content, perhaps not durable |
//! | 5 sync the directory | the new content; the next holder syncs once more for nothing |
//! | 6 erase the note, unlock, acknowledge | the new content |
//!
//! Nothing here prints, knows what the files mean, or writes outside the roots it was given.
//! Start with [`update`] for one change, or with [`Writer::open`] for several under one lock.

#![expect(clippy::disallowed_methods, reason = "this is the one place that writes files")]

mod append;
mod calls;
mod journal_file;
mod lock;
mod place;
mod replace;
mod space;
mod spill;
#[cfg(debug_assertions)]
#[doc(hidden)]
pub mod tape;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

pub use append::{Append, Keep};
pub(crate) use journal_file::{JournalFile, read_from, sync};
pub use lock::{Holder, Lock, holder, is_held, is_locked};
pub use space::{free_bytes, is_writable};
pub use spill::spill;

use crate::project::Project;
use place::Place;
use replace::Old;

/// How long a writer waits for the others before it gives up.
pub const WAIT_DEFAULT: Duration = Duration::from_secs(30);

/// How often a file may be saved by others while it is changed.
const SAVED_MAX: usize = 20;

/// What a temporary file's name starts with.
const TEMP_PREFIX: &str = ".mow-tmp-";

/// Why something on disk could not be done.
///
/// The file is then as it was before. Only when syncing its directory failed it has the new
/// content, which may not survive a power failure.
#[derive(Debug, Error)]
pub enum DiskError {
    /// The system refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried: `read`, `write`, `lock` and so on.
        action: &'static str,
        /// What it was tried on.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The path, or the link it is, leads out of the directories that may be written.
    #[error("{} leads outside of {}", path.display(), root.display())]
    Outside {
        /// The path as it was given.
        path: PathBuf,
        /// The directory it must stay in.
        root: PathBuf,
    },
    /// Another writer kept the lock for the whole time that was allowed for waiting.
    #[error(
        "{} is locked by {}, gave up after {:.1} s",
        path.display(),
        holder.as_ref().map_or_else(|| "another process".to_owned(), ToString::to_string),
        waited.as_secs_f32()
    )]
    Busy {
        /// The lock.
        path: PathBuf,
        /// Who holds it, as far as the lock file tells.
        holder: Option<Holder>,
        /// How long this writer waited.
        waited: Duration,
    },
    /// The filesystem has no working locks, so writing to it would not be safe.
    #[error("the filesystem of {} does not support file locks", path.display())]
    LocksUnsupported {
        /// The lock.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line to append had a line break in it.
    #[error("a line for {} contains a line break", path.display())]
    NotOneLine {
        /// The file it was meant for.
        path: PathBuf,
    },
}

impl DiskError {
    /// Makes the conversion for `map_err` after an action on a path.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_path_buf(), source }
    }
}

/// Whether a call changed anything on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing was written, because everything was already so.
    Unchanged,
    /// The change was made and is durable.
    Written,
}

/// Reads a file; `None` when there is none.
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
) -> Result<Change, E> {
    Writer::open(project, WAIT_DEFAULT)?.update(path, change)
}

/// Appends one line to one file under the project's lock.
///
/// See [`Writer::append_line`].
pub fn append_line(
    project: &Project,
    path: &Path,
    line: &[u8],
    options: Append,
) -> Result<(), DiskError> {
    Writer::open(project, WAIT_DEFAULT)?.append_line(path, line, options)
}

/// Lists temporary files in a directory: left by a power failure, or of a writer at work.
pub fn strays(dir: &Path) -> Result<Vec<PathBuf>, DiskError> {
    let mut strays = Vec::new();
    for entry in fs::read_dir(dir).map_err(DiskError::io("read directory", dir))? {
        let name = entry.map_err(DiskError::io("read directory", dir))?.file_name();
        if name.as_encoded_bytes().starts_with(TEMP_PREFIX.as_bytes()) {
            strays.push(dir.join(name));
        }
    }
    Ok(strays)
}

/// Makes a directory of the engine's own and those above it that are missing, durably.
///
/// Needs no lock: whoever makes the same directory at the same time makes the same thing.
pub fn create_dir(path: &Path) -> Result<(), DiskError> {
    create_missing(path).map_err(DiskError::io("create directory", path))?;
    failpoint::reach("disk.dir.made");
    // Also for one that is there: whoever made it may have been killed before it was durable.
    sync_parent(path)
}

/// Writes a file of the engine's own, durably, in a directory that is made if there is none. Nobody
/// writes there in another way.
pub fn put(path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
    let dir = path.parent().unwrap_or(path);
    create_dir(dir)?;
    own_writer(dir)?.replace(path, bytes).map(drop)
}

/// Removes a file of the engine's own, if it is there.
pub fn remove(path: &Path) -> Result<(), DiskError> {
    let dir = path.parent().unwrap_or(path);
    if dir.exists() {
        own_writer(dir)?.remove_file(path)?;
    }
    Ok(())
}

/// Takes a directory of the engine's own, and clears away what writers left there that were killed.
///
/// A directory as a lock carries no note of them. But whoever writes in this one holds it, so all that
/// is temporary there is nobody's any more. Best effort: what stays is cleared away by the next one.
fn own_writer(dir: &Path) -> Result<Writer, DiskError> {
    let writer = Writer::open_dir(dir, WAIT_DEFAULT)?;
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(TEMP_PREFIX.as_bytes()) {
            calls::remove_file(&entry.path()).ok();
        }
    }
    Ok(writer)
}

/// The right to write, held as a lock until it is dropped.
///
/// Relative paths are taken from the project's root. A second writer for the same project in the
/// same process waits for the first one like any other, so do not open one while holding one.
#[derive(Debug)]
pub struct Writer {
    lock: Lock,
    place: Place,
    /// See [`wait_for_first`].
    _first: Option<Lock>,
}

/// Waits for the one who is making `.planning/` outside of a repository: it holds the directory
/// around it, because there was no place for a lock file yet.
fn wait_for_first(project: &Project, wait: Duration) -> Result<Option<Lock>, DiskError> {
    match Lock::acquire(&project.root, wait) {
        Ok(lock) => Ok(Some(lock)),
        Err(busy @ DiskError::Busy { .. }) => Err(busy),
        // Where directories cannot be locked, nobody holds one.
        Err(_) => Ok(None),
    }
}

impl Writer {
    /// Takes the project's lock. Writes are limited to the root and to where `.planning/` leads.
    pub fn open(project: &Project, wait: Duration) -> Result<Self, DiskError> {
        let mut path = project.lock_path();
        let mut lock = Lock::acquire(&path, wait)?;
        // The first writer may have made `.planning/` while we waited, and with it another lock.
        let now = project.lock_path();
        if now != path {
            drop(lock);
            path = now;
            lock = Lock::acquire(&path, wait)?;
        }
        let first = if project.repository.is_none() && path != project.root {
            wait_for_first(project, wait)?
        } else {
            None
        };
        let place = Place::new(vec![project.root.clone(), project.planning_target()]);
        Ok(Self { lock, place, _first: first })
    }

    /// Takes the lock of the engine directory, which all worktrees of a repository share.
    ///
    /// Writes are limited to that directory, and relative paths are taken from it.
    pub fn open_engine(project: &Project, wait: Duration) -> Result<Self, DiskError> {
        let lock = Lock::acquire(&project.engine_dir.join("locks/engine.lock"), wait)?;
        let root = fs::canonicalize(&project.engine_dir)
            .map_err(DiskError::io("enter", &project.engine_dir))?;
        Ok(Self { lock, place: Place::new(vec![root]), _first: None })
    }

    /// Takes a directory that the user named, and makes it if there is none.
    ///
    /// Writes are limited to it, and relative paths are taken from it. It needs no project.
    pub fn open_dir(dir: &Path, wait: Duration) -> Result<Self, DiskError> {
        create_missing(dir).map_err(DiskError::io("create directory", dir))?;
        let root = fs::canonicalize(dir).map_err(DiskError::io("enter", dir))?;
        let lock = Lock::acquire(&root, wait)?;
        Ok(Self { lock, place: Place::new(vec![root]), _first: None })
    }

    /// Lets this writer write in another directory too, one that the user named.
    pub fn with_root(mut self, dir: &Path) -> Result<Self, DiskError> {
        let dir = self.place.absolute(dir);
        self.place.add(fs::canonicalize(&dir).map_err(DiskError::io("enter", &dir))?);
        Ok(self)
    }

    /// Gives a file new content. Equal content is not written again.
    ///
    /// Mode and owner stay those of the old file. A symbolic link stays one; the file it leads to
    /// is replaced. The directory must exist.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> Result<Change, DiskError> {
        let target = self.place.target(path)?;
        let old = Old::load(&target)?;
        replace::put(&self.lock, &target, old.as_ref(), bytes)
    }

    /// Hands a file's bytes to `change` (`None` when there is no file) and writes what it returns.
    ///
    /// When `change` returns `None` or fails, nothing is written. People's editors do not ask for the
    /// lock: when the file was saved meanwhile, its new bytes are handed to `change` once more.
    pub fn update<E: From<DiskError>>(
        &self,
        path: &Path,
        mut change: impl FnMut(Option<&[u8]>) -> Result<Option<Vec<u8>>, E>,
    ) -> Result<Change, E> {
        let target = self.place.target(path)?;
        for _ in 0..SAVED_MAX {
            let old = Old::load(&target)?;
            let Some(bytes) = change(old.as_ref().map(|old| old.bytes.as_slice()))? else {
                return Ok(Change::Unchanged);
            };
            if let Some(change) = replace::put_on(&self.lock, &target, old.as_ref(), &bytes)? {
                return Ok(change);
            }
        }
        let busy = io::Error::other("somebody else writes it again and again");
        Err(DiskError::io("write", &target)(busy).into())
    }

    /// Appends a line, given without its line break, to a file that is made if there is none.
    ///
    /// A line that an earlier crash cut off is ended first, so that it cannot spoil this one.
    pub fn append_line(&self, path: &Path, line: &[u8], options: Append) -> Result<(), DiskError> {
        append::append_line(&self.lock, &self.place.target(path)?, line, options)
    }

    /// Makes a directory and those above it that are missing.
    pub fn create_dir(&self, path: &Path) -> Result<Change, DiskError> {
        let full = self.place.absolute(path);
        // A name that cannot exist is refused before half of it is made.
        if let Err(error) = fs::metadata(&full)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(DiskError::io("create directory", &full)(error));
        }
        let missing: Vec<&Path> = full.ancestors().take_while(|dir| !dir.is_dir()).collect();
        for dir in missing.iter().rev() {
            let entry = self.place.entry(dir)?;
            calls::create_dir(&entry).map_err(DiskError::io("create directory", &entry))?;
            failpoint::reach("disk.dir.created");
            sync_parent(&entry)?;
        }
        Ok(if missing.is_empty() { Change::Unchanged } else { Change::Written })
    }

    /// Removes a file, or a symbolic link itself.
    pub fn remove_file(&self, path: &Path) -> Result<Change, DiskError> {
        self.remove(path, calls::remove_file)
    }

    /// Removes a directory with all that is in it; links in it are removed, not followed.
    pub fn remove_dir_all(&self, path: &Path) -> Result<Change, DiskError> {
        self.remove(path, calls::remove_dir_all)
    }

    /// Renames a file, link or directory. What already has the new name is never overwritten.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        let (from, to) = (self.place.entry(from)?, self.place.entry(to)?);
        if fs::symlink_metadata(&to).is_ok() {
            return Err(DiskError::io("create", &to)(io::ErrorKind::AlreadyExists.into()));
        }
        calls::rename(&from, &to).map_err(DiskError::io("rename", &from))?;
        // The new name first: a crash between the two may show both names, but never none.
        sync_parent(&to)?;
        if from.parent() == to.parent() { Ok(()) } else { sync_parent(&from) }
    }

    /// Copies a file from anywhere; a new copy takes over its mode.
    pub fn copy(&self, from: &Path, to: &Path) -> Result<Change, DiskError> {
        let from = self.place.absolute(from);
        let Some(source) =
            Old::load(&fs::canonicalize(&from).map_err(DiskError::io("read", &from))?)?
        else {
            return Err(DiskError::io("read", &from)(io::ErrorKind::NotFound.into()));
        };
        let target = self.place.target(to)?;
        match Old::load(&target)? {
            Some(old) => replace::put(&self.lock, &target, Some(&old), &source.bytes),
            None => replace::create_like(&self.lock, &target, &source),
        }
    }

    /// Removes temporary files that a power failure left in a directory; returns how many.
    ///
    /// Those of a killed process need no call: the next writer finds them noted in the lock file.
    pub fn sweep(&self, dir: &Path) -> Result<usize, DiskError> {
        let strays = strays(&self.place.absolute(dir))?;
        for stray in &strays {
            self.remove_file(stray)?;
        }
        Ok(strays.len())
    }

    fn remove(
        &self,
        path: &Path,
        remove: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<Change, DiskError> {
        let entry = self.place.entry(path)?;
        match remove(&entry) {
            Ok(()) => {
                failpoint::reach("disk.removed");
                sync_parent(&entry).map(|()| Change::Written)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Change::Unchanged),
            Err(error) => Err(DiskError::io("remove", &entry)(error)),
        }
    }
}

/// Makes a directory and those above it that are missing, durably.
fn create_missing(path: &Path) -> io::Result<()> {
    let here = Path::new(".");
    let is_missing = |dir: &&Path| !dir.as_os_str().is_empty() && !dir.is_dir();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    for dir in missing.into_iter().rev() {
        match calls::create_dir(dir) {
            // Somebody made it at the same time.
            Err(_) if dir.is_dir() => {}
            made => made?,
        }
        calls::sync_dir(dir.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(here))?;
    }
    Ok(())
}

/// Makes the names in a path's directory durable.
fn sync_parent(path: &Path) -> Result<(), DiskError> {
    let dir = path.parent().unwrap_or(path);
    calls::sync_dir(dir).map_err(DiskError::io("sync directory", dir))
}
