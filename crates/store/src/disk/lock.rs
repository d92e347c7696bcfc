//! Locks between processes. The kernel drops a lock when its holder dies.
//!
//! The lock file also carries two notes. One names the holder, for the error message of a process
//! that waited in vain. The other names the temporary file that the holder is about to create, so
//! that the next holder can remove it if this one is killed. The notes are `<pid>
//! <command>\n<temporary file>\0`. New notes overwrite old ones; the file is never shortened.
//! Safety does not depend on the notes.

use std::cell::Cell;
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::{DiskError, TEMP_PREFIX, create_missing, sync_parent, syscalls};

/// The maximum length of the notes: a line about the holder and the longest possible path.
const NOTES_BYTES_MAX: usize = 8192;
/// How often a waiting process opens a lock file again that was deleted meanwhile.
const REOPENS_MAX: usize = 100;
/// How often a lock whose holder is dead is checked again.
const DEAD_HOLDER_CHECKS: usize = 20;
/// The pause between two of those checks.
const DEAD_HOLDER_PAUSE: Duration = Duration::from_millis(5);
/// The maximum length of the noted command, in characters.
const COMMAND_CHARS_MAX: usize = 100;
/// How many words of the command line are noted; further words may be long or private.
const COMMAND_WORDS: usize = 3;

/// The process that holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The process id, in the holder's own pid namespace.
    pub pid: u32,
    /// The first words of the command line.
    pub command: String,
}

impl Holder {
    /// Returns whether the process has ended. A child that it was starting may still hold the lock.
    pub fn is_dead(&self) -> bool {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "process {} ({})", self.pid, self.command)
    }
}

/// An exclusive lock, held until it is dropped or its process ends.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
    /// The note about this holder; `None` for a locked directory, which cannot carry notes.
    holder_note: Option<Vec<u8>>,
    /// Whether the sync of a directory failed. Another sync cannot repair that.
    has_failed_sync: Cell<bool>,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child process that is being started may still share it.
        // If this fails, the lock ends with this process.
        let _ = self.file.unlock();
    }
}

/// Returns whether a process holds the lock on `path`; takes no lock and creates no file.
///
/// Two processes that ask at the same time do not disturb each other.
pub fn is_locked(path: &Path) -> Result<bool, DiskError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(DiskError::io("open", path)(error)),
    };
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| false).map_err(DiskError::io("unlock", path)),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(DiskError::io("lock", path)(error)),
    }
}

/// Returns whether a living process holds the lock on `path`.
///
/// When a process is killed while it starts a child, the child holds the lock for a moment; that
/// does not count. A holder that is not visible from here, such as one in a container, counts.
pub fn is_held_by_live_process(path: &Path) -> Result<bool, DiskError> {
    for _ in 0..DEAD_HOLDER_CHECKS {
        if !is_locked(path)? {
            return Ok(false);
        }
        if !holder(path).is_some_and(|holder| holder.is_dead()) {
            return Ok(true);
        }
        thread::sleep(DEAD_HOLDER_PAUSE);
    }
    is_locked(path)
}

impl Lock {
    /// Takes the lock on `path`, and waits at most `wait` for other holders.
    ///
    /// The lock file and its directory are created if needed. A directory can be locked too; it is
    /// not changed.
    pub fn acquire(path: &Path, wait: Duration) -> Result<Self, DiskError> {
        let start = Instant::now();
        for _ in 0..REOPENS_MAX {
            let (file, can_note) = open(path).map_err(DiskError::io("open lock", path))?;
            let wait = wait.saturating_sub(start.elapsed());
            let Some(file) = lock_within(file, wait).map_err(|error| lock_error(path, error))?
            else {
                break;
            };
            // The file may have been deleted during the wait. Then the next process would lock a
            // new file of the same name, and there would be two holders.
            if is_still_at(&file, path) {
                let holder_note = can_note.then(holder_note);
                let has_failed_sync = Cell::new(false);
                let lock = Self { file, path: path.to_path_buf(), holder_note, has_failed_sync };
                lock.clean_up_after_dead_holder();
                lock.write_notes(b"")?;
                return Ok(lock);
            }
        }
        let (path, holder) = (path.to_path_buf(), holder(path));
        Err(DiskError::Busy { path, holder, waited: start.elapsed() })
    }

    /// Notes the temporary file that is about to be created.
    pub(super) fn note_temp(&self, temp: &Path) -> Result<(), DiskError> {
        self.write_notes(temp.as_os_str().as_bytes())
    }

    /// Remembers that a sync failed: files must be written again to be durable.
    pub(super) fn mark_sync_failed(&self) {
        self.has_failed_sync.set(true);
    }

    pub(super) fn has_failed_sync(&self) -> bool {
        self.has_failed_sync.get()
    }

