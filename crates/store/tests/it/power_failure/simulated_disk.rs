//! Simulates a disk that keeps only what was synced.
//!
//! Until a file is synced, a write to it may be lost, torn at any byte, written in part, or written
//! before an earlier write. Creation, renaming and removal are atomic, but any of them may be lost
//! until their directory is synced. After a failed sync, its data stays uncertain, whatever is
//! synced later.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::path::{Path, PathBuf};

use mow_store::disk::call_recorder::RecordedCall;
use mow_testkit::seeded_rng::SeededRng;

use super::change_outcome::{ChangeOutcome, FileChange};

/// Hashes disk images, to find equal ones.
const HASHER: BuildHasherDefault<DefaultHasher> = BuildHasherDefault::new();

/// A directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Dir,
    SimulatedFile(usize),
}

type DirTree = BTreeMap<PathBuf, Node>;

/// A change of directory entries.
#[derive(Clone, Debug)]
enum NameChange {
    Add {
        path: PathBuf,
        node: Node,
    },
    /// `requires` is the index of a change that must be on disk too: a rename removes a name only
    /// after it added another.
    Remove {
        path: PathBuf,
        requires: Option<usize>,
    },
    Move {
        from: PathBuf,
        to: PathBuf,
    },
}

/// Whether a change is on the disk for sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durability {
    Pending,
    Durable,
    SyncFailed,
}

#[derive(Clone, Debug, Default)]
struct SimulatedFile {
    base: Vec<u8>,
    changes: Vec<(FileChange, Durability)>,
}

/// The durable content of the disk, and the changes since.
#[derive(Clone, Debug, Default)]
pub(crate) struct SimulatedDisk {
    base: DirTree,
    name_changes: Vec<(NameChange, Durability)>,
    files: Vec<SimulatedFile>,
}

/// A possible content of the disk after a crash.
#[derive(Clone, Debug)]
pub(crate) struct DiskImage {
    files: BTreeMap<PathBuf, Option<Vec<u8>>>,
    /// The files that have a later change without an earlier one.
    mixed: Vec<PathBuf>,
    /// The outcome of each change, for error messages.
    description: Vec<String>,
}

/// Changes that may or may not be on the disk.
enum Uncertain {
    NameChange(usize),
    /// Some changes of a file with a common outcome, and the possible outcomes.
    Changes(usize, Vec<usize>, Vec<ChangeOutcome>),
}

impl Uncertain {
    fn count(&self) -> usize {
        match self {
            Self::NameChange(_) => 2,
            Self::Changes(_, _, outcomes) => outcomes.len(),
        }
    }
}

