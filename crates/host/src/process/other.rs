//! Finds and signals processes with the `ps` program, on systems without `/proc`.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::process::{Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{ProcessError, ProcessIdentity};
use crate::launch::{self, Launch};

/// How long to wait for killed processes to disappear.
const KILLED_WITHIN: Duration = Duration::from_secs(5);
const POLL_EVERY: Duration = Duration::from_millis(100);

/// Returns the identity of the calling process; its start time is unknown here.
pub(crate) fn current() -> ProcessIdentity {
    ProcessIdentity { pid: std::process::id(), start_time: 0 }
}

pub(super) fn start_time(_pid: u32) -> Option<u64> {
    None
}

pub(super) fn terminate(process: ProcessIdentity) -> io::Result<bool> {
    send(process.pid, Signal::TERM)
}

/// A process that is watched until it ends.
#[derive(Debug)]
pub(crate) struct PolledProcess {
    process: ProcessIdentity,
}

impl PolledProcess {
    /// How often to look whether it has ended: these systems have no descriptor of a process.
    pub(crate) const LOOK_EVERY: Option<Duration> = Some(POLL_EVERY);

    /// Opens a process; `None` if it is gone.
    pub(crate) fn open(process: ProcessIdentity) -> io::Result<Option<Self>> {
        let watched = Self { process };
        Ok((!watched.has_ended()?).then_some(watched))
    }

    /// Always returns `None`.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Returns whether the process has ended.
    pub(crate) fn has_ended(&self) -> io::Result<bool> {
        let pid = i32::try_from(self.process.pid).ok().and_then(Pid::from_raw);
        Ok(pid.is_none_or(|pid| rustix::process::test_kill_process(pid).is_err()))
    }
}

/// Ends all processes with an environment variable, in steps that never wait.
#[derive(Debug)]
pub(crate) struct EndingListedProcesses {
    variable: String,
    kill_at: Instant,
    give_up_at: Instant,
    signalled: BTreeSet<u32>,
}

impl EndingListedProcesses {
    /// Creates the task; the processes have `grace` to end after SIGTERM.
    pub(crate) fn new(name: &str, value: &str, grace: Duration) -> Self {
        let kill_at = Instant::now() + grace;
        Self {
            variable: format!("{name}={value}"),
            kill_at,
            give_up_at: kill_at + KILLED_WITHIN,
            signalled: BTreeSet::new(),
        }
    }

    /// Searches the processes and signals them; returns whether there are none.
    pub(crate) fn step(&mut self) -> Result<bool, ProcessError> {
        let pids = find(&self.variable).map_err(|source| ProcessError::List { source })?;
        let now = Instant::now();
        if pids.is_empty() {
            return Ok(true);
        }
        if now >= self.give_up_at {
            let variable = self.variable.clone();
            return Err(ProcessError::StillRunning { variable, pids });
        }
        let signal = if now < self.kill_at { Signal::TERM } else { Signal::KILL };
        for pid in pids {
            if self.signalled.insert(pid) || now >= self.kill_at {
                send(pid, signal).ok();
            }
        }
        Ok(false)
    }

    /// Returns no descriptors.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        std::iter::empty()
    }

    /// Returns how long to wait for the next step.
    pub(crate) fn pause(&self) -> Duration {
        POLL_EVERY
    }

    /// Returns how many processes were signalled.
    pub(crate) fn count(&self) -> usize {
        self.signalled.len()
    }
}

/// Always returns `false`: these systems report it only through another program.
pub(super) fn is_stopped(_process: ProcessIdentity) -> bool {
    false
}

/// Always returns `None`: these systems report it only through another program.
pub(crate) fn tree_cpu_time(_leader: u32) -> Option<Duration> {
    None
}

/// Always returns `None`: these systems do not report the working directory of a process.
pub(crate) fn wait_for_programs(
    _name: &str,
    _dir: &Path,
    _with_those_inside: bool,
    _wait: Duration,
) -> Option<Vec<u32>> {
    None
}

/// Finds the processes with a variable; `ps -E` prints the environment after the command.
fn find(variable: &str) -> io::Result<Vec<u32>> {
    let output = run_ps(&["-A", "-E", "-ww", "-o", "pid=,command="])?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let marked = text.lines().filter(|line| line.split_whitespace().any(|word| word == variable));
    let pids = marked.filter_map(|line| line.split_whitespace().next()?.parse().ok());
    Ok(pids.filter(|pid| *pid != std::process::id()).collect())
}

/// Returns the words of a process's command and environment, separated by NUL.
pub(super) fn environment(pid: u32) -> Vec<u8> {
    let text = ps(&["-E", "-ww", "-o", "command=", "-p", &pid.to_string()]);
    text.split_whitespace().collect::<Vec<_>>().join("\0").into_bytes()
}

/// Returns the parent of a process, 0 for the first process of the system; `None` if it is gone.
pub(super) fn parent(pid: u32) -> Option<u32> {
    ps(&["-o", "ppid=", "-p", &pid.to_string()]).trim().parse().ok()
}

/// Returns the output of `ps`; empty if it cannot be run.
fn ps(arguments: &[&str]) -> String {
    let output = run_ps(arguments);
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

fn run_ps(arguments: &[&str]) -> io::Result<Output> {
    let launch = Launch { stdout: Stdio::piped(), ..Launch::other("ps").with_args(arguments) };
    launch::start(launch).map_err(io::Error::other)?.wait_with_output()
}

fn send(pid: u32, signal: Signal) -> io::Result<bool> {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(false) };
    match kill_process(pid, signal) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::SRCH) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}
