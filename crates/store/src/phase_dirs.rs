//! Lists the phase directories and the files in them.
//!
//! Lists `phases/` once and each phase directory once; no file is opened. Archived phases are in
//! `milestones/vX.Y-phases/` and are listed only on request.

mod index;

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mow_core::phase::PhaseNumber;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, openat, statat};

pub use index::{PhaseDirIndex, PhaseFileCounts};

/// The directory of one phase, with the names of its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseDir {
    /// The path of the directory.
    pub path: PathBuf,
    /// The name of the directory, such as `03-auth`.
    pub name: String,
    /// The phase number at the start of the name; `None` without one.
    pub number: Option<PhaseNumber>,
    /// The milestone of the archive, such as `v1.2`; `None` for a current phase.
    pub archived: Option<String>,
    files: NameList,
    counts: FileCounts,
}

/// The number of files of each kind in a phase directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileCounts {
    counts: [u32; PhaseFileKind::ALL.len()],
}

impl FileCounts {
    fn add(&mut self, file: &str) {
        if let Some(kind) = PhaseFileKind::ALL.iter().find(|kind| kind.id(file).is_some()) {
            self.counts[*kind as usize] += 1;
        }
    }

    /// Returns the number of files of a kind.
    pub fn count(&self, kind: PhaseFileKind) -> usize {
        self.counts[kind as usize] as usize
    }

    /// Returns the phase's progress, judged by its files.
    pub fn status(&self) -> DiskStatus {
        let (plans, summaries) =
            (self.count(PhaseFileKind::Plan), self.count(PhaseFileKind::Summary));
        match (plans, summaries) {
            (1.., _) if summaries >= plans => DiskStatus::Complete,
            (_, 1..) => DiskStatus::Partial,
            (1.., 0) => DiskStatus::Planned,
            _ if self.count(PhaseFileKind::Research) > 0 => DiskStatus::Researched,
            _ if self.count(PhaseFileKind::Context) > 0 => DiskStatus::Discussed,
            _ => DiskStatus::Empty,
        }
    }
}

/// Names in one buffer, which saves allocations: a large project has tens of thousands of files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NameList {
    buffer: String,
    spans: Vec<(usize, usize)>,
}

impl NameList {
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

/// The kinds of planning files in a phase directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseFileKind {
    /// `NN-MM-PLAN.md`.
    Plan,
    /// `NN-MM-SUMMARY.md`.
    Summary,
    /// `NN-CONTEXT.md`.
    Context,
    /// `NN-RESEARCH.md`.
    Research,
}

impl PhaseFileKind {
    const ALL: [Self; 4] = [Self::Plan, Self::Summary, Self::Context, Self::Research];

    fn bare(self) -> &'static str {
        match self {
            Self::Plan => "PLAN.md",
            Self::Summary => "SUMMARY.md",
            Self::Context => "CONTEXT.md",
            Self::Research => "RESEARCH.md",
        }
    }

    /// Returns the id in a file name: `03-01` of `03-01-PLAN.md`, empty for `PLAN.md`.
    ///
    /// `None` when the file is of another kind.
    pub fn id(self, file: &str) -> Option<&str> {
        let before = file.strip_suffix(self.bare())?;
        if before.is_empty() { Some("") } else { before.strip_suffix('-') }
    }

    /// Returns the file name for an id, the reverse of [`Self::id`].
    pub fn file(self, id: &str) -> String {
        if id.is_empty() { self.bare().to_owned() } else { format!("{id}-{}", self.bare()) }
    }
}

/// The progress of a phase, judged by its files alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskStatus {
    /// The phase has no directory.
    NoDirectory,
    /// Every plan has a summary.
    Complete,
    /// Some plans have summaries.
    Partial,
    /// There are plans, but no summaries.
    Planned,
    /// There is a RESEARCH.md, but no plan.
    Researched,
    /// There is a CONTEXT.md, but no research.
    Discussed,
    /// The directory has none of these files.
    Empty,
}

impl DiskStatus {
    /// Returns the word that commands print in their JSON.
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
    /// Returns the names of all files, sorted.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter()
    }

    /// Returns the name of its STATUS.md file. Older projects may pad the number differently.
    pub fn status_file(&self) -> Option<&str> {
        let usual = self.number.map(|number| format!("{}-STATUS.md", number.padded()));
        let mut found = self.files().filter(|file| file.ends_with("-STATUS.md"));
        let usual = self.files().find(|file| Some(*file) == usual.as_deref());
        usual.or_else(|| found.next())
    }

    /// Returns the names of the files of a kind, sorted.
    pub fn files_of(&self, kind: PhaseFileKind) -> impl Iterator<Item = &str> {
        self.files().filter(move |file| kind.id(file).is_some())
    }

    /// Returns the number of files of a kind.
    pub fn count(&self, kind: PhaseFileKind) -> usize {
        self.counts.count(kind)
    }

    /// Returns the phase's progress, judged by its files.
    pub fn status(&self) -> DiskStatus {
        self.counts.status()
    }

    /// Returns the number as written in the name: `03` of `03-auth`.
    pub fn written(&self) -> Option<&str> {
        let (_, rest) = PhaseNumber::parse_prefix(strip_phase_prefix(&self.name))?;
        Some(strip_phase_prefix(&self.name).strip_suffix(rest).unwrap_or(""))
    }

    /// Returns the part of the name after the number: `auth` of `03-auth`.
    pub fn label(&self) -> Option<&str> {
        let (_, rest) = PhaseNumber::parse_prefix(strip_phase_prefix(&self.name))?;
        let label = rest.trim_start_matches('-');
        (!label.is_empty()).then_some(label)
    }
}