impl SimulatedDisk {
    /// Reads a directory; its content counts as durable.
    pub(crate) fn read(root: &Path) -> Self {
        let mut disk = Self::default();
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let node = if path.is_dir() {
                    folders.push(path.clone());
                    Node::Dir
                } else {
                    disk.files.push(SimulatedFile {
                        base: fs::read(&path).unwrap(),
                        changes: Vec::new(),
                    });
                    Node::SimulatedFile(disk.files.len() - 1)
                };
                disk.base.insert(path, node);
            }
        }
        disk
    }

    /// Applies a recorded call.
    pub(crate) fn apply_call(&mut self, call: &RecordedCall) {
        match call {
            RecordedCall::Open { path } => {
                if !self.visible_names().contains_key(path) {
                    self.files.push(SimulatedFile::default());
                    let node = Node::SimulatedFile(self.files.len() - 1);
                    self.name(NameChange::Add { path: path.clone(), node });
                }
            }
            RecordedCall::Append { path, bytes } => {
                let file = self.file(path);
                let at = file.visible_content().len();
                let change = FileChange::Write { at, bytes: bytes.clone() };
                file.changes.push((change, Durability::Pending));
            }
            RecordedCall::WriteOver { path, bytes } => {
                let change = FileChange::Write { at: 0, bytes: bytes.clone() };
                self.file(path).changes.push((change, Durability::Pending));
            }
            RecordedCall::Truncate { path, length } => {
                let length = usize::try_from(*length).unwrap();
                self.file(path).changes.push((FileChange::Cut { length }, Durability::Pending));
            }
            RecordedCall::Sync { path } => {
                set_durability(&mut self.file(path).changes, Durability::Durable);
            }
            RecordedCall::SyncDir { path } => self.set_name_durability(path, Durability::Durable),
            RecordedCall::SyncFailed { path }
                if !matches!(self.visible_names().get(path), Some(Node::SimulatedFile(_))) =>
            {
                self.set_name_durability(path, Durability::SyncFailed);
            }
            RecordedCall::SyncFailed { path } => {
                set_durability(&mut self.file(path).changes, Durability::SyncFailed);
            }
            RecordedCall::CreateDir { path } => {
                self.name(NameChange::Add { path: path.clone(), node: Node::Dir });
            }
            RecordedCall::Rename { from, to } if from.parent() == to.parent() => {
                self.name(NameChange::Move { from: from.clone(), to: to.clone() });
            }
            // A rename between two directories: both names may exist, each synced with its
            // directory.
            RecordedCall::Rename { from, to } => {
                let node = self.visible_names()[from];
                assert_ne!(node, Node::Dir, "directories are not moved to another directory");
                self.name(NameChange::Add { path: to.clone(), node });
                let requires = Some(self.name_changes.len() - 1);
                self.name(NameChange::Remove { path: from.clone(), requires });
            }
            RecordedCall::Remove { path } => {
                self.name(NameChange::Remove { path: path.clone(), requires: None });
            }
        }
    }

    fn name(&mut self, name_change: NameChange) {
        self.name_changes.push((name_change, Durability::Pending));
    }

    fn set_name_durability(&mut self, dir: &Path, state: Durability) {
        let is_in = |name_change: &NameChange| match name_change {
            NameChange::Add { path, .. } | NameChange::Remove { path, .. } => {
                path.parent() == Some(dir)
            }
            NameChange::Move { to, .. } => to.parent() == Some(dir),
        };
        for (_, old) in self.name_changes.iter_mut().filter(|(name_change, _)| is_in(name_change)) {
            if *old == Durability::Pending {
                *old = state;
            }
        }
    }

    fn file(&mut self, path: &Path) -> &mut SimulatedFile {
        match self.visible_names().get(path) {
            Some(Node::SimulatedFile(id)) => &mut self.files[*id],
            other => panic!("{} is {other:?}", path.display()),
        }
    }

    /// Returns the names that a process sees.
    fn visible_names(&self) -> DirTree {
        self.names(|_| true)
    }

    fn names(&self, arrived: impl Fn(usize) -> bool) -> DirTree {
        let mut names = self.base.clone();
        let is_on_disk = |at: usize| self.name_changes[at].1 == Durability::Durable || arrived(at);
        for (at, (name_change, _)) in self.name_changes.iter().enumerate() {
            let requires = if let NameChange::Remove { requires, .. } = name_change {
                *requires
            } else {
                None
            };
            if is_on_disk(at) && requires.is_none_or(is_on_disk) {
                apply(&mut names, name_change, || self.moved_node(at));
            }
        }
        names
    }

    /// Returns the entry that a rename moved, for the case that the creation of its name was lost.
    fn moved_node(&self, at: usize) -> Option<Node> {
        let NameChange::Move { from, .. } = &self.name_changes[at].0 else { return None };
        let mut before = self.base.clone();
        for (name_change, _) in &self.name_changes[..at] {
            apply(&mut before, name_change, || None);
        }
        before.get(from).copied()
    }

    /// Lists the images that a crash may leave now, all of them or a selection; each image once.
    pub(crate) fn images(&self, max: usize, rng: &mut SeededRng) -> Vec<DiskImage> {
        let mut images = self.images_with_repeats(max, rng);
        let mut seen = HashSet::new();
        images.retain(|image| seen.insert(HASHER.hash_one(&image.files)));
        images
    }

    fn images_with_repeats(&self, max: usize, rng: &mut SeededRng) -> Vec<DiskImage> {
        let uncertain = self.uncertain_groups();
        let total = uncertain.iter().try_fold(1_usize, |all, one| all.checked_mul(one.count()));
        if let Some(total) = total.filter(|total| *total <= max) {
            return (0..total)
                .map(|number| self.image(&uncertain, &choices_of_number(&uncertain, number)))
                .collect();
        }
        let same = |choice: usize| uncertain.iter().map(|_| choice).collect::<Vec<_>>();
        let mut choices = vec![same(0), same(1)];
        for at in 0..uncertain.len() {
            for (all, one) in [(0, 1), (1, 0)] {
                let mut choice = same(all);
                choice[at] = one;
                choices.push(choice);
            }
        }
        choices.extend(
            (0..max).map(|_| uncertain.iter().map(|one| random_choice(one, rng)).collect()),
        );
        choices.iter().map(|choice| self.image(&uncertain, choice)).collect()
    }

    /// Returns a random image. With `is_ordered`, the disk writes the changes of one file in order.
    pub(crate) fn random_image(&self, rng: &mut SeededRng, is_ordered: bool) -> DiskImage {
        let uncertain = self.uncertain_changes();
        let mut is_lost_from_here = vec![false; self.files.len()];
        let choice = |one: &Uncertain| {
            let Uncertain::Changes(id, _, outcomes) = one else { return random_choice(one, rng) };
            if !is_ordered {
                return random_choice(one, rng);
            }
            // After the first change that is not whole, all later ones are lost.
            if is_lost_from_here[*id] {
                return 0;
            }
            let torn =
                outcomes.iter().filter(|outcome| matches!(outcome, ChangeOutcome::Torn(_))).count();
            let outcome = match rng.below(3) {
                0 if torn > 0 => 2 + usize::try_from(rng.below(torn as u64)).unwrap(),
                1 => 0,
                _ => 1,
            };
            is_lost_from_here[*id] = outcome != 1;
            outcome
        };
        let choices: Vec<_> = uncertain.iter().map(choice).collect();
        self.image(&uncertain, &choices)
    }

    /// Returns the content that every process sees, durable or not.
    pub(crate) fn visible_image(&self) -> DiskImage {
        let uncertain = self.uncertain_changes();
        self.image(&uncertain, &vec![1; uncertain.len()])
    }

    /// Lists the uncertain changes. The changes of a lock file have one common outcome, because
    /// safety does not depend on its notes.
    fn uncertain_groups(&self) -> Vec<Uncertain> {
        let locks: Vec<usize> = (self.visible_names().iter())
            .filter(|(path, _)| path.extension().is_some_and(|extension| extension == "lock"))
            .filter_map(|(_, node)| match node {
                Node::SimulatedFile(id) => Some(*id),
                Node::Dir => None,
            })
            .collect();
        let (notes, mut uncertain): (Vec<_>, Vec<_>) = self
            .uncertain_changes()
            .into_iter()
            .partition(|one| matches!(one, Uncertain::Changes(id, ..) if locks.contains(id)));
        for lock in locks {
            let of_lock = notes.iter().filter_map(|one| match one {
                Uncertain::Changes(id, at, _) if *id == lock => Some(at[0]),
                _ => None,
            });
            let of_lock: Vec<_> = of_lock.collect();
            if !of_lock.is_empty() {
                uncertain.push(Uncertain::Changes(
                    lock,
                    of_lock,
                    vec![ChangeOutcome::Lost, ChangeOutcome::Whole],
                ));
            }
        }
        uncertain
    }

    fn uncertain_changes(&self) -> Vec<Uncertain> {
        let is_uncertain = |state: &Durability| *state != Durability::Durable;
        let name_changes =
            self.name_changes.iter().enumerate().filter(|(_, (_, state))| is_uncertain(state));
        let mut uncertain: Vec<_> = name_changes.map(|(at, _)| Uncertain::NameChange(at)).collect();
        for (id, file) in self.files.iter().enumerate() {
            for (at, (change, _)) in
                file.changes.iter().enumerate().filter(|(_, (_, state))| is_uncertain(state))
            {
                uncertain.push(Uncertain::Changes(id, vec![at], change.outcomes()));
            }
        }
        uncertain
    }

    fn image(&self, uncertain: &[Uncertain], choice: &[usize]) -> DiskImage {
        let mut lost = Vec::new();
        let mut outcomes = BTreeMap::new();
        let mut description = Vec::new();
        for (one, choice) in uncertain.iter().zip(choice) {
            match one {
                Uncertain::NameChange(at) if *choice == 0 => {
                    description.push(format!("lost {:?}", self.name_changes[*at].0));
                    lost.push(*at);
                }
                Uncertain::NameChange(_) => {}
                Uncertain::Changes(id, ats, of) => {
                    for at in ats {
                        description.push(format!("file {id} change {at}: {:?}", of[*choice]));
                        outcomes.insert((*id, *at), of[*choice].clone());
                    }
                }
            }
        }
        let mut names = self.names(|at| !lost.contains(&at));
        let all = names.clone();
        let has_parents = |path: &Path| {
            let parents = path.ancestors().skip(1).take_while(|dir| *dir != self.root());
            parents.into_iter().all(|dir| all.get(dir) == Some(&Node::Dir))
        };
        names.retain(|path, _| has_parents(path));
        let mut mixed = Vec::new();
        let mut files = BTreeMap::new();
        for (path, node) in names {
            let Node::SimulatedFile(id) = node else {
                files.insert(path, None);
                continue;
            };
            let outcome = |at: usize| outcomes.get(&(id, at)).unwrap_or(&ChangeOutcome::Whole);
            let (content, is_mixed) = self.files[id].content_with(outcome);
            if is_mixed {
                mixed.push(path.clone());
            }
            files.insert(path, Some(content));
        }
        DiskImage { files, mixed, description }
    }

    /// Returns the directory that holds everything.
    fn root(&self) -> &Path {
        let first = self.base.keys().next().expect("a test directory is never empty");
        first
            .ancestors()
            .find(|dir| dir.ends_with("project"))
            .expect("the root is called `project`")
    }
}

