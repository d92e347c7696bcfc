//! Names the files of a run below the engine's directory.
//!
//! | file | written by |
//! |---|---|
//! | `runs/<run>/journal.ndjson` | the lead |
//! | `runs/<run>/commands.ndjson` | people, through commands |
//! | `runs/<run>/<phase>-<attempt>.ndjson` | the worker, with its agents' messages |
//! | `runs/<run>/<phase>-<attempt>.inbox.ndjson` | the lead |
//! | `runs/<run>/<phase>-<attempt>.lock` | locked by the worker and all its descendants |
//! | `runs/<run>/logs/<phase>-<attempt>.log` | the worker |
//! | `runs/<run>/logs/<phase>-<attempt>.activity.ndjson` | the worker, then the lead for its merge |
//!
//! Creates only directories; [`crate::journal`] defines the content of the files.

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use mow_core::phase::PhaseNumber;
use thiserror::Error;

use crate::disk::{self, DiskError};
use crate::journal::Header;
use crate::project::Project;
use crate::worktree_home::is_plain_name;

/// The time in a run's name; four hexadecimal digits for a fraction of a second follow.
const TIME_FORMAT: &str = "%Y%m%d-%H%M%S";
/// The number of fractions of a second.
const FRACTIONS: i64 = 0x1_0000;
/// Nanoseconds per second.
const NANOS: i64 = 1_000_000_000;

/// A text that cannot be the name of a run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no name of a run")]
pub struct RunNameError(String);

/// The directory of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir {
    dir: PathBuf,
    run: String,
}

impl RunDir {
    /// Returns the directory of a run; creates nothing.
    pub fn new(engine_dir: &Path, run: &str) -> Result<Self, RunNameError> {
        if !is_plain_name(run) {
            return Err(RunNameError(run.to_owned()));
        }
        Ok(Self { dir: runs_dir(engine_dir).join(run), run: run.to_owned() })
    }

    /// Returns the directory of another run of the same project.
    pub fn sibling(&self, run: &str) -> Result<Self, RunNameError> {
        if !is_plain_name(run) {
            return Err(RunNameError(run.to_owned()));
        }
        Ok(Self { dir: self.dir.with_file_name(run), run: run.to_owned() })
    }

