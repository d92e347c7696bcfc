//! Runs an agent's process and exchanges JSON lines with it, within time and size limits.
//!
//! This module does not interpret the lines. All I/O happens in the caller's thread. Writing never
//! blocks, because an agent may print while it does not read. Dropping a [`JsonLineProcess`] ends the
//! agent and every process that it started, so a panic leaves no orphans.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::Pid;
use serde_json::Value;

use super::{AgentError, AgentJob, AgentOutcome, FailureKind, Limits};
use crate::bounded_log::BoundedLog;
use crate::launch::{self, Launch, LaunchError, ProcessGroup, Variables};
use crate::process;
use crate::shell::close_pipe_on_exit;
use crate::stop_signal::{StopSignal, poll_until};
use crate::stuck_detector::{ActivityChange, StuckDetector};

/// The variable that marks all processes of one run of an agent.
const MARK: &str = launch::AGENT_VARIABLE;
/// How long an agent that was asked to end may take to exit.
const GRACE: Duration = Duration::from_secs(5);
/// How long processes that the agent left behind may take to exit.
const LEFTOVER_GRACE: Duration = Duration::from_secs(1);
/// How many lines that are not JSON are ignored, such as warnings and greetings.
const INVALID_LINES_MAX: u32 = 100;
/// How many bytes of each line are written to the log.
const LOG_LINE_BYTES: usize = 4096;
/// How many bytes of the end of standard error are kept.
const TAIL_BYTES: usize = 4096;
const READ_BYTES: usize = 64 * 1024;

/// The next thing that happened while the caller waited for the agent.
#[derive(Debug)]
pub(super) enum ProcessEvent {
    /// The agent printed this JSON value.
    Line(Value),
    /// The agent became stuck, or active again.
    Activity(ActivityChange),
    /// The caller's own deadline has passed.
    TimedOut,
    /// The stop signal was raised.
    Stopped,
    /// The agent has exited, and all its output was returned before.
    Exited,
    /// The agent exceeded a limit of its job.
    LimitExceeded(FailureKind),
}

/// How to make the agent's process exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShutdownMode {
    /// Close its standard input, after which it exits by itself.
    CloseInput,
    /// Send a signal.
    Terminate,
}

/// How to end the process after a conversation, and the outcome to return.
pub(super) enum Shutdown {
    /// The conversation is complete: close the input and let the agent exit.
    Close(Box<AgentOutcome>),
    /// The agent is in the middle of something: terminate it.
    Kill(Box<AgentOutcome>),
    /// The agent exited by itself before the conversation was complete.
    Exit,
}

impl Shutdown {
    pub(super) fn close(end: AgentOutcome) -> Self {
        Self::Close(Box::new(end))
    }

    pub(super) fn kill(end: AgentOutcome) -> Self {
        Self::Kill(Box::new(end))
    }

    pub(super) fn fail(kind: FailureKind, text: String) -> Self {
        Self::kill(AgentOutcome::Failed { kind, text })
    }
}

/// An agent's process, its pipes, its limits and its log.
pub(super) struct JsonLineProcess {
    child: Child,
    mark: String,
    /// `None` once either side has closed it.
    input: Option<PipeWriter>,
    /// Bytes that wait until the agent reads.
    unsent: VecDeque<u8>,
    output: Option<PipeReader>,
    errors: Option<PipeReader>,
    /// The other end is closed when the agent has exited.
    exit: PipeReader,
    has_exited: bool,
    is_shut_down: bool,
    /// Bytes read from standard output, of which lines up to `whole` were taken, and no other ends before `searched`.
    buffer: Vec<u8>,
    consumed: usize,
    searched: usize,
    total_bytes: u64,
    invalid_lines: u32,
    stderr_tail: Vec<u8>,
    limits: Limits,
    deadline: Option<Instant>,
    last_io_at: Instant,
    stuck_detector: Option<StuckDetector>,
    log_path: PathBuf,
    log: BoundedLog,
}

impl JsonLineProcess {
    /// Returns the environment variable that marks all processes of this run, as name and value.
    pub(super) fn mark(&self) -> (&'static str, &str) {
        (MARK, &self.mark)
    }

