//! Processes of workers: starting them, and ending everything that one of them left behind.
//!
//! A worker is known by the token in its environment, which all its descendants inherit. Process
//! numbers are used for signals only, and only together with the start time or a descriptor of the
//! process, because the system gives numbers out again.

#![expect(clippy::disallowed_methods, reason = "starting processes is what this is for")]

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

use crate::life::{self, LifeError};

#[cfg(target_os = "linux")]
use linux as os;
pub(crate) use os::{cpu_of_tree, this, wait_for_programs};
#[cfg(not(target_os = "linux"))]
use other as os;

/// How long to wait before looking again whether a worker has noted who it is.
const NOTED_WITHIN: Duration = Duration::from_millis(20);
/// How often it is looked again at the most whether everybody is gone.
const LEFT_EVERY: Duration = Duration::from_secs(1);

/// The variable that marks all processes of one attempt.
pub const TOKEN: &str = "MOW_TOKEN";

/// What could not be done with a process.
#[derive(Debug, Error)]
pub enum ProcessError {
    /// Another worker of the attempt lives, or its lock cannot be used.
    #[error("cannot start a worker")]
    Life(#[from] LifeError),
    /// The log of the worker could not be opened.
    #[error("cannot open the log {path}")]
    Log {
        /// The log.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program could not be started.
    #[error("cannot start {exe}")]
    Start {
        /// The program.
        exe: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system did not tell which processes there are.
    #[error("cannot look for processes")]
    Look {
        /// What the system said.
        source: io::Error,
    },
    /// Some processes did not end, although they were killed.
    #[error("processes with {mark} do not end: {pids:?}")]
    Left {
        /// The variable that was looked for, with its value.
        mark: String,
        /// Those that are left.
        pids: Vec<u32>,
    },
}

/// A process, told apart from others that had or will have its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Started {
    /// Its number.
    pub pid: u32,
    /// When it started, in the system's own count; 0 when it is unknown.
    pub start_time: u64,
}

/// A worker to start.
#[derive(Clone, Debug)]
pub struct StartWorker {
    /// The program.
    pub exe: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables on top of those of this process.
    pub env: Vec<(String, String)>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// The file that its output is appended to; the worker keeps it short with
    /// [`crate::own_output::OwnOutput`].
    pub log: PathBuf,
    /// Its life lock, which it must take over with [`crate::life::Life::hold`].
    pub life: PathBuf,
}

/// Starts a worker that outlives this process; refused while another holds the life lock.
///
/// The worker holds the lock from its first moment on.
pub fn start_worker(start: &StartWorker) -> Result<Started, ProcessError> {
    let log = |source| ProcessError::Log { path: start.log.clone(), source };
    fs::create_dir_all(start.log.parent().unwrap_or(&start.log)).map_err(log)?;
    let output = OpenOptions::new().append(true).create(true).open(&start.log).map_err(log)?;
    let errors = output.try_clone().map_err(log)?;
    let life = life::claim(&start.life)?;
    failpoint::reach("spawn.claimed");
    let mut command = Command::new(&start.exe);
    command.args(&start.args).envs(start.env.iter().cloned()).current_dir(&start.cwd);
    command.stdin(Stdio::from(life)).stdout(output).stderr(errors);
    let failed = |source| ProcessError::Start { exe: start.exe.clone(), source };
    let mut child = command.spawn().map_err(failed)?;
    failpoint::reach("spawn.started");
    let pid = child.id();
    // Not reaped yet, so its number is still its own.
    let started = Started { pid, start_time: os::start_time(pid).unwrap_or(0) };
    // Without the thread it would stay a zombie until we end, which harms nobody.
    let reaper = thread::Builder::new().name(format!("mow-reap-{pid}"));
    reaper.spawn(move || child.wait()).ok();
    Ok(started)
}

/// Makes the calling worker independent of its starter and the parent of all its descendants.
///
/// Descendants whose own parent ended become its children, so that none can hide. Doing it again
/// changes nothing.
pub fn become_session_leader() -> io::Result<()> {
    match rustix::process::setsid() {
        // The leader of a process group may not; one that leads a session already need not.
        Err(errno) if rustix::process::getsid(None)? != rustix::process::getpid() => {
            return Err(errno.into());
        }
        _ => {}
    }
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Asks one process to end; `false` when it is gone already.
pub fn terminate(process: Started) -> io::Result<bool> {
    os::terminate(process)
}

/// Returns whether a process was made to stand still by a signal, and lives.
pub fn is_stopped(process: Started) -> bool {
    os::is_stopped(process)
}

/// Waits until a worker is gone, ends what it left behind, and waits until that is gone too.
///
/// A worker that is killed cannot end what it started, and whatever that is keeps the life lock.
/// Meant for a thread of its own, which may be left behind when the process ends.
pub fn see_off(life: &Path, token: &str, grace: Duration) -> Result<(), ProcessError> {
    let look = |source| ProcessError::Look { source };
    while life::is_alive(life).map_err(look)? {
        match life::holder(life).map_err(look)? {
            Some(worker) => {
                os::wait_end(worker).map_err(look)?;
                break;
            }
            // It has begun and not noted itself yet.
            None => thread::sleep(NOTED_WITHIN),
        }
    }
    // What agents start need not hold the lock: some close all that they do not know.
    end_token(token, grace)?;
    let mut pause = NOTED_WITHIN;
    while life::is_alive(life).map_err(look)? {
        thread::sleep(pause);
        pause = (pause * 2).min(LEFT_EVERY);
        // Who was becoming another program all the while was not to be seen.
        end_token(token, grace)?;
    }
    Ok(())
}

/// Ends all processes with this token and everything below them, but not the calling process.
///
/// They are asked first, and killed once `grace` is over. Returns how many there were.
pub fn end_token(token: &str, grace: Duration) -> Result<usize, ProcessError> {
    end_marked(TOKEN, token, grace)
}

/// Does the same for all processes that have this variable with this value.
pub(crate) fn end_marked(name: &str, value: &str, grace: Duration) -> Result<usize, ProcessError> {
    os::end_marked(&format!("{name}={value}"), grace)
}

#[cfg(test)]
mod tests;
