//! Puts a phase's branch onto the reference of a run, without any checkout.
//!
//! The merge is computed by `git merge-tree`, edited in a private index, and becomes visible by one
//! compare-and-swap. Until then nothing can be seen of it, so a crash at any point is harmless:
//!
//! | what is found                                   | what happens                     |
//! |-------------------------------------------------|----------------------------------|
//! | the target has the commit with these trailers   | nothing, it is merged            |
//! | the target contains the branch                  | nothing, it is merged            |
//! | conflicts in code                               | nothing, they are listed         |
//! | conflicts in shared planning files              | the target's version is taken    |
//! | conflicts in the phase's own folder             | the branch's version is taken    |
//! | the target moved meanwhile                      | nothing, the caller tries again  |
//!
//! Shared planning files that the branch changed are left out and listed. [`crate::follow`] then
//! brings the user's branch along.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::commit::{self, CommitError, find_trailers, parse_trailers};
use crate::git::index::{Entry, PrivateIndex, tree_entries};
use crate::git::{Git, GitError};

/// The trailers that make a merge known begin with this.
const OUR_TRAILERS: &str = "Mow-";
const PLAIN_FILE: &str = "100644";

/// A branch to merge.
#[derive(Clone, Debug)]
pub struct Merge {
    /// The reference to merge onto, `refs/mow/run/<id>/target`.
    pub run_ref: String,
    /// The commit to merge.
    pub branch_commit: String,
    /// The message, with its trailers.
    pub message: String,
    /// Files and directories that are taken from the target whatever the branch did to them.
    pub keep_from_ours: Vec<String>,
    /// The directory inside those that comes from the branch nevertheless.
    pub own: Option<String>,
    /// Files that go into the merge with these contents.
    pub overlay: Vec<(String, Vec<u8>)>,
}

/// What came of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeOutcome {
    /// The target stands at this commit now.
    Merged {
        /// The merge.
        commit: String,
        /// The files of which the branch's version did not go in.
        left_out: Vec<String>,
    },
    /// It was merged before.
    AlreadyMerged {
        /// The merge, or else the target.
        commit: String,
        /// Whether the target contains all of the branch; if not, the branch grew since.
        whole: bool,
    },
    /// It cannot be merged; nothing was changed.
    Conflict {
        /// What is in conflict.
        files: Vec<Conflict>,
    },
    /// The target moved while the merge was made; nothing was changed.
    Moved,
}

/// A file in conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The file.
    pub path: String,
    /// Git's word for the conflict, such as `contents` or `modify/delete`.
    pub kind: String,
}

/// Why a merge could not be tried.
#[derive(Debug, Error)]
pub enum MergeError {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// There is no such commit or reference.
    #[error("{name} is no commit")]
    NoCommit {
        /// The name that was given.
        name: String,
    },
    /// Git does not know in whose name to commit.
    #[error(transparent)]
    Identity(#[from] CommitError),
}

/// Merges a branch onto a run's reference.
pub fn merge(git: &Git, merge: &Merge) -> Result<MergeOutcome, MergeError> {
    let git = &git.plumbing();
    let ours = commit_of(git, &merge.run_ref)?;
    let theirs = commit_of(git, &merge.branch_commit)?;
    if let Some(commit) = merged_before(git, merge, &ours, &theirs)? {
        let whole = git.is_ancestor(&theirs, &ours)?;
        return Ok(MergeOutcome::AlreadyMerged { commit, whole });
    }
    commit::identity_ok(git)?;
    let merged = merge_tree(git, &ours, &theirs)?;
    failpoint::reach("merge.tree.made");
    let (settled, open): (Vec<Conflict>, Vec<Conflict>) =
        merged.conflicts.into_iter().partition(|conflict| merge.settles(&conflict.path));
    if !open.is_empty() {
        return Ok(MergeOutcome::Conflict { files: open });
    }
    let tree = merge.settle(git, [&ours, &theirs, &merged.tree], &settled)?;
    let left_out = merge.left_out(git, [&ours, &theirs, &tree])?;
    let commit = commit_tree(git, &tree, [&ours, &theirs], &merge.message)?;
    failpoint::reach("merge.commit.made");
    let swap = ["update-ref", "-m", "mow: merge", &merge.run_ref, &commit, &ours];
    let swapped = git.ask(&swap)?;
    failpoint::reach("merge.ref.moved");
    if swapped.success {
        return Ok(MergeOutcome::Merged { commit, left_out });
    }
    if git.commit_of(&merge.run_ref)?.as_ref() != Some(&ours) {
        return Ok(MergeOutcome::Moved);
    }
    git.run(&swap)?;
    Ok(MergeOutcome::Merged { commit, left_out })
}

/// Commits files with these contents on top of a reference; returns where it stands then.
///
/// Nothing is committed when all of them are so already.
pub fn overlay(
    git: &Git,
    run_ref: &str,
    files: &[(String, Vec<u8>)],
    message: &str,
) -> Result<String, MergeError> {
    let git = &git.plumbing();
    commit::identity_ok(git)?;
    let ours = commit_of(git, run_ref)?;
    let job = Merge {
        run_ref: run_ref.to_owned(),
        branch_commit: ours.clone(),
        message: message.to_owned(),
        keep_from_ours: Vec::new(),
        own: None,
        overlay: files.to_vec(),
    };
    let tree = job.settle(git, [&ours, &ours, &ours], &[])?;
    if git.run(&["rev-parse", &format!("{ours}^{{tree}}")])?.text() == tree {
        return Ok(ours);
    }
    let commit = git.run(&["commit-tree", &tree, "-p", &ours, "-m", message])?.text();
    failpoint::reach("overlay.commit.made");
    git.run(&["update-ref", "-m", "mow: planning files", run_ref, &commit, &ours])?;
    failpoint::reach("overlay.ref.moved");
    Ok(commit)
}

impl Merge {
    fn is_own(&self, path: &str) -> bool {
        self.own.as_deref().is_some_and(|own| is_below(path, own))
    }

