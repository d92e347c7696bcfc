//! A disk that keeps no more than it promised.
//!
//! Until its file is synced, a write may be lost, torn at any byte, arrive in part, or arrive before
//! an earlier one. A new name, another name and a removal are whole, but may be lost in any selection
//! until their directory is synced. What a failed sync was to make durable stays uncertain for ever,
//! whatever is synced later.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::path::{Path, PathBuf};

use mow_store::disk::tape::Call;
use mow_testkit::dice::Dice;

use super::fate::{Change, Fate};

/// Tells images apart.
const HASHER: BuildHasherDefault<DefaultHasher> = BuildHasherDefault::new();

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Dir,
    File(usize),
}

type Names = BTreeMap<PathBuf, Node>;

/// A change of names.
#[derive(Clone, Debug)]
enum Naming {
    Give {
        path: PathBuf,
        node: Node,
    },
    /// With what must have arrived, too: a rename takes a name only when it gave another.
    Take {
        path: PathBuf,
        given: Option<usize>,
    },
    Move {
        from: PathBuf,
        to: PathBuf,
    },
}

/// How sure a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Pending,
    Durable,
    Doomed,
}

#[derive(Clone, Debug, Default)]
struct File {
    base: Vec<u8>,
    changes: Vec<(Change, State)>,
}

/// All that is on the disk or on its way there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    base: Names,
    namings: Vec<(Naming, State)>,
    files: Vec<File>,
}

/// What the disk holds after a crash.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    files: BTreeMap<PathBuf, Option<Vec<u8>>>,
    /// The files of which something arrived after something else was lost.
    mixed: Vec<PathBuf>,
    /// What became of what, for people.
    said: Vec<String>,
}

/// One thing that is uncertain.
enum Open {
    Naming(usize),
    /// Some changes of a file, which share their fate.
    Changes(usize, Vec<usize>, Vec<Fate>),
}

impl Open {
    fn count(&self) -> usize {
        match self {
            Self::Naming(_) => 2,
            Self::Changes(_, _, fates) => fates.len(),
        }
    }
}

