//! Keeps work that would otherwise be lost, under `refs/mow/rescue/<name>/<n>`.
//!
//! A rescue is a commit on top of the worktree's last one. It is made with a private index, so
//! neither files nor the user's index change. Its second parent, if any, holds what was staged and
//! changed again afterwards. Doing it again finds the same rescue and makes no second one.
//! Ignored files are neither kept nor removed, unless they lie where a commit has a file;
//! repositories inside the worktree are left alone, and where they lie in the way nothing is done.

mod in_the_way;

use std::collections::BTreeSet;
use std::path::PathBuf;

use thiserror::Error;

use crate::git::index::{Entry, PrivateIndex};
use crate::git::{Git, GitError, locks, parse_names};
use crate::in_progress;

use in_the_way::InTheWay;
pub use in_the_way::{ignored_in_the_way, repositories};

/// What the names of all rescues begin with.
pub const PREFIX: &str = "refs/mow/rescue/";
/// What commits of uncommitted work begin with.
pub const UNCOMMITTED: &str = "Uncommitted work of ";
/// How often another process may take the number that we were about to use.
const TRIES_MAX: usize = 100;

/// Why work could not be kept.
#[derive(Debug, Error)]
pub enum RescueError {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Some files cannot be read, so they cannot be kept either.
    #[error("cannot keep {paths:?} of {worktree}")]
    Unreadable {
        /// The worktree.
        worktree: PathBuf,
        /// Its files.
        paths: Vec<String>,
    },
    /// A repository inside the worktree would be written over, and no commit of ours can hold it.
    #[error(
        "in {worktree} there are repositories of their own where another commit has files: {}; move \
         them away first", .paths.join(", ")
    )]
    Repositories {
        /// The worktree.
        worktree: PathBuf,
        /// Where they are.
        paths: Vec<String>,
    },
    /// No free number was found.
    #[error("cannot find a free name below {prefix}")]
    Crowded {
        /// The prefix of the references.
        prefix: String,
    },
    /// There is no commit to go back to.
    #[error("no commit {commit}")]
    NoCommit {
        /// The name that was given.
        commit: String,
    },
}

/// Work that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescued {
    /// The reference that keeps it.
    pub name: String,
    /// The commit that holds it.
    pub commit: String,
}

impl Rescued {
    /// Returns the name by which people restore it.
    pub fn short_name(&self) -> &str {
        self.name.strip_prefix(PREFIX).unwrap_or(&self.name)
    }
}

/// Keeps all that is not committed in a worktree; `None` when there is nothing.
pub fn rescue(worktree: &Git, name: &str) -> Result<Option<Rescued>, RescueError> {
    rescue_from(worktree, name, None)
}

/// Keeps all that is not committed in a worktree, and ignored files that the way to a commit would
/// write over; what cannot be kept so must not be there.
fn rescue_from(
    worktree: &Git,
    name: &str,
    to: Option<&str>,
) -> Result<Option<Rescued>, RescueError> {
    let git = worktree.plumbing();
    let head = git.commit_of("HEAD")?;
    let head_tree = match &head {
        Some(head) => Some(git.run(&["rev-parse", &format!("{head}^{{tree}}")])?.text()),
        None => None,
    };
    let index = PrivateIndex::of_worktree(&git)?;
    let staged = staged_tree(&git)?;
    add_all(&index)?;
    for commit in ["HEAD"].into_iter().chain(to) {
        let found = InTheWay::find(index.git(), commit)?;
        if to == Some(commit) {
            found.refuse_repositories(&git)?;
        }
        add_files(&index, &found.files)?;
    }
    let tree = index.write_tree()?;
    let mut parents: Vec<String> = head.into_iter().collect();
    if let Some(staged) =
        staged.filter(|staged| Some(staged) != head_tree.as_ref() && *staged != tree)
    {
        parents.push(commit_tree(&git, &staged, &parents, "Staged before the rescue")?);
    } else if head_tree.as_deref().unwrap_or(&empty_tree(&git)?) == tree {
        return Ok(None);
    }
    if let Some(known) = find(&git, name, &tree, &parents)? {
        return Ok(Some(known));
    }
    let message = format!("{UNCOMMITTED}{name}");
    let commit = commit_tree(&git, &tree, &parents, &message)?;
    failpoint::reach("rescue.commit.made");
    keep(&git, name, &commit).map(Some)
}

/// Keeps what is in a worktree if a commit would write over ignored files of it.
pub fn keep_ignored(
    worktree: &Git,
    name: &str,
    commit: &str,
) -> Result<Option<Rescued>, RescueError> {
    match ignored_in_the_way(worktree, commit)?.is_empty() {
        true => Ok(None),
        false => rescue_from(worktree, name, Some(commit)),
    }
}

