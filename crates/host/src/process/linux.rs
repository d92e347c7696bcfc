//! Processes as Linux tells of them, under `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::{ProcessError, Started};

/// How long killed processes may take to be gone.
const KILLED_WITHIN: Duration = Duration::from_secs(5);
/// How long to wait before looking whether there are new processes.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A process may be made by one that was looked at before, so it takes more than one look to be sure
/// that there is none.
const EMPTY_LOOKS: usize = 2;
/// How often and after how long it is looked again at who becomes another program.
const BLANK_LOOKS: usize = 200;
const BLANK_FOR: Duration = Duration::from_millis(1);

/// The flag of what the system runs for itself.
const KERNEL_THREAD: u32 = 0x0020_0000;

/// What one line of `/proc/<pid>/stat` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    is_dead: bool,
    is_stopped: bool,
    /// Whether it is a part of the system, which has no environment.
    is_kernel: bool,
    parent: u32,
    group: u32,
    /// What it and the children that it has seen off computed, in ticks.
    ticks: u64,
    start_time: u64,
}

/// A process that is to end.
struct Target {
    process: Started,
    descriptor: OwnedFd,
}

/// The calling process.
pub(crate) fn this() -> Started {
    let pid = std::process::id();
    Started { pid, start_time: start_time(pid).unwrap_or(0) }
}

pub(super) fn start_time(pid: u32) -> Option<u64> {
    stat(pid).map(|stat| stat.start_time)
}

pub(super) fn terminate(process: Started) -> io::Result<bool> {
    let Some(target) = open(process)? else { return Ok(false) };
    send(&target, Signal::TERM)?;
    Ok(true)
}

