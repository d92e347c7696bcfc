//! Merges a phase's branch onto the target ref of a run, without any checkout.
//!
//! `git merge-tree` computes the merge, a private index edits it, and one compare-and-swap of the
//! ref publishes it. Nothing is visible before the swap, so a crash at any point is harmless:
//!
//! | state found                                     | action                           |
//! |-------------------------------------------------|----------------------------------|
//! | the target has the commit with these trailers   | none: already merged             |
//! | the target contains the branch                  | none: already merged             |
//! | conflicts in code                               | none: the conflicts are listed   |
//! | conflicts in shared planning files              | the target's version wins,       |
//! |                                                 | or both versions are joined      |
//! | conflicts in the phase's own folder             | the branch's version wins        |
//! | the target moved during the merge               | none: the caller retries         |
//!
//! The branch's changes to shared planning files are left out of the merge; [`keep_left_out`] saves
//! them under a rescue ref. [`crate::fast_forward`] then updates the user's branch. [`merge`] does
//! everything at once; [`compute`], [`create_commit`] and [`move_target`] do it in steps, so that
//! the caller can run checks on the merge commit before it becomes visible.

mod commit_and_swap;
mod conflict;
mod merge_trial;
mod overlay_commit;

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::commit::CommitError;
use crate::git::private_index::{IndexEntry, PrivateIndex, tree_entries};
use crate::git::{Git, GitError, is_below, parse_names};
use crate::history::{find_commit_with_trailers, parse_trailers};
use crate::rescue::{self, RescueError, RescueRef};

use commit_and_swap::{commit_tree, swap_ref};
use conflict::{ConflictVersions, merge_tree};

pub use conflict::{Conflict, ConflictKind};
pub use merge_trial::{trial_commit, try_merge};
pub use overlay_commit::{OverlayCommit, commit_overlay, move_target_to_overlay};

/// Prefix of the commit trailers by which an earlier merge is recognised.
const OUR_TRAILERS: &str = "Mow-";
const PLAIN_FILE: &str = "100644";

/// Start of the subject of commits that hold files left out of a merge.
pub const LEFT_OUT_SUBJECT: &str = "Left out of the merge of ";

/// Joins the base, ours and theirs versions of the conflicting file at a path.
///
/// Returns `None` when only a person can resolve the conflict.
pub type JoinFn = fn(&str, [&[u8]; 3]) -> Option<Vec<u8>>;

/// A branch to merge, and the rules for files with a fixed owner.
#[derive(Clone, Debug)]
pub struct MergeJob {
    /// The target ref to merge onto, `refs/mow/run/<id>/target`.
    pub run_ref: String,
    /// The tip of the branch to merge.
    pub branch_commit: String,
    /// The message of the merge commit, with its trailers.
    pub message: String,
    /// Files and directories that always keep the target's version.
    pub keep_from_ours: Vec<String>,
    /// The phase's own directory inside `keep_from_ours`; here the branch's version wins.
    pub own: Option<String>,
    /// Files to write into the merge, as path and content.
    pub overlay: Vec<(String, Vec<u8>)>,
    /// Resolves conflicts in files that neither list above covers.
    pub join: Option<JoinFn>,
}

/// The changes of a branch, known from watching all its commits; saves asking git for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownChanges {
    /// The target commit at which this holds: it contains the base of the branch's commits and none
    /// of them. The other field is ignored when the target is at another commit.
    pub target: String,
    /// Every file that the branch's commits changed.
    pub touched: Vec<String>,
}

/// A computed merge that can be committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyMerge {
    /// The target commit that the merge was computed on.
    pub ours: String,
    /// The branch's commit.
    pub theirs: String,
    /// The merged tree.
    pub tree: String,
    /// Files whose version from the branch is not in the merge.
    pub left_out: Vec<String>,
}

/// The result of computing a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeComputation {
    /// The merge has no open conflicts and can be committed.
    Ready(ReadyMerge),
    /// There is nothing to commit: the branch is already merged, or it conflicts.
    Final(MergeOutcome),
}

/// The outcome of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeOutcome {
    /// The target ref points to the merge now.
    Merged {
        /// The merge commit.
        commit: String,
        /// Files whose version from the branch is not in the merge.
        left_out: Vec<String>,
    },
    /// The branch was merged earlier; nothing was changed.
    AlreadyMerged {
        /// The earlier merge commit, or the target commit if the branch was fast-forwarded into it.
        commit: String,
        /// Whether the target contains the branch's tip; false if the branch got commits since.
        is_complete: bool,
    },
    /// The branch conflicts with the target; nothing was changed.
    Conflict {
        /// The conflicting files that no rule resolves.
        files: Vec<Conflict>,
    },
    /// The target ref moved during the merge; nothing was changed.
    Moved,
}

