//! The life lock of a worker: a file lock that is held while the worker or any of its descendants
//! lives.
//!
//! It is a `flock` on a file of the attempt. Such a lock belongs to the open file, not to a
//! process. Every process that inherits the descriptor keeps it held, and the kernel releases it
//! when the last of them ends, however it ends. The starter takes the lock and passes it to the
//! worker as its standard input, so a started worker never looks dead.
//!
//! The file holds `<pid> <start time>` of the worker, for sending signals only; never decide from
//! it whether a worker is alive. Its modification time is the worker's last heartbeat.

#![expect(clippy::disallowed_methods, reason = "the lock file is the engine's own")]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use thiserror::Error;

use crate::process::{self, ProcessIdentity};

/// How long to retry taking the lock: [`is_alive`] in another process holds it for an instant, too.
const ACQUIRE_MAX: Duration = Duration::from_millis(500);
const RETRY_AFTER: Duration = Duration::from_millis(5);
/// The first descriptor that is not a standard stream.
const FIRST_FREE_FD: i32 = 3;
const HOLDER_BYTES_MAX: usize = 64;

/// A failure to take a life lock.
#[derive(Debug, Error)]
pub enum LifeLockError {
    /// A worker of this attempt, or one of its descendants, is alive.
    #[error("{path} is held by a living worker")]
    Held {
        /// The lock file.
        path: PathBuf,
    },
    /// The file could not be created, opened or locked.
    #[error("cannot hold the lock {path}")]
    Io {
        /// The lock file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

/// A life lock that this process, and every process it starts from now on, holds.
///
/// Dropping it closes only this process's descriptor; descendants keep theirs.
#[derive(Debug)]
pub struct LifeLock {
    file: File,
}

impl LifeLock {
    /// Takes over the lock that the starter passed as standard input, or takes a new one.
    ///
    /// A worker calls this once, early in `main`, before it starts any process.
    pub fn hold(path: &Path) -> Result<Self, LifeLockError> {
        let io = |source| LifeLockError::Io { path: path.to_path_buf(), source };
        let file = match take_from_stdin(path).map_err(io)? {
            Some(file) => file,
            None => acquire(path)?,
        };
        write_holder(&file).map_err(io)?;
        failpoint::reach("life.noted");
        fcntl_setfd(&file, FdFlags::empty()).map_err(|errno| io(errno.into()))?;
        Ok(Self { file })
    }

    /// Records that the worker's loop is running; see [`last_heartbeat`].
    pub fn record_heartbeat(&self) {
        // A lost heartbeat is harmless: the lead asks a person before it ends a worker.
        self.file.set_modified(SystemTime::now()).ok();
    }
}

/// Takes the lock on behalf of a worker that is about to be started.
pub(crate) fn acquire(path: &Path) -> Result<File, LifeLockError> {
    let io = |source| LifeLockError::Io { path: path.to_path_buf(), source };
    let mut options = OpenOptions::new();
    let file =
        options.read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
    let start = Instant::now();
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) if start.elapsed() < ACQUIRE_MAX => {
                thread::sleep(RETRY_AFTER);
            }
            Err(Errno::WOULDBLOCK) => return Err(LifeLockError::Held { path: path.to_path_buf() }),
            Err(errno) => return Err(io(errno.into())),
        }
    }
}

/// Returns whether the worker or any of its descendants lives. Does not create the file.
pub fn is_alive(path: &Path) -> io::Result<bool> {
    let Some(file) = open(path)? else { return Ok(false) };
    loop {
        // Dropping the file releases the shared lock.
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => return Ok(false),
            Err(Errno::WOULDBLOCK) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Returns the worker's process as recorded in the file, for signals; `None` if nothing is recorded
/// yet.
pub fn holder(path: &Path) -> io::Result<Option<ProcessIdentity>> {
    let Some(file) = open(path)? else { return Ok(None) };
    let mut bytes = [0; HOLDER_BYTES_MAX];
    let length = file.read_at(&mut bytes, 0)?;
    Ok(parse_holder(&bytes[..length]))
}

/// Returns when the worker last recorded a heartbeat; `None` if the file cannot be read.
pub fn last_heartbeat(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

fn parse_holder(bytes: &[u8]) -> Option<ProcessIdentity> {
    let (pid, start_time) = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?.split_once(' ')?;
    Some(ProcessIdentity { pid: pid.parse().ok()?, start_time: start_time.parse().ok()? })
}

fn write_holder(file: &File) -> io::Result<()> {
    let ProcessIdentity { pid, start_time } = process::current();
    file.set_len(0)?;
    file.write_all_at(format!("{pid} {start_time}\n").as_bytes(), 0)
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Takes the lock from standard input, if the starter passed it there, and makes standard input
/// empty.
fn take_from_stdin(path: &Path) -> io::Result<Option<File>> {
    let stdin = io::stdin();
    let expected = match fs::metadata(path) {
        Ok(expected) => expected,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // A process can be started without a standard input.
    let Ok(ours) = rustix::fs::fstat(&stdin) else { return Ok(None) };
    if (ours.st_dev, ours.st_ino) != (expected.dev(), expected.ino()) {
        return Ok(None);
    }
    let file = File::from(fcntl_dupfd_cloexec(&stdin, FIRST_FREE_FD)?);
    // The lock is held already, unless another program opened the file as our standard input.
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(Some(file))
}

#[cfg(test)]
mod tests;