    /// Starts the agent; returns `None` when its program does not exist.
    pub(super) fn start(
        job: &AgentJob,
        args: &[String],
        env: &[(&str, OsString)],
    ) -> Result<Option<Self>, AgentError> {
        let failed = |source| AgentError::Watch { source };
        let log = BoundedLog::create(&job.log)
            .map_err(|source| AgentError::Log { path: job.log.clone(), source })?;
        let mark = new_mark();
        let (stdin, input) = io::pipe().map_err(failed)?;
        let (output, stdout) = io::pipe().map_err(failed)?;
        let (errors, stderr) = io::pipe().map_err(failed)?;
        let (exit, exit_writer) = io::pipe().map_err(failed)?;
        rustix::io::ioctl_fionbio(&input, true).map_err(|errno| failed(errno.into()))?;
        let more = env.iter().map(|(name, value)| (OsString::from(name), value.clone()));
        let started = launch::start(Launch {
            cwd: Some(job.cwd.clone()),
            variables: Variables::Exact(job.env.iter().cloned().chain(more).collect()),
            marks: Some(job.marks.clone()),
            agent_mark: Some(mark.clone()),
            group: ProcessGroup::Own,
            stdin: stdin.into(),
            stdout: stdout.into(),
            stderr: stderr.into(),
            ..Launch::other(&job.program).with_args(&job.args).with_args(args)
        });
        let child = match started {
            Err(LaunchError::MissingProgram { .. }) => return Ok(None),
            started => started?,
        };
        let now = Instant::now();
        let stuck_detector =
            job.stuck_after.map(|after| StuckDetector::new(after, child.id(), &job.watched_paths));
        let pid = Pid::from_child(&child);
        let process = Self {
            child,
            mark,
            input: Some(input),
            unsent: VecDeque::new(),
            output: Some(output),
            errors: Some(errors),
            exit,
            has_exited: false,
            is_shut_down: false,
            buffer: Vec::new(),
            consumed: 0,
            searched: 0,
            total_bytes: 0,
            invalid_lines: 0,
            stderr_tail: Vec::new(),
            limits: job.limits.clone(),
            deadline: job.limits.wall.map(|wall| now + wall),
            last_io_at: now,
            stuck_detector,
            log_path: job.log.clone(),
            log,
        };
        close_pipe_on_exit(pid, exit_writer).map_err(failed)?;
        Ok(Some(process))
    }

    /// Waits for the next line or event of the agent, at most until `until`.
    pub(super) fn receive(
        &mut self,
        stop: Option<&StopSignal>,
        until: Option<Instant>,
    ) -> Result<ProcessEvent, AgentError> {
        loop {
            if let Some(line) = self.take_line() {
                self.log_line("<", &line)?;
                match serde_json::from_slice(&line) {
                    Ok(value) => return Ok(ProcessEvent::Line(value)),
                    Err(_) if line.trim_ascii().is_empty() => {}
                    Err(_) if self.invalid_lines < INVALID_LINES_MAX => self.invalid_lines += 1,
                    Err(_) => return Ok(ProcessEvent::LimitExceeded(FailureKind::InvalidOutput)),
                }
                continue;
            }
            let now = Instant::now();
            if stop.is_some_and(StopSignal::is_stopped) {
                return Ok(ProcessEvent::Stopped);
            }
            if self.buffer.len() > self.limits.line_bytes
                || self.total_bytes > self.limits.output_bytes
            {
                return Ok(ProcessEvent::LimitExceeded(FailureKind::TooMuchOutput));
            }
            if self.deadline.is_some_and(|at| at <= now) {
                return Ok(ProcessEvent::LimitExceeded(FailureKind::TimedOut));
            }
            if until.is_some_and(|at| at <= now) {
                return Ok(ProcessEvent::TimedOut);
            }
            let last_io_at = self.last_io_at;
            if let Some(sign) = self
                .stuck_detector
                .as_mut()
                .and_then(|stuck_detector| stuck_detector.check(now, last_io_at))
            {
                return Ok(ProcessEvent::Activity(sign));
            }
            let look_at = self.stuck_detector.as_ref().map(StuckDetector::next_check_at);
            let next = [self.deadline, until, look_at].into_iter().flatten().min();
            // Output printed before the exit is already in the pipe.
            let (is_over, before) = (self.has_exited, self.total_bytes);
            let next = if is_over { Some(now) } else { next };
            let wait = next.map(|at| at.saturating_duration_since(now));
            self.poll_once(wait, stop)?;
            if is_over && self.total_bytes == before {
                // Another process may still hold the pipe open, but the agent itself is gone.
                return Ok(self.take_last_line().map_or(ProcessEvent::Exited, ProcessEvent::Line));
            }
        }
    }