/// A failure that prevented computing or committing a merge.
#[derive(Debug, Error)]
pub enum MergeError {
    /// A git command failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A name resolves to no commit.
    #[error("{name} is not a commit")]
    NoCommit {
        /// The name as the caller gave it.
        name: String,
    },
    /// Git has no author name or email to commit with.
    #[error(transparent)]
    Identity(#[from] CommitError),
    /// The user has `commit.gpgSign` set, and signing failed.
    #[error("the merge commit could not be signed, which commit.gpgSign requires: {message}")]
    SigningFailed {
        /// Git's error output.
        message: String,
    },
}

/// Merges a branch onto a run's target ref.
pub fn merge(git: &Git, job: &MergeJob) -> Result<MergeOutcome, MergeError> {
    match compute(git, job)? {
        MergeComputation::Final(outcome) => Ok(outcome),
        MergeComputation::Ready(ready) => {
            let commit = create_commit(git, job, &ready)?;
            if !move_target(git, job, &ready, &commit)? {
                return Ok(MergeOutcome::Moved);
            }
            Ok(MergeOutcome::Merged { commit, left_out: ready.left_out })
        }
    }
}

/// Computes a merge. This writes git objects, but changes no ref.
pub fn compute(git: &Git, job: &MergeJob) -> Result<MergeComputation, MergeError> {
    compute_with_known_changes(git, job, None)
}

/// Like [`compute`], with `known` saving git calls while it applies to the current target.
pub fn compute_with_known_changes(
    git: &Git,
    job: &MergeJob,
    known: Option<&KnownChanges>,
) -> Result<MergeComputation, MergeError> {
    let git = &git.plumbing();
    let ours = commit_of(git, &job.run_ref)?;
    match known.filter(|known| known.target == ours) {
        Some(known) => merge_commits(git, job, (ours, job.branch_commit.clone()), Some(known)),
        None => compute_for_target(git, job, ours),
    }
}

fn compute_for_target(
    git: &Git,
    job: &MergeJob,
    ours: String,
) -> Result<MergeComputation, MergeError> {
    let theirs = commit_of(git, &job.branch_commit)?;
    if let Some(commit) = merged_before(git, job, &ours, &theirs)? {
        let is_complete = git.is_ancestor(&theirs, &ours)?;
        return Ok(MergeComputation::Final(MergeOutcome::AlreadyMerged { commit, is_complete }));
    }
    merge_commits(git, job, (ours, theirs), None)
}

/// Merges two commits; the target (`ours`) does not contain `theirs`.
fn merge_commits(
    git: &Git,
    job: &MergeJob,
    (ours, theirs): (String, String),
    known: Option<&KnownChanges>,
) -> Result<MergeComputation, MergeError> {
    let merged = merge_tree(git, &ours, &theirs)?;
    failpoint::reach("merge.tree.made");
    let needs_edit = match known {
        Some(known) => job.needs_edit_for(&known.touched),
        None => job.needs_edit(git, &ours, &theirs)?,
    };
    if merged.conflicts.is_empty() && !needs_edit {
        let ready = ReadyMerge { ours, theirs, tree: merged.tree, left_out: Vec::new() };
        return Ok(MergeComputation::Ready(ready));
    }
    let (resolvable, unresolved): (Vec<ConflictVersions>, Vec<ConflictVersions>) =
        merged.conflicts.into_iter().partition(|conflict| job.can_resolve(&conflict.conflict.path));
    let (joined, unresolved) = job.join_all(git, unresolved)?;
    if !unresolved.is_empty() {
        return Ok(MergeComputation::Final(MergeOutcome::Conflict { files: unresolved }));
    }
    let resolvable: Vec<_> = resolvable.into_iter().map(|conflict| conflict.conflict).collect();
    let tree = job.edit_tree(git, [&ours, &theirs, &merged.tree], (&resolvable, joined))?;
    job.with_left_out(git, ours, theirs, tree).map(MergeComputation::Ready)
}

/// Builds a merge from a tree in which the conflicts with `ours` have been resolved.
///
/// Files with a fixed owner still get the owner's version, whatever the tree holds.
pub fn from_resolved_tree(
    git: &Git,
    job: &MergeJob,
    ours: &str,
    tree: &str,
) -> Result<ReadyMerge, MergeError> {
    let git = &git.plumbing();
    let theirs = commit_of(git, &job.branch_commit)?;
    let tree = job.edit_tree(git, [ours, &theirs, tree], (&[], Vec::new()))?;
    job.with_left_out(git, ours.to_owned(), theirs, tree)
}

/// Creates the merge commit. No ref points to it yet.
pub fn create_commit(git: &Git, job: &MergeJob, ready: &ReadyMerge) -> Result<String, MergeError> {
    let git = &git.plumbing();
    let commit = commit_tree(git, &ready.tree, &[&ready.ours, &ready.theirs], &job.message)?;
    failpoint::reach("merge.commit.made");
    Ok(commit)
}

/// Moves the target ref to the merge commit, unless the ref moved since; returns whether it did.
pub fn move_target(
    git: &Git,
    job: &MergeJob,
    ready: &ReadyMerge,
    commit: &str,
) -> Result<bool, MergeError> {
    let moved = swap_ref(&git.plumbing(), &job.run_ref, (&ready.ours, commit), "mow: merge")?;
    if moved {
        failpoint::reach("merge.ref.moved");
    }
    Ok(moved)
}

/// Saves the files left out of a merge in a commit on top of `merged`, under a rescue ref.
///
/// `name` is the rescue name, `branch` the commit with the files. Returns `None` if the list is
/// empty.
pub fn keep_left_out(
    git: &Git,
    (name, branch): (&str, &str),
    merged: &str,
    left_out: &[String],
) -> Result<Option<RescueRef>, RescueError> {
    let git = &git.plumbing();
    let paths: Vec<&str> = left_out.iter().map(String::as_str).collect();
    if paths.is_empty() {
        return Ok(None);
    }
    let set = tree_entries(git, branch, &paths)?;
    let is_set = |path: &str| set.iter().any(|entry| entry.path == path.as_bytes());
    let removed: Vec<_> =
        paths.iter().filter(|p| !is_set(p)).map(|p| p.as_bytes().to_vec()).collect();
    let index = PrivateIndex::empty(git)?;
    index.read_tree(merged)?;
    index.edit(&removed, &set)?;
    rescue::keep_tree(
        git,
        name,
        (&index.write_tree()?, merged),
        &format!("{LEFT_OUT_SUBJECT}{name}"),
    )
    .map(Some)
}

impl MergeJob {
    /// Returns whether a file is in the phase's own directory.
    pub fn is_own(&self, path: &str) -> bool {
        self.own.as_deref().is_some_and(|own| is_below(path.as_bytes(), own.as_bytes()))
    }