/// Keeps a commit from being forgotten; one that is kept under this name already is found again.
pub fn keep(git: &Git, name: &str, commit: &str) -> Result<Rescued, RescueError> {
    let git = git.plumbing();
    let prefix = prefix(name);
    for _ in 0..TRIES_MAX {
        let known = refs(&git, name)?;
        if let Some((reference, _)) = known.iter().find(|(_, kept)| kept == commit) {
            return Ok(Rescued { name: reference.clone(), commit: commit.to_owned() });
        }
        let numbers = known.iter().filter_map(|(name, _)| name.rsplit('/').next()?.parse().ok());
        let next: u64 = numbers.max().unwrap_or(0) + 1;
        let reference = format!("{prefix}{next}");
        // The empty old value means that it must not exist: another may be as quick.
        let message = format!("rescue: {name}");
        let args = ["update-ref", "-m", &message, &reference, commit, ""];
        let made = git.ask(&args)?;
        if made.success {
            failpoint::reach("rescue.ref.made");
            return Ok(Rescued { name: reference, commit: commit.to_owned() });
        }
        if git.commit_of(&reference)?.is_none() {
            git.run(&args)?;
        }
    }
    Err(RescueError::Crowded { prefix })
}

/// Takes a stash off the list once its work is back, and keeps it: what was staged in it may differ
/// from what came back.
pub fn drop_stash(git: &Git, name: &str, stash: &str) -> Result<(), RescueError> {
    keep(git, name, stash)?;
    Ok(git.stash_drop(stash)?)
}

/// Keeps a tree as a commit on top of another; what is kept so under this name already is found again.
pub(crate) fn keep_tree(
    git: &Git,
    name: &str,
    (tree, on): (&str, &str),
    message: &str,
) -> Result<Rescued, RescueError> {
    let parents = [on.to_owned()];
    if let Some(known) = find(git, name, tree, &parents)? {
        return Ok(known);
    }
    keep(git, name, &commit_tree(git, tree, &parents, message)?)
}

/// Keeps files that git does not carry, by the names they shall have, before they are replaced.
pub fn keep_files(
    git: &Git,
    name: &str,
    files: &[(String, Vec<u8>)],
) -> Result<Option<Rescued>, RescueError> {
    let git = &git.plumbing();
    let (Some(head), false) = (git.commit_of("HEAD")?, files.is_empty()) else { return Ok(None) };
    let mut set = Vec::new();
    for (path, bytes) in files {
        let object = git.run_with(&["hash-object", "-w", "--stdin"], bytes)?.text();
        set.push(Entry { path: path.as_bytes().to_vec(), mode: "100644".to_owned(), object });
    }
    let index = PrivateIndex::empty(git)?;
    index.read_tree(&head)?;
    index.edit(&[], &set)?;
    let message = format!("{UNCOMMITTED}{name}");
    keep_tree(git, name, (&index.write_tree()?, &head), &message).map(Some)
}

/// Brings a worktree back to a commit, after all that this would lose has been kept.
///
/// That is what is not committed, and the commits of its branch that the commit does not contain.
/// Nobody else may be at work in the worktree.
pub fn reset_to(worktree: &Git, name: &str, commit: &str) -> Result<Vec<Rescued>, RescueError> {
    let git = worktree.plumbing();
    let Some(commit) = git.commit_of(commit)? else {
        return Err(RescueError::NoCommit { commit: commit.to_owned() });
    };
    locks::clear_stale(&git)?;
    let mut kept: Vec<Rescued> = rescue_from(&git, name, Some(&commit))?.into_iter().collect();
    in_progress::quit(&git)?;
    if let Some(head) = git.commit_of("HEAD")?
        && !git.is_ancestor(&head, &commit)?
    {
        kept.push(keep(&git, name, &head)?);
    }
    // In this order, because the reset may change what is ignored, and ignored files are not kept:
    // only what the rescue saw may go.
    git.run(&["clean", "--quiet", "-d", "--force"])?;
    failpoint::reach("rescue.cleaned");
    git.run(&["reset", "--quiet", "--hard", &commit])?;
    failpoint::reach("rescue.reset");
    Ok(kept)
}

/// Puts a worktree back onto its branch and that branch back to a commit, after all that this would
/// lose has been kept: what is not committed, and commits that would be on no branch.
///
/// Files below `but`, relative to the worktree, stay as they are. Nobody else may be at work there.
pub fn bring_back(
    worktree: &Git,
    name: &str,
    [branch, commit]: [&str; 2],
    but: &str,
) -> Result<Vec<Rescued>, RescueError> {
    let git = worktree.plumbing();
    locks::clear_stale(&git)?;
    let mut kept: Vec<Rescued> = rescue_from(&git, name, Some(commit))?.into_iter().collect();
    in_progress::quit(&git)?;
    let full = format!("refs/heads/{branch}");
    for tip in [git.commit_of("HEAD")?, git.commit_of(&full)?].into_iter().flatten() {
        if !git.is_ancestor(&tip, commit)? {
            kept.push(keep(&git, name, &tip)?);
        }
    }
    git.run(&["update-ref", "-m", &format!("rescue: {name}"), &full, commit])?;
    git.run(&["symbolic-ref", "HEAD", &full])?;
    let rest = format!(":(exclude,top){but}");
    git.run(&["reset", "--quiet"])?;
    // Git finds fault with a path that matches nothing, as in a commit without files.
    if !git.run(&["ls-files", "-z", "--", ":(top)", &rest])?.stdout.is_empty() {
        git.run(&["restore", "--worktree", "--", ":(top)", &rest])?;
    }
    git.run(&["clean", "--quiet", "-d", "--force", "--", ":(top)", &rest])?;
    Ok(kept)
}

