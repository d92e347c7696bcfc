//! What commits say in their trailers and what they changed, read in our own process where they
//! are a plain line ([`crate::git::plain`]), or else with one call of git.
//!
//! Nothing here writes anything. Who only looks for a trailer does not pay for the changes.

use std::collections::BTreeMap;

use crate::git::{Git, GitError};

const FORMAT: &str = "--format=%m%H %P%n%(trailers:only=true,unfold=true)";
/// How git writes the kind of a file that is not there.
const NO_FILE: &str = "000000";
/// And that of a repository of its own.
const REPOSITORY: &str = "160000";

/// A commit and its trailers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trailed {
    /// The commit.
    pub commit: String,
    /// What it builds on.
    pub parents: Vec<String>,
    /// Its trailers, in order.
    pub trailers: Vec<(String, String)>,
    /// Whether it is not one of those asked for, but a parent of one.
    pub is_boundary: bool,
    /// The files that it changed, where that was asked and it is no merge.
    pub changes: Vec<Change>,
}

impl Trailed {
    /// Returns the value of a trailer.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.trailers.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

/// A file that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its name below the top of the repository.
    pub path: String,
    /// What it was and what it is, each as git writes its kind and its content.
    pub(crate) sides: [(String, String); 2],
}

impl Change {
    /// Returns whether there was no such file before.
    pub fn is_new(&self) -> bool {
        self.sides[0].0 == NO_FILE
    }

    /// Returns whether it is a repository of its own now, of which git knows a commit.
    pub fn is_repository(&self) -> bool {
        self.sides[1].0 == REPOSITORY
    }
}

/// The commits from a base to a tip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The commits, newest first.
    pub commits: Vec<Trailed>,
    /// Whether they begin at the base.
    pub is_based: bool,
}

impl History {
    /// Reads the commits of a tip that a base does not contain.
    pub fn load(git: &Git, base: &str, tip: &str) -> Result<Self, GitError> {
        if base == tip {
            return Ok(Self::default());
        }
        if let Some(commits) = git.plain().and_then(|plain| plain.line(base, tip, true)) {
            return Ok(Self { commits, is_based: true });
        }
        Self::ask(git, base, tip)
    }

    /// Reads the same with git.
    pub(crate) fn ask(git: &Git, base: &str, tip: &str) -> Result<Self, GitError> {
        let range = format!("{base}..{tip}");
        let raw = ["--raw", "--no-abbrev", "--no-renames", "--no-diff-merges", &range];
        let (edge, commits): (Vec<_>, Vec<_>) =
            trailed(git, &raw)?.into_iter().partition(|one| one.is_boundary);
        Ok(Self { commits, is_based: edge.iter().any(|one| one.commit == base) })
    }

    /// Returns the commits after one and up to another, newest first; `None` when these do not follow
    /// one another in a plain line.
    pub fn line(&self, from: &str, to: &str) -> Option<Vec<&Trailed>> {
        let by_name: BTreeMap<_, _> =
            self.commits.iter().map(|one| (one.commit.as_str(), one)).collect();
        let (mut at, mut line) = (to, Vec::new());
        while at != from {
            let one = by_name.get(at)?;
            let [parent] = one.parents.as_slice() else { return None };
            line.push(*one);
            at = parent;
        }
        Some(line)
    }

    /// Returns the files that differ between two commits of a plain line.
    pub fn differing(&self, from: &str, to: &str) -> Option<Vec<Change>> {
        let mut files: BTreeMap<&str, Change> = BTreeMap::new();
        for change in self.line(from, to)?.into_iter().flat_map(|one| &one.changes) {
            let known = files.entry(&change.path).or_insert_with(|| change.clone());
            known.sides[0].clone_from(&change.sides[0]);
        }
        Some(files.into_values().filter(|change| change.sides[0] != change.sides[1]).collect())
    }
}

/// Returns the commits that `git log` lists, newest first, and those that they build on.
fn trailed(git: &Git, which: &[&str]) -> Result<Vec<Trailed>, GitError> {
    let mut args = vec!["log", "-z", "--topo-order", "--boundary", "--no-show-signature", FORMAT];
    args.extend(which);
    args.push("--");
    Ok(parse(&git.plumbing().run(&args)?.stdout))
}

/// Reads commits, each followed by its changes: what kind of change, then the name.
fn parse(output: &[u8]) -> Vec<Trailed> {
    let text = String::from_utf8_lossy(output);
    let mut words = text.split('\0');
    let mut commits: Vec<Trailed> = Vec::new();
    while let Some(word) = words.next() {
        let sides = word.trim_start_matches('\n').strip_prefix(':').and_then(parse_sides);
        match (sides, commits.last_mut()) {
            (Some(sides), Some(last)) => {
                let path = words.next().unwrap_or_default().to_owned();
                last.changes.push(Change { path, sides });
            }
            _ => commits.extend(parse_commit(word)),
        }
    }
    commits
}

/// Reads a commit: a letter and its name, its parents, then the lines of its trailers.
fn parse_commit(word: &str) -> Option<Trailed> {
    let (names, lines) = word.split_once('\n')?;
    let mut names = names.split_whitespace();
    let commit = names.next()?;
    let pairs = parse_trailers(lines).into_iter();
    Some(Trailed {
        is_boundary: commit.starts_with('-'),
        commit: commit.trim_start_matches(['-', '>', '<']).to_owned(),
        parents: names.map(str::to_owned).collect(),
        trailers: pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        changes: Vec::new(),
    })
}

/// Reads `<mode> <mode> <object> <object> <letter>`.
fn parse_sides(text: &str) -> Option<[(String, String); 2]> {
    let mut words = text.split(' ').map(str::to_owned);
    let (old, new) = (words.next()?, words.next()?);
    Some([(old, words.next()?), (new, words.next()?)])
}

/// Returns the newest commit of those that `git log` lists which carries all the trailers.
pub(crate) fn find_trailers(
    git: &Git,
    which: &[&str],
    wanted: &[(&str, &str)],
) -> Result<Option<String>, GitError> {
    let carries = |one: &Trailed, (key, value): &(&str, &str)| {
        one.trailers.iter().any(|(own, said)| own == key && said == value)
    };
    let has_all = |one: &Trailed| wanted.iter().all(|pair| carries(one, pair));
    let mut commits = match plain_line(git, which) {
        Some(line) => line,
        None => trailed(git, which)?,
    }
    .into_iter();
    Ok(commits.find(|one| !one.is_boundary && has_all(one)).map(|one| one.commit))
}

/// Reads `base..tip` without git.
fn plain_line(git: &Git, which: &[&str]) -> Option<Vec<Trailed>> {
    let [range] = which else { return None };
    let (base, tip) = range.split_once("..")?;
    git.plain()?.line(base, tip, false)
}

/// Reads the lines of a paragraph of trailers.
pub(crate) fn parse_trailers(paragraph: &str) -> Vec<(&str, &str)> {
    let pairs = paragraph.lines().filter_map(|line| line.split_once(':'));
    pairs.map(|(key, value)| (key.trim(), value.trim())).collect()
}

#[cfg(test)]
mod tests;