/// Waits until a process is gone, for as long as that takes.
pub(super) fn wait_end(process: Started) -> io::Result<()> {
    let Some(target) = open(process)? else { return Ok(()) };
    loop {
        let mut fds = [PollFd::new(&target.descriptor, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

pub(super) fn end_marked(mark: &str, grace: Duration) -> Result<usize, ProcessError> {
    let start = Instant::now();
    let kill_at = start + grace;
    let give_up_at = kill_at + KILLED_WITHIN;
    let mut asked = BTreeSet::new();
    let mut empty_looks = 0;
    while empty_looks < EMPTY_LOOKS {
        let targets = find(mark, &asked).map_err(|source| ProcessError::Look { source })?;
        if targets.is_empty() {
            empty_looks += 1;
            continue;
        }
        empty_looks = 0;
        let now = Instant::now();
        if now >= give_up_at {
            let pids = targets.iter().map(|target| target.process.pid).collect();
            return Err(ProcessError::Left { mark: mark.to_owned(), pids });
        }
        let signal = if now < kill_at { Signal::TERM } else { Signal::KILL };
        for target in &targets {
            // Asking twice would interrupt the clearing up that the first time began.
            if asked.insert(target.process) || signal == Signal::KILL {
                // Who may not be ended is found again at the end of the time, and named.
                send(target, signal).ok();
            }
        }
        let end = if now < kill_at { kill_at } else { give_up_at };
        let wait = end.saturating_duration_since(now).min(LOOK_EVERY);
        wait_for_any(&targets, wait).map_err(|source| ProcessError::Look { source })?;
    }
    Ok(asked.len())
}

/// Waits until no process of a program is busy with a directory, at most as long as `wait`.
///
/// Busy with it is who names it in an argument or in one of git's variables, and, if asked for, who
/// works in it. Returns those that are left; `None` when that cannot be told.
pub(crate) fn wait_for_programs(
    name: &str,
    dir: &Path,
    with_those_inside: bool,
    wait: Duration,
) -> Option<Vec<u32>> {
    // The processes may know the directory by either name.
    let real = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf());
    let end = Instant::now() + wait;
    loop {
        let is_busy = |pid: &u32| {
            is_named(*pid, name)
                && (mentions(*pid, dir)
                    || mentions(*pid, &real)
                    || (with_those_inside && works_in(*pid, &real)))
        };
        let busy: Vec<u32> = pids().ok()?.into_iter().filter(is_busy).collect();
        let left = end.saturating_duration_since(Instant::now());
        if busy.is_empty() || left.is_zero() {
            return Some(busy);
        }
        let started = busy
            .iter()
            .filter_map(|&pid| open(Started { pid, start_time: start_time(pid)? }).ok().flatten());
        wait_for_any(&started.collect::<Vec<_>>(), left.min(LOOK_EVERY)).ok()?;
    }
}

fn is_named(pid: u32, name: &str) -> bool {
    let comm = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    comm.trim_ascii() == name.as_bytes() && stat(pid).is_some_and(|stat| !stat.is_dead)
}

fn works_in(pid: u32, dir: &Path) -> bool {
    fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(dir))
}

/// Returns whether a process names a path at or below the directory.
fn mentions(pid: u32, dir: &Path) -> bool {
    let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let (arguments, environ) = (read("cmdline"), read("environ"));
    let of_git = environ.split(|byte| *byte == 0).filter(|word| word.starts_with(b"GIT_"));
    let values = of_git.filter_map(|word| word.splitn(2, |byte| *byte == b'=').nth(1));
    let mut words = arguments.split(|byte| *byte == 0).chain(values);
    words.any(|word| Path::new(OsStr::from_bytes(word)).starts_with(dir))
}

/// Returns whether a process is there and was made to stand still.
pub(super) fn is_stopped(process: Started) -> bool {
    stat(process.pid).is_some_and(|stat| stat.is_stopped && stat.start_time == process.start_time)
}

/// Returns what a process, all below it and all of its group have computed.
pub(crate) fn cpu_of_tree(leader: u32) -> Option<Duration> {
    let stats: BTreeMap<u32, Stat> =
        pids().ok()?.into_iter().filter_map(|pid| Some((pid, stat(pid)?))).collect();
    let of_group = stats.iter().filter(|(_, stat)| stat.group == leader).map(|(pid, _)| *pid);
    let marked: BTreeSet<u32> = of_group.chain([leader]).collect();
    let tree = stats.iter().filter(|(pid, _)| is_below(&stats, &marked, **pid));
    let ticks: u64 = tree.map(|(_, stat)| stat.ticks).sum();
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Some(Duration::from_millis(ticks * 1_000 / per_second))
}

/// Finds the living processes that carry the mark or stand below one that does.
///
/// Those found before count as marked: who dropped the mark is known by its parent alone, and that
/// may have ended since.
fn find(mark: &str, before: &BTreeSet<Started>) -> io::Result<Vec<Target>> {
    let stats: BTreeMap<u32, Stat> =
        pids()?.into_iter().filter_map(|pid| Some((pid, stat(pid)?))).collect();
    let is_marked = |&(&pid, stat): &(&u32, &Stat)| {
        before.contains(&Started { pid, start_time: stat.start_time })
            || (!stat.is_kernel && carries(pid, mark.as_bytes()))
    };
    let marked: BTreeSet<u32> = stats.iter().filter(is_marked).map(|(&pid, _)| pid).collect();
    let mut targets = Vec::new();
    for (&pid, stat) in &stats {
        if stat.is_dead || pid == std::process::id() || !is_below(&stats, &marked, pid) {
            continue;
        }
        targets.extend(open(Started { pid, start_time: stat.start_time })?);
    }
    Ok(targets)
}

/// Returns whether a process or one above it is marked.
fn is_below(stats: &BTreeMap<u32, Stat>, marked: &BTreeSet<u32>, pid: u32) -> bool {
    let mut at = pid;
    // The table was not read in one instant, so it may hold a circle.
    for _ in 0..stats.len() {
        if marked.contains(&at) {
            return true;
        }
        match stats.get(&at) {
            Some(stat) if stat.parent != 0 => at = stat.parent,
            _ => return false,
        }
    }
    false
}

fn carries(pid: u32, wanted: &[u8]) -> bool {
    for _ in 0..BLANK_LOOKS {
        // Whose environment may not be read is not ours.
        let Ok(environ) = fs::read(format!("/proc/{pid}/environ")) else { return false };
        if !environ.is_empty() {
            return environ.split(|byte| *byte == 0).any(|variable| variable == wanted);
        }
        if !is_becoming(pid) {
            return false;
        }
        thread::sleep(BLANK_FOR);
    }
    false
}

/// Returns whether a process is just becoming another program: for that long it has neither arguments nor
/// an environment.
fn is_becoming(pid: u32) -> bool {
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

fn stat(pid: u32) -> Option<Stat> {
    // The name of the program is arbitrary bytes.
    let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&String::from_utf8_lossy(&bytes))
}

pub(super) fn parse_stat(text: &str) -> Option<Stat> {
    // The name of the program stands in brackets and may hold anything, brackets too.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let (is_dead, is_stopped) = (matches!(state, "Z" | "X" | "x"), matches!(state, "T" | "t"));
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let flags: u32 = fields.nth(3)?.parse().ok()?;
    // The times are fields 14 to 17, the start time is field 22; nine are taken.
    let times: Vec<u64> = fields.by_ref().skip(4).take(4).filter_map(|t| t.parse().ok()).collect();
    let start_time = fields.nth(4)?.parse().ok()?;
    let (is_kernel, ticks) = (flags & KERNEL_THREAD != 0, times.iter().sum());
    Some(Stat { is_dead, is_stopped, is_kernel, parent, group, ticks, start_time })
}

/// Takes hold of a process; `None` when it is gone.
fn open(process: Started) -> io::Result<Option<Target>> {
    let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) else {
        return Ok(None);
    };
    let descriptor = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(descriptor) => descriptor,
        Err(rustix::io::Errno::SRCH) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    // The number may have been given to another one before we took hold of it.
    let is_same = start_time(process.pid) == Some(process.start_time);
    Ok(is_same.then_some(Target { process, descriptor }))
}

fn send(target: &Target, signal: Signal) -> io::Result<()> {
    match pidfd_send_signal(&target.descriptor, signal) {
        Err(rustix::io::Errno::SRCH) | Ok(()) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn wait_for_any(targets: &[Target], wait: Duration) -> io::Result<()> {
    let mut fds: Vec<PollFd<'_>> =
        targets.iter().map(|target| PollFd::new(&target.descriptor, PollFlags::IN)).collect();
    let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
    match poll(&mut fds, Some(&wait)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