    fn is_kept_from_target(&self, path: &str) -> bool {
        !self.is_own(path)
            && self.keep_from_ours.iter().any(|prefix| is_below(path.as_bytes(), prefix.as_bytes()))
    }

    /// Returns whether a rule decides which side wins a conflict in this file.
    fn can_resolve(&self, path: &str) -> bool {
        self.is_own(path) || self.is_kept_from_target(path)
    }

    /// Returns whether git's merge result must be edited for a branch that changed these files:
    /// some keep the target's version, or there is an overlay.
    fn needs_edit_for(&self, changed: &[String]) -> bool {
        !self.overlay.is_empty() || changed.iter().any(|path| self.is_kept_from_target(path))
    }

    /// Returns whether git's merge result must be edited; asks git which files the branch changed.
    fn needs_edit(&self, git: &Git, ours: &str, theirs: &str) -> Result<bool, GitError> {
        let since = format!("{ours}...{theirs}");
        let mut args = vec!["--literal-pathspecs", "diff", "--name-only", "--no-renames", "-z"];
        args.extend(["--no-ext-diff", &since, "--"]);
        args.extend(self.keep_from_ours.iter().map(String::as_str));
        if self.keep_from_ours.is_empty() || !self.overlay.is_empty() {
            return Ok(!self.overlay.is_empty());
        }
        let answer = git.ask(&args)?;
        // Without a common ancestor `git diff A...B` fails; then assume that an edit is needed.
        Ok(!answer.success || self.needs_edit_for(&parse_names(&answer.stdout)))
    }

    /// Joins the conflicting files that `join` can resolve; returns them and the remaining
    /// conflicts.
    fn join_all(
        &self,
        git: &Git,
        unresolved: Vec<ConflictVersions>,
    ) -> Result<(Vec<IndexEntry>, Vec<Conflict>), GitError> {
        let (mut joined, mut remaining) = (Vec::new(), Vec::new());
        for ConflictVersions { conflict, versions } in unresolved {
            let text = |stage: usize| match versions.of(stage) {
                Some((_, object)) => Ok(git.run(&["cat-file", "blob", object])?.stdout),
                None => Ok(Vec::new()),
            };
            let path = &conflict.path;
            let both = self.join.zip(versions.of(2)).filter(|_| versions.of(3).is_some());
            let bytes = match both {
                Some((join, _)) => join(path, [&text(1)?, &text(2)?, &text(3)?]),
                None => None,
            };
            let (Some((_, (mode, _))), Some(bytes)) = (both, bytes) else {
                remaining.push(conflict);
                continue;
            };
            let object = git.run_with(&["hash-object", "-w", "--stdin"], &bytes)?.text();
            let (path, mode) = (path.as_bytes().to_vec(), mode.to_owned());
            joined.push(IndexEntry { path, mode, object });
        }
        Ok((joined, remaining))
    }

