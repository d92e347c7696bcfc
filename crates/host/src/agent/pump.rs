//! Carries lines of JSON to and from an agent's process, within bounds, until it is gone.
//!
//! It knows nothing of what the lines mean. Everything happens in the thread that calls: writing never
//! blocks, since an agent may talk while it does not listen. Dropping it ends the agent and all that
//! it started, so a panic orphans nobody.

#![expect(clippy::disallowed_methods, reason = "starting agents is what this is for")]

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::Pid;
use serde_json::Value;

use super::{AgentError, End, Job, Limits, Trouble};
use crate::bounded_log::BoundedLog;
use crate::process;
use crate::pulse::{Pulse, Sign};
use crate::shell::notice_exit;
use crate::stop::{Stop, poll_until};

/// The variable that marks all processes of one run of an agent.
const MARK: &str = "MOW_AGENT";
/// How long an agent that was asked to end may clear up.
const GRACE: Duration = Duration::from_secs(5);
/// How long what an agent left behind may clear up.
const GRACE_OF_LEFTOVERS: Duration = Duration::from_secs(1);
/// How many lines that are not JSON are overlooked: warnings, greetings.
const GARBAGE_LINES_MAX: u32 = 100;
/// How much of a line goes to the log.
const LOG_LINE_BYTES: usize = 4096;
/// How much of the end of the error output is handed back.
const TAIL_BYTES: usize = 4096;
const READ_BYTES: usize = 64 * 1024;

/// What comes next from an agent.
#[derive(Debug)]
pub(super) enum Heard {
    /// It said this.
    Line(Value),
    /// It shows no sign of life, or does so again.
    Sign(Sign),
    /// The time that the caller had was over.
    Nothing,
    /// It is to stop.
    Stopped,
    /// It has exited, and all it said was heard.
    Exited,
    /// It broke a bound.
    Broke(Trouble),
}

/// How an agent is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Farewell {
    /// By the end of its input, after which it exits by itself.
    Close,
    /// By a signal.
    Terminate,
}

/// How a conversation ends.
pub(super) enum Ending {
    /// All is said.
    Close(Box<End>),
    /// In the middle of something.
    Kill(Box<End>),
    /// By the agent's own exit, before all was said.
    Exit,
}

impl Ending {
    pub(super) fn close(end: End) -> Self {
        Self::Close(Box::new(end))
    }

    pub(super) fn kill(end: End) -> Self {
        Self::Kill(Box::new(end))
    }

    pub(super) fn fail(kind: Trouble, text: String) -> Self {
        Self::kill(End::Failed { kind, text })
    }
}

/// An agent's process and the pipes to it.
pub(super) struct Pump {
    child: Child,
    mark: String,
    /// `None` once it is closed from either side.
    input: Option<PipeWriter>,
    /// What is yet to be written.
    unsaid: VecDeque<u8>,
    output: Option<PipeReader>,
    errors: Option<PipeReader>,
    /// Closed from the other side when the agent has exited.
    exit: PipeReader,
    has_exited: bool,
    is_ended: bool,
    /// What was read, of which lines up to `whole` were taken, and no other ends before `searched`.
    heard: Vec<u8>,
    whole: usize,
    searched: usize,
    heard_in_all: u64,
    garbage_lines: u32,
    tail: Vec<u8>,
    limits: Limits,
    too_long_at: Option<Instant>,
    said_at: Instant,
    pulse: Option<Pulse>,
    log_path: PathBuf,
    log: BoundedLog,
}

impl Pump {
    /// Returns the variable that marks all processes of this run.
    pub(super) fn mark(&self) -> (&'static str, &str) {
        (MARK, &self.mark)
    }

