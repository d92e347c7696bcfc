//! Records the calls of this thread that change the disk, and refuses some of them, for tests.
//!
//! Exists only in builds with debug assertions, and is active only between [`start`] and [`stop`].
//! No program may depend on it.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// One call, with everything needed to repeat it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedCall {
    /// A file was opened, and created if it did not exist.
    Open {
        /// The opened file.
        path: PathBuf,
    },
    /// Bytes were written at the end of a file.
    Append {
        /// The written file.
        path: PathBuf,
        /// The written bytes.
        bytes: Vec<u8>,
    },
    /// Bytes were written at the beginning of a file.
    WriteOver {
        /// The written file.
        path: PathBuf,
        /// The written bytes.
        bytes: Vec<u8>,
    },
    /// A file was truncated.
    Truncate {
        /// The truncated file.
        path: PathBuf,
        /// Its new length in bytes.
        length: u64,
    },
    /// A file's content was made durable.
    Sync {
        /// The synced file.
        path: PathBuf,
    },
    /// The names in a directory were made durable.
    SyncDir {
        /// The synced directory.
        path: PathBuf,
    },
    /// A sync failed, and the system forgot the data that it could not write.
    SyncFailed {
        /// The file or directory that was to be synced.
        path: PathBuf,
    },
    /// A directory was created.
    CreateDir {
        /// The new directory.
        path: PathBuf,
    },
    /// A file or directory was renamed.
    Rename {
        /// The path before.
        from: PathBuf,
        /// The path after.
        to: PathBuf,
    },
    /// A file or an empty directory was removed.
    Remove {
        /// The path that no longer exists.
        path: PathBuf,
    },
}

/// The faults of the disk that the recorder simulates.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// How many bytes fit on the disk; a new file counts as one byte. `None` is no limit.
    pub room: Option<usize>,
    /// Which sync fails, counted from 0; `None` when all succeed.
    pub failing_sync: Option<usize>,
}

#[derive(Default)]
struct CallRecorder {
    calls: Vec<RecordedCall>,
    faults: Faults,
}

thread_local! {
    static RECORDER: RefCell<Option<CallRecorder>> = const { RefCell::new(None) };
}

/// Starts to record the calls of this thread.
pub fn start(faults: Faults) {
    RECORDER.set(Some(CallRecorder { calls: Vec::new(), faults }));
}

/// Returns the number of calls recorded so far.
pub fn call_count() -> usize {
    RECORDER.with_borrow(|recorder| recorder.as_ref().map_or(0, |recorder| recorder.calls.len()))
}

/// Stops the recording and returns the calls.
pub fn stop() -> Vec<RecordedCall> {
    RECORDER.take().map_or_else(Vec::new, |recorder| recorder.calls)
}

/// Records a call, or refuses it with an error.
pub(super) fn record(call: impl FnOnce() -> RecordedCall) -> io::Result<()> {
    RECORDER.with_borrow_mut(|recorder| {
        recorder.as_mut().map_or(Ok(()), |recorder| recorder.record(call()))
    })
}

/// Uses up room for a write; returns how many bytes fit, when that is not all of them.
pub(super) fn take_room(wanted: usize) -> Option<usize> {
    RECORDER.with_borrow_mut(|recorder| {
        let room = recorder.as_mut()?.faults.room.as_mut()?;
        let fits = wanted.min(*room);
        *room -= fits;
        (fits < wanted).then_some(fits)
    })
}

/// Returns an error for a new file when there is no room for it.
pub(super) fn check_room_for_new_file(path: &Path) -> io::Result<()> {
    if path.exists() || take_room(1).is_none() {
        return Ok(());
    }
    Err(io::ErrorKind::StorageFull.into())
}

/// Lists a directory and its content, children before parents; empty without a recording.
pub(super) fn entries_in_removal_order(path: &Path) -> Vec<PathBuf> {
    if RECORDER.with_borrow(Option::is_none) {
        return Vec::new();
    }
    let mut all = Vec::new();
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            all.append(&mut entries_in_removal_order(&entry.path()));
        }
    }
    all.push(path.to_path_buf());
    all
}

impl CallRecorder {
    fn record(&mut self, call: RecordedCall) -> io::Result<()> {
        let (RecordedCall::Sync { path } | RecordedCall::SyncDir { path }) = &call else {
            self.calls.push(call);
            return Ok(());
        };
        if self.faults.failing_sync == Some(0) {
            self.faults.failing_sync = None;
            self.calls.push(RecordedCall::SyncFailed { path: path.clone() });
            return Err(rustix::io::Errno::IO.into());
        }
        self.faults.failing_sync = self.faults.failing_sync.map(|left| left - 1);
        self.calls.push(call);
        Ok(())
    }
}