    fn with_left_out(
        &self,
        git: &Git,
        ours: String,
        theirs: String,
        tree: String,
    ) -> Result<ReadyMerge, MergeError> {
        let left_out = self.left_out(git, [&ours, &theirs, &tree])?;
        Ok(ReadyMerge { ours, theirs, tree, left_out })
    }

    /// Returns the files of a tree that have a fixed owner, by path.
    fn owned_entries(
        &self,
        git: &Git,
        tree: &str,
    ) -> Result<BTreeMap<Vec<u8>, IndexEntry>, GitError> {
        let prefixes = self.keep_from_ours.iter().chain(&self.own);
        let prefixes: Vec<&str> = prefixes.map(|prefix| prefix.trim_end_matches('/')).collect();
        if prefixes.is_empty() {
            return Ok(BTreeMap::new());
        }
        let entries = tree_entries(git, tree, &prefixes)?;
        Ok(entries.into_iter().map(|entry| (entry.path.clone(), entry)).collect())
    }

    /// Returns `merged` with the owner's version of each owned file, the joined files and the
    /// overlay.
    fn edit_tree(
        &self,
        git: &Git,
        [ours, theirs, merged]: [&str; 3],
        (resolvable, joined): (&[Conflict], Vec<IndexEntry>),
    ) -> Result<String, GitError> {
        let (ours, theirs) = (self.owned_entries(git, ours)?, self.owned_entries(git, theirs)?);
        let merged_entries = self.owned_entries(git, merged)?;
        let in_conflict: BTreeSet<&[u8]> = resolvable.iter().map(|c| c.path.as_bytes()).collect();
        let (mut removed, mut set) = (Vec::new(), joined);
        let paths: BTreeSet<&Vec<u8>> =
            ours.keys().chain(theirs.keys()).chain(merged_entries.keys()).collect();
        for path in paths {
            let wanted = if self.is_kept_from_target(&String::from_utf8_lossy(path)) {
                ours.get(path)
            } else if in_conflict.contains(path.as_slice()) || !is_in_either(path, &ours, &theirs) {
                // `merge-tree` marks some conflicts with invented file names, which neither side
                // has.
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
            set.push(IndexEntry { path, mode: PLAIN_FILE.to_owned(), object });
        }
        let index = PrivateIndex::empty(git)?;
        index.read_tree(merged)?;
        index.edit(&removed, &set)?;
        index.write_tree()
    }

    /// Lists the files that the branch changed and whose version is not in `tree`.
    fn left_out(
        &self,
        git: &Git,
        [ours, theirs, tree]: [&str; 3],
    ) -> Result<Vec<String>, GitError> {
        let base = git.ask(&["merge-base", ours, theirs])?.text();
        if base.is_empty() {
            return Ok(Vec::new());
        }
        let (base, theirs, tree) = (
            self.owned_entries(git, &base)?,
            self.owned_entries(git, theirs)?,
            self.owned_entries(git, tree)?,
        );
        let paths: BTreeSet<&Vec<u8>> = base.keys().chain(theirs.keys()).collect();
        let left_out = paths.into_iter().filter(|path| {
            theirs.get(*path) != base.get(*path) && theirs.get(*path) != tree.get(*path)
        });
        let names = left_out.map(|path| String::from_utf8_lossy(path).into_owned());
        Ok(names.filter(|name| self.is_kept_from_target(name)).collect())
    }
}

fn is_in_either(
    path: &[u8],
    ours: &BTreeMap<Vec<u8>, IndexEntry>,
    theirs: &BTreeMap<Vec<u8>, IndexEntry>,
) -> bool {
    ours.contains_key(path) || theirs.contains_key(path)
}

fn commit_of(git: &Git, name: &str) -> Result<String, MergeError> {
    git.commit_of(name)?.ok_or_else(|| MergeError::NoCommit { name: name.to_owned() })
}

/// Returns the commit that merged the branch into the target, if any.
fn merged_before(
    git: &Git,
    job: &MergeJob,
    ours: &str,
    theirs: &str,
) -> Result<Option<String>, GitError> {
    let last_paragraph = job.message.trim_end().rsplit("\n\n").next().unwrap_or_default();
    let wanted: Vec<(&str, &str)> = parse_trailers(last_paragraph)
        .into_iter()
        .filter(|(key, _)| key.starts_with(OUR_TRAILERS))
        .collect();
    if !wanted.is_empty() {
        // The branch's own commits carry such trailers too, but are not on the first-parent line.
        let not_theirs = format!("^{theirs}");
        let which = ["--first-parent", ours, &not_theirs];
        if let Some(commit) = find_commit_with_trailers(git, &which, &wanted)? {
            return Ok(Some(commit));
        }
    }
    Ok(git.is_ancestor(theirs, ours)?.then(|| ours.to_owned()))
}

#[cfg(test)]
mod tests;
