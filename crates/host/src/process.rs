//! Starts worker processes, and ends every process that a worker left behind.
//!
//! A worker's processes are found by the token in their environment, which all descendants inherit.
//! Process ids are used for signals only, and only together with the start time or a descriptor of
//! the process, because the system reuses ids.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

use std::fs::{self, OpenOptions};
use std::io;
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use thiserror::Error;

use crate::launch::{
    self, AttemptMarks, Launch, LaunchError, LaunchedProgram, TOKEN_VARIABLE, Variables,
};
use crate::life_lock::{self, LifeLockError};
use crate::stop_signal::poll_until;

#[cfg(target_os = "linux")]
use linux as os;
#[cfg(target_os = "linux")]
pub(crate) use linux::{EndingProcesses, WatchedProcess};
pub(crate) use os::{current, tree_cpu_time, wait_for_programs};
#[cfg(not(target_os = "linux"))]
use other as os;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{EndingListedProcesses as EndingProcesses, PolledProcess as WatchedProcess};

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
    #[error("cannot start a worker")]
    Start(#[from] LaunchError),
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
    /// The attempt that the worker makes.
    pub marks: AttemptMarks,
    /// The working directory.
    pub cwd: PathBuf,
    /// The file that the output is appended to. The worker bounds its size with
    /// [`crate::redirected_output::RedirectedOutput`].
    pub log: PathBuf,
    /// The life lock, which the worker must take over with [`crate::life_lock::LifeLock::hold`].
    pub life_lock: PathBuf,
}

/// A worker that this process has started.
#[derive(Debug)]
pub struct StartedWorker {
    /// The worker's process.
    pub process: ProcessIdentity,
    /// The child to wait for. [`crate::life_watch`] does that, so that no zombie is left.
    pub child: Child,
}

/// Starts a worker that outlives this process; fails while another process holds the life lock.
///
/// The worker holds the lock from its first moment on.
#[expect(clippy::disallowed_methods, reason = "the worker's log exists before the worker")]
pub fn start_worker(worker: &WorkerCommand) -> Result<StartedWorker, ProcessError> {
    let log = |source| ProcessError::Log { path: worker.log.clone(), source };
    fs::create_dir_all(worker.log.parent().unwrap_or(&worker.log)).map_err(log)?;
    let output = OpenOptions::new().append(true).create(true).open(&worker.log).map_err(log)?;
    let errors = output.try_clone().map_err(log)?;
    let lock = life_lock::acquire(&worker.life_lock)?;
    failpoint::reach("spawn.claimed");
    let child = launch::start(Launch {
        cwd: Some(worker.cwd.clone()),
        variables: Variables::inherited_with(worker.env.iter().map(|(name, value)| (name, value))),
        marks: Some(worker.marks.clone()),
        stdin: lock.into(),
        stdout: output.into(),
        stderr: errors.into(),
        ..Launch::new(LaunchedProgram::Mow(worker.exe.clone())).with_args(&worker.args)
    })?;
    failpoint::reach("spawn.started");
    let pid = child.id();
    // The child is not reaped yet, so its id cannot be reused.
    let process = ProcessIdentity { pid, start_time: os::start_time(pid).unwrap_or(0) };
    Ok(StartedWorker { process, child })
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

/// The environments of a process and its ancestors.
#[derive(Clone, Debug, Default)]
pub struct Ancestry {
    /// The environments as `NAME=value` separated by NUL: of the process, its parent, and so on.
    pub environments: Vec<Vec<u8>>,
    /// Where the list of ancestors ends.
    pub end: AncestryEnd,
}

/// Where a list of ancestors ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AncestryEnd {
    /// At the first process of the system: all ancestors are included.
    Top,
    /// At [`ANCESTORS_MAX`]; there are more.
    TooMany,
    /// At a process that the system does not show, such as one of another user.
    #[default]
    Hidden,
}

/// The most ancestors of a process that are looked at.
pub const ANCESTORS_MAX: usize = 64;
/// How often the ancestors are read again because one of them ended meanwhile.
const ANCESTRY_READS_MAX: usize = 5;

/// Reads the environments that a process and its ancestors were started with.
///
/// A process can clear the environment of its children, but not the one of its ancestors.
pub fn ancestry(pid: u32) -> Ancestry {
    let mut ancestry = Ancestry::default();
    // The child of a parent that ended has another parent now.
    for _ in 0..ANCESTRY_READS_MAX {
        let (pids, end) = ancestors(pid, os::parent);
        let environments = pids.into_iter().map(os::environment).collect();
        ancestry = Ancestry { environments, end };
        if end != AncestryEnd::Hidden {
            break;
        }
    }
    ancestry
}

/// Returns a process and its ancestors, and where the list ends.
fn ancestors(pid: u32, parent: impl Fn(u32) -> Option<u32>) -> (Vec<u32>, AncestryEnd) {
    let (mut pids, mut next) = (Vec::new(), pid);
    while next != 0 {
        if pids.len() > ANCESTORS_MAX {
            return (pids, AncestryEnd::TooMany);
        }
        pids.push(next);
        let Some(parent) = parent(next) else { return (pids, AncestryEnd::Hidden) };
        next = parent;
    }
    (pids, AncestryEnd::Top)
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
    let mut ending = EndingProcesses::new(name, value, grace);
    while !ending.step()? {
        let fds = ending.descriptors().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        let waited = poll_until(&mut fds.collect::<Vec<_>>(), Some(ending.pause()));
        waited.map_err(|source| ProcessError::List { source })?;
    }
    Ok(ending.count())
}

#[cfg(test)]
mod tests;
