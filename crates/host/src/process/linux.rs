//! Finds and signals processes on Linux, with `/proc` and process descriptors.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::{ProcessError, ProcessIdentity};
use crate::stop_signal::poll_until;

/// How long to wait for killed processes to disappear.
const KILLED_WITHIN: Duration = Duration::from_secs(5);
/// How often to search for new processes.
const POLL_EVERY: Duration = Duration::from_millis(100);
/// How many searches in a row must find nothing: one search may miss the child of a process that it
/// has already passed.
const EMPTY_SCANS: usize = 2;
/// How often, and at what interval, to re-read the environment of a process in the middle of
/// `exec`.
const EXEC_POLLS_MAX: usize = 200;
const EXEC_POLL_EVERY: Duration = Duration::from_millis(1);

/// The `PF_KTHREAD` flag of kernel threads.
const KERNEL_THREAD: u32 = 0x0020_0000;

/// The parsed fields of `/proc/<pid>/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessStat {
    is_dead: bool,
    is_stopped: bool,
    /// Whether it is a kernel thread, which has no environment.
    is_kernel: bool,
    parent: u32,
    group: u32,
    /// CPU time of the process and of its reaped children, in clock ticks.
    ticks: u64,
    start_time: u64,
}

/// A process with an open descriptor, so that a signal cannot hit another process with its id.
#[derive(Debug)]
struct OpenProcess {
    process: ProcessIdentity,
    descriptor: OwnedFd,
}

/// Returns the identity of the calling process.
pub(crate) fn current() -> ProcessIdentity {
    let pid = std::process::id();
    ProcessIdentity { pid, start_time: start_time(pid).unwrap_or(0) }
}

pub(super) fn start_time(pid: u32) -> Option<u64> {
    stat(pid).map(|stat| stat.start_time)
}

pub(super) fn terminate(process: ProcessIdentity) -> io::Result<bool> {
    let Some(target) = open(process)? else { return Ok(false) };
    send(&target, Signal::TERM)?;
    Ok(true)
}

/// A process that is watched until it ends.
#[derive(Debug)]
pub(crate) struct WatchedProcess {
    target: OpenProcess,
}

impl WatchedProcess {
    /// How often to look whether it has ended; `None` because its descriptor tells that.
    pub(crate) const LOOK_EVERY: Option<Duration> = None;

    /// Opens a process; `None` if it is gone.
    pub(crate) fn open(process: ProcessIdentity) -> io::Result<Option<Self>> {
        Ok(open(process)?.map(|target| Self { target }))
    }

    /// Returns a descriptor that becomes readable when the process has ended.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.target.descriptor.as_fd())
    }

    /// Returns whether the process has ended.
    pub(crate) fn has_ended(&self) -> io::Result<bool> {
        let mut fds = [PollFd::new(&self.target.descriptor, PollFlags::IN)];
        poll_until(&mut fds, Some(Duration::ZERO))?;
        Ok(!fds[0].revents().is_empty())
    }
}

/// Ends all processes with an environment variable, in steps that never wait.
#[derive(Debug)]
pub(crate) struct EndingProcesses {
    variable: String,
    kill_at: Instant,
    give_up_at: Instant,
    signalled: BTreeSet<ProcessIdentity>,
    /// The processes that the last search found.
    targets: Vec<OpenProcess>,
}

impl EndingProcesses {
    /// Creates the task; the processes have `grace` to end after SIGTERM.
    pub(crate) fn new(name: &str, value: &str, grace: Duration) -> Self {
        let kill_at = Instant::now() + grace;
        Self {
            variable: format!("{name}={value}"),
            kill_at,
            give_up_at: kill_at + KILLED_WITHIN,
            signalled: BTreeSet::new(),
            targets: Vec::new(),
        }
    }

    /// Searches the processes and signals them; returns whether there are none.
    pub(crate) fn step(&mut self) -> Result<bool, ProcessError> {
        for _ in 0..EMPTY_SCANS {
            let found = find(&self.variable, &self.signalled);
            self.targets = found.map_err(|source| ProcessError::List { source })?;
            if !self.targets.is_empty() {
                return self.signal().map(|()| false);
            }
        }
        Ok(true)
    }

    fn signal(&mut self) -> Result<(), ProcessError> {
        let now = Instant::now();
        if now >= self.give_up_at {
            let pids = self.targets.iter().map(|target| target.process.pid).collect();
            return Err(ProcessError::StillRunning { variable: self.variable.clone(), pids });
        }
        let signal = if now < self.kill_at { Signal::TERM } else { Signal::KILL };
        for target in &self.targets {
            // A second SIGTERM could interrupt the cleanup that the first one started.
            if self.signalled.insert(target.process) || signal == Signal::KILL {
                // A process that cannot be signalled is found again and named in the error at the
                // end.
                send(target, signal).ok();
            }
        }
        Ok(())
    }

