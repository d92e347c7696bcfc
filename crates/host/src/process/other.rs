//! Processes as the `ps` program tells of them, on systems without `/proc`.

use std::io;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{ProcessError, Started};

/// How long killed processes may take to be gone.
const KILLED_WITHIN: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The calling process.
pub(crate) fn this() -> Started {
    Started { pid: std::process::id(), start_time: 0 }
}

pub(super) fn start_time(_pid: u32) -> Option<u64> {
    None
}

pub(super) fn terminate(process: Started) -> io::Result<bool> {
    send(process.pid, Signal::TERM)
}

/// Waits until a process is gone, for as long as that takes.
pub(super) fn wait_end(process: Started) -> io::Result<()> {
    let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) else { return Ok(()) };
    while rustix::process::test_kill_process(pid).is_ok() {
        thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

pub(super) fn end_marked(mark: &str, grace: Duration) -> Result<usize, ProcessError> {
    let kill_at = Instant::now() + grace;
    let give_up_at = kill_at + KILLED_WITHIN;
    let mut asked = std::collections::BTreeSet::new();
    loop {
        let pids = find(mark).map_err(|source| ProcessError::Look { source })?;
        let now = Instant::now();
        if pids.is_empty() {
            return Ok(asked.len());
        }
        if now >= give_up_at {
            return Err(ProcessError::Left { mark: mark.to_owned(), pids });
        }
        let signal = if now < kill_at { Signal::TERM } else { Signal::KILL };
        for pid in pids {
            if asked.insert(pid) || now >= kill_at {
                send(pid, signal).ok();
            }
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Such systems do not tell without starting another program.
pub(super) fn is_stopped(_process: Started) -> bool {
    false
}

/// Such systems do not tell without starting another program.
pub(crate) fn cpu_of_tree(_leader: u32) -> Option<Duration> {
    None
}

/// Such systems do not tell where a process works.
pub(crate) fn wait_for_programs(
    _name: &str,
    _dir: &Path,
    _with_those_inside: bool,
    _wait: Duration,
) -> Option<Vec<u32>> {
    None
}

/// Finds processes by the environment that `ps` prints after their command.
fn find(mark: &str) -> io::Result<Vec<u32>> {
    let output = Command::new("ps").args(["-A", "-E", "-ww", "-o", "pid=,command="]).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let marked = text.lines().filter(|line| line.split_whitespace().any(|word| word == mark));
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
