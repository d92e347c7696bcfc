//! Runs one shell command of the project, such as a plan's verify command, within bounds.
//!
//! It gets a process group of its own, which is ended as a whole when the command takes too long or
//! is stopped, and also when it left something running behind it. One that shows no sign of life is
//! reported and goes on.
//! Whoever leaves the group is found by the worker's token (see [`crate::process::end_token`]).
//! Output goes to a bounded log. Doing it again writes the log anew.

#![expect(clippy::disallowed_methods, reason = "starting commands is what this is for")]

use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use thiserror::Error;

use crate::bounded_log::BoundedLog;
use crate::pulse::{Pulse, Sign};
use crate::stop::{Stop, poll_until};

/// How long a command that was asked to end may clear up.
const GRACE: Duration = Duration::from_secs(5);
/// How long what a command left behind may clear up.
const GRACE_OF_LEFTOVERS: Duration = Duration::from_secs(1);
/// How long to go on reading from one who never stops.
const REST_WITHIN: Duration = Duration::from_secs(1);
/// How long a killed command may take to be gone.
const KILLED_WITHIN: Duration = Duration::from_secs(5);
/// How much of the end of the output is handed back.
const TAIL_BYTES: usize = 4096;
const READ_BYTES: usize = 64 * 1024;
/// By which signals people and the system end others. A program that dies of another one failed.
const FROM_OUTSIDE: [Signal; 4] = [Signal::HUP, Signal::INT, Signal::KILL, Signal::TERM];

/// A command to run.
#[derive(Clone, Debug)]
pub struct ShellJob {
    /// What is to be run.
    pub script: String,
    /// The shell that runs it, as `sh` or `bash`; it is given `-c` and the script.
    pub program: String,
    /// Where it runs.
    pub cwd: PathBuf,
    /// Variables on top of those of this process.
    pub env: Vec<(String, String)>,
    /// The file for its output; an earlier one is replaced.
    pub log: PathBuf,
    /// How long it may take.
    pub wall_max: Option<Duration>,
    /// After how long without a sign of life it is stuck; `None` when nobody wants to know.
    pub stuck_after: Option<Duration>,
    /// The files and directories whose changes are signs of life.
    pub watched: Vec<PathBuf>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that is not ours.
    Signalled(i32),
    /// It took longer than it may.
    TooLong,
    /// It was stopped.
    Stopped,
}

impl End {
    /// Returns whether somebody else ended it, so that it came to no result of its own.
    ///
    /// A shell tells how the last command ended by 128 and the signal.
    pub fn is_cut_off(self) -> bool {
        let signal = match self {
            Self::Exited(code) => code - 128,
            Self::Signalled(signal) => signal,
            Self::TooLong | Self::Stopped => return false,
        };
        FROM_OUTSIDE.iter().any(|one| one.as_raw() == signal)
    }
}

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellEnd {
    /// How it ended.
    pub end: End,
    /// The end of its output.
    pub tail: String,
    /// How many bytes of its output are not in the log.
    pub left_out: u64,
    /// How long it took.
    pub took: Duration,
}

/// Why a command could not be run, or not to its end.
#[derive(Debug, Error)]
pub enum ShellError {
    /// It could not be started.
    #[error("cannot start {program} in {cwd}")]
    Start {
        /// The shell.
        program: String,
        /// Where it was to run.
        cwd: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Its output could not be kept.
    #[error("cannot write the log {path}")]
    Log {
        /// The log.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system did not tell how it goes.
    #[error("cannot watch the command")]
    Watch {
        /// What the system said.
        source: io::Error,
    },
    /// It did not end, although it was killed.
    #[error("process {pid} does not end")]
    Unkillable {
        /// The shell's process.
        pid: u32,
    },
}

/// Runs a command and waits for its end; says meanwhile when it is stuck, and when no more.
pub fn run(
    job: &ShellJob,
    stop: &Stop,
    notice: &mut dyn FnMut(Sign),
) -> Result<ShellEnd, ShellError> {
    let log = |source| ShellError::Log { path: job.log.clone(), source };
    let start = Instant::now();
    let mut running = Running::start(job)?;
    let cause = running.watch(job, stop, notice);
    // Whatever happened, nothing of it keeps running.
    let status = running.end(cause.as_ref().is_ok_and(Option::is_none))?;
    let cause = cause?;
    running.log.finish().map_err(log)?;
    let exited = status.code().map(End::Exited);
    let end = cause.or(exited).unwrap_or_else(|| End::Signalled(status.signal().unwrap_or(0)));
    let tail = String::from_utf8_lossy(&running.tail).into_owned();
    Ok(ShellEnd { end, tail, left_out: running.log.left_out(), took: start.elapsed() })
}

/// A command on its way.
struct Running {
    child: Child,
    group: Pid,
    /// Its output; `None` when nobody can say anything any more.
    output: Option<PipeReader>,
    /// Closed from the other side when the shell has exited.
    exit: PipeReader,
    has_exited: bool,
    said_at: Instant,
    log_path: PathBuf,
    log: BoundedLog,
    tail: Vec<u8>,
    pulse: Option<Pulse>,
}

impl Running {
    fn start(job: &ShellJob) -> Result<Self, ShellError> {
        let log_failed = |source| ShellError::Log { path: job.log.clone(), source };
        let failed = |source| {
            let (program, cwd) = (job.program.clone(), job.cwd.clone());
            ShellError::Start { program, cwd, source }
        };
        let log = BoundedLog::create(&job.log).map_err(log_failed)?;
        let (output, input) = io::pipe().map_err(failed)?;
        let (exit, exit_writer) = io::pipe().map_err(failed)?;
        let child = spawn(job, input).map_err(failed)?;
        let group = Pid::from_child(&child);
        let running = Self {
            child,
            group,
            output: Some(output),
            exit,
            has_exited: false,
            said_at: Instant::now(),
            log_path: job.log.clone(),
            log,
            tail: Vec::new(),
            pulse: None,
        };
        match notice_exit(group, exit_writer) {
            Ok(()) => Ok(running),
            Err(source) => {
                kill_process_group(group, Signal::KILL).ok();
                Err(failed(source))
            }
        }
    }

    /// Follows the output until the shell exits or has to end; returns why it has to.
    fn watch(
        &mut self,
        job: &ShellJob,
        stop: &Stop,
        notice: &mut dyn FnMut(Sign),
    ) -> Result<Option<End>, ShellError> {
        let start = Instant::now();
        let pulse = |after| Pulse::new(after, self.child.id(), &job.watched);
        self.pulse = job.stuck_after.map(pulse);
        while !self.has_exited {
            let now = Instant::now();
            let too_long_at = job.wall_max.map(|max| start + max);
            if stop.is_stopped() {
                return Ok(Some(End::Stopped));
            }
            if too_long_at.is_some_and(|at| at <= now) {
                return Ok(Some(End::TooLong));
            }
            let said_at = self.said_at;
            if let Some(sign) = self.pulse.as_mut().and_then(|pulse| pulse.look(now, said_at)) {
                notice(sign);
            }
            let look_at = self.pulse.as_ref().map(Pulse::next);
            let next = [too_long_at, look_at].into_iter().flatten().min();
            self.step(next.map(|at| at.saturating_duration_since(now)), Some(stop))?;
        }
        Ok(None)
    }

    /// Ends all that is left of the group, and takes what it says meanwhile.
    ///
    /// Until the shell is reaped at the end, the number of its group cannot become another's.
    fn end(&mut self, by_itself: bool) -> Result<ExitStatus, ShellError> {
        self.take_rest()?;
        if by_itself && self.output.is_some() {
            // Something stayed behind, here or in a group of its own, where it cannot be reached.
            self.signal(Signal::TERM);
            self.wait_for_all(GRACE_OF_LEFTOVERS)?;
        } else if !by_itself {
            self.signal(Signal::TERM);
            self.wait_for_all(GRACE)?;
        }
        self.signal(Signal::KILL);
        let end = Instant::now() + KILLED_WITHIN;
        while !self.has_exited {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ShellError::Unkillable { pid: self.child.id() });
            }
            self.step(Some(left), None)?;
        }
        self.take_rest()?;
        self.child.wait().map_err(|source| ShellError::Watch { source })
    }

