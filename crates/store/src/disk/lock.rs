//! Locks between processes, which the kernel drops when their holder dies.
//!
//! The lock file also carries two notes: who holds the lock, for the one who waits in vain, and
//! which temporary file the holder is about to make, so that the next holder can remove it if this
//! one is killed. The notes are `<pid> <command>\n<temporary file>\0`, written over the old ones
//! without ever shortening the file. Nothing depends on them for safety.

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

use super::{DiskError, TEMP_PREFIX, calls, create_missing, sync_parent};

/// The longest notes that are read: a line about the holder and the longest path there can be.
const NOTES_BYTES_MAX: usize = 8192;
/// How often a lock file may vanish under the one who waits for it.
const REOPENS_MAX: usize = 100;
/// How often and after how long it is looked again at a lock whose holder is gone.
const LEFT_LOOKS: usize = 20;
const LEFT_FOR: Duration = Duration::from_millis(5);
/// The longest command that is noted.
const COMMAND_CHARS_MAX: usize = 100;
/// The words of the command line that are noted; further ones may be long or private.
const COMMAND_WORDS: usize = 3;

/// Who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The process, as numbered where it runs.
    pub pid: u32,
    /// The first words of its command line.
    pub command: String,
}

impl Holder {
    /// Returns whether the process is no more; what it was about to start may still have its lock.
    pub fn is_gone(&self) -> bool {
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
    /// The note about this holder; `None` when a directory is locked, which can carry no notes.
    holder_note: Option<Vec<u8>>,
    /// Whether a name was given that may not be durable, and never will be by another sync.
    in_doubt: Cell<bool>,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a process that is just being started may still share it.
        // Nothing can be done if this fails, and then the lock ends with this process.
        let _ = self.file.unlock();
    }
}

/// Returns whether somebody holds the lock on `path`; takes nothing and creates nothing.
///
/// Those who ask at the same time do not see each other.
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

/// Returns whether somebody holds the lock on `path`, and not just what a killed process was about to
/// start, which has its lock for a moment.
///
/// A holder that cannot be seen from here, as out of a container, holds it nevertheless.
pub fn is_held(path: &Path) -> Result<bool, DiskError> {
    for _ in 0..LEFT_LOOKS {
        if !is_locked(path)? {
            return Ok(false);
        }
        if !holder(path).is_some_and(|holder| holder.is_gone()) {
            return Ok(true);
        }
        thread::sleep(LEFT_FOR);
    }
    is_locked(path)
}

impl Lock {
    /// Takes the lock on `path`, waiting for others at most as long as `wait`.
    ///
    /// The lock file and its directory are made if they are missing. A directory can be locked
    /// too; it is left as it is.
    pub fn acquire(path: &Path, wait: Duration) -> Result<Self, DiskError> {
        let start = Instant::now();
        for _ in 0..REOPENS_MAX {
            let (file, can_note) = open(path).map_err(DiskError::io("open lock", path))?;
            let left = wait.saturating_sub(start.elapsed());
            let Some(file) = lock_within(file, left).map_err(|error| refused(path, error))? else {
                break;
            };
            // Somebody may have deleted the file while we waited: then the next one would lock
            // another file of the same name, and there would be two holders.
            if is_still_at(&file, path) {
                let holder_note = can_note.then(holder_note);
                let in_doubt = Cell::new(false);
                let lock = Self { file, path: path.to_path_buf(), holder_note, in_doubt };
                lock.clear_up();
                lock.note(b"")?;
                return Ok(lock);
            }
        }
        let (path, holder) = (path.to_path_buf(), holder(path));
        Err(DiskError::Busy { path, holder, waited: start.elapsed() })
    }

    /// Notes the temporary file that is about to be made.
    pub(super) fn note_temp(&self, temp: &Path) -> Result<(), DiskError> {
        self.note(temp.as_os_str().as_bytes())
    }

    /// Remembers that a sync failed: what is there now must be written anew to be durable.
    pub(super) fn doubt(&self) {
        self.in_doubt.set(true);
    }

    pub(super) fn is_in_doubt(&self) -> bool {
        self.in_doubt.get()
    }

    /// Erases the note about the temporary file.
    pub(super) fn forget_temp(&self) {
        // A note that stays is harmless: the next holder looks for a file that is not there.
        self.note(b"").ok();
    }

    fn note(&self, temp: &[u8]) -> Result<(), DiskError> {
        let Some(holder_note) = &self.holder_note else {
            return Ok(());
        };
        let notes = [holder_note, temp, b"\0"].concat();
        calls::write_over(&self.file, &self.path, &notes)
            .map_err(DiskError::io("write lock", &self.path))
    }

    /// Finishes what a holder left behind that was killed in the middle.
    ///
    /// Best effort: whatever stands in the way here will say so again when this holder writes.
    fn clear_up(&self) {
        let Some(temp) = read_notes(&self.file).and_then(|notes| parse_temp(&notes)) else {
            return;
        };
        calls::remove_file(&temp).ok();
        failpoint::reach("disk.cleared");
        // It may have died between renaming and syncing; this holder may build on what it sees.
        sync_parent(&temp).ok();
    }
}

/// Opens the lock file; the second value says whether it can carry notes.
fn open(path: &Path) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    match calls::open(&options, path) {
        Ok(file) => Ok((file, true)),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => Ok((File::open(path)?, false)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_missing(path.parent().unwrap_or(path))?;
            Ok((calls::open(&options, path)?, true))
        }
        Err(error) => Err(error),
    }
}

/// Locks a file; `None` when others kept it for all of `wait`.
///
/// The kernel queues those who wait, which is fair and wakes them at once, but it knows no
/// deadline. So the waiting is left to a thread. One that nobody listens to any more gets the lock
/// at some time, and lets it go by closing the file.
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

pub(super) fn refused(path: &Path, source: io::Error) -> DiskError {
    let unsupported = [Errno::NOLCK, Errno::OPNOTSUPP, Errno::NOSYS];
    if unsupported.iter().any(|errno| source.raw_os_error() == Some(errno.raw_os_error())) {
        return DiskError::LocksUnsupported { path: path.to_path_buf(), source };
    }
    DiskError::io("lock", path)(source)
}

fn is_still_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Returns who holds a lock, as far as its notes tell; they stay when the holder has gone.
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

/// Reads the temporary file out of the notes; nothing else than such a file is ever named.
fn parse_temp(notes: &[u8]) -> Option<PathBuf> {
    let line_end = notes.iter().position(|&byte| byte == b'\n')?;
    let rest = &notes[line_end + 1..];
    let end = rest.iter().position(|&byte| byte == 0)?;
    let temp = PathBuf::from(std::ffi::OsString::from_vec(rest[..end].to_vec()));
    let name = temp.file_name()?;
    name.as_bytes().starts_with(TEMP_PREFIX.as_bytes()).then_some(temp)
}

/// The note about this process.
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
