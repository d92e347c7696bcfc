//! The phase directories on disk: which there are, and which files they hold.
//!
//! One listing of `phases/` and one of each directory, no file is opened. Archived phases live in
//! `milestones/vX.Y-phases/` and are listed only when asked for.

mod index;

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mow_core::phase::PhaseNumber;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, openat, statat};

pub use index::{Index, Tallies};

/// A directory of one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseDir {
    /// Where it is.
    pub path: PathBuf,
    /// Its name, such as `03-auth`.
    pub name: String,
    /// The number its name begins with.
    pub number: Option<PhaseNumber>,
    /// The milestone whose archive it stands in.
    pub archived: Option<String>,
    files: Names,
    tally: Tally,
}

/// How many files of each kind a directory holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    counts: [u32; Artifact::ALL.len()],
}

impl Tally {
    fn add(&mut self, file: &str) {
        if let Some(kind) = Artifact::ALL.iter().find(|kind| kind.id(file).is_some()) {
            self.counts[*kind as usize] += 1;
        }
    }

    /// Returns how many files of a kind there are.
    pub fn count(&self, kind: Artifact) -> usize {
        self.counts[kind as usize] as usize
    }

    /// Returns how far the phase is.
    pub fn status(&self) -> DiskStatus {
        let (plans, summaries) = (self.count(Artifact::Plan), self.count(Artifact::Summary));
        match (plans, summaries) {
            (1.., _) if summaries >= plans => DiskStatus::Complete,
            (_, 1..) => DiskStatus::Partial,
            (1.., 0) => DiskStatus::Planned,
            _ if self.count(Artifact::Research) > 0 => DiskStatus::Researched,
            _ if self.count(Artifact::Context) > 0 => DiskStatus::Discussed,
            _ => DiskStatus::Empty,
        }
    }
}

/// Sorted names in one buffer: a large project has tens of thousands of files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Names {
    buffer: String,
    spans: Vec<(usize, usize)>,
}

impl Names {
    fn push(&mut self, name: &str) {
        let start = self.buffer.len();
        self.buffer.push_str(name);
        self.spans.push((start, self.buffer.len()));
    }

    fn sort(&mut self) {
        let buffer = &self.buffer;
        self.spans.sort_unstable_by(|a, b| buffer[a.0..a.1].cmp(&buffer[b.0..b.1]));
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        self.spans.iter().map(|(start, end)| &self.buffer[*start..*end])
    }
}

/// The kinds of files a phase is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Artifact {
    /// `NN-MM-PLAN.md`.
    Plan,
    /// `NN-MM-SUMMARY.md`.
    Summary,
    /// `NN-CONTEXT.md`.
    Context,
    /// `NN-RESEARCH.md`.
    Research,
}

impl Artifact {
    const ALL: [Self; 4] = [Self::Plan, Self::Summary, Self::Context, Self::Research];

    fn bare(self) -> &'static str {
        match self {
            Self::Plan => "PLAN.md",
            Self::Summary => "SUMMARY.md",
            Self::Context => "CONTEXT.md",
            Self::Research => "RESEARCH.md",
        }
    }

    /// Returns the id in a file name of this kind: `03-01` of `03-01-PLAN.md`, empty for `PLAN.md`.
    pub fn id(self, file: &str) -> Option<&str> {
        let before = file.strip_suffix(self.bare())?;
        if before.is_empty() { Some("") } else { before.strip_suffix('-') }
    }

    /// Returns the file of this kind that an id names.
    pub fn file(self, id: &str) -> String {
        if id.is_empty() { self.bare().to_owned() } else { format!("{id}-{}", self.bare()) }
    }
}

/// How far a phase is, told from its files alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskStatus {
    /// There is no directory.
    NoDirectory,
    /// Every plan has a summary.
    Complete,
    /// Some plan has a summary.
    Partial,
    /// There are plans.
    Planned,
    /// There is research.
    Researched,
    /// There is a context.
    Discussed,
    /// There is nothing of it yet.
    Empty,
}

impl DiskStatus {
    /// Returns the word that commands print.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoDirectory => "no_directory",
            Self::Complete => "complete",
            Self::Partial => "partial",
            Self::Planned => "planned",
            Self::Researched => "researched",
            Self::Discussed => "discussed",
            Self::Empty => "empty",
        }
    }
}

