//! The phase directories on disk: which there are, and which files they hold.
//!
//! One listing of `phases/` and one of each directory, no file is opened. Archived phases live in
//! `milestones/vX.Y-phases/` and are listed only when asked for.

use std::fs;
use std::path::{Path, PathBuf};

use mow_core::phase::PhaseNumber;

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
    /// The names of its files, sorted.
    pub files: Vec<String>,
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
    /// Returns the files of a kind.
    pub fn of(&self, kind: Artifact) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str).filter(move |file| kind.id(file).is_some())
    }

    /// Returns how many files of a kind there are.
    pub fn count(&self, kind: Artifact) -> usize {
        self.of(kind).count()
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
    dirs: Vec<PhaseDir>,
}

impl PhaseDirs {
    /// Lists the current phases.
    pub fn load(planning: &Path) -> Self {
        Self::sorted(list(&planning.join("phases"), None))
    }

    /// Lists the archived phases, newest milestone first.
    pub fn load_archived(planning: &Path) -> Vec<PhaseDir> {
        let milestones = planning.join("milestones");
        let mut archives: Vec<_> = subdirectories(&milestones)
            .into_iter()
            .filter_map(|name| Some((name.strip_suffix("-phases")?.to_owned(), name)))
            .collect();
        archives.sort_by_key(|(version, _)| std::cmp::Reverse(version_key(version)));
        let listed = archives
            .into_iter()
            .map(|(version, name)| Self::sorted(list(&milestones.join(name), Some(&version))).dirs);
        listed.flatten().collect()
    }

    fn sorted(mut dirs: Vec<PhaseDir>) -> Self {
        dirs.sort_by(|a, b| {
            let numbered = (a.number.is_none(), &a.number).cmp(&(b.number.is_none(), &b.number));
            numbered.then_with(|| a.name.cmp(&b.name))
        });
        Self { dirs }
    }

    /// Returns the directories in order.
    pub fn iter(&self) -> impl Iterator<Item = &PhaseDir> {
        self.dirs.iter()
    }

    /// Finds the directory of a phase: the first by name where several carry the number.
    pub fn find(&self, number: &PhaseNumber) -> Option<&PhaseDir> {
        let at = self.dirs.partition_point(|dir| dir.number.as_ref().is_some_and(|n| n < number));
        self.dirs.get(at).filter(|dir| dir.number.as_ref() == Some(number))
    }
}

/// Lists the numbers of archived phases without looking into their directories.
pub fn archived_numbers(planning: &Path) -> Vec<PhaseNumber> {
    let milestones = planning.join("milestones");
    let archives = subdirectories(&milestones).into_iter().filter(|name| name.ends_with("-phases"));
    let names = archives.flat_map(|archive| subdirectories(&milestones.join(archive)));
    names.filter_map(|name| Some(PhaseNumber::parse_prefix(strip_word(&name))?.0)).collect()
}

/// Compares versions by their numbers: v1.10 is newer than v1.9.
fn version_key(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

fn list(home: &Path, archived: Option<&str>) -> Vec<PhaseDir> {
    let dirs = subdirectories(home).into_iter().map(|name| {
        let path = home.join(&name);
        let number = PhaseNumber::parse_prefix(strip_word(&name)).map(|(number, _)| number);
        PhaseDir { files: files(&path), path, number, archived: archived.map(str::to_owned), name }
    });
    dirs.collect()
}

/// Some projects name their directories `phase-3`.
fn strip_word(name: &str) -> &str {
    let rest = name.get(..6).filter(|word| word.eq_ignore_ascii_case("phase-")).map(|_| &name[6..]);
    rest.unwrap_or(name)
}

/// Lists directories, links to directories included; an unreadable place has none.
fn subdirectories(home: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(home) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| {
        let kind = entry.file_type().ok()?;
        let is_dir = kind.is_dir() || (kind.is_symlink() && entry.path().is_dir());
        is_dir.then(|| entry.file_name().into_string().ok())?
    });
    names.collect()
}

fn files(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut files: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    files.sort_unstable();
    files
}

#[cfg(test)]
mod tests;
