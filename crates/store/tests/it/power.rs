//! Runs the real code while its calls are taken down, cuts it off at every one of them, and runs the
//! real code again on everything that a disk may have kept.
//!
//! Short histories are cut off everywhere, with every outcome; [`walk`] goes through long ones at
//! random. `MOW_DISK_WALKS=10000` takes so many walks, and `MOW_DISK_SEED=7` takes that one alone.

mod disk;
mod fate;
mod files;
mod journals;
mod refused;
mod walk;

use std::fs;
use std::path::{Path, PathBuf};

use mow_store::disk::tape::{self, Call, Faults};
use mow_testkit::dice::Dice;
use tempfile::TempDir;

use disk::{Disk, Outcome};

/// The most outcomes of one crash that are looked at; of more some are drawn.
pub(crate) const ALL: usize = 600;
/// The same where many histories are alike.
pub(crate) const SOME: usize = 30;

/// The directory that everything happens in. An image takes the place of what was there, so that
/// paths, and the names of locks which follow from them, stay what they were.
pub(crate) struct Stage {
    _dir: TempDir,
    pub(crate) root: PathBuf,
}

impl Stage {
    /// Makes a directory in memory, where a sync costs nothing and means nothing.
    pub(crate) fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
        let dir = TempDir::new_in(place).unwrap();
        let root = fs::canonicalize(dir.path()).unwrap().join("project");
        fs::create_dir(&root).unwrap();
        Self { _dir: dir, root }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

/// What was said while the calls were taken down, each with how many calls had been made by then.
pub(crate) struct Story<S> {
    pub(crate) before: Disk,
    pub(crate) calls: Vec<Call>,
    pub(crate) said: Vec<(usize, S)>,
}

/// Notes what is tried and what is acknowledged.
pub(crate) struct Notes<S>(Vec<(usize, S)>);

impl<S> Notes<S> {
    pub(crate) fn say(&mut self, what: S) {
        self.0.push((tape::length(), what));
    }
}

impl<S> Story<S> {
    /// Does something on a disk as it is, all of it durable before.
    pub(crate) fn tell(stage: &Stage, faults: Faults, act: impl FnOnce(&mut Notes<S>)) -> Self {
        let before = Disk::read(&stage.root);
        let mut notes = Notes(Vec::new());
        tape::start(faults);
        act(&mut notes);
        Self { before, calls: tape::stop(), said: notes.0 }
    }

    /// Cuts the story off after every call, and has all that may be left then checked.
    ///
    /// Returns how many images there were, or what is wrong with the first bad one.
    pub(crate) fn cut_everywhere(
        &self,
        stage: &Stage,
        outcomes_max: usize,
        check: impl Fn(&[&S], &Outcome) -> Result<(), String>,
    ) -> Result<usize, String> {
        let (mut disk, mut images) = (self.before.clone(), 0);
        let mut dice = Dice::new(self.calls.len() as u64);
        for cut in 0..=self.calls.len() {
            if let Some(call) = cut.checked_sub(1).map(|last| &self.calls[last]) {
                disk.take(call);
            }
            let said: Vec<&S> =
                self.said.iter().filter(|(at, _)| *at <= cut).map(|(_, said)| said).collect();
            for outcome in disk.outcomes(outcomes_max, &mut dice) {
                outcome.build(&stage.root);
                images += 1;
                check(&said, &outcome).map_err(|problem| {
                    let calls: String = self.calls[..cut].iter().map(shown).collect();
                    format!("{problem}\nafter{calls}\nwith {}", outcome.shown())
                })?;
            }
        }
        Ok(images)
    }

    /// Leaves some calls out, as if the code did not make them.
    pub(crate) fn without(mut self, is_left_out: impl Fn(&Call) -> bool) -> Self {
        for at in (0..self.calls.len()).rev().filter(|at| is_left_out(&self.calls[*at])) {
            // A later thing is said after one call less.
            self.said
                .iter_mut()
                .filter(|(after, _)| *after > at)
                .for_each(|(after, _)| *after -= 1);
        }
        self.calls.retain(|call| !is_left_out(call));
        self
    }
}

fn shown(call: &Call) -> String {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = match call {
        Call::Open { path } => format!("open {}", name(path)),
        Call::Append { path, bytes } => format!("append {} to {}", bytes.len(), name(path)),
        Call::WriteOver { path, bytes } => format!("write {} over {}", bytes.len(), name(path)),
        Call::Cut { path, length } => format!("cut {} to {length}", name(path)),
        Call::Sync { path } => format!("sync {}", name(path)),
        Call::SyncDir { path } => format!("sync directory {}", name(path)),
        Call::SyncFailed { path } => format!("sync {} in vain", name(path)),
        Call::CreateDir { path } => format!("make {}", name(path)),
        Call::Rename { from, to } => format!("rename {} to {}", name(from), name(to)),
        Call::Remove { path } => format!("remove {}", name(path)),
    };
    format!("\n  {text}")
}
