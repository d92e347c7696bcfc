//! Runs one shell command of the project, such as a check of a plan, with a timeout and a bounded
//! log.
//!
//! The command gets a process group of its own. The whole group is ended when the command times
//! out, is stopped, or exits and leaves processes running. A stuck command is reported and keeps
//! running. Processes that leave the group are found by the worker's token; see
//! [`crate::process::end_with_token`]. Each run overwrites the log.

use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use thiserror::Error;

use crate::bounded_log::BoundedLog;
use crate::launch::{self, AttemptMarks, Launch, LaunchError, ProcessGroup, Variables};
use crate::stop_signal::{StopSignal, poll_until};
use crate::stuck_detector::{ActivityChange, StuckDetector};

/// How long a command may clean up after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);
/// How long leftover processes of a command may clean up after SIGTERM.
const GRACE_OF_LEFTOVERS: Duration = Duration::from_secs(1);
/// How long to read remaining output when it does not end.
const DRAIN_MAX: Duration = Duration::from_secs(1);
/// How long to wait for a killed command to disappear.
const KILLED_WITHIN: Duration = Duration::from_secs(5);
/// How many bytes of the end of the output are returned.
const TAIL_BYTES: usize = 4096;
const READ_BYTES: usize = 64 * 1024;
/// Signals by which people and the system end processes. A command that any other signal ends has
/// failed.
const EXTERNAL_KILL_SIGNALS: [Signal; 4] = [Signal::HUP, Signal::INT, Signal::KILL, Signal::TERM];

/// A shell command to run.
#[derive(Clone, Debug)]
pub struct ShellJob {
    /// The script to run.
    pub script: String,
    /// The shell, such as `sh` or `bash`; it gets `-c` and the script as arguments.
    pub program: String,
    /// The working directory.
    pub cwd: PathBuf,
    /// Environment variables to add to those of this process.
    pub env: Vec<(String, String)>,
    /// The attempt that the command works for; `None` for a command that a person could run.
    pub marks: Option<AttemptMarks>,
    /// The log file for the output; an existing one is overwritten.
    pub log: PathBuf,
    /// How long the command may run; `None` for no limit.
    pub timeout: Option<Duration>,
    /// After how long without activity the command counts as stuck; `None` turns detection off.
    pub stuck_after: Option<Duration>,
    /// Files and directories whose changes count as activity.
    pub watched: Vec<PathBuf>,
}

/// How a shell command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellExit {
    /// It exited with this code.
    Exited(i32),
    /// A signal that mow did not send ended it.
    Signalled(i32),
    /// It ran longer than its timeout and was ended.
    TimedOut,
    /// The [`StopSignal`] was set and it was ended.
    Stopped,
}

impl ShellExit {
    /// Returns whether another program killed the command, so that its result means nothing.
    ///
    /// A shell reports a command killed by signal n with exit code 128 + n.
    pub fn is_externally_killed(self) -> bool {
        let signal = match self {
            Self::Exited(code) => code - 128,
            Self::Signalled(signal) => signal,
            Self::TimedOut | Self::Stopped => return false,
        };
        EXTERNAL_KILL_SIGNALS.iter().any(|kill| kill.as_raw() == signal)
    }
}

/// The result of a shell command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellResult {
    /// How the command ended.
    pub exit: ShellExit,
    /// The last 4096 bytes of the output.
    pub tail: String,
    /// How many bytes of the output are not in the log.
    pub left_out: u64,
    /// How long the command ran.
    pub took: Duration,
}

