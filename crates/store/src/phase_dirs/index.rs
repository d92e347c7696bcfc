//! Fast access to the current phases of a large project.
//!
//! [`PhaseDirIndex`] lists the directories by name and opens one only on request.
//! [`PhaseFileCounts`] counts the files of each directory and keeps no names.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use mow_core::phase::PhaseNumber;
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::{
    DiskStatus, FileCounts, LISTING_BYTES, for_each_file, is_directory, names, number_of, open_dir,
    strip_phase_prefix,
};
use crate::disk::DiskError;

/// The directories of the current phases by number; their content is not listed.
#[derive(Debug)]
pub struct PhaseDirIndex {
    parent: PathBuf,
    /// The open `phases/` directory: opening files relative to it is faster. `None` if unreadable.
    opened: Option<OwnedFd>,
    /// Ordered by number, then by name.
    names: Vec<(PhaseNumber, String)>,
}

impl PhaseDirIndex {
    /// Lists the names of the directories.
    pub fn load(planning: &Path) -> Self {
        let parent = planning.join("phases");
        let opened = open_dir(CWD, &parent).ok();
        let subdirectories = opened.as_ref().map(|dir| names(dir, is_directory));
        let numbered = subdirectories
            .into_iter()
            .flatten()
            .filter_map(|name| number_of(&name).map(|number| (number, name)));
        let mut names: Vec<_> = numbered.collect();
        names.sort();
        Self { parent, opened, names }
    }

    /// Counts the files of one directory after the other.
    ///
    /// Several threads share `next`, the index of the next directory to count.
    fn count(&self, next: &AtomicUsize) -> Vec<(usize, FileCounts)> {
        let mut counted = Vec::new();
        let Some(parent) = &self.opened else { return counted };
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((_, name)) = self.names.get(at) else { return counted };
            let mut counts = FileCounts::default();
            for_each_file(parent, name, |file| counts.add(file));
            counted.push((at, counts));
        }
    }

    /// Reads the STATUS.md of a phase into a buffer; returns whether the phase has one.
    pub fn read_status(
        &self,
        number: &PhaseNumber,
        buffer: &mut Vec<u8>,
    ) -> Result<bool, DiskError> {
        let at = self.names.partition_point(|(other, _)| other < number);
        let found = self.names.get(at).filter(|(other, _)| other == number);
        let (Some((_, name)), Some(parent)) = (found, &self.opened) else { return Ok(false) };
        // Older projects may pad the number in the file name as in the directory's name.
        let without_prefix = strip_phase_prefix(name);
        let as_in_dir = without_prefix.split('-').next().unwrap_or(without_prefix);
        let padded = number.padded();
        let other = (as_in_dir != padded).then_some(as_in_dir);
        for prefix in std::iter::once(padded.as_str()).chain(other) {
            let file = format!("{name}/{prefix}-STATUS.md");
            match read_at(parent, &file, buffer) {
                Ok(()) => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(DiskError::io("read", &self.parent.join(&file))(error)),
            }
        }
        Ok(false)
    }
}

/// Reads a file into a reused buffer, without asking for the file's size first.
fn read_at(parent: &OwnedFd, file: &str, buffer: &mut Vec<u8>) -> io::Result<()> {
    let file = File::from(openat(parent, file, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?);
    buffer.clear();
    buffer.reserve(LISTING_BYTES);
    file.take(u64::MAX).read_to_end(buffer)?;
    Ok(())
}

/// The file counts of all current phases.
#[derive(Clone, Debug, Default)]
pub struct PhaseFileCounts {
    /// Ordered by number, then by name.
    by_number: Vec<(PhaseNumber, FileCounts)>,
}

/// The number of directories from which on a second thread saves time.
const PARALLEL_FROM: usize = 50;

impl PhaseFileCounts {
    /// Counts the files of every directory while it runs `work`.
    ///
    /// In a large project a second thread counts, and this thread joins it after `work`.
    pub fn load_while<T>(planning: &Path, work: impl FnOnce() -> T) -> (Self, T) {
        let index = PhaseDirIndex::load(planning);
        let next = AtomicUsize::new(0);
        if index.names.len() < PARALLEL_FROM {
            return (Self::from_counted(&index, index.count(&next)), work());
        }
        let (counted, done) = std::thread::scope(|scope| {
            let counting = scope.spawn(|| index.count(&next));
            let done = work();
            let mut counted = index.count(&next);
            counted.extend(counting.join().expect("listing directories does not panic"));
            (counted, done)
        });
        (Self::from_counted(&index, counted), done)
    }

    fn from_counted(index: &PhaseDirIndex, counted: Vec<(usize, FileCounts)>) -> Self {
        let empty = |(number, _): &(PhaseNumber, String)| (*number, FileCounts::default());
        let mut by_number: Vec<_> = index.names.iter().map(empty).collect();
        for (at, counts) in counted {
            by_number[at].1 = counts;
        }
        Self { by_number }
    }

    /// Returns the phases whose directories show that they are complete.
    pub fn complete(&self) -> impl Iterator<Item = PhaseNumber> + '_ {
        let is_complete = |counts: &FileCounts| counts.status() == DiskStatus::Complete;
        self.by_number.iter().filter(move |(_, counts)| is_complete(counts)).map(|(own, _)| *own)
    }

    /// Returns the counts of a phase's directory; the first by name when several have the number.
    pub fn find(&self, number: &PhaseNumber) -> Option<FileCounts> {
        let at = self.by_number.partition_point(|(other, _)| other < number);
        self.by_number.get(at).filter(|(other, _)| other == number).map(|(_, counts)| *counts)
    }
}