    /// Returns descriptors that become readable when a found process has ended.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.targets.iter().map(|target| target.descriptor.as_fd())
    }

    /// Returns how long to wait for the next step, if no process ends before.
    pub(crate) fn pause(&self) -> Duration {
        let now = Instant::now();
        let end = if now < self.kill_at { self.kill_at } else { self.give_up_at };
        end.saturating_duration_since(now).min(POLL_EVERY)
    }

    /// Returns how many processes were signalled.
    pub(crate) fn count(&self) -> usize {
        self.signalled.len()
    }
}

/// Waits until no process of a program uses a directory, at most as long as `wait`.
///
/// A process uses it if it names the directory in an argument or in a `GIT_*` variable, or, with
/// `include_cwd`, has its working directory there. Returns the ids of the processes that still do;
/// `None` if processes cannot be listed.
pub(crate) fn wait_for_programs(
    name: &str,
    dir: &Path,
    include_cwd: bool,
    wait: Duration,
) -> Option<Vec<u32>> {
    // Processes may name the directory by its given or its canonical path.
    let real = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf());
    let end = Instant::now() + wait;
    loop {
        let is_busy = |pid: &u32| {
            is_named(*pid, name)
                && (mentions(*pid, dir)
                    || mentions(*pid, &real)
                    || (include_cwd && works_in(*pid, &real)))
        };
        let busy: Vec<u32> = pids().ok()?.into_iter().filter(is_busy).collect();
        let left = end.saturating_duration_since(Instant::now());
        if busy.is_empty() || left.is_zero() {
            return Some(busy);
        }
        let started = busy.iter().filter_map(|&pid| {
            open(ProcessIdentity { pid, start_time: start_time(pid)? }).ok().flatten()
        });
        wait_for_any(&started.collect::<Vec<_>>(), left.min(POLL_EVERY)).ok()?;
    }
}

fn is_named(pid: u32, name: &str) -> bool {
    let comm = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    comm.trim_ascii() == name.as_bytes() && stat(pid).is_some_and(|stat| !stat.is_dead)
}

fn works_in(pid: u32, dir: &Path) -> bool {
    fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(dir))
}

/// Returns whether an argument or `GIT_*` variable of a process is a path at or below the
/// directory.
fn mentions(pid: u32, dir: &Path) -> bool {
    let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let (arguments, environ) = (read("cmdline"), read("environ"));
    let of_git = environ.split(|byte| *byte == 0).filter(|word| word.starts_with(b"GIT_"));
    let values = of_git.filter_map(|word| word.splitn(2, |byte| *byte == b'=').nth(1));
    let mut words = arguments.split(|byte| *byte == 0).chain(values);
    words.any(|word| Path::new(OsStr::from_bytes(word)).starts_with(dir))
}

/// Returns whether a process exists and is stopped by a signal.
pub(super) fn is_stopped(process: ProcessIdentity) -> bool {
    stat(process.pid).is_some_and(|stat| stat.is_stopped && stat.start_time == process.start_time)
}

/// Returns the CPU time of a process, of its process group, and of all their descendants.
pub(crate) fn tree_cpu_time(leader: u32) -> Option<Duration> {
    let stats: BTreeMap<u32, ProcessStat> =
        pids().ok()?.into_iter().filter_map(|pid| Some((pid, stat(pid)?))).collect();
    let of_group = stats.iter().filter(|(_, stat)| stat.group == leader).map(|(pid, _)| *pid);
    let marked: BTreeSet<u32> = of_group.chain([leader]).collect();
    let tree = stats.iter().filter(|(pid, _)| is_below(&stats, &marked, **pid));
    let ticks: u64 = tree.map(|(_, stat)| stat.ticks).sum();
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Some(Duration::from_millis(ticks * 1_000 / per_second))
}

/// Finds the living processes that have the variable, and their descendants.
///
/// Processes found before count too: a process that dropped the variable is found only through its
/// parent, which may have ended since.
fn find(variable: &str, before: &BTreeSet<ProcessIdentity>) -> io::Result<Vec<OpenProcess>> {
    let stats: BTreeMap<u32, ProcessStat> =
        pids()?.into_iter().filter_map(|pid| Some((pid, stat(pid)?))).collect();
    let is_marked = |&(&pid, stat): &(&u32, &ProcessStat)| {
        before.contains(&ProcessIdentity { pid, start_time: stat.start_time })
            || (!stat.is_kernel && has_variable(pid, variable.as_bytes()))
    };
    let marked: BTreeSet<u32> = stats.iter().filter(is_marked).map(|(&pid, _)| pid).collect();
    let mut targets = Vec::new();
    for (&pid, stat) in &stats {
        if stat.is_dead || pid == std::process::id() || !is_below(&stats, &marked, pid) {
            continue;
        }
        targets.extend(open(ProcessIdentity { pid, start_time: stat.start_time })?);
    }
    Ok(targets)
}

