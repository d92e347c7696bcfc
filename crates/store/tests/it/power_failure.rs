//! Records the system calls of the real code, simulates a crash after each of them, and runs the
//! real code again on every content that the disk may then have.
//!
//! Short scenarios are interrupted after every call, with every possible disk image. The module
//! [`random_histories`] tests long random histories: `MOW_DISK_WALKS=10000` sets their number, and
//! `MOW_DISK_SEED=7` runs one of them.

mod change_outcome;
mod disk_faults;
mod files;
mod journals;
mod random_histories;
mod simulated_disk;

use std::fs;
use std::path::{Path, PathBuf};

use mow_store::disk::call_recorder::{self, Faults, RecordedCall};
use mow_testkit::seeded_rng::SeededRng;
use tempfile::TempDir;

use simulated_disk::{DiskImage, SimulatedDisk};

/// The maximum number of disk images checked for one crash; of more images, some are drawn at
/// random.
pub(crate) const IMAGES_MAX: usize = 600;
/// The same limit for tests with many similar scenarios.
pub(crate) const IMAGES_FEW: usize = 30;

/// The directory of a test.
///
/// A disk image replaces its content, so that paths stay the same, and with them the names of
/// locks.
pub(crate) struct TestDir {
    _dir: TempDir,
    pub(crate) root: PathBuf,
}

impl TestDir {
    /// Creates a directory in memory, where a sync costs no time.
    pub(crate) fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
        let dir = TempDir::new_in(parent).unwrap();
        let root = fs::canonicalize(dir.path()).unwrap().join("project");
        fs::create_dir(&root).unwrap();
        Self { _dir: dir, root }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

/// The recorded calls of a scenario, and its statements, each with the number of calls before it.
pub(crate) struct RecordedScenario<S> {
    pub(crate) before: SimulatedDisk,
    pub(crate) calls: Vec<RecordedCall>,
    pub(crate) statements: Vec<(usize, S)>,
}

/// Collects statements of a scenario: what it tries to write, and what was acknowledged.
pub(crate) struct StatementLog<S>(Vec<(usize, S)>);

impl<S> StatementLog<S> {
    pub(crate) fn add(&mut self, statement: S) {
        self.0.push((call_recorder::call_count(), statement));
    }
}

impl<S> RecordedScenario<S> {
    /// Runs `act` and records its calls. The present content of the directory counts as durable.
    pub(crate) fn record(
        test_dir: &TestDir,
        faults: Faults,
        act: impl FnOnce(&mut StatementLog<S>),
    ) -> Self {
        let before = SimulatedDisk::read(&test_dir.root);
        let mut log = StatementLog(Vec::new());
        call_recorder::start(faults);
        act(&mut log);
        Self { before, calls: call_recorder::stop(), statements: log.0 }
    }

    /// Simulates a crash after every call, and checks every disk image that may be left.
    ///
    /// Returns the number of images, or the problem of the first image that fails the check.
    pub(crate) fn crash_after_every_call(
        &self,
        test_dir: &TestDir,
        images_max: usize,
        check: impl Fn(&[&S], &DiskImage) -> Result<(), String>,
    ) -> Result<usize, String> {
        let (mut disk, mut images) = (self.before.clone(), 0);
        let mut rng = SeededRng::new(self.calls.len() as u64);
        for crash_after in 0..=self.calls.len() {
            if let Some(call) = crash_after.checked_sub(1).map(|last| &self.calls[last]) {
                disk.apply_call(call);
            }
            let statements: Vec<&S> = self
                .statements
                .iter()
                .filter(|(at, _)| *at <= crash_after)
                .map(|(_, statement)| statement)
                .collect();
            for image in disk.images(images_max, &mut rng) {
                image.build(&test_dir.root);
                images += 1;
                check(&statements, &image).map_err(|problem| {
                    let calls: String =
                        self.calls[..crash_after].iter().map(describe_call).collect();
                    format!("{problem}\nafter{calls}\nwith {}", image.describe())
                })?;
            }
        }
        Ok(images)
    }

    /// Removes some calls, as if the code had not made them.
    pub(crate) fn without(mut self, is_left_out: impl Fn(&RecordedCall) -> bool) -> Self {
        for at in (0..self.calls.len()).rev().filter(|at| is_left_out(&self.calls[*at])) {
            // Later statements now come after one call less.
            self.statements
                .iter_mut()
                .filter(|(after, _)| *after > at)
                .for_each(|(after, _)| *after -= 1);
        }
        self.calls.retain(|call| !is_left_out(call));
        self
    }
}

fn describe_call(call: &RecordedCall) -> String {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = match call {
        RecordedCall::Open { path } => format!("open {}", name(path)),
        RecordedCall::Append { path, bytes } => format!("append {} to {}", bytes.len(), name(path)),
        RecordedCall::WriteOver { path, bytes } => {
            format!("write {} over {}", bytes.len(), name(path))
        }
        RecordedCall::Truncate { path, length } => format!("truncate {} to {length}", name(path)),
        RecordedCall::Sync { path } => format!("sync {}", name(path)),
        RecordedCall::SyncDir { path } => format!("sync directory {}", name(path)),
        RecordedCall::SyncFailed { path } => format!("failed sync of {}", name(path)),
        RecordedCall::CreateDir { path } => format!("create {}", name(path)),
        RecordedCall::Rename { from, to } => format!("rename {} to {}", name(from), name(to)),
        RecordedCall::Remove { path } => format!("remove {}", name(path)),
    };
    format!("\n  {text}")
}
