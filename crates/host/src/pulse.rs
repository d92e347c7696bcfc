//! Whether a command that runs shows signs of life: output, computing, changed files.
//!
//! It only measures; nobody is ended here. A look costs a reading of the process table, at most
//! every ten seconds and only while the command is silent. Files are looked at when nothing else
//! moves. A command that loops over one error is not silent, so errors are counted as they are said.

mod errors;

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::process;
use errors::Errors;

/// The longest time between two looks.
const LOOK_EVERY_MAX: Duration = Duration::from_secs(10);
const LOOK_EVERY_MIN: Duration = Duration::from_millis(20);
/// How many looks there are at least in the time after which something is stuck.
const LOOKS: u32 = 20;
/// Who computes for less than one part of this many is idle.
const IDLE_PART: u32 = 100;
/// How many looks must have brought the same error.
const REPEATS: u32 = 10;
/// The most files that are looked at.
const FILES_MAX: usize = 1_000_000;

/// What a command shows of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sign {
    /// It shows no sign of life.
    Stuck(Signs),
    /// It shows signs of life again.
    Moving,
}

/// The signs by which a command is stuck, with their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signs {
    /// How long it has said nothing.
    pub silent: Duration,
    /// How long no file has changed.
    pub unchanged: Duration,
    /// How long it has been idle, and what it computed meanwhile; `None` where that is not known.
    pub idle: Option<(Duration, Duration)>,
    /// An error that it keeps saying, and how often.
    pub repeated: Option<(String, u32)>,
}

impl fmt::Display for Signs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.repeated {
            Some((error, times)) => write!(f, "the same error {times} times (`{error}`), ")?,
            None => write!(f, "no output for {}, ", words(self.silent))?,
        }
        write!(f, "no file change for {}", words(self.unchanged))?;
        match (&self.repeated, self.idle) {
            (None, Some((idle, cpu))) => {
                write!(f, ", CPU {:.1} s in {}", cpu.as_secs_f64(), words(idle))
            }
            _ => Ok(()),
        }
    }
}

