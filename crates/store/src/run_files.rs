//! Where the files of a run are, below the engine's directory.
//!
//! | file | who writes it |
//! |---|---|
//! | `runs/<run>/journal.ndjson` | the lead |
//! | `runs/<run>/commands.ndjson` | people, through commands |
//! | `runs/<run>/<phase>-<attempt>.ndjson` | the worker, and its agents' messages |
//! | `runs/<run>/<phase>-<attempt>.inbox.ndjson` | the lead |
//! | `runs/<run>/<phase>-<attempt>.lock` | held by the worker and all that it started |
//! | `runs/<run>/logs/<phase>-<attempt>.log` | the worker |
//!
//! Only names are made here, and the directories; what is in the files is said by [`crate::journal`].

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

/// The time in a run's name; four hexadecimal digits of a second's parts follow.
const TIME_FORMAT: &str = "%Y%m%d-%H%M%S";
const PARTS: i64 = 0x1_0000;
const NANOS: i64 = 1_000_000_000;

/// A name that cannot be the name of a run.
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
    /// Names the directory of a run; makes nothing.
    pub fn new(engine_dir: &Path, run: &str) -> Result<Self, RunNameError> {
        if !is_plain_name(run) {
            return Err(RunNameError(run.to_owned()));
        }
        Ok(Self { dir: home(engine_dir).join(run), run: run.to_owned() })
    }

    /// Names the directory of another run of the same project.
    pub fn sibling(&self, run: &str) -> Result<Self, RunNameError> {
        if !is_plain_name(run) {
            return Err(RunNameError(run.to_owned()));
        }
        Ok(Self { dir: self.dir.with_file_name(run), run: run.to_owned() })
    }

    /// Makes the directory, durably; nothing happens when it is there.
    pub fn create(&self) -> Result<(), DiskError> {
        // Those above may be there and not be durable: whoever made them may have been killed.
        let above: Vec<&Path> = self.dir.ancestors().take(3).collect();
        above.into_iter().rev().try_for_each(disk::create_dir)?;
        disk::create_dir(&self.dir.join("logs"))
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// Returns the name of the run.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Returns the lead's journal.
    pub fn journal(&self) -> PathBuf {
        self.dir.join("journal.ndjson")
    }

    /// Returns the file of commands to the lead.
    pub fn commands(&self) -> PathBuf {
        self.dir.join("commands.ndjson")
    }

    /// Returns a worker's journal.
    pub fn worker_journal(&self, phase: &PhaseNumber, attempt: u32) -> PathBuf {
        self.worker_file(phase, attempt, "ndjson")
    }

    /// Returns the file of what the lead tells a worker.
    pub fn worker_inbox(&self, phase: &PhaseNumber, attempt: u32) -> PathBuf {
        self.worker_file(phase, attempt, "inbox.ndjson")
    }

    /// Returns the file that is locked for as long as a worker or anything it started lives.
    pub fn life_lock(&self, phase: &PhaseNumber, attempt: u32) -> PathBuf {
        self.worker_file(phase, attempt, "lock")
    }

    /// Returns the file that keeps a worker's output.
    pub fn log(&self, phase: &PhaseNumber, attempt: u32) -> PathBuf {
        self.dir.join("logs").join(file_name(phase, attempt, "log"))
    }

    /// Returns the header of the lead's journal.
    pub fn header(&self) -> Header {
        Header::lead(&self.run)
    }

    /// Returns the header of the file of commands.
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

fn home(engine_dir: &Path) -> PathBuf {
    engine_dir.join("runs")
}

/// Makes the name of a run of the project with a tag, of a word that no other run has.
fn name(unique: &str, tag: &str) -> String {
    let dot = if tag.is_empty() { "" } else { "." };
    format!("{unique}{dot}{tag}")
}

/// Returns the tag of the project that a run is for; empty for the one at the repository's top.
pub fn tag(run: &str) -> &str {
    // What is no name of a run belongs to no project; it must not lead out of the directory either.
    let named = run.split_once('.').filter(|_| is_plain_name(run));
    named.map_or("", |(_, tag)| tag)
}

/// Lists the runs of all projects of a repository, oldest first. Their names begin with the time, so
/// the order is that of the names.
pub fn runs(engine_dir: &Path) -> Result<Vec<String>, DiskError> {
    let home = home(engine_dir);
    let failed = |source| DiskError::Io { action: "read directory", path: home.clone(), source };
    let entries = match fs::read_dir(&home) {
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

/// Returns the newest run of a project, if there was one.
pub fn latest(project: &Project) -> Result<Option<String>, DiskError> {
    let wanted = project.tag();
    Ok(runs(&project.engine_dir)?.into_iter().rfind(|run| tag(run) == wanted))
}

/// Makes the name of a run that begins now: later than all others, whatever the clock says.
///
/// Everything looks at the newest run, so one that sorted before an older one would be lost.
pub fn new_name(project: &Project, now: Timestamp) -> Result<String, DiskError> {
    let last = runs(&project.engine_dir)?.pop();
    let free_from = last.and_then(|run| end_of(run.split('.').next().unwrap_or(&run)));
    let at = free_from.map_or(now, |free| free.max(now));
    let part = i64::from(at.subsec_nanosecond()) * PARTS / NANOS;
    Ok(name(&format!("{}-{part:04x}", at.strftime(TIME_FORMAT)), &project.tag()))
}

/// Returns the first moment that would have another name than this run.
fn end_of(run: &str) -> Option<Timestamp> {
    let (time, part) = run.rsplit_once('-')?;
    let time = DateTime::strptime(TIME_FORMAT, time).ok()?;
    let next = i64::from_str_radix(part, 16).ok().filter(|part| (0..PARTS).contains(part))? + 1;
    let whole = TimeZone::UTC.to_timestamp(time).ok()?;
    whole.checked_add(SignedDuration::from_nanos((next * NANOS + PARTS - 1) / PARTS)).ok()
}
