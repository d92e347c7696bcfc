//! Starts worker processes, and ends every process that a worker left behind.
//!
//! A worker's processes are found by the token in their environment, which all descendants inherit.
//! Process ids are used for signals only, and only together with the start time or a descriptor of
//! the process, because the system reuses ids.

#![expect(clippy::disallowed_methods, reason = "this module starts processes")]

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use thiserror::Error;

use crate::life_lock::{self, LifeLockError};

#[cfg(target_os = "linux")]
use linux as os;
pub(crate) use os::{current, tree_cpu_time, wait_for_programs};
#[cfg(not(target_os = "linux"))]
use other as os;

/// How often to check whether a started worker has recorded itself in its life lock.
const HOLDER_POLL_EVERY: Duration = Duration::from_millis(20);
/// The longest pause between two searches for leftover processes.
const LEFTOVER_POLL_MAX: Duration = Duration::from_secs(1);

/// The environment variable with the token of an attempt; all its processes have it.
pub const TOKEN_VARIABLE: &str = "MOW_TOKEN";

/// A failure to start, find or end processes.
#[derive(Debug, Error)]
pub enum ProcessError {
    /// Another worker of the attempt lives, or its life lock cannot be used.
    #[error("cannot start a worker")]
    LifeLock(#[from] LifeLockError),
    /// The worker's log could not be opened.
    #[error("cannot open the log {path}")]
    Log {
        /// The log file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The program could not be started.
    #[error("cannot start {exe}")]
    Start {
        /// The worker's program.
        exe: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The running processes could not be listed.
    #[error("cannot list processes")]
    List {
        /// The operating system's error.
        source: io::Error,
    },
    /// Some processes still run although they were killed.
    #[error("processes with {variable} do not end: {pids:?}")]
    StillRunning {
        /// The variable that the processes have, as `name=value`.
        variable: String,
        /// The ids of the processes.
        pids: Vec<u32>,
    },
}

/// A process id with its start time, which distinguishes it from other processes with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProcessIdentity {
    /// The process id.
    pub pid: u32,
    /// The start time in the system's own unit; 0 if unknown.
    pub start_time: u64,
}

/// The command line and environment of a worker to start.
#[derive(Clone, Debug)]
pub struct WorkerCommand {
    /// The path of the program.
    pub exe: PathBuf,
    /// The arguments, without the program name.
    pub args: Vec<String>,
    /// Environment variables to add to those of this process.
    pub env: Vec<(String, String)>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The file that the output is appended to. The worker bounds its size with
    /// [`crate::redirected_output::RedirectedOutput`].
    pub log: PathBuf,
    /// The life lock, which the worker must take over with [`crate::life_lock::LifeLock::hold`].
    pub life_lock: PathBuf,
}

/// Starts a worker that outlives this process; fails while another process holds the life lock.
///
/// The worker holds the lock from its first moment on.
pub fn start_worker(worker: &WorkerCommand) -> Result<ProcessIdentity, ProcessError> {
    let log = |source| ProcessError::Log { path: worker.log.clone(), source };
    fs::create_dir_all(worker.log.parent().unwrap_or(&worker.log)).map_err(log)?;
    let output = OpenOptions::new().append(true).create(true).open(&worker.log).map_err(log)?;
    let errors = output.try_clone().map_err(log)?;
    let lock = life_lock::acquire(&worker.life_lock)?;
    failpoint::reach("spawn.claimed");
    let mut command = Command::new(&worker.exe);
    command.args(&worker.args).envs(worker.env.iter().cloned()).current_dir(&worker.cwd);
    command.stdin(Stdio::from(lock)).stdout(output).stderr(errors);
    let failed = |source| ProcessError::Start { exe: worker.exe.clone(), source };
    let mut child = command.spawn().map_err(failed)?;
    failpoint::reach("spawn.started");
    let pid = child.id();
    // The child is not reaped yet, so its id cannot be reused.
    let started = ProcessIdentity { pid, start_time: os::start_time(pid).unwrap_or(0) };
    // Without this thread the child would stay a zombie until this process ends, which is harmless.
    let reaper = thread::Builder::new().name(format!("mow-reap-{pid}"));
    reaper.spawn(move || child.wait()).ok();
    Ok(started)
}

/// Makes the calling worker a session leader and, on Linux, the subreaper of its descendants.
///
/// It no longer depends on its starter. Descendants whose parent ended become its children, so none
/// can hide. A second call changes nothing.
pub fn become_session_leader() -> io::Result<()> {
    match rustix::process::setsid() {
        // `setsid` fails for a process group leader. That is fine if it leads a session already.
        Err(errno) if rustix::process::getsid(None)? != rustix::process::getpid() => {
            return Err(errno.into());
        }
        _ => {}
    }
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Sends SIGTERM to a process; returns `false` if it is gone already.
pub fn terminate(process: ProcessIdentity) -> io::Result<bool> {
    os::terminate(process)
}

/// Returns whether a living process is stopped by a signal, such as SIGSTOP.
pub fn is_stopped(process: ProcessIdentity) -> bool {
    os::is_stopped(process)
}

/// Waits until a worker is gone, ends its leftover processes, and waits until the life lock is
/// free.
///
/// A killed worker cannot end the processes it started, and they keep the life lock. Call this in a
/// thread of its own; the thread may be abandoned when the process ends.
pub fn wait_and_end_leftovers(
    life_lock: &Path,
    token: &str,
    grace: Duration,
) -> Result<(), ProcessError> {
    let list_failed = |source| ProcessError::List { source };
    while life_lock::is_alive(life_lock).map_err(list_failed)? {
        match life_lock::holder(life_lock).map_err(list_failed)? {
            Some(worker) => {
                os::wait_until_gone(worker).map_err(list_failed)?;
                break;
            }
            // The worker has started and not recorded itself yet.
            None => thread::sleep(HOLDER_POLL_EVERY),
        }
    }
    // Processes that agents start need not hold the lock: some close all inherited descriptors.
    end_with_token(token, grace)?;
    let mut pause = HOLDER_POLL_EVERY;
    while life_lock::is_alive(life_lock).map_err(list_failed)? {
        thread::sleep(pause);
        pause = (pause * 2).min(LEFTOVER_POLL_MAX);
        // A process in the middle of `exec` has no environment, so the last search may have missed
        // it.
        end_with_token(token, grace)?;
    }
    Ok(())
}

/// Ends all processes with this token and their descendants, except the calling process.
///
/// Sends SIGTERM first, and SIGKILL after `grace`. Returns how many processes there were.
pub fn end_with_token(token: &str, grace: Duration) -> Result<usize, ProcessError> {
    end_with_variable(TOKEN_VARIABLE, token, grace)
}

/// Like [`end_with_token`], for all processes that have this environment variable and value.
pub(crate) fn end_with_variable(
    name: &str,
    value: &str,
    grace: Duration,
) -> Result<usize, ProcessError> {
    os::end_with_variable(&format!("{name}={value}"), grace)
}

#[cfg(test)]
mod tests;