    /// Starts the agent; `None` when its program is not there.
    pub(super) fn start(
        job: &Job,
        args: &[String],
        env: &[(&str, OsString)],
    ) -> Result<Option<Self>, AgentError> {
        let failed = |source| {
            let (program, cwd) = (job.program.clone(), job.cwd.clone());
            AgentError::Start { program, cwd, source }
        };
        let log = BoundedLog::create(&job.log)
            .map_err(|source| AgentError::Log { path: job.log.clone(), source })?;
        let mark = new_mark();
        let mut command = Command::new(&job.program);
        command.args(&job.args).args(args).current_dir(&job.cwd).process_group(0);
        command.env_clear().envs(job.env.iter().cloned());
        command.envs(env.iter().map(|(name, value)| (*name, value.clone()))).env(MARK, &mark);
        failpoint::hide(&mut command);
        let (stdin, input) = io::pipe().map_err(failed)?;
        let (output, stdout) = io::pipe().map_err(failed)?;
        let (errors, stderr) = io::pipe().map_err(failed)?;
        let (exit, exit_writer) = io::pipe().map_err(failed)?;
        rustix::io::ioctl_fionbio(&input, true).map_err(|errno| failed(errno.into()))?;
        let spawned = command.stdin(stdin).stdout(stdout).stderr(stderr).spawn();
        // The command holds our copies of the agent's ends.
        drop(command);
        let child = match spawned {
            Ok(child) => child,
            Err(error) if error.kind() == io::ErrorKind::NotFound && job.cwd.is_dir() => {
                return Ok(None);
            }
            Err(source) => return Err(failed(source)),
        };
        let now = Instant::now();
        let pulse = job.stuck_after.map(|after| Pulse::new(after, child.id(), &job.watched));
        let pid = Pid::from_child(&child);
        let pump = Self {
            child,
            mark,
            input: Some(input),
            unsaid: VecDeque::new(),
            output: Some(output),
            errors: Some(errors),
            exit,
            has_exited: false,
            is_ended: false,
            heard: Vec::new(),
            whole: 0,
            searched: 0,
            heard_in_all: 0,
            garbage_lines: 0,
            tail: Vec::new(),
            limits: job.limits.clone(),
            too_long_at: job.limits.wall.map(|wall| now + wall),
            said_at: now,
            pulse,
            log_path: job.log.clone(),
            log,
        };
        notice_exit(pid, exit_writer).map_err(failed)?;
        Ok(Some(pump))
    }

    /// Returns the next thing that the agent says, waiting for it until it is there.
    pub(super) fn hear(
        &mut self,
        stop: Option<&Stop>,
        until: Option<Instant>,
    ) -> Result<Heard, AgentError> {
        loop {
            if let Some(line) = self.take_line() {
                self.note("<", &line)?;
                match serde_json::from_slice(&line) {
                    Ok(value) => return Ok(Heard::Line(value)),
                    Err(_) if line.trim_ascii().is_empty() => {}
                    Err(_) if self.garbage_lines < GARBAGE_LINES_MAX => self.garbage_lines += 1,
                    Err(_) => return Ok(Heard::Broke(Trouble::Garbage)),
                }
                continue;
            }
            let now = Instant::now();
            if stop.is_some_and(Stop::is_stopped) {
                return Ok(Heard::Stopped);
            }
            if self.heard.len() > self.limits.line_bytes
                || self.heard_in_all > self.limits.all_bytes
            {
                return Ok(Heard::Broke(Trouble::Flood));
            }
            if self.too_long_at.is_some_and(|at| at <= now) {
                return Ok(Heard::Broke(Trouble::TimedOut));
            }
            if until.is_some_and(|at| at <= now) {
                return Ok(Heard::Nothing);
            }
            let said_at = self.said_at;
            if let Some(sign) = self.pulse.as_mut().and_then(|pulse| pulse.look(now, said_at)) {
                return Ok(Heard::Sign(sign));
            }
            let look_at = self.pulse.as_ref().map(Pulse::next);
            let next = [self.too_long_at, until, look_at].into_iter().flatten().min();
            // What was said before it exited is there already.
            let (is_over, before) = (self.has_exited, self.heard_in_all);
            let next = if is_over { Some(now) } else { next };
            let wait = next.map(|at| at.saturating_duration_since(now));
            self.step(wait, stop)?;
            if is_over && self.heard_in_all == before {
                // Whoever else holds the pipe is not the one we talk with.
                return Ok(self.take_last_line().map_or(Heard::Exited, Heard::Line));
            }
        }
    }