/// Says how long something lasts, in whole minutes where there are some.
fn words(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        seconds @ 10..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

/// Watches one command.
pub(crate) struct Pulse {
    after: Duration,
    every: Duration,
    leader: u32,
    watched: Vec<PathBuf>,
    next: Instant,
    looked_at: Instant,
    /// What it had computed at the last look.
    cpu: Option<Duration>,
    /// Since when it is idle, and what it had computed by then.
    idle_since: Instant,
    idle_cpu: Duration,
    /// When files are worth a look again.
    files_at: Instant,
    errors: Errors,
    stuck: Option<Cause>,
    /// The newest change of a file, some time after it was found to be stuck.
    known: Option<SystemTime>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    Still,
    Repeats,
}

impl Pulse {
    /// Begins to watch the tree of a process and some files, or all below some directories.
    pub(crate) fn new(after: Duration, leader: u32, watched: &[PathBuf]) -> Self {
        let (now, every) = (Instant::now(), (after / LOOKS).clamp(LOOK_EVERY_MIN, LOOK_EVERY_MAX));
        Self {
            after,
            every,
            leader,
            watched: watched.to_vec(),
            next: now + every,
            looked_at: now,
            cpu: None,
            idle_since: now,
            idle_cpu: Duration::ZERO,
            files_at: now,
            errors: Errors::default(),
            stuck: None,
            known: None,
        }
    }

    /// Returns when to look next.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Takes in what it said.
    pub(crate) fn hear(&mut self, bytes: &[u8]) {
        self.errors.hear(bytes);
    }

    /// Looks, if it is time; returns what has changed.
    pub(crate) fn look(&mut self, now: Instant, said_at: Instant) -> Option<Sign> {
        if now < self.next {
            return None;
        }
        self.next = now + self.every;
        self.measure(now, said_at);
        let idle = now.saturating_duration_since(self.idle_since);
        let silent = now.saturating_duration_since(said_at);
        let is_still = silent >= self.after && idle >= self.after;
        let repeated = self.errors.look().filter(|(_, n, _)| *n >= REPEATS);
        match self.stuck {
            Some(Cause::Still) if !is_still => self.wake(),
            Some(Cause::Repeats) if now >= self.files_at => {
                self.files_at = now + self.after;
                let newest = self.newest();
                // What was written down about it being stuck is no sign of life.
                let known = *self.known.get_or_insert(newest);
                if newest > known { self.wake() } else { None }
            }
            None if is_still || repeated.is_some() => {
                self.judge(now, (silent, idle), repeated.filter(|_| !is_still))
            }
            _ => None,
        }
    }

    fn wake(&mut self) -> Option<Sign> {
        (self.stuck, self.known) = (None, None);
        Some(Sign::Moving)
    }

    /// Finds out whether it computes. What is said was computed.
    fn measure(&mut self, now: Instant, said_at: Instant) {
        let spoke = said_at > self.looked_at;
        let since = std::mem::replace(&mut self.looked_at, now);
        if spoke {
            self.cpu = None;
            return;
        }
        let cpu = process::cpu_of_tree(self.leader);
        let used = cpu.zip(self.cpu).map(|(now, then)| now.saturating_sub(then));
        let is_busy = used.is_some_and(|used| used > now.duration_since(since) / IDLE_PART);
        // The first number says nothing: it has no other to compare with.
        if is_busy || (cpu.is_some() && self.cpu.is_none()) {
            (self.idle_since, self.idle_cpu) = (now, cpu.unwrap_or_default());
        }
        self.cpu = cpu;
    }

    /// Looks at the files before it says that nothing moves.
    fn judge(
        &mut self,
        now: Instant,
        (silent, idle): (Duration, Duration),
        repeated: Option<(String, u32, SystemTime)>,
    ) -> Option<Sign> {
        if repeated.is_none() && now < self.files_at {
            return None;
        }
        let unchanged = self.unchanged();
        let wanted = match &repeated {
            Some((_, _, first)) => first.elapsed().unwrap_or_default(),
            None => self.after,
        };
        if unchanged < wanted {
            self.files_at = now + (wanted - unchanged);
            self.errors.forget();
            return None;
        }
        self.files_at = now + self.after;
        self.stuck = Some(if repeated.is_some() { Cause::Repeats } else { Cause::Still });
        let computed = self.cpu.map(|cpu| cpu.saturating_sub(self.idle_cpu));
        let repeated = repeated.map(|(error, times, _)| (error, times));
        let idle = computed.map(|cpu| (idle, cpu));
        Some(Sign::Stuck(Signs { silent, unchanged, idle, repeated }))
    }

    /// Returns how long no watched file has changed.
    fn unchanged(&self) -> Duration {
        // What was changed in the future tells nothing.
        SystemTime::now().duration_since(self.newest()).unwrap_or_default()
    }

    /// Returns when a watched file changed last.
    fn newest(&self) -> SystemTime {
        let mut left = FILES_MAX;
        let changes = self.watched.iter().map(|path| newest_change(path, &mut left));
        changes.max().unwrap_or(UNIX_EPOCH)
    }
}

/// Returns when the newest change was made to a file or below a directory.
fn newest_change(path: &Path, left: &mut usize) -> SystemTime {
    let mut newest = UNIX_EPOCH;
    let mut queue = vec![path.to_path_buf()];
    while let Some(path) = queue.pop() {
        if *left == 0 {
            break;
        }
        *left -= 1;
        // Who is not there has not changed; who made him vanish changed the directory.
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        newest = newest.max(changed(&metadata));
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            let is_ours = |name: &std::ffi::OsStr| name != ".git";
            queue.extend(entries.filter(|e| is_ours(&e.file_name())).map(|entry| entry.path()));
        }
    }
    newest
}

/// Returns when a file was changed, which nobody can set.
fn changed(metadata: &fs::Metadata) -> SystemTime {
    let seconds = u64::try_from(metadata.ctime()).unwrap_or_default();
    let nanoseconds = u32::try_from(metadata.ctime_nsec()).unwrap_or_default();
    UNIX_EPOCH + Duration::new(seconds, nanoseconds)
}

#[cfg(test)]
mod tests;
