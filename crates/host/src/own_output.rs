//! What a worker itself prints, kept in a bounded log by a thread of the worker.
//!
//! A worker outlives whoever started it, so nobody else could keep its log short. Its last words, an
//! error or a panic, go straight to where its output went before: no thread is left to carry them.

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

/// How long to wait for what was printed last; somebody may hold the other end for ever.
const READ_WITHIN: Duration = Duration::from_secs(1);
const READ_BYTES: usize = 64 * 1024;

/// Where standard output and standard error went before.
#[derive(Debug)]
struct Before {
    output: OwnedFd,
    errors: OwnedFd,
}

impl Before {
    fn restore(&self) {
        // Who cannot be given back its output has at worst one that nobody reads.
        dup2_stdout(&self.output).ok();
        dup2_stderr(&self.errors).ok();
    }
}

/// The output of this process while it goes to a bounded log.
#[derive(Debug)]
pub struct OwnOutput {
    before: Arc<Before>,
    end: Receiver<()>,
}

impl OwnOutput {
    /// Sends all that this process prints to a log, which is made or emptied.
    pub fn bound(log: &Path) -> io::Result<Self> {
        let before = Arc::new(Before {
            output: io::stdout().as_fd().try_clone_to_owned()?,
            errors: io::stderr().as_fd().try_clone_to_owned()?,
        });
        let log = BoundedLog::create(log)?;
        let (reader, writer) = io::pipe()?;
        let (sender, end) = mpsc::channel();
        let keep = move || {
            keep_all(reader, log);
            sender.send(()).ok();
        };
        thread::Builder::new().name("mow-log".to_owned()).spawn(keep)?;
        dup2_stdout(&writer)?;
        dup2_stderr(&writer)?;
        let (say, last) = (panic::take_hook(), Arc::clone(&before));
        panic::set_hook(Box::new(move |info| {
            last.restore();
            say(info);
        }));
        Ok(Self { before, end })
    }
}

impl Drop for OwnOutput {
    fn drop(&mut self) {
        self.before.restore();
        self.end.recv_timeout(READ_WITHIN).ok();
    }
}

fn keep_all(mut from: PipeReader, mut log: BoundedLog) {
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            // What the disk has no room for is lost, and nobody waits for it.
            Ok(count) => drop(log.append(&buffer[..count])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    log.finish().ok();
}
