//! The life lock of a worker: held while the worker or any process below it lives.
//!
//! It is a `flock` on a file of the attempt. Such a lock belongs to the opened file and not to a
//! process, so whoever inherits the descriptor keeps it held, and the kernel lets it go when the
//! last one is gone, however it ended. The starter takes the lock and hands it to the worker as its
//! standard input, so there is no moment at which a started worker looks dead.
//!
//! The file also carries `<pid> <start time>` of the worker. That is for signals only; nothing
//! concludes from it who is alive.

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

use crate::process::{self, Started};

/// How long taking the lock is tried: [`is_alive`] holds it for an instant, too.
const PROBES_LAST: Duration = Duration::from_millis(500);
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(5);
/// The first descriptor that is not a standard stream.
const FIRST_FREE_FD: i32 = 3;
const NOTE_BYTES_MAX: usize = 64;

/// Why a life lock could not be taken.
#[derive(Debug, Error)]
pub enum LifeError {
    /// A worker of this attempt, or one of its descendants, is alive.
    #[error("{path} is held by a living worker")]
    Held {
        /// The lock file.
        path: PathBuf,
    },
    /// The file could not be made, opened or locked.
    #[error("cannot hold {path}")]
    Io {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A life lock that this process holds, and with it every process it starts from now on.
///
/// Dropping it closes this process's copy only: descendants keep theirs.
#[derive(Debug)]
pub struct Life {
    file: File,
}

impl Life {
    /// Takes the lock, or takes over the one that the starter handed down as standard input.
    ///
    /// Called once, early in a worker's `main`, before it starts anything.
    pub fn hold(path: &Path) -> Result<Self, LifeError> {
        let io = |source| LifeError::Io { path: path.to_path_buf(), source };
        let file = match inherited(path).map_err(io)? {
            Some(file) => file,
            None => claim(path)?,
        };
        note(&file).map_err(io)?;
        failpoint::reach("life.noted");
        fcntl_setfd(&file, FdFlags::empty()).map_err(|errno| io(errno.into()))?;
        Ok(Self { file })
    }

    /// Shows that the worker's loop goes round; see [`last_beat`].
    pub fn beat(&self) {
        // Who watches asks a person before anything is ended, so a beat that is lost does no harm.
        self.file.set_modified(SystemTime::now()).ok();
    }
}

/// Takes the lock for a worker that is about to be started.
pub(crate) fn claim(path: &Path) -> Result<File, LifeError> {
    let io = |source| LifeError::Io { path: path.to_path_buf(), source };
    let mut options = OpenOptions::new();
    let file =
        options.read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
    let start = Instant::now();
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) if start.elapsed() < PROBES_LAST => {
                thread::sleep(TRY_AGAIN_AFTER);
            }
            Err(Errno::WOULDBLOCK) => return Err(LifeError::Held { path: path.to_path_buf() }),
            Err(errno) => return Err(io(errno.into())),
        }
    }
}

/// Returns whether the worker or any of its descendants lives; creates nothing.
pub fn is_alive(path: &Path) -> io::Result<bool> {
    let Some(file) = open(path)? else { return Ok(false) };
    loop {
        // Closing the file lets go of what was taken here.
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => return Ok(false),
            Err(Errno::WOULDBLOCK) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Waits until the worker and all of its descendants are gone, for as long as that takes.
#[cfg(test)]
pub(crate) fn wait_gone(path: &Path) -> io::Result<()> {
    let Some(file) = open(path)? else { return Ok(()) };
    loop {
        match flock(&file, FlockOperation::LockShared) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Returns the worker as it noted itself, to send it a signal; `None` when it noted nothing yet.
pub fn holder(path: &Path) -> io::Result<Option<Started>> {
    let Some(file) = open(path)? else { return Ok(None) };
    let mut bytes = [0; NOTE_BYTES_MAX];
    let length = file.read_at(&mut bytes, 0)?;
    Ok(parse_note(&bytes[..length]))
}

/// Returns when the worker last showed that its loop goes round.
pub fn last_beat(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

fn parse_note(bytes: &[u8]) -> Option<Started> {
    let (pid, start_time) = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?.split_once(' ')?;
    Some(Started { pid: pid.parse().ok()?, start_time: start_time.parse().ok()? })
}

fn note(file: &File) -> io::Result<()> {
    let Started { pid, start_time } = process::this();
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

/// Takes the lock off standard input, if that is where the starter put it.
fn inherited(path: &Path) -> io::Result<Option<File>> {
    let stdin = io::stdin();
    let there = match fs::metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // A process may well have been started without any standard input.
    let Ok(ours) = rustix::fs::fstat(&stdin) else { return Ok(None) };
    if (ours.st_dev, ours.st_ino) != (there.dev(), there.ino()) {
        return Ok(None);
    }
    let file = File::from(fcntl_dupfd_cloexec(&stdin, FIRST_FREE_FD)?);
    // Held already, unless somebody else than our starter opened the file for us.
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(Some(file))
}

#[cfg(test)]
mod tests;
