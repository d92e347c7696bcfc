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
//! | conflicts in shared planning files              | the target's version is taken,   |
//! |                                                 | or both are joined               |
//! | conflicts in the phase's own folder             | the branch's version is taken    |
//! | the target moved meanwhile                      | nothing, the caller tries again  |
//!
//! Shared planning files that the branch changed are left out, listed and kept by [`keep_left_out`].
//! [`crate::follow`] then brings the user's branch along. A merge can be made in steps, so that its
//! result is checked before anybody sees it: [`plan`], [`seal`], [`land`].

mod conflict;
mod overlay;
mod sealing;
mod sketch;

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::commit::CommitError;
use crate::git::index::{Entry, PrivateIndex, tree_entries};
use crate::git::{Git, GitError, is_below, parse_names};
use crate::history::{find_trailers, parse_trailers};
use crate::rescue::{self, RescueError, Rescued};

use conflict::{Found, merge_tree};
use sealing::{commit_tree, swap};

pub use conflict::{Conflict, Kind};
pub use overlay::{Overlaid, advance, overlay};
pub use sketch::{glimpse, sketch};

/// The trailers that make a merge known begin with this.
const OUR_TRAILERS: &str = "Mow-";
const PLAIN_FILE: &str = "100644";

/// What commits of left out files begin with.
pub const LEFT_OUT: &str = "Left out of the merge of ";

/// Joins the base, ours and theirs of a file in conflict; `None` where only a person can.
pub type Join = fn(&str, [&[u8]; 3]) -> Option<Vec<u8>>;

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
    /// Joins files in conflict that have no owner.
    pub join: Option<Join>,
}

/// What is known of a branch whose commits were all made while the target was watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Where the target stands that contains none of these commits, but what they build on. Nothing
    /// else is known when it stands anywhere else.
    pub target: String,
    /// All files that the commits changed.
    pub touched: Vec<String>,
}

/// A merge that can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The target as it was.
    pub ours: String,
    /// The branch.
    pub theirs: String,
    /// What comes of both.
    pub tree: String,
    /// The files of which the branch's version did not go in.
    pub left_out: Vec<String>,
}

/// What is known of a merge before it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Planned {
    /// It can be made.
    Ready(Ready),
    /// It was merged before, or it conflicts: there is nothing to make.
    Not(MergeOutcome),
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
    /// The user signs commits, and that did not work.
    #[error("the merge could not be signed, as commit.gpgSign wants: {said}")]
    Unsigned {
        /// What git said.
        said: String,
    },
}

/// Merges a branch onto a run's reference.
pub fn merge(git: &Git, merge: &Merge) -> Result<MergeOutcome, MergeError> {
    match plan(git, merge)? {
        Planned::Not(outcome) => Ok(outcome),
        Planned::Ready(ready) => {
            let commit = seal(git, merge, &ready)?;
            if !land(git, merge, &ready, &commit)? {
                return Ok(MergeOutcome::Moved);
            }
            Ok(MergeOutcome::Merged { commit, left_out: ready.left_out })
        }
    }
}

/// Finds out what a merge comes to. Nothing can be seen of it but objects.
pub fn plan(git: &Git, merge: &Merge) -> Result<Planned, MergeError> {
    plan_knowing(git, merge, None)
}

/// The same, where something is known of the branch.
pub fn plan_knowing(
    git: &Git,
    merge: &Merge,
    known: Option<&Known>,
) -> Result<Planned, MergeError> {
    let git = &git.plumbing();
    let ours = commit_of(git, &merge.run_ref)?;
    match known.filter(|known| known.target == ours) {
        Some(known) => combine(git, merge, (ours, merge.branch_commit.clone()), Some(known)),
        None => plan_asking(git, merge, ours),
    }
}

fn plan_asking(git: &Git, merge: &Merge, ours: String) -> Result<Planned, MergeError> {
    let theirs = commit_of(git, &merge.branch_commit)?;
    if let Some(commit) = merged_before(git, merge, &ours, &theirs)? {
        let whole = git.is_ancestor(&theirs, &ours)?;
        return Ok(Planned::Not(MergeOutcome::AlreadyMerged { commit, whole }));
    }
    combine(git, merge, (ours, theirs), None)
}

/// Merges two commits, of which the target does not contain the other.
fn combine(
    git: &Git,
    merge: &Merge,
    (ours, theirs): (String, String),
    known: Option<&Known>,
) -> Result<Planned, MergeError> {
    let merged = merge_tree(git, &ours, &theirs)?;
    failpoint::reach("merge.tree.made");
    let has_a_say = match known {
        Some(known) => merge.is_wanted_otherwise(&known.touched),
        None => merge.has_a_say(git, &ours, &theirs)?,
    };
    if merged.conflicts.is_empty() && !has_a_say {
        let ready = Ready { ours, theirs, tree: merged.tree, left_out: Vec::new() };
        return Ok(Planned::Ready(ready));
    }
    let (settled, open): (Vec<Found>, Vec<Found>) =
        merged.conflicts.into_iter().partition(|found| merge.settles(&found.conflict.path));
    let (joined, open) = merge.join_all(git, open)?;
    if !open.is_empty() {
        return Ok(Planned::Not(MergeOutcome::Conflict { files: open }));
    }
    let settled: Vec<_> = settled.into_iter().map(|found| found.conflict).collect();
    let tree = merge.settle(git, [&ours, &theirs, &merged.tree], (&settled, joined))?;
    merge.ready(git, ours, theirs, tree).map(Planned::Ready)
}