    /// Creates the directory and its `logs`, durably; an existing directory is kept.
    pub fn create(&self) -> Result<(), DiskError> {
        // Existing parents may not be durable: the process that created them may have been killed.
        let with_parents: Vec<&Path> = self.dir.ancestors().take(3).collect();
        with_parents.into_iter().rev().try_for_each(disk::create_engine_dir)?;
        disk::create_engine_dir(&self.dir.join("logs"))
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// Returns the name of the run.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Returns the path of the lead's journal.
    pub fn journal(&self) -> PathBuf {
        self.dir.join("journal.ndjson")
    }

    /// Returns the path of the journal with commands to the lead.
    pub fn commands(&self) -> PathBuf {
        self.dir.join("commands.ndjson")
    }

    /// Returns the path of a worker's journal.
    pub fn worker_journal(&self, phase: &PhaseNumber, attempt: u32) -> PathBuf {
        self.worker_file(phase, attempt, "ndjson")
    }

    /// Returns the path of the journal with the lead's messages to a worker.
    pub fn worker_inbox(&self, phase: &PhaseNumber, attempt: u32) -> PathBuf {
        self.worker_file(phase, attempt, "inbox.ndjson")
    }

    /// Returns the file that is locked as long as a worker or one of its descendants lives.
    pub fn life_lock(&self, phase: &PhaseNumber, attempt: u32) -> PathBuf {
        self.worker_file(phase, attempt, "lock")
    }

    /// Returns the file with a worker's output.
    pub fn log(&self, phase: &PhaseNumber, attempt: u32) -> PathBuf {
        self.dir.join("logs").join(file_name(phase, attempt, "log"))
    }

    /// Returns the file with the live activity of an attempt.
    pub fn activity(&self, phase: &PhaseNumber, attempt: u32) -> PathBuf {
        self.dir.join("logs").join(file_name(phase, attempt, "activity.ndjson"))
    }

    /// Returns the file with the older part of an attempt's activity.
    pub fn older_activity(&self, phase: &PhaseNumber, attempt: u32) -> PathBuf {
        self.dir.join("logs").join(file_name(phase, attempt, "activity.old.ndjson"))
    }

    /// Returns the header of the lead's journal.
    pub fn header(&self) -> Header {
        Header::lead(&self.run)
    }

    /// Returns the header of the journal with commands.
    pub fn commands_header(&self) -> Header {
        Header::commands(&self.run)
    }

    /// Returns the header of a worker's journal.
    pub fn worker_header(&self, phase: &PhaseNumber, attempt: u32) -> Header {
        Header::worker(&self.run, &phase.padded(), attempt)
    }

    /// Returns the header of a worker's inbox.
    pub fn inbox_header(&self, phase: &PhaseNumber, attempt: u32) -> Header {
        Header::inbox(&self.run, &phase.padded(), attempt)
    }

    fn worker_file(&self, phase: &PhaseNumber, attempt: u32, suffix: &str) -> PathBuf {
        self.dir.join(file_name(phase, attempt, suffix))
    }
}

fn file_name(phase: &PhaseNumber, attempt: u32, suffix: &str) -> String {
    format!("{}-{attempt}.{suffix}", phase.padded())
}

fn runs_dir(engine_dir: &Path) -> PathBuf {
    engine_dir.join("runs")
}

/// Joins the unique part of a run's name and the tag of its project.
fn join_name(unique: &str, tag: &str) -> String {
    let dot = if tag.is_empty() { "" } else { "." };
    format!("{unique}{dot}{tag}")
}

/// Returns the tag of a run's project; empty for the project at the repository's top.
pub fn project_tag(run: &str) -> &str {
    // An invalid name has no tag: the tag becomes part of file names and must not contain a path.
    let parts = run.split_once('.').filter(|_| is_plain_name(run));
    parts.map_or("", |(_, tag)| tag)
}

/// Lists the runs of all projects of a repository, oldest first.
///
/// The names begin with the time, so they are sorted as text.
pub fn list_runs(engine_dir: &Path) -> Result<Vec<String>, DiskError> {
    let dir = runs_dir(engine_dir);
    let failed = |source| DiskError::Io { action: "read directory", path: dir.clone(), source };
    let entries = match fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut runs = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        if let Ok(name) = entry.file_name().into_string()
            && is_plain_name(&name)
            && entry.file_type().map_err(failed)?.is_dir()
        {
            runs.push(name);
        }
    }
    runs.sort_unstable();
    Ok(runs)
}

/// Returns the newest run of a project; `None` before the first run.
pub fn latest_run(project: &Project) -> Result<Option<String>, DiskError> {
    let wanted = project.tag();
    Ok(list_runs(&project.engine_dir)?.into_iter().rfind(|run| project_tag(run) == wanted))
}

/// Returns a name for a new run that sorts after all existing runs, also if the clock went back.
///
/// Commands use the newest run, so a run that sorts before an older one would never be found.
pub fn new_run_name(project: &Project, now: Timestamp) -> Result<String, DiskError> {
    let last = list_runs(&project.engine_dir)?.pop();
    let free_from = last.and_then(|run| next_free_time(run.split('.').next().unwrap_or(&run)));
    let at = free_from.map_or(now, |free| free.max(now));
    let fraction = i64::from(at.subsec_nanosecond()) * FRACTIONS / NANOS;
    Ok(join_name(&format!("{}-{fraction:04x}", at.strftime(TIME_FORMAT)), &project.tag()))
}

/// Returns the first time that gives another name than this run's.
fn next_free_time(run: &str) -> Option<Timestamp> {
    let (time, fraction) = run.rsplit_once('-')?;
    let time = DateTime::strptime(TIME_FORMAT, time).ok()?;
    let fraction = i64::from_str_radix(fraction, 16).ok();
    let next = fraction.filter(|fraction| (0..FRACTIONS).contains(fraction))? + 1;
    let second = TimeZone::UTC.to_timestamp(time).ok()?;
    let nanos = (next * NANOS + FRACTIONS - 1) / FRACTIONS;
    second.checked_add(SignedDuration::from_nanos(nanos)).ok()
}
