//! Runs `git merge-tree` on two commits and classifies each conflict.
//!
//! The kind comes from the versions that git lists and from its machine-readable conflict types,
//! never from its messages for people.

use std::collections::{BTreeMap, BTreeSet};

use crate::git::{Git, GitError};

const SUBMODULE: &str = "160000";

/// A conflicting file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The path below the top of the repository.
    pub path: String,
    /// What the two sides did to the file.
    pub kind: ConflictKind,
}

/// Changes of two sides that conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConflictKind {
    /// Both changed the same lines.
    BothChanged,
    /// Both added a file with this name.
    BothAdded,
    /// The target deleted a file that the branch changed.
    DeletedInTarget,
    /// The branch deleted a file that the target changed.
    DeletedInBranch,
    /// One side renamed a file or directory, and the other side changed it too.
    Renamed,
    /// Both changed a binary file.
    Binary,
    /// Both changed the file type or the executable bit.
    Mode,
    /// Both moved a submodule, to commits neither of which contains the other.
    Submodule,
    /// One side has a file where the other has a directory.
    FileAgainstDirectory,
    /// Any other conflict, by git's name for it.
    Other(String),
}

impl ConflictKind {
    /// Describes the conflict for people; the texts are stored in journals.
    pub fn description(&self) -> &str {
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

    /// Returns how to resolve the conflict in a worktree of the branch while merging the target.
    ///
    /// `{}` stands for the file.
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

/// The output of `git merge-tree`.
pub(super) struct MergeTreeResult {
    pub(super) tree: String,
    pub(super) conflicts: Vec<ConflictVersions>,
}

/// A conflict with the versions that git listed for it.
pub(super) struct ConflictVersions {
    pub(super) conflict: Conflict,
    pub(super) versions: StageVersions,
}

/// Mode and object of the base, ours and theirs version of a file; `None` where it is missing.
#[derive(Clone, Debug, Default)]
pub(super) struct StageVersions([Option<(String, String)>; 3]);

impl StageVersions {
    /// Returns mode and object of index stage 1 (base), 2 (ours) or 3 (theirs).
    pub(super) fn of(&self, stage: usize) -> Option<(&str, &str)> {
        self.0[stage - 1].as_ref().map(|(mode, object)| (mode.as_str(), object.as_str()))
    }
}

/// Merges two commits without a checkout, with the git attributes of `ours`.
pub(super) fn merge_tree(git: &Git, ours: &str, theirs: &str) -> Result<MergeTreeResult, GitError> {
    if let Some(tree) = git.in_process().and_then(|repo| repo.merge(ours, theirs)) {
        return Ok(MergeTreeResult { tree, conflicts: Vec::new() });
    }
    // Without this, git would use the attributes of whatever is checked out.
    let git = git.with_env("GIT_ATTR_SOURCE", ours);
    let args = ["merge-tree", "--write-tree", "-z", "--messages", ours, theirs];
    let answer = git.ask(&args)?;
    match answer.code {
        Some(0 | 1) => Ok(parse(&answer.stdout, answer.success)),
        // Run again to get the error.
        _ => git.run(&args).map(|answer| parse(&answer.stdout, true)),
    }
}

/// Parses the tree, then the conflicting versions, then the conflict type of each path.
fn parse(output: &[u8], is_clean: bool) -> MergeTreeResult {
    let text = String::from_utf8_lossy(output);
    let mut words = text.split('\0');
    let tree = words.next().unwrap_or_default().to_owned();
    let mut files: BTreeMap<String, StageVersions> = BTreeMap::new();
    for line in words.by_ref().take_while(|line| !line.is_empty()) {
        let Some((header, path)) = line.split_once('\t') else { continue };
        let parts: Vec<_> = header.split(' ').collect();
        let versions = files.entry(path.to_owned()).or_default();
        if let [mode, object, stage @ ("1" | "2" | "3")] = parts[..] {
            let index = usize::from(stage.as_bytes()[0] - b'1');
            versions.0[index] = Some((mode.to_owned(), object.to_owned()));
        }
    }
    let mut types: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    while let Some(count) = words.next().and_then(|count| count.parse::<usize>().ok()) {
        let paths: Vec<&str> = words.by_ref().take(count).collect();
        let (kind, _sentence) = (words.next().unwrap_or_default(), words.next());
        let kind = kind.strip_prefix("CONFLICT (").and_then(|kind| kind.strip_suffix(')'));
        for path in paths {
            let inserted =
                kind.map(|kind| types.entry(path.to_owned()).or_default().insert(kind.into()));
            inserted.unwrap_or_default();
        }
    }
    if is_clean {
        return MergeTreeResult { tree, conflicts: Vec::new() };
    }
    if files.is_empty() {
        // Some conflicts list no file versions; then the messages name the paths.
        files.extend(types.keys().map(|path| (path.clone(), StageVersions::default())));
    }
    let none = BTreeSet::new();
    let classify = |(path, versions): (String, StageVersions)| {
        let kind = classify_conflict(types.get(&path).unwrap_or(&none), &versions);
        ConflictVersions { conflict: Conflict { path, kind }, versions }
    };
    MergeTreeResult { tree, conflicts: files.into_iter().map(classify).collect() }
}

fn classify_conflict(types: &BTreeSet<String>, versions: &StageVersions) -> ConflictKind {
    let has_type = |part: &str| types.iter().any(|word| word.contains(part));
    let is_submodule =
        (1..=3).any(|stage| versions.of(stage).is_some_and(|(mode, _)| mode == SUBMODULE));
    if is_submodule || has_type("submodule") {
        return ConflictKind::Submodule;
    }
    if has_type("rename") || has_type("directory rename") || has_type("implicit dir") {
        return ConflictKind::Renamed;
    }
    if has_type("file/directory") {
        return ConflictKind::FileAgainstDirectory;
    }
    if has_type("binary") {
        return ConflictKind::Binary;
    }
    match (versions.of(1), versions.of(2), versions.of(3)) {
        _ if has_type("mode") => ConflictKind::Mode,
        (_, Some((our_mode, our_object)), Some((their_mode, their_object)))
            if our_mode != their_mode && our_object == their_object =>
        {
            ConflictKind::Mode
        }
        (None, Some(_), Some(_)) => ConflictKind::BothAdded,
        (Some(_), Some(_), None) => ConflictKind::DeletedInBranch,
        (Some(_), None, Some(_)) => ConflictKind::DeletedInTarget,
        (Some(_), Some(_), Some(_)) => ConflictKind::BothChanged,
        _ => ConflictKind::Other(types.first().cloned().unwrap_or_else(|| "conflict".to_owned())),
    }
}

#[cfg(test)]
mod tests;
