//! Detects a running command that is stuck: no output, no CPU time and no changed files.
//!
//! This module only measures; it ends no process. A check reads the process table, at most every
//! ten seconds and only while the command prints nothing. Files are checked only when there is no
//! other activity. A command that repeats one error is not silent, so repeated errors are counted
//! separately.

mod repeated_errors;

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::process;
use repeated_errors::ErrorCounter;

/// The longest and the shortest time between two checks.
const CHECK_EVERY_MAX: Duration = Duration::from_secs(10);
const CHECK_EVERY_MIN: Duration = Duration::from_millis(20);
/// The minimum number of checks in the time after which a command is stuck.
const CHECKS_PER_WINDOW: u32 = 20;
/// A command is idle if its CPU time is at most this fraction (1/n) of the elapsed time.
const IDLE_CPU_DIVISOR: u32 = 100;
/// In how many checks the same error must appear to count as repeated.
const REPEATS_MIN: u32 = 10;
/// The maximum number of files whose change time is read.
const FILES_MAX: usize = 1_000_000;

/// A change between active and stuck.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActivityChange {
    /// The command shows no activity any more.
    Stuck(StuckReason),
    /// The command is active again after it was stuck.
    Active,
}

/// The measurements by which a command is stuck; `Display` writes them for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckReason {
    /// Time since the last output.
    pub silent: Duration,
    /// Time since the last change of a watched file.
    pub unchanged: Duration,
    /// How long the command was idle, and its CPU time meanwhile; `None` if the system does not
    /// report it.
    pub idle: Option<(Duration, Duration)>,
    /// The error line that the command repeats, and how often.
    pub repeated: Option<(String, u32)>,
}

impl fmt::Display for StuckReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.repeated {
            Some((error, times)) => write!(f, "the same error {times} times (`{error}`), ")?,
            None => write!(f, "no output for {}, ", format_duration(self.silent))?,
        }
        write!(f, "no file change for {}", format_duration(self.unchanged))?;
        match (&self.repeated, self.idle) {
            (None, Some((idle, cpu))) => {
                write!(f, ", CPU {:.1} s in {}", cpu.as_secs_f64(), format_duration(idle))
            }
            _ => Ok(()),
        }
    }
}