/// A failure to run a command or to follow it to its end.
#[derive(Debug, Error)]
pub enum ShellError {
    /// The shell could not be started.
    #[error("cannot run the command")]
    Start(#[from] LaunchError),
    /// The output could not be written to the log.
    #[error("cannot write the log {path}")]
    Log {
        /// The log file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Reading the output or waiting for the exit failed.
    #[error("cannot watch the command")]
    Watch {
        /// The operating system's error.
        source: io::Error,
    },
    /// The shell still runs although it was killed.
    #[error("process {pid} does not end")]
    Unkillable {
        /// The process id of the shell.
        pid: u32,
    },
}

/// Runs a command and waits for its end.
///
/// Calls `on_activity` when the command becomes stuck, and when it is active again.
pub fn run(
    job: &ShellJob,
    stop: &StopSignal,
    on_activity: &mut dyn FnMut(ActivityChange),
) -> Result<ShellResult, ShellError> {
    run_with_output(job, stop, on_activity, &mut |_| {})
}

/// Runs a command like [`run`]; calls `on_output` with each piece of output as soon as it is read.
pub fn run_with_output(
    job: &ShellJob,
    stop: &StopSignal,
    on_activity: &mut dyn FnMut(ActivityChange),
    on_output: &mut dyn FnMut(&[u8]),
) -> Result<ShellResult, ShellError> {
    let log = |source| ShellError::Log { path: job.log.clone(), source };
    let start = Instant::now();
    let mut running = RunningShell::start(job, on_output)?;
    let cause = running.watch(job, stop, on_activity);
    // Whatever happened, no process of the group keeps running.
    let status = running.end(cause.as_ref().is_ok_and(Option::is_none))?;
    let cause = cause?;
    running.log.finish().map_err(log)?;
    let exited = status.code().map(ShellExit::Exited);
    let exit =
        cause.or(exited).unwrap_or_else(|| ShellExit::Signalled(status.signal().unwrap_or(0)));
    let tail = String::from_utf8_lossy(&running.tail).into_owned();
    Ok(ShellResult { exit, tail, left_out: running.log.left_out(), took: start.elapsed() })
}

/// A command that is running.
struct RunningShell<'a> {
    child: Child,
    group: Pid,
    /// The output pipe; `None` once every writer has closed it.
    output: Option<PipeReader>,
    /// A pipe whose other end is closed when the shell exits.
    exit: PipeReader,
    has_exited: bool,
    last_output_at: Instant,
    log_path: PathBuf,
    log: BoundedLog,
    tail: Vec<u8>,
    stuck_detector: Option<StuckDetector>,
    on_output: &'a mut dyn FnMut(&[u8]),
}

impl<'a> RunningShell<'a> {
    fn start(job: &ShellJob, on_output: &'a mut dyn FnMut(&[u8])) -> Result<Self, ShellError> {
        let log_failed = |source| ShellError::Log { path: job.log.clone(), source };
        let failed = |source| ShellError::Watch { source };
        let log = BoundedLog::create(&job.log).map_err(log_failed)?;
        let (output, input) = io::pipe().map_err(failed)?;
        let (exit, exit_writer) = io::pipe().map_err(failed)?;
        let errors = input.try_clone().map_err(failed)?;
        let child = start(job, input, errors)?;
        let group = Pid::from_child(&child);
        let running = Self {
            child,
            group,
            output: Some(output),
            exit,
            has_exited: false,
            last_output_at: Instant::now(),
            log_path: job.log.clone(),
            log,
            tail: Vec::new(),
            stuck_detector: None,
            on_output,
        };
        match close_pipe_on_exit(group, exit_writer) {
            Ok(()) => Ok(running),
            Err(source) => {
                kill_process_group(group, Signal::KILL).ok();
                Err(failed(source))
            }
        }
    }