    fn is_kept(&self, path: &str) -> bool {
        !self.is_own(path) && self.keep_from_ours.iter().any(|prefix| is_below(path, prefix))
    }

    /// Returns whether a conflict in this file has an answer.
    fn settles(&self, path: &str) -> bool {
        self.is_own(path) || self.is_kept(path)
    }

    /// Returns the files of a tree that have an owner.
    fn entries(&self, git: &Git, tree: &str) -> Result<BTreeMap<Vec<u8>, Entry>, GitError> {
        let prefixes = self.keep_from_ours.iter().chain(&self.own);
        let prefixes: Vec<&str> = prefixes.map(|prefix| prefix.trim_end_matches('/')).collect();
        if prefixes.is_empty() {
            return Ok(BTreeMap::new());
        }
        let entries = tree_entries(git, tree, &prefixes)?;
        Ok(entries.into_iter().map(|entry| (entry.path.clone(), entry)).collect())
    }

    /// Gives each file with an owner the owner's version, and lays the overlay on top.
    fn settle(
        &self,
        git: &Git,
        [ours, theirs, merged]: [&str; 3],
        settled: &[Conflict],
    ) -> Result<String, GitError> {
        let (ours, theirs) = (self.entries(git, ours)?, self.entries(git, theirs)?);
        let merged_entries = self.entries(git, merged)?;
        let in_conflict: BTreeSet<&[u8]> = settled.iter().map(|c| c.path.as_bytes()).collect();
        let (mut removed, mut set) = (Vec::new(), Vec::new());
        let paths: BTreeSet<&Vec<u8>> =
            ours.keys().chain(theirs.keys()).chain(merged_entries.keys()).collect();
        for path in paths {
            let wanted = if self.is_kept(&String::from_utf8_lossy(path)) {
                ours.get(path)
            } else if in_conflict.contains(path.as_slice()) || !is_in_either(path, &ours, &theirs) {
                // Names that neither side knows are git's way to show a conflict.
                theirs.get(path)
            } else {
                continue;
            };
            match wanted {
                Some(entry) if merged_entries.get(path) == Some(entry) => {}
                Some(entry) => set.push(entry.clone()),
                None => removed.push(path.clone()),
            }
        }
        for (path, bytes) in &self.overlay {
            let args = ["hash-object", "-w", "--stdin", "--path", path];
            let object = git.run_with(&args, bytes)?.text();
            let path = path.as_bytes().to_vec();
            removed.retain(|removed| *removed != path);
            set.push(Entry { path, mode: PLAIN_FILE.to_owned(), object });
        }
        let index = PrivateIndex::empty(git)?;
        index.read_tree(merged)?;
        index.edit(&removed, &set)?;
        index.write_tree()
    }