    /// Says a line, as soon as the agent listens.
    pub(super) fn say(&mut self, line: &Value) -> Result<(), AgentError> {
        let text = line.to_string();
        self.note(">", text.as_bytes())?;
        self.said_at = Instant::now();
        if self.input.is_some() {
            self.unsaid.extend(text.as_bytes());
            self.unsaid.push_back(b'\n');
        }
        Ok(())
    }

    /// Does not count the time that something else than the agent took.
    pub(super) fn forgive(&mut self, time: Duration) {
        self.too_long_at = self.too_long_at.map(|at| at + time);
        self.said_at = Instant::now();
    }

    /// Returns the end of what the agent said about errors.
    pub(super) fn complaint(&self) -> String {
        String::from_utf8_lossy(&self.tail).trim().to_owned()
    }

    /// Returns the last line of what it said about errors, or how it ended.
    pub(super) fn last_words(&self, status: Option<ExitStatus>) -> String {
        let complaint = self.complaint();
        if let Some(line) = complaint.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            return super::one_line(line);
        }
        match status.map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => format!("it exited with {code}"),
            Some((_, Some(signal))) => format!("it was ended by signal {signal}"),
            _ => "it told of no error".to_owned(),
        }
    }

    /// Ends the agent and all it started; returns how it exited.
    fn end(&mut self, farewell: Farewell) -> Result<Option<ExitStatus>, AgentError> {
        if farewell == Farewell::Close {
            let end = Instant::now() + GRACE;
            // What is still to be said goes out first.
            while !self.has_exited && Instant::now() < end {
                if self.unsaid.is_empty() {
                    self.input = None;
                }
                self.heard.clear();
                (self.whole, self.searched) = (0, 0);
                self.step(Some(end.saturating_duration_since(Instant::now())), None)?;
            }
        }
        let grace = if self.has_exited { GRACE_OF_LEFTOVERS } else { GRACE };
        self.is_ended = true;
        process::end_marked(MARK, &self.mark, grace)?;
        // It says no more, but may have said something before.
        let until = Instant::now() + GRACE_OF_LEFTOVERS;
        while let Heard::Line(_) | Heard::Sign(_) = self.hear(None, Some(until))? {}
        let log = |source| AgentError::Log { path: self.log_path.clone(), source };
        self.log.finish().map_err(log)?;
        self.child.try_wait().map_err(|source| AgentError::Watch { source })
    }

    /// Ends a conversation with the agent itself; returns what came of it.
    pub(super) fn finish(&mut self, ending: Ending) -> Result<End, AgentError> {
        match ending {
            Ending::Close(end) => self.end(Farewell::Close).map(|_| *end),
            Ending::Kill(end) => self.end(Farewell::Terminate).map(|_| *end),
            Ending::Exit => {
                let status = self.end(Farewell::Terminate)?;
                let is_success = status.is_some_and(|status| status.success());
                let kind = if is_success { Trouble::NoResult } else { Trouble::Crashed };
                Ok(End::Failed { kind, text: self.last_words(status) })
            }
        }
    }

    /// Takes a whole line that was read.
    fn take_line(&mut self) -> Option<Vec<u8>> {
        let from = self.searched.max(self.whole);
        let Some(length) = self.heard[from..].iter().position(|byte| *byte == b'\n') else {
            self.searched = self.heard.len();
            return None;
        };
        let line = self.heard[self.whole..from + length].to_vec();
        self.whole = from + length + 1;
        Some(line)
    }

    /// Takes what was said last, should it lack its end.
    fn take_last_line(&mut self) -> Option<Value> {
        let rest = std::mem::take(&mut self.heard);
        let line = serde_json::from_slice(&rest[self.whole.min(rest.len())..]).ok();
        (self.whole, self.searched) = (0, 0);
        line
    }

    fn note(&mut self, sign: &str, line: &[u8]) -> Result<(), AgentError> {
        let cut = line.len() > LOG_LINE_BYTES;
        let mut text = [sign.as_bytes(), b" ", &line[..line.len().min(LOG_LINE_BYTES)]].concat();
        text.extend_from_slice(if cut { "…\n".as_bytes() } else { b"\n" });
        let failed = |source| AgentError::Log { path: self.log_path.clone(), source };
        self.log.append(&text).map_err(failed)
    }

    /// Waits for the next thing to happen, and takes it.
    fn step(&mut self, wait: Option<Duration>, stop: Option<&Stop>) -> Result<(), AgentError> {
        let watch = |source| AgentError::Watch { source };
        let mut fds = Vec::with_capacity(5);
        fds.extend(self.output.iter().map(|output| PollFd::new(output, PollFlags::IN)));
        fds.extend(self.errors.iter().map(|errors| PollFd::new(errors, PollFlags::IN)));
        if !self.has_exited {
            fds.push(PollFd::new(&self.exit, PollFlags::IN));
        }
        let input = self.input.iter().filter(|_| !self.unsaid.is_empty());
        fds.extend(input.map(|input| PollFd::new(input, PollFlags::OUT)));
        fds.extend(stop.iter().map(|stop| PollFd::new(stop, PollFlags::IN)));
        poll_until(&mut fds, wait).map_err(watch)?;
        let happened: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut happened = happened.into_iter();
        let mut next = |is_watched: bool| is_watched && happened.next().unwrap_or(false);
        let (output, errors) = (next(self.output.is_some()), next(self.errors.is_some()));
        let exited = next(!self.has_exited);
        let input = next(self.input.is_some() && !self.unsaid.is_empty());
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
        self.said_at = Instant::now();
        self.heard_in_all += bytes.len() as u64;
        self.heard.drain(..self.whole);
        (self.whole, self.searched) = (0, self.searched.saturating_sub(self.whole));
        self.heard.extend_from_slice(&bytes);
        Ok(())
    }

    fn read_errors(&mut self) -> Result<(), AgentError> {
        let Some(bytes) = read(&mut self.errors)? else { return Ok(()) };
        self.heard_in_all += bytes.len() as u64;
        self.tail.extend_from_slice(&bytes);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL_BYTES));
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            self.note("!", line)?;
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), AgentError> {
        let Some(input) = &mut self.input else { return Ok(()) };
        match input.write(self.unsaid.as_slices().0) {
            Ok(length) => drop(self.unsaid.drain(..length)),
            Err(error) if is_passing(&error) => {}
            // It does not listen any more, and will say why or exit.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.input = None;
                self.unsaid.clear();
            }
            Err(source) => return Err(AgentError::Watch { source }),
        }
        Ok(())
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        if !self.is_ended {
            // There is nobody to tell what else goes wrong.
            process::end_marked(MARK, &self.mark, GRACE_OF_LEFTOVERS).ok();
        }
        self.child.try_wait().ok();
    }
}

/// Takes what there is, of which there is some; `None` when there is none after all.
fn read(pipe: &mut Option<PipeReader>) -> Result<Option<Vec<u8>>, AgentError> {
    let Some(reader) = pipe else { return Ok(None) };
    let mut bytes = vec![0; READ_BYTES];
    match reader.read(&mut bytes) {
        Ok(0) => *pipe = None,
        Ok(length) => {
            bytes.truncate(length);
            return Ok(Some(bytes));
        }
        Err(error) if is_passing(&error) => {}
        Err(source) => return Err(AgentError::Watch { source }),
    }
    Ok(None)
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

/// Returns what no other run on this machine is marked with.
fn new_mark() -> String {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let this = process::this();
    format!("{}-{}-{}", this.pid, this.start_time, RUNS.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests;