impl SimulatedFile {
    fn visible_content(&self) -> Vec<u8> {
        self.content_with(|_| &ChangeOutcome::Whole).0
    }

    /// Returns the content, and whether a later change is in it without an earlier one.
    fn content_with<'a>(&self, outcome_of: impl Fn(usize) -> &'a ChangeOutcome) -> (Vec<u8>, bool) {
        let mut content = self.base.clone();
        let (mut has_hole, mut is_mixed) = (false, false);
        for (at, (change, state)) in self.changes.iter().enumerate() {
            let outcome =
                if *state == Durability::Durable { &ChangeOutcome::Whole } else { outcome_of(at) };
            is_mixed |= has_hole && *outcome != ChangeOutcome::Lost || outcome.has_inner_hole();
            has_hole |= *outcome != ChangeOutcome::Whole;
            change.apply(&mut content, outcome);
        }
        (content, is_mixed)
    }
}

impl DiskImage {
    /// Replaces the content of a directory by this image.
    pub(crate) fn build(&self, root: &Path) {
        fs::remove_dir_all(root).unwrap();
        fs::create_dir(root).unwrap();
        for (path, content) in &self.files {
            match content {
                None => fs::create_dir(path).unwrap(),
                Some(content) => fs::write(path, content).unwrap(),
            }
        }
    }