    /// Reads the output until the shell exits or must be ended; returns why it must be ended, if
    /// so.
    fn watch(
        &mut self,
        job: &ShellJob,
        stop: &StopSignal,
        on_activity: &mut dyn FnMut(ActivityChange),
    ) -> Result<Option<ShellExit>, ShellError> {
        let start = Instant::now();
        let detector = |after| StuckDetector::new(after, self.child.id(), &job.watched);
        self.stuck_detector = job.stuck_after.map(detector);
        while !self.has_exited {
            let now = Instant::now();
            let timeout_at = job.timeout.map(|max| start + max);
            if stop.is_stopped() {
                return Ok(Some(ShellExit::Stopped));
            }
            if timeout_at.is_some_and(|at| at <= now) {
                return Ok(Some(ShellExit::TimedOut));
            }
            let last_output_at = self.last_output_at;
            if let Some(change) = self
                .stuck_detector
                .as_mut()
                .and_then(|detector| detector.check(now, last_output_at))
            {
                on_activity(change);
            }
            let check_at = self.stuck_detector.as_ref().map(StuckDetector::next_check_at);
            let next = [timeout_at, check_at].into_iter().flatten().min();
            self.step(next.map(|at| at.saturating_duration_since(now)), Some(stop))?;
        }
        Ok(None)
    }

    /// Ends the remaining processes of the group, and reads their output meanwhile.
    ///
    /// The shell is reaped last: until then the id of its process group cannot be reused.
    fn end(&mut self, by_itself: bool) -> Result<ExitStatus, ShellError> {
        self.drain_output()?;
        if by_itself && self.output.is_some() {
            // A process still holds the output: in this group, or in another one that signals do
            // not reach.
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
        self.drain_output()?;
        self.child.wait().map_err(|source| ShellError::Watch { source })
    }

    fn signal(&self, signal: Signal) {
        // This fails only when no process is left in the group.
        kill_process_group(self.group, signal).ok();
    }

    /// Reads the output that is already in the pipe.
    fn drain_output(&mut self) -> Result<(), ShellError> {
        let end = Instant::now() + DRAIN_MAX;
        while self.output.is_some() && Instant::now() < end {
            let last_output_at = self.last_output_at;
            self.step(Some(Duration::ZERO), None)?;
            if self.last_output_at == last_output_at {
                break;
            }
        }
        Ok(())
    }

    /// Waits until the shell has exited and no process holds its output, at most as long as `wait`.
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

    /// Waits for output, the exit of the shell, the stop signal or the timeout, and handles it.
    fn step(
        &mut self,
        wait: Option<Duration>,
        stop: Option<&StopSignal>,
    ) -> Result<(), ShellError> {
        let mut fds = Vec::with_capacity(3);
        if !self.has_exited {
            fds.push(PollFd::new(&self.exit, PollFlags::IN));
        }
        fds.extend(self.output.iter().map(|output| PollFd::new(output, PollFlags::IN)));
        fds.extend(stop.iter().map(|stop| PollFd::new(stop, PollFlags::IN)));
        poll_until(&mut fds, wait).map_err(|source| ShellError::Watch { source })?;
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        if !self.has_exited {
            self.has_exited = ready.next().unwrap_or(false);
        }
        if self.output.is_some() && ready.next().unwrap_or(false) {
            self.read()?;
        }
        Ok(())
    }

    /// Reads available output into the log, the tail and the stuck detector, or notices its end.
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
        self.last_output_at = Instant::now();
        (self.on_output)(&bytes[..length]);
        if let Some(detector) = &mut self.stuck_detector {
            detector.record_output(&bytes[..length]);
        }
        self.tail.extend_from_slice(&bytes[..length]);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL_BYTES));
        let failed = |source| ShellError::Log { path: self.log_path.clone(), source };
        self.log.append(&bytes[..length]).map_err(failed)
    }
}

fn start(job: &ShellJob, output: PipeWriter, errors: PipeWriter) -> Result<Child, LaunchError> {
    launch::start(Launch {
        cwd: Some(job.cwd.clone()),
        variables: Variables::inherited_with(job.env.iter().map(|(name, value)| (name, value))),
        marks: job.marks.clone(),
        group: ProcessGroup::Own,
        stdout: output.into(),
        stderr: errors.into(),
        ..Launch::other(&job.program).with_args(["-c", &job.script])
    })
}

/// Closes the pipe when the process has exited, without reaping it.
pub(crate) fn close_pipe_on_exit(pid: Pid, pipe: PipeWriter) -> io::Result<()> {
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