/// The phase directories of a project.
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

    /// Finds the directory of a phase; the first by name when several have the number.
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
        let (number, rest) = PhaseNumber::parse_prefix(strip_phase_prefix(&name))?;
        Some((number, rest.trim_start_matches('-').to_owned()))
    };
    names.filter_map(split).collect()
}

/// Returns a sort key for versions by which `v1.10` is newer than `v1.9`.
fn version_key(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

fn list(parent: &Path, archived: Option<&str>) -> Vec<PhaseDir> {
    let Ok(opened) = open_dir(CWD, parent) else { return Vec::new() };
    let names = names(&opened, is_directory);
    names.into_iter().map(|name| read_phase_dir(&opened, parent, name, archived)).collect()
}

/// Lists the files of one phase directory.
fn read_phase_dir(
    parent: &OwnedFd,
    parent_path: &Path,
    name: String,
    archived: Option<&str>,
) -> PhaseDir {
    let mut files = NameList::default();
    let mut counts = FileCounts::default();
    for_each_file(parent, &name, |file| {
        files.push(file);
        counts.add(file);
    });
    files.sort();
    let number = number_of(&name);
    let archived = archived.map(str::to_owned);
    PhaseDir { path: parent_path.join(&name), number, archived, files, counts, name }
}

/// Calls `found` with each file name in a phase directory. An unreadable directory has no files.
fn for_each_file(parent: &OwnedFd, name: &str, found: impl FnMut(&str)) {
    if let Ok(dir) = open_dir(parent, Path::new(name)) {
        for_each_name(&dir, |_, kind, _| kind != FileType::Directory, found);
    }
}

/// Returns the phase number at the start of a directory's name.
fn number_of(name: &str) -> Option<PhaseNumber> {
    PhaseNumber::parse_prefix(strip_phase_prefix(name)).map(|(number, _)| number)
}

/// Finds the directory of one phase: a current one, else the one in the newest archive.
///
/// Does not list the other phase directories. A text without a number is taken as the beginning of
/// the directory's name.
pub fn find(planning: &Path, phase: &str) -> Option<PhaseDir> {
    let milestones = planning.join("milestones");
    let archives = || {
        archives(&milestones)
            .into_iter()
            .map(|(version, name)| (milestones.join(name), Some(version)))
    };
    let homes = std::iter::once((planning.join("phases"), None))
        .chain(std::iter::once_with(archives).flatten());
    homes.into_iter().find_map(|(parent, version)| find_in(&parent, phase, version.as_deref()))
}

fn find_in(parent: &Path, phase: &str, archived: Option<&str>) -> Option<PhaseDir> {
    let opened = open_dir(CWD, parent).ok()?;
    let wanted = parse_argument(phase);
    let matches = |name: &String| match &wanted {
        Some(number) => number_of(name).as_ref() == Some(number),
        None => !phase.is_empty() && name.starts_with(phase),
    };
    let name = names(&opened, is_directory).into_iter().filter(matches).min()?;
    Some(read_phase_dir(&opened, parent, name, archived))
}

/// Parses a phase as a person types it: `3`, `03` or `3-auth`.
pub fn parse_argument(phase: &str) -> Option<PhaseNumber> {
    let (number, rest) = PhaseNumber::parse_prefix(strip_phase_prefix(phase.trim()))?;
    (rest.is_empty() || rest.starts_with('-')).then_some(number)
}

/// Removes the prefix `phase-`: some projects name their directories `phase-3`.
fn strip_phase_prefix(name: &str) -> &str {
    let rest = name.get(..6).filter(|word| word.eq_ignore_ascii_case("phase-")).map(|_| &name[6..]);
    rest.unwrap_or(name)
}

/// Lists subdirectories and links to directories. An unreadable directory has none.
pub(crate) fn subdirectories(parent: &Path) -> Vec<String> {
    open_dir(CWD, parent).map(|dir| names(&dir, is_directory)).unwrap_or_default()
}

fn is_directory(dir: &OwnedFd, kind: FileType, name: &CStr) -> bool {
    let target_is_directory = || {
        let stat = statat(dir, name, AtFlags::empty());
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
    };
    kind == FileType::Directory
        || (matches!(kind, FileType::Symlink | FileType::Unknown) && target_is_directory())
}

fn open_dir(at: impl AsFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(at, path, flags, Mode::empty())
}

fn names(dir: &OwnedFd, accepts: impl Fn(&OwnedFd, FileType, &CStr) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for_each_name(dir, accepts, |name| found.push(name.to_owned()));
    found
}

/// Calls `found` with each name in a directory that `accepts` accepts. Names that are not UTF-8 are
/// skipped.
fn for_each_name(
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

/// The size of the buffer for directory entries, in bytes.
const LISTING_BYTES: usize = 8192;

#[cfg(test)]
mod tests;