    /// Returns whether a file has a later change without an earlier one.
    pub(crate) fn is_mixed(&self, path: &Path) -> bool {
        self.mixed.iter().any(|mixed| mixed == path)
    }

    /// Returns the content of a file.
    pub(crate) fn content(&self, path: &Path) -> Option<&[u8]> {
        self.files.get(path)?.as_deref()
    }

    pub(crate) fn describe(&self) -> String {
        self.description.iter().map(|one| format!("\n  {one}")).collect()
    }
}

fn set_durability(changes: &mut [(FileChange, Durability)], to: Durability) {
    for (_, state) in changes.iter_mut().filter(|(_, state)| *state == Durability::Pending) {
        *state = to;
    }
}

fn apply(names: &mut DirTree, name_change: &NameChange, moved_node: impl Fn() -> Option<Node>) {
    match name_change {
        NameChange::Add { path, node } => drop(names.insert(path.clone(), *node)),
        NameChange::Remove { path, .. } => drop(names.remove(path)),
        NameChange::Move { from, to } => {
            let Some(node) = names.remove(from).or_else(moved_node) else { return };
            let below: Vec<_> =
                names.keys().filter(|path| path.starts_with(from)).cloned().collect();
            for path in below {
                let node = names.remove(&path).expect("it was just listed");
                names.insert(to.join(path.strip_prefix(from).expect("it is below")), node);
            }
            names.insert(to.clone(), node);
        }
    }
}

/// Splits a number into one choice for each uncertain change.
fn choices_of_number(uncertain: &[Uncertain], mut number: usize) -> Vec<usize> {
    let digit = |one: &Uncertain| {
        let digit = number % one.count();
        number /= one.count();
        digit
    };
    uncertain.iter().map(digit).collect()
}

fn random_choice(one: &Uncertain, rng: &mut SeededRng) -> usize {
    // In half of all cases a change is lost or whole; the many torn outcomes share the rest.
    let count = if rng.below(2) == 0 { 2 } else { one.count() };
    usize::try_from(rng.below(count as u64)).unwrap()
}
