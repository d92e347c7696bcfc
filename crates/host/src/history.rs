//! Reads commits with their trailers and changed files.
//!
//! Linear history is read in our own process ([`crate::git::in_process`]); otherwise one call of
//! git does it. Nothing is written here. A search for a trailer does not load the changed files.

use std::collections::BTreeMap;

use crate::git::{Git, GitError};

const FORMAT: &str = "--format=%m%H %P%n%(trailers:only=true,unfold=true)";
/// The mode that git writes for an absent file.
const NO_FILE: &str = "000000";
/// The mode that git writes for a nested repository.
const REPOSITORY: &str = "160000";

/// A commit with its trailers and, if loaded, its changed files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryCommit {
    /// The full hash.
    pub commit: String,
    /// The full hashes of its parents.
    pub parents: Vec<String>,
    /// Keys and values, in the order of the message.
    pub trailers: Vec<(String, String)>,
    /// Whether this commit is outside the requested range and only a parent of a commit in it.
    pub is_boundary: bool,
    /// The files that the commit changed; empty for merges and when changes were not loaded.
    pub changes: Vec<FileChange>,
}

impl HistoryCommit {
    /// Returns the value of the first trailer with this key.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.trailers.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

/// A file that a commit or a range of commits changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The path below the top of the repository.
    pub path: String,
    /// Mode and object hash before and after, as git writes them.
    pub(crate) sides: [(String, String); 2],
}

impl FileChange {
    /// Returns whether the file did not exist before.
    pub fn is_new(&self) -> bool {
        self.sides[0].0 == NO_FILE
    }

    /// Returns whether the path is now a nested repository, of which git stores a commit.
    pub fn is_repository(&self) -> bool {
        self.sides[1].0 == REPOSITORY
    }
}

/// The commits that a tip has and a base does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The commits of the range, newest first.
    pub commits: Vec<HistoryCommit>,
    /// Whether the base is a parent of one of the commits.
    pub starts_at_base: bool,
}

impl History {
    /// Loads the commits that `tip` contains and `base` does not.
    pub fn load(git: &Git, base: &str, tip: &str) -> Result<Self, GitError> {
        if base == tip {
            return Ok(Self::default());
        }
        if let Some(commits) =
            git.in_process().and_then(|repo| repo.linear_history(base, tip, true))
        {
            return Ok(Self { commits, starts_at_base: true });
        }
        Self::load_with_git(git, base, tip)
    }

    /// Loads the same commits with one call of git.
    pub(crate) fn load_with_git(git: &Git, base: &str, tip: &str) -> Result<Self, GitError> {
        let range = format!("{base}..{tip}");
        let raw = ["--raw", "--no-abbrev", "--no-renames", "--no-diff-merges", &range];
        let (boundary, commits): (Vec<_>, Vec<_>) =
            log_commits(git, &raw)?.into_iter().partition(|one| one.is_boundary);
        Ok(Self { commits, starts_at_base: boundary.iter().any(|one| one.commit == base) })
    }

    /// Returns the commits after `from` up to `to`, newest first; `None` unless each has exactly
    /// one parent in this history.
    pub fn linear_range(&self, from: &str, to: &str) -> Option<Vec<&HistoryCommit>> {
        let by_name: BTreeMap<_, _> =
            self.commits.iter().map(|one| (one.commit.as_str(), one)).collect();
        let (mut current, mut line) = (to, Vec::new());
        while current != from {
            let one = by_name.get(current)?;
            let [parent] = one.parents.as_slice() else { return None };
            line.push(*one);
            current = parent;
        }
        Some(line)
    }

    /// Returns the files that differ between two commits of linear history; `None` as for
    /// [`Self::linear_range`].
    pub fn changed_files(&self, from: &str, to: &str) -> Option<Vec<FileChange>> {
        let mut files: BTreeMap<&str, FileChange> = BTreeMap::new();
        for change in self.linear_range(from, to)?.into_iter().flat_map(|one| &one.changes) {
            let total = files.entry(&change.path).or_insert_with(|| change.clone());
            total.sides[0].clone_from(&change.sides[0]);
        }
        Some(files.into_values().filter(|change| change.sides[0] != change.sides[1]).collect())
    }
}

/// Returns the commits that `git log` lists, newest first, and their boundary commits.
fn log_commits(git: &Git, log_args: &[&str]) -> Result<Vec<HistoryCommit>, GitError> {
    let mut args = vec!["log", "-z", "--topo-order", "--boundary", "--no-show-signature", FORMAT];
    args.extend(log_args);
    args.push("--");
    Ok(parse(&git.plumbing().run(&args)?.stdout))
}

/// Parses NUL-separated commits, each followed by its changes: modes and objects, then the path.
fn parse(output: &[u8]) -> Vec<HistoryCommit> {
    let text = String::from_utf8_lossy(output);
    let mut words = text.split('\0');
    let mut commits: Vec<HistoryCommit> = Vec::new();
    while let Some(word) = words.next() {
        let sides = word.trim_start_matches('\n').strip_prefix(':').and_then(parse_sides);
        match (sides, commits.last_mut()) {
            (Some(sides), Some(last)) => {
                let path = words.next().unwrap_or_default().to_owned();
                last.changes.push(FileChange { path, sides });
            }
            _ => commits.extend(parse_commit(word)),
        }
    }
    commits
}

/// Parses a commit: a mark and its hash, its parents, then its trailer lines.
fn parse_commit(word: &str) -> Option<HistoryCommit> {
    let (names, lines) = word.split_once('\n')?;
    let mut names = names.split_whitespace();
    let commit = names.next()?;
    let pairs = parse_trailers(lines).into_iter();
    Some(HistoryCommit {
        is_boundary: commit.starts_with('-'),
        commit: commit.trim_start_matches(['-', '>', '<']).to_owned(),
        parents: names.map(str::to_owned).collect(),
        trailers: pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        changes: Vec::new(),
    })
}

/// Parses `<mode> <mode> <object> <object> <letter>`.
fn parse_sides(text: &str) -> Option<[(String, String); 2]> {
    let mut words = text.split(' ').map(str::to_owned);
    let (old, new) = (words.next()?, words.next()?);
    Some([(old, words.next()?), (new, words.next()?)])
}

/// Returns the newest commit that `git log` lists and that carries all these trailers.
pub(crate) fn find_commit_with_trailers(
    git: &Git,
    log_args: &[&str],
    wanted: &[(&str, &str)],
) -> Result<Option<String>, GitError> {
    let carries = |one: &HistoryCommit, (key, value): &(&str, &str)| {
        one.trailers.iter().any(|(own_key, own_value)| own_key == key && own_value == value)
    };
    let has_all = |one: &HistoryCommit| wanted.iter().all(|pair| carries(one, pair));
    let mut commits = match linear_commits(git, log_args) {
        Some(line) => line,
        None => log_commits(git, log_args)?,
    }
    .into_iter();
    Ok(commits.find(|one| !one.is_boundary && has_all(one)).map(|one| one.commit))
}

/// Reads `base..tip` in our own process.
fn linear_commits(git: &Git, log_args: &[&str]) -> Option<Vec<HistoryCommit>> {
    let [range] = log_args else { return None };
    let (base, tip) = range.split_once("..")?;
    git.in_process()?.linear_history(base, tip, false)
}

/// Parses the lines of a trailer paragraph.
pub(crate) fn parse_trailers(paragraph: &str) -> Vec<(&str, &str)> {
    let pairs = paragraph.lines().filter_map(|line| line.split_once(':'));
    pairs.map(|(key, value)| (key.trim(), value.trim())).collect()
}

#[cfg(test)]
mod tests;
