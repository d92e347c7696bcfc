//! A command that is still going, and signals for it.

use std::io::Read;
use std::process::{Child, ExitStatus};
use std::thread::{self, JoinHandle};

use crate::call::Call;
use rustix::process::{Pid, Signal, kill_process};

/// A command on its way. Whoever forgets about it kills it.
#[derive(Debug)]
pub struct Going {
    child: Child,
    said: Option<JoinHandle<(String, String)>>,
}

impl Going {
    /// Starts a call and lets it go on.
    pub fn of(call: Call) -> Self {
        let mut child = call.spawn();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let said = thread::spawn(move || {
            let read = |from: Option<Box<dyn Read + Send>>| {
                let mut bytes = Vec::new();
                from.map(|mut from| from.read_to_end(&mut bytes));
                String::from_utf8_lossy(&bytes).into_owned()
            };
            let errors = thread::spawn(move || read(stderr.map(|from| Box::new(from) as _)));
            let said = read(stdout.map(|from| Box::new(from) as _));
            (said, errors.join().unwrap_or_default())
        });
        Self { child, said: Some(said) }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_some()
    }

    /// Interrupts it, as Ctrl-C does.
    pub fn interrupt(&self) {
        signal(self.pid(), Signal::INT);
    }

    /// Kills it, at once and without a chance to clear up.
    pub fn kill(mut self) {
        self.child.kill().expect("it is our child");
        self.child.wait().expect("it is our child");
    }

    /// Waits for its end; returns how it ended and all it said.
    pub fn end(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().expect("it is our child");
        let said = self.said.take().map(JoinHandle::join);
        let (stdout, stderr) = said.and_then(Result::ok).unwrap_or_default();
        (status, stdout + &stderr)
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind; one that has ended it is not harmed.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Sends a process a signal; one that is gone gets none.
fn signal(pid: u32, what: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("it is the number of a process"), what).ok();
}

/// Makes a process stand still.
pub fn stop(pid: u32) {
    signal(pid, Signal::STOP);
}

/// Lets a process go on that was made to stand still.
pub fn go_on(pid: u32) {
    signal(pid, Signal::CONT);
}

/// Kills a process at once.
pub fn kill(pid: u32) {
    signal(pid, Signal::KILL);
}
