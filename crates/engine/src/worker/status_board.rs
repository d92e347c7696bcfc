//! Shows the state of the worker in STATUS.md, in a background thread.
//!
//! The main loop never waits for a write. Changes within a short time become one write. Effects
//! that edit the file themselves first write what waits, so that nothing older replaces their edit.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mow_core::worker::LiveStatus;

use crate::EngineError;
use crate::status_file::StatusFile;

/// The least time between two writes.
const WRITE_INTERVAL: Duration = Duration::from_millis(100);

/// How long after a failed write it is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// STATUS.md, with the states that it shows and will show.
pub(super) struct StatusBoard {
    file: StatusFile,
    /// Held during a write: no commit must contain a temporary file.
    commit_lock: Arc<Mutex<()>>,
    next: Mutex<NextStatus>,
    has_changed: Condvar,
    /// What the file shows. Locked during a write.
    shown: Mutex<Option<LiveStatus>>,
}

/// What is to be shown.
#[derive(Default)]
struct NextStatus {
    /// The newest state.
    newest: Option<LiveStatus>,
    /// Whether the newest state is not written yet.
    waits: bool,
    /// Whether the attempt has ended.
    is_closed: bool,
}

impl StatusBoard {
    pub(super) fn new(file: StatusFile, commit_lock: Arc<Mutex<()>>) -> Self {
        let (next, has_changed, shown) = (Mutex::default(), Condvar::new(), Mutex::default());
        Self { file, commit_lock, next, has_changed, shown }
    }

    /// Has a state shown soon, if it differs from the newest one.
    pub(super) fn show(&self, status: Option<LiveStatus>) {
        let mut next = lock(&self.next);
        if status.is_some() && next.newest != status {
            (next.newest, next.waits) = (status, true);
            self.has_changed.notify_all();
        }
    }

    /// Writes states until the attempt has ended.
    pub(super) fn write_until_closed(&self) {
        loop {
            let next = self.has_changed.wait_while(lock(&self.next), |n| !n.waits && !n.is_closed);
            if next.unwrap_or_else(PoisonError::into_inner).is_closed {
                return;
            }
            let pause = if self.write_waiting().is_ok() { WRITE_INTERVAL } else { RETRY_AFTER };
            let is_open = |next: &mut NextStatus| !next.is_closed;
            drop(self.has_changed.wait_timeout_while(lock(&self.next), pause, is_open));
        }
    }

    /// Changes the file, which is created if it does not exist. A change that cannot be made is
    /// skipped.
    pub(super) fn change(
        &self,
        change: impl Fn(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<(), EngineError> {
        self.write_waiting()?;
        let _no_commit = lock(&self.commit_lock);
        let _no_write = lock(&self.shown);
        self.file.change(change)
    }

    /// Writes the last state, and ends the thread.
    pub(super) fn close(&self) {
        // The lead corrects the file if it could not be written.
        self.write_waiting().ok();
        lock(&self.next).is_closed = true;
        self.has_changed.notify_all();
    }

    /// Writes the newest state if it is not written yet.
    fn write_waiting(&self) -> Result<(), EngineError> {
        let _no_commit = lock(&self.commit_lock);
        let mut shown = lock(&self.shown);
        let next = {
            let mut next = lock(&self.next);
            let waits = std::mem::take(&mut next.waits);
            next.newest.clone().filter(|_| waits)
        };
        let Some(next) = next else { return Ok(()) };
        if let Err(error) = self.file.show(shown.as_ref(), &next) {
            lock(&self.next).waits = true;
            return Err(error);
        }
        failpoint::reach("status.shown");
        *shown = Some(next);
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
