//! What `git merge-tree` makes of two commits, and of which kind each conflict is.
//!
//! The kinds come from the versions that git lists and from its words for programs, never from its
//! sentences for people.

use std::collections::{BTreeMap, BTreeSet};

use crate::git::{Git, GitError};

const SUBMODULE: &str = "160000";

/// A file in conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The file.
    pub path: String,
    /// What both sides did.
    pub kind: Kind,
}

/// What two sides did that does not go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Both changed the same lines.
    BothChanged,
    /// Both added a file of this name.
    BothAdded,
    /// The target deleted what the branch changed.
    DeletedInTarget,
    /// The branch deleted what the target changed.
    DeletedInBranch,
    /// A file or a directory was renamed, and something else happened to it as well.
    Renamed,
    /// Both changed a file that is no text.
    Binary,
    /// Both changed what kind of file it is, or who may execute it.
    Mode,
    /// Both moved a submodule to commits of which none contains the other.
    Submodule,
    /// A file stands where the other side has a directory.
    FileAgainstDirectory,
    /// What git calls it.
    Other(String),
}

impl Kind {
    /// Returns it in words.
    pub fn words(&self) -> &str {
        match self {
            Self::BothChanged => "both changed",
            Self::BothAdded => "both added",
            Self::DeletedInTarget => "deleted in the target, changed in the branch",
            Self::DeletedInBranch => "changed in the target, deleted in the branch",
            Self::Renamed => "renamed",
            Self::Binary => "binary, both changed",
            Self::Mode => "mode, both changed",
            Self::Submodule => "submodule, both moved",
            Self::FileAgainstDirectory => "file against directory",
            Self::Other(word) => word,
        }
    }

    /// Returns how a file is settled in a worktree of the branch that merges the target; `{}` is the
    /// file.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::BothChanged | Self::BothAdded | Self::Other(_) => "edit {}, then git add {}",
            Self::DeletedInTarget | Self::DeletedInBranch => {
                "git add {} keeps it, git rm {} removes it"
            }
            Self::Binary | Self::Mode => {
                "git checkout --ours {} (the branch) or --theirs {} (the target), then git add {}"
            }
            Self::Submodule => "check out the commit you want in {}, then git add {}",
            Self::Renamed | Self::FileAgainstDirectory => {
                "git add the names that stay, git rm those that go"
            }
        }
    }
}

/// What `git merge-tree` made of two commits.
pub(super) struct Merged {
    pub(super) tree: String,
    pub(super) conflicts: Vec<Found>,
}

/// A conflict with the versions that git found.
pub(super) struct Found {
    pub(super) conflict: Conflict,
    pub(super) versions: Versions,
}

/// The base, ours and theirs of a file, each with its mode and object.
#[derive(Clone, Debug, Default)]
pub(super) struct Versions([Option<(String, String)>; 3]);

impl Versions {
    /// Returns mode and object of one of the three.
    pub(super) fn of(&self, stage: usize) -> Option<(&str, &str)> {
        self.0[stage - 1].as_ref().map(|(mode, object)| (mode.as_str(), object.as_str()))
    }
}

/// Merges two commits in memory; attributes are those of the first.
pub(super) fn merge_tree(git: &Git, ours: &str, theirs: &str) -> Result<Merged, GitError> {
    if let Some(tree) = git.plain().and_then(|plain| plain.merge(ours, theirs)) {
        return Ok(Merged { tree, conflicts: Vec::new() });
    }
    // Otherwise it would depend on what happens to be checked out.
    let git = git.with_env("GIT_ATTR_SOURCE", ours);
    let args = ["merge-tree", "--write-tree", "-z", "--messages", ours, theirs];
    let answer = git.ask(&args)?;
    match answer.code {
        Some(0 | 1) => Ok(parse(&answer.stdout, answer.success)),
        // Once more for the error.
        _ => git.run(&args).map(|answer| parse(&answer.stdout, true)),
    }
}

/// Reads the tree, then the versions in conflict, then what git says about which of them.
fn parse(output: &[u8], is_clean: bool) -> Merged {
    let text = String::from_utf8_lossy(output);
    let mut words = text.split('\0');
    let tree = words.next().unwrap_or_default().to_owned();
    let mut files: BTreeMap<String, Versions> = BTreeMap::new();
    for line in words.by_ref().take_while(|line| !line.is_empty()) {
        let Some((about, path)) = line.split_once('\t') else { continue };
        let parts: Vec<_> = about.split(' ').collect();
        let versions = files.entry(path.to_owned()).or_default();
        if let [mode, object, stage @ ("1" | "2" | "3")] = parts[..] {
            let at = usize::from(stage.as_bytes()[0] - b'1');
            versions.0[at] = Some((mode.to_owned(), object.to_owned()));
        }
    }
    let mut said: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    while let Some(count) = words.next().and_then(|count| count.parse::<usize>().ok()) {
        let about: Vec<&str> = words.by_ref().take(count).collect();
        let (kind, _sentence) = (words.next().unwrap_or_default(), words.next());
        let kind = kind.strip_prefix("CONFLICT (").and_then(|kind| kind.strip_suffix(')'));
        for path in about {
            let known =
                kind.map(|kind| said.entry(path.to_owned()).or_default().insert(kind.into()));
            known.unwrap_or_default();
        }
    }
    if is_clean {
        return Merged { tree, conflicts: Vec::new() };
    }
    if files.is_empty() {
        // Git knows conflicts that leave no file behind.
        files.extend(said.keys().map(|path| (path.clone(), Versions::default())));
    }
    let none = BTreeSet::new();
    let found = |(path, versions): (String, Versions)| {
        let kind = kind(said.get(&path).unwrap_or(&none), &versions);
        Found { conflict: Conflict { path, kind }, versions }
    };
    Merged { tree, conflicts: files.into_iter().map(found).collect() }
}

fn kind(said: &BTreeSet<String>, versions: &Versions) -> Kind {
    let says = |part: &str| said.iter().any(|word| word.contains(part));
    let is_submodule =
        (1..=3).any(|stage| versions.of(stage).is_some_and(|(mode, _)| mode == SUBMODULE));
    if is_submodule || says("submodule") {
        return Kind::Submodule;
    }
    if says("rename") || says("directory rename") || says("implicit dir") {
        return Kind::Renamed;
    }
    if says("file/directory") {
        return Kind::FileAgainstDirectory;
    }
    if says("binary") {
        return Kind::Binary;
    }
    match (versions.of(1), versions.of(2), versions.of(3)) {
        _ if says("mode") => Kind::Mode,
        (_, Some((ours, one)), Some((theirs, other))) if ours != theirs && one == other => {
            Kind::Mode
        }
        (None, Some(_), Some(_)) => Kind::BothAdded,
        (Some(_), Some(_), None) => Kind::DeletedInBranch,
        (Some(_), None, Some(_)) => Kind::DeletedInTarget,
        (Some(_), Some(_), Some(_)) => Kind::BothChanged,
        _ => Kind::Other(said.first().cloned().unwrap_or_else(|| "conflict".to_owned())),
    }
}

#[cfg(test)]
mod tests;
