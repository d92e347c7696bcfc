//! Finds and signals processes with the `ps` program, on systems without `/proc`.

use std::io;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{ProcessError, ProcessIdentity};

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

/// Waits without a time limit until a process is gone.
pub(super) fn wait_until_gone(process: ProcessIdentity) -> io::Result<()> {
    let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) else { return Ok(()) };
    while rustix::process::test_kill_process(pid).is_ok() {
        thread::sleep(POLL_EVERY);
    }
    Ok(())
}

pub(super) fn end_with_variable(variable: &str, grace: Duration) -> Result<usize, ProcessError> {
    let kill_at = Instant::now() + grace;
    let give_up_at = kill_at + KILLED_WITHIN;
    let mut signalled = std::collections::BTreeSet::new();
    loop {
        let pids = find(variable).map_err(|source| ProcessError::List { source })?;
        let now = Instant::now();
        if pids.is_empty() {
            return Ok(signalled.len());
        }
        if now >= give_up_at {
            return Err(ProcessError::StillRunning { variable: variable.to_owned(), pids });
        }
        let signal = if now < kill_at { Signal::TERM } else { Signal::KILL };
        for pid in pids {
            if signalled.insert(pid) || now >= kill_at {
                send(pid, signal).ok();
            }
        }
        thread::sleep(POLL_EVERY);
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
    let output = Command::new("ps").args(["-A", "-E", "-ww", "-o", "pid=,command="]).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let marked = text.lines().filter(|line| line.split_whitespace().any(|word| word == variable));
    let pids = marked.filter_map(|line| line.split_whitespace().next()?.parse().ok());
    Ok(pids.filter(|pid| *pid != std::process::id()).collect())
}

fn send(pid: u32, signal: Signal) -> io::Result<bool> {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(false) };
    match kill_process(pid, signal) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::SRCH) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}
