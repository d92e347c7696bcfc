//! A stop flag that threads share, and that wakes threads waiting in `poll`.
//!
//! It is a pipe that nothing writes to. Stopping closes its write end, which every current and
//! later `poll` on the read end notices.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// A flag that tells threads to stop; clones share it. It cannot be reset.
#[derive(Clone, Debug)]
pub struct StopSignal {
    pipe: Arc<StopPipe>,
}

#[derive(Debug)]
struct StopPipe {
    reader: PipeReader,
    /// `None` once stopped.
    writer: Mutex<Option<PipeWriter>>,
}

impl StopSignal {
    /// Creates a signal that is not set.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self { pipe: Arc::new(StopPipe { reader, writer: Mutex::new(Some(writer)) }) })
    }

    /// Sets the signal for all threads that share it.
    pub fn stop(&self) {
        self.pipe.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Returns whether the signal is set.
    pub fn is_stopped(&self) -> bool {
        self.pipe.writer.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Waits until the signal is set, at most as long as `wait`; returns whether it is set.
    pub fn wait(&self, wait: Duration) -> io::Result<bool> {
        let end = Instant::now() + wait;
        while !self.is_stopped() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            let mut fds = [PollFd::new(&self, PollFlags::IN)];
            poll_until(&mut fds, Some(left))?;
        }
        Ok(true)
    }
}

impl AsFd for StopSignal {
    /// Returns a descriptor that becomes readable when the signal is set.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.reader.as_fd()
    }
}

/// Polls descriptors for at most `wait`; an interruption by a signal counts as a wake-up.
pub(crate) fn poll_until(fds: &mut [PollFd<'_>], wait: Option<Duration>) -> io::Result<()> {
    let wait = wait.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
    match poll(fds, wait.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests;