/// Formats a duration for people: minutes from two minutes on, seconds below.
fn format_duration(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        seconds @ 10..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

/// Watches the activity of one command.
pub(crate) struct StuckDetector {
    after: Duration,
    every: Duration,
    leader: u32,
    watched: Vec<PathBuf>,
    next: Instant,
    checked_at: Instant,
    /// CPU time at the last check; `None` if unknown or not measured.
    cpu: Option<Duration>,
    /// Since when the command is idle, and its CPU time at that moment.
    idle_since: Instant,
    idle_cpu: Duration,
    /// When to check the watched files again.
    check_files_at: Instant,
    errors: ErrorCounter,
    stuck: Option<StuckCause>,
    /// The newest file change at the first file check after the command became stuck.
    change_when_stuck: Option<SystemTime>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StuckCause {
    Inactive,
    RepeatedError,
}

impl StuckDetector {
    /// Starts to watch the process tree of `leader`, and files or everything below directories.
    ///
    /// The command is stuck `after` this time without activity.
    pub(crate) fn new(after: Duration, leader: u32, watched: &[PathBuf]) -> Self {
        let (now, every) =
            (Instant::now(), (after / CHECKS_PER_WINDOW).clamp(CHECK_EVERY_MIN, CHECK_EVERY_MAX));
        Self {
            after,
            every,
            leader,
            watched: watched.to_vec(),
            next: now + every,
            checked_at: now,
            cpu: None,
            idle_since: now,
            idle_cpu: Duration::ZERO,
            check_files_at: now,
            errors: ErrorCounter::default(),
            stuck: None,
            change_when_stuck: None,
        }
    }

    /// Returns when [`Self::check`] is due next.
    pub(crate) fn next_check_at(&self) -> Instant {
        self.next
    }

    /// Records output of the command.
    pub(crate) fn record_output(&mut self, bytes: &[u8]) {
        self.errors.record_output(bytes);
    }

    /// Checks the command if a check is due; returns a change between active and stuck.
    pub(crate) fn check(
        &mut self,
        now: Instant,
        last_output_at: Instant,
    ) -> Option<ActivityChange> {
        if now < self.next {
            return None;
        }
        self.next = now + self.every;
        self.measure_cpu(now, last_output_at);
        let idle = now.saturating_duration_since(self.idle_since);
        let silent = now.saturating_duration_since(last_output_at);
        let is_inactive = silent >= self.after && idle >= self.after;
        let repeated = self.errors.count_new().filter(|(_, n, _)| *n >= REPEATS_MIN);
        match self.stuck {
            Some(StuckCause::Inactive) if !is_inactive => self.mark_active(),
            Some(StuckCause::RepeatedError) if now >= self.check_files_at => {
                self.check_files_at = now + self.after;
                let newest = self.newest_change();
                // Files that mow itself wrote about the stuck command are not activity.
                let baseline = *self.change_when_stuck.get_or_insert(newest);
                if newest > baseline { self.mark_active() } else { None }
            }
            None if is_inactive || repeated.is_some() => {
                self.confirm_stuck(now, (silent, idle), repeated.filter(|_| !is_inactive))
            }
            _ => None,
        }
    }

    fn mark_active(&mut self) -> Option<ActivityChange> {
        (self.stuck, self.change_when_stuck) = (None, None);
        Some(ActivityChange::Active)
    }

    /// Measures the CPU time since the last check. Output counts as activity and needs no
    /// measurement.
    fn measure_cpu(&mut self, now: Instant, last_output_at: Instant) {
        let has_output = last_output_at > self.checked_at;
        let since = std::mem::replace(&mut self.checked_at, now);
        if has_output {
            self.cpu = None;
            return;
        }
        let cpu = process::tree_cpu_time(self.leader);
        let used = cpu.zip(self.cpu).map(|(now, then)| now.saturating_sub(then));
        let is_busy = used.is_some_and(|used| used > now.duration_since(since) / IDLE_CPU_DIVISOR);
        // The first measurement has nothing to compare with, so the idle time starts there.
        if is_busy || (cpu.is_some() && self.cpu.is_none()) {
            (self.idle_since, self.idle_cpu) = (now, cpu.unwrap_or_default());
        }
        self.cpu = cpu;
    }

    /// Checks the files before it reports the command as stuck.
    fn confirm_stuck(
        &mut self,
        now: Instant,
        (silent, idle): (Duration, Duration),
        repeated: Option<(String, u32, SystemTime)>,
    ) -> Option<ActivityChange> {
        if repeated.is_none() && now < self.check_files_at {
            return None;
        }
        let unchanged = self.time_since_change();
        let required = match &repeated {
            Some((_, _, first)) => first.elapsed().unwrap_or_default(),
            None => self.after,
        };
        if unchanged < required {
            self.check_files_at = now + (required - unchanged);
            self.errors.clear();
            return None;
        }
        self.check_files_at = now + self.after;
        self.stuck =
            Some(if repeated.is_some() { StuckCause::RepeatedError } else { StuckCause::Inactive });
        let cpu_used = self.cpu.map(|cpu| cpu.saturating_sub(self.idle_cpu));
        let repeated = repeated.map(|(error, times, _)| (error, times));
        let idle = cpu_used.map(|cpu| (idle, cpu));
        Some(ActivityChange::Stuck(StuckReason { silent, unchanged, idle, repeated }))
    }

    /// Returns the time since the last change of a watched file.
    fn time_since_change(&self) -> Duration {
        // A change time in the future counts as a change now.
        SystemTime::now().duration_since(self.newest_change()).unwrap_or_default()
    }

    /// Returns when a watched file changed last; the epoch if none exists.
    fn newest_change(&self) -> SystemTime {
        let mut left = FILES_MAX;
        let changes = self.watched.iter().map(|path| newest_change_below(path, &mut left));
        changes.max().unwrap_or(UNIX_EPOCH)
    }
}

/// Returns the newest change time of a file or of everything below a directory, without `.git`.
fn newest_change_below(path: &Path, left: &mut usize) -> SystemTime {
    let mut newest = UNIX_EPOCH;
    let mut queue = vec![path.to_path_buf()];
    while let Some(path) = queue.pop() {
        if *left == 0 {
            break;
        }
        *left -= 1;
        // A missing file has no change time; its deletion changed the directory.
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        newest = newest.max(change_time(&metadata));
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            let is_watched = |name: &std::ffi::OsStr| name != ".git";
            queue.extend(entries.filter(|e| is_watched(&e.file_name())).map(|entry| entry.path()));
        }
    }
    newest
}

/// Returns the ctime of a file, which programs cannot set.
fn change_time(metadata: &fs::Metadata) -> SystemTime {
    let seconds = u64::try_from(metadata.ctime()).unwrap_or_default();
    let nanoseconds = u32::try_from(metadata.ctime_nsec()).unwrap_or_default();
    UNIX_EPOCH + Duration::new(seconds, nanoseconds)
}

#[cfg(test)]
mod tests;