/// Takes a tree in which somebody settled the conflicts with `ours` for the result; what has an owner
/// comes from the owner nevertheless.
pub fn settled(git: &Git, merge: &Merge, ours: &str, tree: &str) -> Result<Ready, MergeError> {
    let git = &git.plumbing();
    let theirs = commit_of(git, &merge.branch_commit)?;
    let tree = merge.settle(git, [ours, &theirs, tree], (&[], Vec::new()))?;
    merge.ready(git, ours.to_owned(), theirs, tree)
}

/// Makes the commit of a merge, which nobody can see yet.
pub fn seal(git: &Git, merge: &Merge, ready: &Ready) -> Result<String, MergeError> {
    let git = &git.plumbing();
    let commit = commit_tree(git, &ready.tree, &[&ready.ours, &ready.theirs], &merge.message)?;
    failpoint::reach("merge.commit.made");
    Ok(commit)
}

/// Moves the reference to the merge, if it still is where it was; returns whether it was.
pub fn land(git: &Git, merge: &Merge, ready: &Ready, commit: &str) -> Result<bool, MergeError> {
    let moved = swap(&git.plumbing(), &merge.run_ref, (&ready.ours, commit), "mow: merge")?;
    if moved {
        failpoint::reach("merge.ref.moved");
    }
    Ok(moved)
}

/// Keeps what was left out of a merge, as a commit on top of it; `None` when that is nothing.
pub fn keep_left_out(
    git: &Git,
    (name, branch): (&str, &str),
    merged: &str,
    left_out: &[String],
) -> Result<Option<Rescued>, RescueError> {
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
    rescue::keep_tree(git, name, (&index.write_tree()?, merged), &format!("{LEFT_OUT}{name}"))
        .map(Some)
}

impl Merge {
    /// Returns whether a file belongs to the branch.
    pub fn is_own(&self, path: &str) -> bool {
        self.own.as_deref().is_some_and(|own| is_below(path.as_bytes(), own.as_bytes()))
    }

    fn is_kept(&self, path: &str) -> bool {
        !self.is_own(path)
            && self.keep_from_ours.iter().any(|prefix| is_below(path.as_bytes(), prefix.as_bytes()))
    }

    /// Returns whether a conflict in this file has an answer.
    fn settles(&self, path: &str) -> bool {
        self.is_own(path) || self.is_kept(path)
    }

    /// Returns whether a merge of a branch that changed these files is not as git makes it: some of
    /// them are kept, or an overlay is laid on top.
    fn is_wanted_otherwise(&self, changed: &[String]) -> bool {
        !self.overlay.is_empty() || changed.iter().any(|path| self.is_kept(path))
    }

    /// Returns whether anything of the result is not as git merges it, as far as git can tell what
    /// the branch changed.
    fn has_a_say(&self, git: &Git, ours: &str, theirs: &str) -> Result<bool, GitError> {
        let since = format!("{ours}...{theirs}");
        let mut args = vec!["--literal-pathspecs", "diff", "--name-only", "--no-renames", "-z"];
        args.extend(["--no-ext-diff", &since, "--"]);
        args.extend(self.keep_from_ours.iter().map(String::as_str));
        if self.keep_from_ours.is_empty() || !self.overlay.is_empty() {
            return Ok(!self.overlay.is_empty());
        }
        let answer = git.ask(&args)?;
        // Without a common ancestor git does not say; then everything is looked at.
        Ok(!answer.success || self.is_wanted_otherwise(&parse_names(&answer.stdout)))
    }

    /// Joins the files in conflict that can be; returns the rest.
    fn join_all(
        &self,
        git: &Git,
        open: Vec<Found>,
    ) -> Result<(Vec<Entry>, Vec<Conflict>), GitError> {
        let (mut joined, mut left) = (Vec::new(), Vec::new());
        for Found { conflict, versions } in open {
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
                left.push(conflict);
                continue;
            };
            let object = git.run_with(&["hash-object", "-w", "--stdin"], &bytes)?.text();
            let (path, mode) = (path.as_bytes().to_vec(), mode.to_owned());
            joined.push(Entry { path, mode, object });
        }
        Ok((joined, left))
    }

    fn ready(
        &self,
        git: &Git,
        ours: String,
        theirs: String,
        tree: String,
    ) -> Result<Ready, MergeError> {
        let left_out = self.left_out(git, [&ours, &theirs, &tree])?;
        Ok(Ready { ours, theirs, tree, left_out })
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
        (settled, joined): (&[Conflict], Vec<Entry>),
    ) -> Result<String, GitError> {
        let (ours, theirs) = (self.entries(git, ours)?, self.entries(git, theirs)?);
        let merged_entries = self.entries(git, merged)?;
        let in_conflict: BTreeSet<&[u8]> = settled.iter().map(|c| c.path.as_bytes()).collect();
        let (mut removed, mut set) = (Vec::new(), joined);
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
        let which = ["--first-parent", ours, &not_theirs];
        if let Some(commit) = find_trailers(git, &which, &wanted)? {
            return Ok(Some(commit));
        }
    }
    Ok(git.is_ancestor(theirs, ours)?.then(|| ours.to_owned()))
}

#[cfg(test)]
mod tests;