    /// Queues a line, which is written as soon as the agent reads.
    pub(super) fn send(&mut self, line: &Value) -> Result<(), AgentError> {
        let text = line.to_string();
        self.log_line(">", text.as_bytes())?;
        self.last_io_at = Instant::now();
        if self.input.is_some() {
            self.unsent.extend(text.as_bytes());
            self.unsent.push_back(b'\n');
        }
        Ok(())
    }

    /// Moves the deadline, because time spent waiting for an answer does not count as the agent's.
    pub(super) fn extend_deadline(&mut self, time: Duration) {
        self.deadline = self.deadline.map(|at| at + time);
        self.last_io_at = Instant::now();
    }

    /// Returns the end of the agent's standard error.
    pub(super) fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr_tail).trim().to_owned()
    }

    /// Returns the last line of standard error, or a sentence about the exit status.
    pub(super) fn last_error_line(&self, status: Option<ExitStatus>) -> String {
        let complaint = self.stderr_text();
        if let Some(line) = complaint.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            return super::one_line(line);
        }
        match status.map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => format!("it exited with {code}"),
            Some((_, Some(signal))) => format!("it was ended by signal {signal}"),
            _ => "it reported no error".to_owned(),
        }
    }

    /// Ends the agent and every process that it started; returns its exit status.
    fn shut_down(&mut self, mode: ShutdownMode) -> Result<Option<ExitStatus>, AgentError> {
        if mode == ShutdownMode::CloseInput {
            let end = Instant::now() + GRACE;
            // Queued lines are written before the input is closed.
            while !self.has_exited && Instant::now() < end {
                if self.unsent.is_empty() {
                    self.input = None;
                }
                self.buffer.clear();
                (self.consumed, self.searched) = (0, 0);
                self.poll_once(Some(end.saturating_duration_since(Instant::now())), None)?;
            }
        }
        let grace = if self.has_exited { LEFTOVER_GRACE } else { GRACE };
        self.is_shut_down = true;
        process::end_with_variable(MARK, &self.mark, grace)?;
        // The agent is gone, but its last output may still be in the pipe.
        let until = Instant::now() + LEFTOVER_GRACE;
        while let ProcessEvent::Line(_) | ProcessEvent::Activity(_) =
            self.receive(None, Some(until))?
        {}
        let log = |source| AgentError::Log { path: self.log_path.clone(), source };
        self.log.finish().map_err(log)?;
        self.child.try_wait().map_err(|source| AgentError::Watch { source })
    }

    /// Ends the process after a conversation; returns the outcome of the run.
    pub(super) fn finish(&mut self, shutdown: Shutdown) -> Result<AgentOutcome, AgentError> {
        match shutdown {
            Shutdown::Close(end) => self.shut_down(ShutdownMode::CloseInput).map(|_| *end),
            Shutdown::Kill(end) => self.shut_down(ShutdownMode::Terminate).map(|_| *end),
            Shutdown::Exit => {
                let status = self.shut_down(ShutdownMode::Terminate)?;
                let is_success = status.is_some_and(|status| status.success());
                let kind = if is_success { FailureKind::NoResult } else { FailureKind::Crashed };
                Ok(AgentOutcome::Failed { kind, text: self.last_error_line(status) })
            }
        }
    }

    /// Takes the next complete line from the buffer.
    fn take_line(&mut self) -> Option<Vec<u8>> {
        let from = self.searched.max(self.consumed);
        let Some(length) = self.buffer[from..].iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        let line = self.buffer[self.consumed..from + length].to_vec();
        self.consumed = from + length + 1;
        Some(line)
    }

    /// Takes the last line when its line break is missing.
    fn take_last_line(&mut self) -> Option<Value> {
        let rest = std::mem::take(&mut self.buffer);
        let line = serde_json::from_slice(&rest[self.consumed.min(rest.len())..]).ok();
        (self.consumed, self.searched) = (0, 0);
        line
    }

    fn log_line(&mut self, direction: &str, line: &[u8]) -> Result<(), AgentError> {
        let cut = line.len() > LOG_LINE_BYTES;
        let mut text =
            [direction.as_bytes(), b" ", &line[..line.len().min(LOG_LINE_BYTES)]].concat();
        text.extend_from_slice(if cut { "…\n".as_bytes() } else { b"\n" });
        let failed = |source| AgentError::Log { path: self.log_path.clone(), source };
        self.log.append(&text).map_err(failed)
    }

    /// Waits until a pipe is ready, the agent exits or the stop signal is raised; then does the I/O.
    fn poll_once(
        &mut self,
        wait: Option<Duration>,
        stop: Option<&StopSignal>,
    ) -> Result<(), AgentError> {
        let watch = |source| AgentError::Watch { source };
        let mut fds = Vec::with_capacity(5);
        fds.extend(self.output.iter().map(|output| PollFd::new(output, PollFlags::IN)));
        fds.extend(self.errors.iter().map(|errors| PollFd::new(errors, PollFlags::IN)));
        if !self.has_exited {
            fds.push(PollFd::new(&self.exit, PollFlags::IN));
        }
        let input = self.input.iter().filter(|_| !self.unsent.is_empty());
        fds.extend(input.map(|input| PollFd::new(input, PollFlags::OUT)));
        fds.extend(stop.iter().map(|stop| PollFd::new(stop, PollFlags::IN)));
        poll_until(&mut fds, wait).map_err(watch)?;
        let happened: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut happened = happened.into_iter();
        let mut next = |is_watched: bool| is_watched && happened.next().unwrap_or(false);
        let (output, errors) = (next(self.output.is_some()), next(self.errors.is_some()));
        let exited = next(!self.has_exited);
        let input = next(self.input.is_some() && !self.unsent.is_empty());
        self.has_exited |= exited;
        if output {
            self.read_output()?;
        }
        if errors {
            self.read_errors()?;
        }
        if input {
            self.write()?;
        }
        Ok(())
    }

    fn read_output(&mut self) -> Result<(), AgentError> {
        let Some(bytes) = read(&mut self.output)? else { return Ok(()) };
        self.last_io_at = Instant::now();
        self.total_bytes += bytes.len() as u64;
        self.buffer.drain(..self.consumed);
        (self.consumed, self.searched) = (0, self.searched.saturating_sub(self.consumed));
        self.buffer.extend_from_slice(&bytes);
        Ok(())
    }

    fn read_errors(&mut self) -> Result<(), AgentError> {
        let Some(bytes) = read(&mut self.errors)? else { return Ok(()) };
        self.total_bytes += bytes.len() as u64;
        self.stderr_tail.extend_from_slice(&bytes);
        self.stderr_tail.drain(..self.stderr_tail.len().saturating_sub(TAIL_BYTES));
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            self.log_line("!", line)?;
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), AgentError> {
        let Some(input) = &mut self.input else { return Ok(()) };
        match input.write(self.unsent.as_slices().0) {
            Ok(length) => drop(self.unsent.drain(..length)),
            Err(error) if is_transient(&error) => {}
            // The agent has closed its input. It will report an error or exit.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.input = None;
                self.unsent.clear();
            }
            Err(source) => return Err(AgentError::Watch { source }),
        }
        Ok(())
    }
}

impl Drop for JsonLineProcess {
    fn drop(&mut self) {
        if !self.is_shut_down {
            // Drop cannot return an error.
            process::end_with_variable(MARK, &self.mark, LEFTOVER_GRACE).ok();
        }
        self.child.try_wait().ok();
    }
}

/// Reads from a pipe that is ready; returns `None` when there is nothing to read after all.
fn read(pipe: &mut Option<PipeReader>) -> Result<Option<Vec<u8>>, AgentError> {
    let Some(reader) = pipe else { return Ok(None) };
    let mut bytes = vec![0; READ_BYTES];
    match reader.read(&mut bytes) {
        Ok(0) => *pipe = None,
        Ok(length) => {
            bytes.truncate(length);
            return Ok(Some(bytes));
        }
        Err(error) if is_transient(&error) => {}
        Err(source) => return Err(AgentError::Watch { source }),
    }
    Ok(None)
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

/// Returns a mark that no other run on this machine has.
fn new_mark() -> String {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let this = process::current();
    format!("{}-{}-{}", this.pid, this.start_time, RUNS.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests;