    fn signal(&self, signal: Signal) {
        // Fails only when nobody is left in the group.
        kill_process_group(self.group, signal).ok();
    }

    /// Takes the output that is already there.
    fn take_rest(&mut self) -> Result<(), ShellError> {
        let end = Instant::now() + REST_WITHIN;
        while self.output.is_some() && Instant::now() < end {
            let said_at = self.said_at;
            self.step(Some(Duration::ZERO), None)?;
            if self.said_at == said_at {
                break;
            }
        }
        Ok(())
    }

    /// Waits until the shell has exited and nobody holds its output, at most as long as `wait`.
    fn wait_for_all(&mut self, wait: Duration) -> Result<(), ShellError> {
        let end = Instant::now() + wait;
        while !self.has_exited || self.output.is_some() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.step(Some(left), None)?;
        }
        Ok(())
    }

    /// Waits for the next thing to happen.
    fn step(&mut self, wait: Option<Duration>, stop: Option<&Stop>) -> Result<(), ShellError> {
        let mut fds = Vec::with_capacity(3);
        if !self.has_exited {
            fds.push(PollFd::new(&self.exit, PollFlags::IN));
        }
        fds.extend(self.output.iter().map(|output| PollFd::new(output, PollFlags::IN)));
        fds.extend(stop.iter().map(|stop| PollFd::new(stop, PollFlags::IN)));
        poll_until(&mut fds, wait).map_err(|source| ShellError::Watch { source })?;
        let happened: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut happened = happened.into_iter();
        if !self.has_exited {
            self.has_exited = happened.next().unwrap_or(false);
        }
        if self.output.is_some() && happened.next().unwrap_or(false) {
            self.read()?;
        }
        Ok(())
    }

    /// Takes some output, of which there is some, or notices its end.
    fn read(&mut self) -> Result<(), ShellError> {
        let Some(output) = &mut self.output else { return Ok(()) };
        let mut bytes = vec![0; READ_BYTES];
        let length = match output.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            read => read.map_err(|source| ShellError::Watch { source })?,
        };
        if length == 0 {
            self.output = None;
            return Ok(());
        }
        self.said_at = Instant::now();
        if let Some(pulse) = &mut self.pulse {
            pulse.hear(&bytes[..length]);
        }
        self.tail.extend_from_slice(&bytes[..length]);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL_BYTES));
        let failed = |source| ShellError::Log { path: self.log_path.clone(), source };
        self.log.append(&bytes[..length]).map_err(failed)
    }
}

fn spawn(job: &ShellJob, output: PipeWriter) -> io::Result<Child> {
    let mut command = Command::new(&job.program);
    command.arg("-c").arg(&job.script).current_dir(&job.cwd).envs(job.env.iter().cloned());
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).process_group(0);
    failpoint::hide(&mut command);
    command.spawn()
}

/// Closes the pipe when the process has exited, and leaves it to others to reap it.
pub(crate) fn notice_exit(pid: Pid, pipe: PipeWriter) -> io::Result<()> {
    let thread = thread::Builder::new().name("mow-exit".to_owned());
    thread.spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(pid), options), Err(rustix::io::Errno::INTR)) {}
        drop(pipe);
    })?;
    Ok(())
}

#[cfg(test)]
mod tests;
