//! A command that runs in the background, and signals for processes.

use std::io::Read;
use std::process::{Child, ExitStatus};
use std::thread::{self, JoinHandle};

use crate::program_call::ProgramCall;
use rustix::process::{Pid, Signal, kill_process};

/// A running command. Dropping it kills the process.
#[derive(Debug)]
pub struct RunningCommand {
    child: Child,
    output: Option<JoinHandle<(String, String)>>,
}

impl RunningCommand {
    /// Starts a call and collects its output in the background.
    pub fn start(call: ProgramCall) -> Self {
        let mut child = call.spawn();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let output = thread::spawn(move || {
            let read = |from: Option<Box<dyn Read + Send>>| {
                let mut bytes = Vec::new();
                from.map(|mut from| from.read_to_end(&mut bytes));
                String::from_utf8_lossy(&bytes).into_owned()
            };
            let errors = thread::spawn(move || read(stderr.map(|from| Box::new(from) as _)));
            let output = read(stdout.map(|from| Box::new(from) as _));
            (output, errors.join().unwrap_or_default())
        });
        Self { child, output: Some(output) }
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns whether the process has exited.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_some()
    }

    /// Sends SIGINT, as Ctrl-C does.
    pub fn interrupt(&self) {
        signal(self.pid(), Signal::INT);
    }

    /// Sends SIGKILL and waits for the exit.
    pub fn kill(mut self) {
        self.child.kill().expect("it is our child");
        self.child.wait().expect("it is our child");
    }

    /// Waits for the exit; returns the status and all output.
    pub fn end(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().expect("it is our child");
        let output = self.output.take().map(JoinHandle::join);
        let (stdout, stderr) = output.and_then(Result::ok).unwrap_or_default();
        (status, stdout + &stderr)
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        // A failed test leaves no process behind. For a finished process this does nothing.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Sends a signal to a process; does nothing when the process is gone.
fn signal(pid: u32, what: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("it is the number of a process"), what).ok();
}

/// Suspends a process with SIGSTOP.
pub fn suspend(pid: u32) {
    signal(pid, Signal::STOP);
}

/// Resumes a suspended process with SIGCONT.
pub fn resume(pid: u32) {
    signal(pid, Signal::CONT);
}

/// Kills a process with SIGKILL.
pub fn kill(pid: u32) {
    signal(pid, Signal::KILL);
}