fn prefix(name: &str) -> String {
    format!("{PREFIX}{name}/")
}

/// Returns the references of this name and what they keep.
fn refs(git: &Git, name: &str) -> Result<Vec<(String, String)>, GitError> {
    let answer = git.run(&["for-each-ref", "--format=%(refname) %(objectname)", &prefix(name)])?;
    let lines = answer.text();
    let pairs = lines.lines().filter_map(|line| line.split_once(' '));
    Ok(pairs.map(|(name, commit)| (name.to_owned(), commit.to_owned())).collect())
}

/// Finds a rescue that holds the same.
fn find(
    git: &Git,
    name: &str,
    tree: &str,
    parents: &[String],
) -> Result<Option<Rescued>, GitError> {
    for (name, commit) in refs(git, name)? {
        let about = git.run(&["show", "--no-patch", "--format=%T %P", &commit])?.text();
        let mut words = about.split_whitespace();
        if words.next() != Some(tree) || words.clone().count() != parents.len() {
            continue;
        }
        // The second parent is ours and has a time in it, so only its tree can be compared.
        let is_same = words.zip(parents).enumerate().all(|(at, (theirs, ours))| {
            theirs == ours || (at == 1 && same_tree(git, theirs, ours))
        });
        if is_same {
            return Ok(Some(Rescued { name, commit }));
        }
    }
    Ok(None)
}

fn same_tree(git: &Git, left: &str, right: &str) -> bool {
    git.ask(&["diff-tree", "--quiet", left, right]).is_ok_and(|answer| answer.success)
}

/// Puts all files of the worktree into the index, as they are.
pub(crate) fn add_all(index: &PrivateIndex) -> Result<(), RescueError> {
    let git = index.git();
    // Also what lies outside of the part that is checked out: a reset would remove it.
    let add = ["-c", "advice.addEmbeddedRepo=false", "add", "--all", "--sparse", "--ignore-errors"];
    if git.ask(&add)?.success {
        return Ok(());
    }
    let mut left = git.run(&["ls-files", "--others", "--exclude-standard", "-z"])?.stdout;
    left.extend(git.run(&["diff-files", "--name-only", "-z"])?.stdout);
    // A repository inside the worktree is no file of it, and a reset leaves it alone.
    let paths: Vec<_> =
        parse_names(&left).into_iter().filter(|path| !path.ends_with('/')).collect();
    if paths.is_empty() {
        return Ok(());
    }
    Err(RescueError::Unreadable { worktree: git.dir().to_path_buf(), paths })
}

/// Puts files into the index that git ignores.
fn add_files(index: &PrivateIndex, list: &[u8]) -> Result<(), GitError> {
    if !list.is_empty() {
        let add = ["--literal-pathspecs", "-c", "advice.addEmbeddedRepo=false", "add", "--force"];
        let from = ["--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"];
        index.git().run_with(&[&add[..], &from].concat(), list)?;
    }
    Ok(())
}

/// Returns what is staged, as a tree; files in conflict are taken as the last commit has them, for
/// what a merge made of them is in the files.
fn staged_tree(git: &Git) -> Result<Option<String>, GitError> {
    let index = PrivateIndex::of_worktree(git)?;
    let open = index.git().run(&["ls-files", "--unmerged", "-z"])?.stdout;
    let (mut removed, mut set) = (BTreeSet::new(), Vec::new());
    for line in open.split(|byte| *byte == 0) {
        // Mode, object and stage stand before each name.
        let Some(tab) = line.iter().position(|byte| *byte == b'\t') else { continue };
        let (about, path) = (String::from_utf8_lossy(&line[..tab]), line[tab + 1..].to_vec());
        removed.insert(path.clone());
        if let [mode, object, "2"] = about.split(' ').collect::<Vec<_>>()[..] {
            set.push(Entry { path, mode: mode.to_owned(), object: object.to_owned() });
        }
    }
    if !removed.is_empty() {
        index.edit(&removed.into_iter().collect::<Vec<_>>(), &set)?;
    }
    let tree = index.git().ask(&["write-tree"])?;
    Ok(tree.success.then(|| tree.text()))
}

fn empty_tree(git: &Git) -> Result<String, GitError> {
    Ok(git.run(&["hash-object", "-t", "tree", "/dev/null"])?.text())
}

/// Makes a commit in our own name: the user need not have one for us to keep work.
pub(crate) fn commit_tree(
    git: &Git,
    tree: &str,
    parents: &[String],
    message: &str,
) -> Result<String, GitError> {
    let git = ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"]
        .iter()
        .fold(git.clone(), |git, name| git.with_env(name, "mow"));
    let git = ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"]
        .iter()
        .fold(git, |git, name| git.with_env(name, "mow@localhost"));
    let mut args = vec!["commit-tree", tree, "-m", message];
    args.extend(parents.iter().flat_map(|parent| ["-p", parent]));
    Ok(git.run(&args)?.text())
}

#[cfg(test)]
mod tests;