impl PhaseDir {
    /// Returns the names of its files, sorted.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter()
    }

    /// Returns its STATUS.md, if there is one; older projects may pad the number differently.
    pub fn status_file(&self) -> Option<&str> {
        let usual = self.number.map(|number| format!("{}-STATUS.md", number.padded()));
        let mut found = self.files().filter(|file| file.ends_with("-STATUS.md"));
        let usual = self.files().find(|file| Some(*file) == usual.as_deref());
        usual.or_else(|| found.next())
    }

    /// Returns the files of a kind.
    pub fn of(&self, kind: Artifact) -> impl Iterator<Item = &str> {
        self.files().filter(move |file| kind.id(file).is_some())
    }

    /// Returns how many files of a kind there are.
    pub fn count(&self, kind: Artifact) -> usize {
        self.tally.count(kind)
    }

    /// Returns how far the phase is.
    pub fn status(&self) -> DiskStatus {
        self.tally.status()
    }

    /// Returns the number as the name has it: `03` of `03-auth`.
    pub fn written(&self) -> Option<&str> {
        let (_, rest) = PhaseNumber::parse_prefix(strip_word(&self.name))?;
        Some(strip_word(&self.name).strip_suffix(rest).unwrap_or(""))
    }

    /// Returns the part of the name behind the number, if there is one.
    pub fn label(&self) -> Option<&str> {
        let (_, rest) = PhaseNumber::parse_prefix(strip_word(&self.name))?;
        let label = rest.trim_start_matches('-');
        (!label.is_empty()).then_some(label)
    }
}

/// The directories of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseDirs {
    /// Ordered by number, then by name; those without a number come last.
    dirs: Vec<Arc<PhaseDir>>,
}

impl PhaseDirs {
    /// Lists the current phases.
    pub fn load(planning: &Path) -> Self {
        Self::sorted(list(&planning.join("phases"), None))
    }

    /// Lists the archived phases, newest milestone first.
    pub fn load_archived(planning: &Path) -> Vec<Arc<PhaseDir>> {
        let milestones = planning.join("milestones");
        let listed = archives(&milestones)
            .into_iter()
            .map(|(version, name)| Self::sorted(list(&milestones.join(name), Some(&version))).dirs);
        listed.flatten().collect()
    }

    fn sorted(mut dirs: Vec<PhaseDir>) -> Self {
        dirs.sort_by(|a, b| {
            let numbered = (a.number.is_none(), &a.number).cmp(&(b.number.is_none(), &b.number));
            numbered.then_with(|| a.name.cmp(&b.name))
        });
        Self { dirs: dirs.into_iter().map(Arc::new).collect() }
    }

    /// Returns the directories in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<PhaseDir>> {
        self.dirs.iter()
    }

    /// Finds the directory of a phase: the first by name where several carry the number.
    pub fn find(&self, number: &PhaseNumber) -> Option<&Arc<PhaseDir>> {
        let at = self.dirs.partition_point(|dir| dir.number.as_ref().is_some_and(|n| n < number));
        self.dirs.get(at).filter(|dir| dir.number.as_ref() == Some(number))
    }
}

/// Returns the versions and names of the archives, newest first.
fn archives(milestones: &Path) -> Vec<(String, String)> {
    let mut archives: Vec<_> = subdirectories(milestones)
        .into_iter()
        .filter_map(|name| Some((name.strip_suffix("-phases")?.to_owned(), name)))
        .collect();
    archives.sort_by_key(|(version, _)| std::cmp::Reverse(version_key(version)));
    archives
}

/// Lists the versions of the milestones whose phases are archived, newest first.
pub fn archived_milestones(planning: &Path) -> Vec<String> {
    archives(&planning.join("milestones")).into_iter().map(|(version, _)| version).collect()
}

/// Lists the numbers of the current phases without looking into their directories.
pub fn numbers(planning: &Path) -> Vec<PhaseNumber> {
    let names = subdirectories(&planning.join("phases"));
    names.iter().filter_map(|name| number_of(name)).collect()
}

/// Lists the numbers and labels of archived phases without looking into their directories.
pub fn archived(planning: &Path) -> Vec<(PhaseNumber, String)> {
    let milestones = planning.join("milestones");
    let archives = archives(&milestones).into_iter();
    let names = archives.flat_map(|(_, archive)| subdirectories(&milestones.join(archive)));
    let split = |name: String| {
        let (number, rest) = PhaseNumber::parse_prefix(strip_word(&name))?;
        Some((number, rest.trim_start_matches('-').to_owned()))
    };
    names.filter_map(split).collect()
}