impl Disk {
    /// Takes a directory as it is for durable.
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
                    disk.files.push(File { base: fs::read(&path).unwrap(), changes: Vec::new() });
                    Node::File(disk.files.len() - 1)
                };
                disk.base.insert(path, node);
            }
        }
        disk
    }

    /// Lets a call come to the disk.
    pub(crate) fn take(&mut self, call: &Call) {
        match call {
            Call::Open { path } => {
                if !self.names_now().contains_key(path) {
                    self.files.push(File::default());
                    let node = Node::File(self.files.len() - 1);
                    self.name(Naming::Give { path: path.clone(), node });
                }
            }
            Call::Append { path, bytes } => {
                let file = self.file(path);
                let at = file.now().len();
                let change = Change::Write { at, bytes: bytes.clone() };
                file.changes.push((change, State::Pending));
            }
            Call::WriteOver { path, bytes } => {
                let change = Change::Write { at: 0, bytes: bytes.clone() };
                self.file(path).changes.push((change, State::Pending));
            }
            Call::Cut { path, length } => {
                let length = usize::try_from(*length).unwrap();
                self.file(path).changes.push((Change::Cut { length }, State::Pending));
            }
            Call::Sync { path } => settle(&mut self.file(path).changes, State::Durable),
            Call::SyncDir { path } => self.settle_names(path, State::Durable),
            Call::SyncFailed { path }
                if !matches!(self.names_now().get(path), Some(Node::File(_))) =>
            {
                self.settle_names(path, State::Doomed);
            }
            Call::SyncFailed { path } => settle(&mut self.file(path).changes, State::Doomed),
            Call::CreateDir { path } => {
                self.name(Naming::Give { path: path.clone(), node: Node::Dir });
            }
            Call::Rename { from, to } if from.parent() == to.parent() => {
                self.name(Naming::Move { from: from.clone(), to: to.clone() });
            }
            // Between two directories both names may be seen, each durable with its own.
            Call::Rename { from, to } => {
                let node = self.names_now()[from];
                assert_ne!(node, Node::Dir, "directories stay in theirs");
                self.name(Naming::Give { path: to.clone(), node });
                let given = Some(self.namings.len() - 1);
                self.name(Naming::Take { path: from.clone(), given });
            }
            Call::Remove { path } => self.name(Naming::Take { path: path.clone(), given: None }),
        }
    }

    fn name(&mut self, naming: Naming) {
        self.namings.push((naming, State::Pending));
    }

    fn settle_names(&mut self, dir: &Path, state: State) {
        let is_in = |naming: &Naming| match naming {
            Naming::Give { path, .. } | Naming::Take { path, .. } => path.parent() == Some(dir),
            Naming::Move { to, .. } => to.parent() == Some(dir),
        };
        for (_, old) in self.namings.iter_mut().filter(|(naming, _)| is_in(naming)) {
            if *old == State::Pending {
                *old = state;
            }
        }
    }

    fn file(&mut self, path: &Path) -> &mut File {
        match self.names_now().get(path) {
            Some(Node::File(id)) => &mut self.files[*id],
            other => panic!("{} is {other:?}", path.display()),
        }
    }

    /// Returns the names that a process sees.
    fn names_now(&self) -> Names {
        self.names(|_| true)
    }

    fn names(&self, arrived: impl Fn(usize) -> bool) -> Names {
        let mut names = self.base.clone();
        let is_there = |at: usize| self.namings[at].1 == State::Durable || arrived(at);
        for (at, (naming, _)) in self.namings.iter().enumerate() {
            let given = if let Naming::Take { given, .. } = naming { *given } else { None };
            if is_there(at) && given.is_none_or(is_there) {
                apply(&mut names, naming, || self.mover(at));
            }
        }
        names
    }

    /// Returns what was moved, if nothing else knows it because its own name was lost.
    fn mover(&self, at: usize) -> Option<Node> {
        let Naming::Move { from, .. } = &self.namings[at].0 else { return None };
        let mut before = self.base.clone();
        for (naming, _) in &self.namings[..at] {
            apply(&mut before, naming, || None);
        }
        before.get(from).copied()
    }

    /// Lists what may be left now, all of it or a selection; each image once.
    pub(crate) fn outcomes(&self, max: usize, dice: &mut Dice) -> Vec<Outcome> {
        let mut outcomes = self.outcomes_again(max, dice);
        let mut seen = HashSet::new();
        outcomes.retain(|outcome| seen.insert(HASHER.hash_one(&outcome.files)));
        outcomes
    }

    fn outcomes_again(&self, max: usize, dice: &mut Dice) -> Vec<Outcome> {
        let open = self.open();
        let total = open.iter().try_fold(1_usize, |all, one| all.checked_mul(one.count()));
        if let Some(total) = total.filter(|total| *total <= max) {
            return (0..total).map(|number| self.outcome(&open, &numbers(&open, number))).collect();
        }
        let same = |fate: usize| open.iter().map(|_| fate).collect::<Vec<_>>();
        let mut picks = vec![same(0), same(1)];
        for at in 0..open.len() {
            for (all, one) in [(0, 1), (1, 0)] {
                let mut pick = same(all);
                pick[at] = one;
                picks.push(pick);
            }
        }
        picks.extend((0..max).map(|_| open.iter().map(|one| throw(one, dice)).collect()));
        picks.iter().map(|pick| self.outcome(&open, pick)).collect()
    }

    /// Throws one outcome; `orderly` is a disk that writes what belongs to one file in order.
    pub(crate) fn outcome_at_random(&self, dice: &mut Dice, orderly: bool) -> Outcome {
        let open = self.open_apart();
        let mut cut_off = vec![false; self.files.len()];
        let pick = |one: &Open| {
            let Open::Changes(id, _, fates) = one else { return throw(one, dice) };
            if !orderly {
                return throw(one, dice);
            }
            // After the first that is not whole the rest is lost.
            if cut_off[*id] {
                return 0;
            }
            let torn = fates.iter().filter(|fate| matches!(fate, Fate::Torn(_))).count();
            let fate = match dice.below(3) {
                0 if torn > 0 => 2 + usize::try_from(dice.below(torn as u64)).unwrap(),
                1 => 0,
                _ => 1,
            };
            cut_off[*id] = fate != 1;
            fate
        };
        let picks: Vec<_> = open.iter().map(pick).collect();
        self.outcome(&open, &picks)
    }

    /// Returns what every process sees, whether it is durable or not.
    pub(crate) fn seen(&self) -> Outcome {
        let open = self.open_apart();
        self.outcome(&open, &vec![1; open.len()])
    }

    /// Lists what is uncertain. Notes in a lock share their fate, since nothing depends on them.
    fn open(&self) -> Vec<Open> {
        let locks: Vec<usize> = (self.names_now().iter())
            .filter(|(path, _)| path.extension().is_some_and(|extension| extension == "lock"))
            .filter_map(|(_, node)| match node {
                Node::File(id) => Some(*id),
                Node::Dir => None,
            })
            .collect();
        let (notes, mut open): (Vec<_>, Vec<_>) = self
            .open_apart()
            .into_iter()
            .partition(|one| matches!(one, Open::Changes(id, ..) if locks.contains(id)));
        for lock in locks {
            let of_lock = notes.iter().filter_map(|one| match one {
                Open::Changes(id, at, _) if *id == lock => Some(at[0]),
                _ => None,
            });
            let of_lock: Vec<_> = of_lock.collect();
            if !of_lock.is_empty() {
                open.push(Open::Changes(lock, of_lock, vec![Fate::Lost, Fate::Whole]));
            }
        }
        open
    }

    fn open_apart(&self) -> Vec<Open> {
        let is_open = |state: &State| *state != State::Durable;
        let namings = self.namings.iter().enumerate().filter(|(_, (_, state))| is_open(state));
        let mut open: Vec<_> = namings.map(|(at, _)| Open::Naming(at)).collect();
        for (id, file) in self.files.iter().enumerate() {
            for (at, (change, _)) in
                file.changes.iter().enumerate().filter(|(_, (_, state))| is_open(state))
            {
                open.push(Open::Changes(id, vec![at], change.fates()));
            }
        }
        open
    }

    fn outcome(&self, open: &[Open], pick: &[usize]) -> Outcome {
        let mut lost = Vec::new();
        let mut fates = BTreeMap::new();
        let mut said = Vec::new();
        for (one, pick) in open.iter().zip(pick) {
            match one {
                Open::Naming(at) if *pick == 0 => {
                    said.push(format!("lost {:?}", self.namings[*at].0));
                    lost.push(*at);
                }
                Open::Naming(_) => {}
                Open::Changes(id, ats, of) => {
                    for at in ats {
                        said.push(format!("file {id} change {at}: {:?}", of[*pick]));
                        fates.insert((*id, *at), of[*pick].clone());
                    }
                }
            }
        }
        let mut names = self.names(|at| !lost.contains(&at));
        let all = names.clone();
        let is_there = |path: &Path| {
            let parents = path.ancestors().skip(1).take_while(|dir| *dir != self.root());
            parents.into_iter().all(|dir| all.get(dir) == Some(&Node::Dir))
        };
        names.retain(|path, _| is_there(path));
        let mut mixed = Vec::new();
        let mut files = BTreeMap::new();
        for (path, node) in names {
            let Node::File(id) = node else {
                files.insert(path, None);
                continue;
            };
            let fate = |at: usize| fates.get(&(id, at)).unwrap_or(&Fate::Whole);
            let (content, is_mixed) = self.files[id].with(fate);
            if is_mixed {
                mixed.push(path.clone());
            }
            files.insert(path, Some(content));
        }
        Outcome { files, mixed, said }
    }

    /// Returns the directory that holds everything.
    fn root(&self) -> &Path {
        let first = self.base.keys().next().expect("a stage is never empty");
        first.ancestors().find(|dir| dir.ends_with("project")).expect("a stage is called so")
    }
}

