//! Redirects the worker's own output to a bounded log, with a thread of the worker.
//!
//! A worker outlives its starter, so the worker must bound its log itself. A final error or a panic
//! is written straight to the original output, because the log thread may not run any more.

use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::panic;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use rustix::stdio::{dup2_stderr, dup2_stdout};

use crate::bounded_log::BoundedLog;

/// How long to wait for the last output; another process may hold the pipe open forever.
const DRAIN_MAX: Duration = Duration::from_secs(1);
const READ_BYTES: usize = 64 * 1024;

/// Standard output and standard error as they were before the redirection.
#[derive(Debug)]
struct OriginalStreams {
    output: OwnedFd,
    errors: OwnedFd,
}

impl OriginalStreams {
    fn restore(&self) {
        // If restoring fails, at worst the output goes to a pipe that nothing reads.
        dup2_stdout(&self.output).ok();
        dup2_stderr(&self.errors).ok();
    }
}

/// The redirection of this process's output to a bounded log; dropping it restores the original
/// output.
#[derive(Debug)]
pub struct RedirectedOutput {
    original: Arc<OriginalStreams>,
    /// Receives a message when the log thread has written everything.
    done: Receiver<()>,
}

impl RedirectedOutput {
    /// Redirects standard output and standard error of this process to a log, which is created or
    /// truncated.
    pub fn to_log(log: &Path) -> io::Result<Self> {
        let original = Arc::new(OriginalStreams {
            output: io::stdout().as_fd().try_clone_to_owned()?,
            errors: io::stderr().as_fd().try_clone_to_owned()?,
        });
        let log = BoundedLog::create(log)?;
        let (reader, writer) = io::pipe()?;
        // The thread sends one message, so it never waits for a reader.
        let (sender, done) = mpsc::sync_channel(1);
        let copy = move || {
            copy_to_log(reader, log);
            sender.send(()).ok();
        };
        thread::Builder::new().name("mow-log".to_owned()).spawn(copy)?;
        dup2_stdout(&writer)?;
        dup2_stderr(&writer)?;
        let (print_panic, streams) = (panic::take_hook(), Arc::clone(&original));
        panic::set_hook(Box::new(move |info| {
            streams.restore();
            print_panic(info);
        }));
        Ok(Self { original, done })
    }
}

impl Drop for RedirectedOutput {
    fn drop(&mut self) {
        self.original.restore();
        self.done.recv_timeout(DRAIN_MAX).ok();
    }
}

fn copy_to_log(mut from: PipeReader, mut log: BoundedLog) {
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            // Output that cannot be written, such as on a full disk, is dropped.
            Ok(count) => drop(log.append(&buffer[..count])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    log.finish().ok();
}
