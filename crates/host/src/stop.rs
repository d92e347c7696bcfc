//! A wish to stop that many threads can see, and that wakes those who wait for something else.
//!
//! Underneath is a pipe that nobody writes to. Stopping closes its writing end, which every `poll`
//! on the reading end notices, now and for ever.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// A wish to stop; clones share it.
#[derive(Clone, Debug)]
pub struct Stop {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    reader: PipeReader,
    /// Taken away by the first who stops.
    writer: Mutex<Option<PipeWriter>>,
}

impl Stop {
    /// Makes one that nobody has stopped.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self { shared: Arc::new(Shared { reader, writer: Mutex::new(Some(writer)) }) })
    }

    /// Stops everybody who looks at it, for good.
    pub fn stop(&self) {
        self.shared.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Returns whether somebody stopped it.
    pub fn is_stopped(&self) -> bool {
        self.shared.writer.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Waits until it is stopped, at most as long as `wait`; returns whether it is.
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

impl AsFd for Stop {
    /// Becomes readable when it is stopped.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.reader.as_fd()
    }
}

/// Waits for descriptors; an interruption counts as being woken.
pub(crate) fn poll_until(fds: &mut [PollFd<'_>], wait: Option<Duration>) -> io::Result<()> {
    let wait = wait.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
    match poll(fds, wait.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests;