impl File {
    fn now(&self) -> Vec<u8> {
        self.with(|_| &Fate::Whole).0
    }

    /// Returns the content, and whether something arrived that follows what did not.
    fn with<'a>(&self, fate: impl Fn(usize) -> &'a Fate) -> (Vec<u8>, bool) {
        let mut content = self.base.clone();
        let (mut has_hole, mut is_mixed) = (false, false);
        for (at, (change, state)) in self.changes.iter().enumerate() {
            let fate = if *state == State::Durable { &Fate::Whole } else { fate(at) };
            is_mixed |= has_hole && *fate != Fate::Lost || fate.has_inner_hole();
            has_hole |= *fate != Fate::Whole;
            change.apply(&mut content, fate);
        }
        (content, is_mixed)
    }
}

impl Outcome {
    /// Puts the image in the place of what is there.
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

    /// Returns whether something of a file arrived that follows what did not.
    pub(crate) fn is_mixed(&self, path: &Path) -> bool {
        self.mixed.iter().any(|mixed| mixed == path)
    }

    /// Returns the content of a file.
    pub(crate) fn content(&self, path: &Path) -> Option<&[u8]> {
        self.files.get(path)?.as_deref()
    }

    pub(crate) fn shown(&self) -> String {
        self.said.iter().map(|one| format!("\n  {one}")).collect()
    }
}

fn settle(changes: &mut [(Change, State)], to: State) {
    for (_, state) in changes.iter_mut().filter(|(_, state)| *state == State::Pending) {
        *state = to;
    }
}

fn apply(names: &mut Names, naming: &Naming, mover: impl Fn() -> Option<Node>) {
    match naming {
        Naming::Give { path, node } => drop(names.insert(path.clone(), *node)),
        Naming::Take { path, .. } => drop(names.remove(path)),
        Naming::Move { from, to } => {
            let Some(node) = names.remove(from).or_else(mover) else { return };
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

/// Takes a number apart into one for each of what is uncertain.
fn numbers(open: &[Open], mut number: usize) -> Vec<usize> {
    let digit = |one: &Open| {
        let digit = number % one.count();
        number /= one.count();
        digit
    };
    open.iter().map(digit).collect()
}

fn throw(one: &Open, dice: &mut Dice) -> usize {
    // Half of all is lost or whole; the many ways to be torn share the rest.
    let count = if dice.below(2) == 0 { 2 } else { one.count() };
    usize::try_from(dice.below(count as u64)).unwrap()
}