/// Returns whether a process or one of its ancestors is marked.
fn is_below(stats: &BTreeMap<u32, ProcessStat>, marked: &BTreeSet<u32>, pid: u32) -> bool {
    let mut ancestor = pid;
    // The process table is not read atomically, so the parent links may contain a cycle.
    for _ in 0..stats.len() {
        if marked.contains(&ancestor) {
            return true;
        }
        match stats.get(&ancestor) {
            Some(stat) if stat.parent != 0 => ancestor = stat.parent,
            _ => return false,
        }
    }
    false
}

fn has_variable(pid: u32, wanted: &[u8]) -> bool {
    environment(pid).split(|byte| *byte == 0).any(|entry| entry == wanted)
}

/// Returns the environment that a process was started with, as `NAME=value` separated by NUL.
///
/// It is empty for a process of another user, whose environment is not readable.
pub(super) fn environment(pid: u32) -> Vec<u8> {
    let path = format!("/proc/{pid}/environ");
    settled_environment(|| fs::read(&path), || is_in_exec(pid))
}

/// Reads an environment until the process is not in the middle of `exec`.
pub(super) fn settled_environment(
    mut read: impl FnMut() -> io::Result<Vec<u8>>,
    is_in_exec: impl Fn() -> bool,
) -> Vec<u8> {
    for _ in 0..EXEC_POLLS_MAX {
        match read() {
            Ok(environ) if environ.is_empty() && is_in_exec() => thread::sleep(EXEC_POLL_EVERY),
            Ok(environ) => return environ,
            // The process belongs to another user or is gone. Waiting would not change that.
            Err(_) => break,
        }
    }
    Vec::new()
}

/// Returns the parent of a process, 0 for the first process of the system; `None` if it is gone.
pub(super) fn parent(pid: u32) -> Option<u32> {
    stat(pid).map(|stat| stat.parent)
}

/// Returns whether a process is in the middle of `exec`, when it has neither arguments nor
/// environment.
fn is_in_exec(pid: u32) -> bool {
    let has_none = |file: &str| fs::read(format!("/proc/{pid}/{file}")).is_ok_and(|b| b.is_empty());
    stat(pid).is_some_and(|stat| !stat.is_dead) && (has_none("cmdline") || !has_none("environ"))
}

fn pids() -> io::Result<Vec<u32>> {
    let mut pids = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let digits = name.as_bytes().iter().all(u8::is_ascii_digit);
        pids.extend(name.to_str().filter(|_| digits).and_then(|name| name.parse::<u32>().ok()));
    }
    Ok(pids)
}

fn stat(pid: u32) -> Option<ProcessStat> {
    // The program name may contain arbitrary bytes.
    let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&String::from_utf8_lossy(&bytes))
}

pub(super) fn parse_stat(text: &str) -> Option<ProcessStat> {
    // The program name is in parentheses and may itself contain parentheses.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let (is_dead, is_stopped) = (matches!(state, "Z" | "X" | "x"), matches!(state, "T" | "t"));
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let flags: u32 = fields.nth(3)?.parse().ok()?;
    // CPU times are fields 14 to 17, the start time is field 22; nine fields are consumed.
    let times: Vec<u64> = fields.by_ref().skip(4).take(4).filter_map(|t| t.parse().ok()).collect();
    let start_time = fields.nth(4)?.parse().ok()?;
    let (is_kernel, ticks) = (flags & KERNEL_THREAD != 0, times.iter().sum());
    Some(ProcessStat { is_dead, is_stopped, is_kernel, parent, group, ticks, start_time })
}

/// Opens a descriptor of a process; `None` if it is gone.
fn open(process: ProcessIdentity) -> io::Result<Option<OpenProcess>> {
    let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) else {
        return Ok(None);
    };
    let descriptor = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(descriptor) => descriptor,
        Err(rustix::io::Errno::SRCH) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    // The id may have been reused before the descriptor was opened.
    let is_same = start_time(process.pid) == Some(process.start_time);
    Ok(is_same.then_some(OpenProcess { process, descriptor }))
}

fn send(target: &OpenProcess, signal: Signal) -> io::Result<()> {
    match pidfd_send_signal(&target.descriptor, signal) {
        Err(rustix::io::Errno::SRCH) | Ok(()) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn wait_for_any(targets: &[OpenProcess], wait: Duration) -> io::Result<()> {
    let mut fds: Vec<PollFd<'_>> =
        targets.iter().map(|target| PollFd::new(&target.descriptor, PollFlags::IN)).collect();
    poll_until(&mut fds, Some(wait))
}