/// Compares versions by their numbers: v1.10 is newer than v1.9.
fn version_key(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

fn list(home: &Path, archived: Option<&str>) -> Vec<PhaseDir> {
    let Ok(opened) = open_dir(CWD, home) else { return Vec::new() };
    let names = names(&opened, is_directory);
    names.into_iter().map(|name| look_into(&opened, home, name, archived)).collect()
}

/// Lists the files of one phase directory.
fn look_into(home: &OwnedFd, at: &Path, name: String, archived: Option<&str>) -> PhaseDir {
    let mut files = Names::default();
    let mut tally = Tally::default();
    each_file(home, &name, |file| {
        files.push(file);
        tally.add(file);
    });
    files.sort();
    let number = number_of(&name);
    let archived = archived.map(str::to_owned);
    PhaseDir { path: at.join(&name), number, archived, files, tally, name }
}

/// Hands on the names of the files in a phase directory; an unreadable one has none.
fn each_file(home: &OwnedFd, name: &str, found: impl FnMut(&str)) {
    if let Ok(dir) = open_dir(home, Path::new(name)) {
        each_name(&dir, |_, kind, _| kind != FileType::Directory, found);
    }
}

/// Returns the number a directory's name begins with.
fn number_of(name: &str) -> Option<PhaseNumber> {
    PhaseNumber::parse_prefix(strip_word(name)).map(|(number, _)| number)
}

/// Finds the directory of one phase without looking into the others: a current one, else the one
/// in the newest archive.
///
/// A text without a number is taken as the beginning of the directory's name.
pub fn find(planning: &Path, phase: &str) -> Option<PhaseDir> {
    let milestones = planning.join("milestones");
    let archives = || {
        archives(&milestones)
            .into_iter()
            .map(|(version, name)| (milestones.join(name), Some(version)))
    };
    let homes = std::iter::once((planning.join("phases"), None))
        .chain(std::iter::once_with(archives).flatten());
    homes.into_iter().find_map(|(home, version)| find_in(&home, phase, version.as_deref()))
}

fn find_in(home: &Path, phase: &str, archived: Option<&str>) -> Option<PhaseDir> {
    let opened = open_dir(CWD, home).ok()?;
    let wanted = parse_argument(phase);
    let matches = |name: &String| match &wanted {
        Some(number) => number_of(name).as_ref() == Some(number),
        None => !phase.is_empty() && name.starts_with(phase),
    };
    let name = names(&opened, is_directory).into_iter().filter(matches).min()?;
    Some(look_into(&opened, home, name, archived))
}

/// Reads the number in what a person typed for a phase: `3`, `03`, `3-auth`.
pub fn parse_argument(phase: &str) -> Option<PhaseNumber> {
    let (number, rest) = PhaseNumber::parse_prefix(strip_word(phase.trim()))?;
    (rest.is_empty() || rest.starts_with('-')).then_some(number)
}

/// Some projects name their directories `phase-3`.
fn strip_word(name: &str) -> &str {
    let rest = name.get(..6).filter(|word| word.eq_ignore_ascii_case("phase-")).map(|_| &name[6..]);
    rest.unwrap_or(name)
}

/// Lists directories, links to directories included; an unreadable place has none.
pub(crate) fn subdirectories(home: &Path) -> Vec<String> {
    open_dir(CWD, home).map(|dir| names(&dir, is_directory)).unwrap_or_default()
}

fn is_directory(dir: &OwnedFd, kind: FileType, name: &CStr) -> bool {
    let leads_to_one = || {
        let meta = statat(dir, name, AtFlags::empty());
        meta.is_ok_and(|meta| FileType::from_raw_mode(meta.st_mode) == FileType::Directory)
    };
    kind == FileType::Directory
        || (matches!(kind, FileType::Symlink | FileType::Unknown) && leads_to_one())
}

fn open_dir(at: impl AsFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(at, path, flags, Mode::empty())
}

fn names(dir: &OwnedFd, accepts: impl Fn(&OwnedFd, FileType, &CStr) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    each_name(dir, accepts, |name| found.push(name.to_owned()));
    found
}

/// Hands on the names in a directory that a test accepts; those that are no UTF-8 are left out.
fn each_name(
    dir: &OwnedFd,
    accepts: impl Fn(&OwnedFd, FileType, &CStr) -> bool,
    mut found: impl FnMut(&str),
) {
    let mut buffer = [MaybeUninit::uninit(); LISTING_BYTES];
    let mut entries = RawDir::new(dir, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name();
        let is_self = matches!(name.to_bytes(), b"." | b"..");
        if !is_self
            && accepts(dir, entry.file_type(), name)
            && let Ok(name) = name.to_str()
        {
            found(name);
        }
    }
}

/// How many bytes of entries are asked for at once.
const LISTING_BYTES: usize = 8192;

#[cfg(test)]
mod tests;
