//! Takes down the calls of this thread that change the disk, and refuses some of them.
//!
//! Only in builds with debug assertions, and only while a test has put a tape in. Nothing in a
//! program may depend on it.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// One call, with all that is needed to do it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// A file was opened and made if there was none.
    Open {
        /// The file.
        path: PathBuf,
    },
    /// Bytes were written at the end.
    Append {
        /// The file.
        path: PathBuf,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Bytes were written over the beginning.
    WriteOver {
        /// The file.
        path: PathBuf,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A file was cut off.
    Cut {
        /// The file.
        path: PathBuf,
        /// How long it is now.
        length: u64,
    },
    /// The content of a file was made durable.
    Sync {
        /// The file.
        path: PathBuf,
    },
    /// The names in a directory were made durable.
    SyncDir {
        /// The directory.
        path: PathBuf,
    },
    /// Making something durable failed, and the system forgot what it could not write.
    SyncFailed {
        /// The file or directory.
        path: PathBuf,
    },
    /// A directory was made.
    CreateDir {
        /// The directory.
        path: PathBuf,
    },
    /// A file or directory got another name.
    Rename {
        /// Its name before.
        from: PathBuf,
        /// Its name now.
        to: PathBuf,
    },
    /// A file or an empty directory was removed.
    Remove {
        /// What it was called.
        path: PathBuf,
    },
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// How many bytes there is room for; a new file counts as one.
    pub room: Option<usize>,
    /// Which sync fails, counted from 0.
    pub failing_sync: Option<usize>,
}

#[derive(Default)]
struct Tape {
    calls: Vec<Call>,
    faults: Faults,
}

thread_local! {
    static TAPE: RefCell<Option<Tape>> = const { RefCell::new(None) };
}

/// Begins to take down what this thread does.
pub fn start(faults: Faults) {
    TAPE.set(Some(Tape { calls: Vec::new(), faults }));
}

/// Returns how many calls were taken down so far.
pub fn length() -> usize {
    TAPE.with_borrow(|tape| tape.as_ref().map_or(0, |tape| tape.calls.len()))
}

/// Ends the tape and returns what is on it.
pub fn stop() -> Vec<Call> {
    TAPE.take().map_or_else(Vec::new, |tape| tape.calls)
}

/// Takes a call down, or refuses it.
pub(super) fn take(call: impl FnOnce() -> Call) -> io::Result<()> {
    TAPE.with_borrow_mut(|tape| tape.as_mut().map_or(Ok(()), |tape| tape.take(call())))
}

/// Returns how much of a write there is room for, when that is not all of it.
pub(super) fn room(wanted: usize) -> Option<usize> {
    TAPE.with_borrow_mut(|tape| {
        let room = tape.as_mut()?.faults.room.as_mut()?;
        let fits = wanted.min(*room);
        *room -= fits;
        (fits < wanted).then_some(fits)
    })
}

/// Refuses a file that would be new when there is no room for it.
pub(super) fn make_room(path: &Path) -> io::Result<()> {
    if path.exists() || room(1).is_none() {
        return Ok(());
    }
    Err(io::ErrorKind::StorageFull.into())
}

/// Lists what is removed with a directory, in the order in which that is possible.
pub(super) fn entries(path: &Path) -> Vec<PathBuf> {
    if TAPE.with_borrow(Option::is_none) {
        return Vec::new();
    }
    let mut all = Vec::new();
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            all.append(&mut entries(&entry.path()));
        }
    }
    all.push(path.to_path_buf());
    all
}

impl Tape {
    fn take(&mut self, call: Call) -> io::Result<()> {
        let (Call::Sync { path } | Call::SyncDir { path }) = &call else {
            self.calls.push(call);
            return Ok(());
        };
        if self.faults.failing_sync == Some(0) {
            self.faults.failing_sync = None;
            self.calls.push(Call::SyncFailed { path: path.clone() });
            return Err(rustix::io::Errno::IO.into());
        }
        self.faults.failing_sync = self.faults.failing_sync.map(|left| left - 1);
        self.calls.push(call);
        Ok(())
    }
}
