//! The current phases of a large project, for those who need little of each.
//!
//! [`Index`] knows the directories by name and looks into one only when asked; [`Tallies`] counts
//! what is in each and keeps no name.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use mow_core::phase::PhaseNumber;
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::{
    LISTING_BYTES, Tally, each_file, is_directory, names, number_of, open_dir, strip_word,
};
use crate::disk::DiskError;

/// The current phases by number, without a look into their directories.
#[derive(Debug)]
pub struct Index {
    home: PathBuf,
    /// The directory itself: what lies in it is found faster from there.
    opened: Option<OwnedFd>,
    /// Ordered by number, then by name.
    names: Vec<(PhaseNumber, String)>,
}

impl Index {
    /// Lists the names of the directories.
    pub fn load(planning: &Path) -> Self {
        let home = planning.join("phases");
        let opened = open_dir(CWD, &home).ok();
        let subdirectories = opened.as_ref().map(|dir| names(dir, is_directory));
        let numbered = subdirectories
            .into_iter()
            .flatten()
            .filter_map(|name| number_of(&name).map(|number| (number, name)));
        let mut names: Vec<_> = numbered.collect();
        names.sort();
        Self { home, opened, names }
    }

    /// Counts the files in one directory after the other, as long as any is left that no other
    /// thread has taken.
    fn count(&self, next: &AtomicUsize) -> Vec<(usize, Tally)> {
        let mut counted = Vec::new();
        let Some(home) = &self.opened else { return counted };
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((_, name)) = self.names.get(at) else { return counted };
            let mut tally = Tally::default();
            each_file(home, name, |file| tally.add(file));
            counted.push((at, tally));
        }
    }

    /// Reads the STATUS.md of a phase into a buffer, and returns whether there is one.
    pub fn read_status(
        &self,
        number: &PhaseNumber,
        buffer: &mut Vec<u8>,
    ) -> Result<bool, DiskError> {
        let at = self.names.partition_point(|(other, _)| other < number);
        let found = self.names.get(at).filter(|(other, _)| other == number);
        let (Some((_, name)), Some(home)) = (found, &self.opened) else { return Ok(false) };
        // Older projects may pad the number in the file as they do in the directory.
        let bare = strip_word(name);
        let own = bare.split('-').next().unwrap_or(bare);
        let padded = number.padded();
        let others = (own != padded).then_some(own);
        for prefix in std::iter::once(padded.as_str()).chain(others) {
            let file = format!("{name}/{prefix}-STATUS.md");
            match read_at(home, &file, buffer) {
                Ok(()) => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(DiskError::io("read", &self.home.join(&file))(error)),
            }
        }
        Ok(false)
    }
}

/// Reads a file into a buffer. The buffer's owner reads many, so its size is not asked for.
fn read_at(home: &OwnedFd, file: &str, buffer: &mut Vec<u8>) -> io::Result<()> {
    let file = File::from(openat(home, file, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?);
    buffer.clear();
    buffer.reserve(LISTING_BYTES);
    file.take(u64::MAX).read_to_end(buffer)?;
    Ok(())
}

/// What the current phases hold, for those who need no names.
#[derive(Clone, Debug, Default)]
pub struct Tallies {
    /// Ordered by number, then by name.
    tallies: Vec<(PhaseNumber, Tally)>,
}

/// From how many directories on a second thread is worth its start.
const PARALLEL_FROM: usize = 50;

impl Tallies {
    /// Counts the files in every directory and does something else beside it.
    ///
    /// In a large project a second thread begins to count, and this one helps when it is done with
    /// the other work.
    pub fn load_beside<T>(planning: &Path, work: impl FnOnce() -> T) -> (Self, T) {
        let index = Index::load(planning);
        let next = AtomicUsize::new(0);
        if index.names.len() < PARALLEL_FROM {
            return (Self::put_together(&index, index.count(&next)), work());
        }
        let (counted, done) = std::thread::scope(|scope| {
            let counting = scope.spawn(|| index.count(&next));
            let done = work();
            let mut counted = index.count(&next);
            counted.extend(counting.join().expect("listing directories does not panic"));
            (counted, done)
        });
        (Self::put_together(&index, counted), done)
    }

    fn put_together(index: &Index, counted: Vec<(usize, Tally)>) -> Self {
        let empty = |(number, _): &(PhaseNumber, String)| (*number, Tally::default());
        let mut tallies: Vec<_> = index.names.iter().map(empty).collect();
        for (at, tally) in counted {
            tallies[at].1 = tally;
        }
        Self { tallies }
    }

    /// Finds the directory of a phase: the first by name where several carry the number.
    pub fn find(&self, number: &PhaseNumber) -> Option<Tally> {
        let at = self.tallies.partition_point(|(other, _)| other < number);
        self.tallies.get(at).filter(|(other, _)| other == number).map(|(_, tally)| *tally)
    }
}