    /// Erases the note about the temporary file.
    pub(super) fn erase_temp_note(&self) {
        // A note that stays is harmless: the next holder looks for a file that does not exist.
        self.write_notes(b"").ok();
    }

    fn write_notes(&self, temp: &[u8]) -> Result<(), DiskError> {
        let Some(holder_note) = &self.holder_note else {
            return Ok(());
        };
        let notes = [holder_note, temp, b"\0"].concat();
        syscalls::write_over(&self.file, &self.path, &notes)
            .map_err(DiskError::io("write lock", &self.path))
    }

    /// Removes the temporary file of a holder that was killed, and syncs its directory.
    ///
    /// Errors are ignored: the same error appears again when this holder writes.
    fn clean_up_after_dead_holder(&self) {
        let Some(temp) = read_notes(&self.file).and_then(|notes| parse_temp(&notes)) else {
            return;
        };
        syscalls::remove_file(&temp).ok();
        failpoint::reach("disk.cleared");
        // The dead holder may have renamed its file without a sync, and this holder reads the file.
        sync_parent(&temp).ok();
    }
}

/// Opens the lock file. The second value is false for a directory, which cannot carry notes.
fn open(path: &Path) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    match syscalls::open(&options, path) {
        Ok(file) => Ok((file, true)),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => Ok((File::open(path)?, false)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_missing(path.parent().unwrap_or(path))?;
            Ok((syscalls::open(&options, path)?, true))
        }
        Err(error) => Err(error),
    }
}

/// Locks a file; `None` when other processes held the lock for all of `wait`.
///
/// The kernel's queue is fair and wakes a waiting process at once, but it has no timeout. So a
/// thread waits. After a timeout the thread still gets the lock at some time, and drops it by
/// closing the file.
pub(super) fn lock_within(file: File, wait: Duration) -> io::Result<Option<File>> {
    match file.try_lock() {
        Ok(()) => return Ok(Some(file)),
        Err(TryLockError::Error(error)) => return Err(error),
        Err(TryLockError::WouldBlock) if wait.is_zero() => return Ok(None),
        Err(TryLockError::WouldBlock) => {}
    }
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::Builder::new().name("mow-lock".to_owned()).spawn(move || {
        let locked = lock_blocking(&file).map(|()| file);
        sender.send(locked).ok();
    })?;
    receiver.recv_timeout(wait).map_or(Ok(None), |locked| locked.map(Some))
}

fn lock_blocking(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

pub(super) fn lock_error(path: &Path, source: io::Error) -> DiskError {
    let unsupported = [Errno::NOLCK, Errno::OPNOTSUPP, Errno::NOSYS];
    if unsupported.iter().any(|errno| source.raw_os_error() == Some(errno.raw_os_error())) {
        return DiskError::LocksUnsupported { path: path.to_path_buf(), source };
    }
    DiskError::io("lock", path)(source)
}

fn is_still_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(opened), Ok(named)) => (opened.dev(), opened.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// Returns the holder that the notes of a lock name. The notes stay when the holder has ended.
pub fn holder(path: &Path) -> Option<Holder> {
    parse_holder(&read_notes(&File::open(path).ok()?)?)
}

fn read_notes(file: &File) -> Option<Vec<u8>> {
    let mut notes = vec![0; NOTES_BYTES_MAX];
    let length = file.read_at(&mut notes, 0).ok()?;
    notes.truncate(length);
    Some(notes)
}

fn parse_holder(notes: &[u8]) -> Option<Holder> {
    let line = notes.split(|&byte| byte == b'\n').next()?;
    let (pid, command) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    Some(Holder { pid: pid.parse().ok()?, command: command.to_owned() })
}

/// Reads the temporary file's path from the notes. Any other file name is ignored.
fn parse_temp(notes: &[u8]) -> Option<PathBuf> {
    let line_end = notes.iter().position(|&byte| byte == b'\n')?;
    let rest = &notes[line_end + 1..];
    let end = rest.iter().position(|&byte| byte == 0)?;
    let temp = PathBuf::from(std::ffi::OsString::from_vec(rest[..end].to_vec()));
    let name = temp.file_name()?;
    name.as_bytes().starts_with(TEMP_PREFIX.as_bytes()).then_some(temp)
}

/// Returns the note about this process.
fn holder_note() -> Vec<u8> {
    let words = std::env::args_os().take(COMMAND_WORDS).enumerate().map(|(at, word)| {
        let program = Path::new(&word).file_name().filter(|_| at == 0);
        program.unwrap_or(&word).to_string_lossy().into_owned()
    });
    let command: String = words
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .map(|char| if char.is_control() { ' ' } else { char })
        .take(COMMAND_CHARS_MAX)
        .collect();
    format!("{} {command}\n", process::id()).into_bytes()
}