    /// Lists the files that the branch changed and whose version did not go in.
    fn left_out(
        &self,
        git: &Git,
        [ours, theirs, tree]: [&str; 3],
    ) -> Result<Vec<String>, GitError> {
        let base = git.ask(&["merge-base", ours, theirs])?.text();
        if base.is_empty() {
            return Ok(Vec::new());
        }
        let (base, theirs, tree) =
            (self.entries(git, &base)?, self.entries(git, theirs)?, self.entries(git, tree)?);
        let paths: BTreeSet<&Vec<u8>> = base.keys().chain(theirs.keys()).collect();
        let left_out = paths.into_iter().filter(|path| {
            theirs.get(*path) != base.get(*path) && theirs.get(*path) != tree.get(*path)
        });
        let names = left_out.map(|path| String::from_utf8_lossy(path).into_owned());
        Ok(names.filter(|name| self.is_kept(name)).collect())
    }
}

fn is_in_either(
    path: &[u8],
    ours: &BTreeMap<Vec<u8>, Entry>,
    theirs: &BTreeMap<Vec<u8>, Entry>,
) -> bool {
    ours.contains_key(path) || theirs.contains_key(path)
}

fn is_below(path: &str, prefix: &str) -> bool {
    let prefix = prefix.trim_end_matches('/');
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn commit_of(git: &Git, name: &str) -> Result<String, MergeError> {
    git.commit_of(name)?.ok_or_else(|| MergeError::NoCommit { name: name.to_owned() })
}

/// Returns the commit by which the branch came onto the target, if it did.
fn merged_before(
    git: &Git,
    merge: &Merge,
    ours: &str,
    theirs: &str,
) -> Result<Option<String>, GitError> {
    let last_paragraph = merge.message.trim_end().rsplit("\n\n").next().unwrap_or_default();
    let wanted: Vec<(&str, &str)> = parse_trailers(last_paragraph)
        .into_iter()
        .filter(|(key, _)| key.starts_with(OUR_TRAILERS))
        .collect();
    if !wanted.is_empty() {
        // The branch's own commits carry such trailers too; they are not on the first line.
        let not_theirs = format!("^{theirs}");
        let base = git.ask(&["merge-base", ours, theirs])?.text();
        let not_base = format!("^{base}");
        let mut which = vec!["--first-parent", ours, &not_theirs];
        if !base.is_empty() {
            which.push(&not_base);
        }
        if let Some(commit) = find_trailers(git, &which, &wanted)? {
            return Ok(Some(commit));
        }
    }
    Ok(git.is_ancestor(theirs, ours)?.then(|| ours.to_owned()))
}

/// What `git merge-tree` made of two commits.
struct Merged {
    tree: String,
    conflicts: Vec<Conflict>,
}

fn merge_tree(git: &Git, ours: &str, theirs: &str) -> Result<Merged, GitError> {
    let args = ["merge-tree", "--write-tree", "-z", "--messages", ours, theirs];
    let answer = git.ask(&args)?;
    match answer.code {
        Some(0 | 1) => Ok(parse_merge_tree(&answer.stdout, answer.success)),
        // Once more for the error.
        _ => git.run(&args).map(|answer| parse_merge_tree(&answer.stdout, true)),
    }
}

/// Reads the tree, then the files in conflict, then what git says about which of them.
fn parse_merge_tree(output: &[u8], is_clean: bool) -> Merged {
    let text = String::from_utf8_lossy(output);
    let mut words = text.split('\0');
    let tree = words.next().unwrap_or_default().to_owned();
    let mut paths: BTreeSet<String> = words
        .by_ref()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| Some(line.split_once('\t')?.1.to_owned()))
        .collect();
    let mut kinds: BTreeMap<String, String> = BTreeMap::new();
    while let Some(count) = words.next().and_then(|count| count.parse::<usize>().ok()) {
        let about: Vec<&str> = words.by_ref().take(count).collect();
        let (kind, _sentence) = (words.next().unwrap_or_default(), words.next());
        if let Some(kind) = kind.strip_prefix("CONFLICT (").and_then(|kind| kind.strip_suffix(')'))
        {
            for path in about {
                kinds.entry(path.to_owned()).or_insert_with(|| kind.to_owned());
            }
        }
    }
    if is_clean {
        return Merged { tree, conflicts: Vec::new() };
    }
    if paths.is_empty() {
        // Git knows conflicts that leave no file behind.
        paths.extend(kinds.keys().cloned());
    }
    let kind = |path: &str| kinds.get(path).cloned().unwrap_or_else(|| "contents".to_owned());
    let conflicts = paths.into_iter().map(|path| Conflict { kind: kind(&path), path }).collect();
    Merged { tree, conflicts }
}

fn commit_tree(
    git: &Git,
    tree: &str,
    parents: [&str; 2],
    message: &str,
) -> Result<String, GitError> {
    let mut args = vec!["commit-tree", tree, "-p", parents[0], "-p", parents[1], "-F", "-"];
    // Unlike `git commit`, this command does not look at the setting itself.
    let sign = git.ask(&["config", "--type=bool", "commit.gpgSign"])?;
    if sign.text() == "true" {
        args.push("-S");
    }
    Ok(git.run_with(&args, message.as_bytes())?.text())
}

#[cfg(test)]
mod tests;
