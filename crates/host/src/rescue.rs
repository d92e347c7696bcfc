//! Saves work that would otherwise be lost in commits under the rescue refs
//! `refs/mow/rescue/<name>/<n>`.
//!
//! A rescue commit has the worktree's HEAD as its parent. It is made with a private index, so
//! neither the files nor the user's index change. Its second parent, if any, holds what was staged
//! and changed again afterwards. Rescuing the same work twice finds the first rescue ref and makes
//! no second one. Ignored files are neither saved nor removed, unless a commit would overwrite
//! them. Nested repositories are left alone; where one would be overwritten, the operation fails
//! and changes nothing.

mod overwritten_paths;

use std::collections::BTreeSet;
use std::path::PathBuf;

use thiserror::Error;

use crate::git::private_index::{IndexEntry, PrivateIndex};
use crate::git::{Git, GitError, locks, parse_names};
use crate::in_progress;

use overwritten_paths::OverwrittenPaths;
pub use overwritten_paths::{ignored_files_overwritten_by, nested_repositories};

/// Prefix of all rescue refs.
pub const RESCUE_REF_PREFIX: &str = "refs/mow/rescue/";
/// Start of the subject of commits that hold uncommitted work.
pub const UNCOMMITTED_SUBJECT: &str = "Uncommitted work of ";
/// How many times to retry when another process takes the next free number first.
const TRIES_MAX: usize = 100;

/// A failure to save work.
#[derive(Debug, Error)]
pub enum RescueError {
    /// A git command failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Git cannot read some files, so they cannot be saved.
    #[error("cannot save {paths:?} of {worktree}: git cannot read them")]
    Unreadable {
        /// The worktree that holds the files.
        worktree: PathBuf,
        /// The unreadable files, relative to the worktree.
        paths: Vec<String>,
    },
    /// A nested repository would be overwritten, and a commit cannot hold a repository.
    #[error(
        "{worktree} contains nested repositories where another commit has files: {}; move them \
         away first", .paths.join(", ")
    )]
    NestedRepositories {
        /// The worktree that contains the repositories.
        worktree: PathBuf,
        /// The repositories, relative to the worktree.
        paths: Vec<String>,
    },
    /// Other processes took the next free number every time.
    #[error("cannot find a free name below {prefix}")]
    NoFreeName {
        /// The prefix of the rescue refs of this name.
        prefix: String,
    },
    /// The commit to reset to does not exist.
    #[error("{commit} is not a commit")]
    NoCommit {
        /// The name as the caller gave it.
        commit: String,
    },
}

/// A rescue ref and the commit it keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RescueRef {
    /// The full name of the ref.
    pub name: String,
    /// The commit with the saved work.
    pub commit: String,
}

impl RescueRef {
    /// Returns the name that `mow rescue restore` takes.
    pub fn short_name(&self) -> &str {
        self.name.strip_prefix(RESCUE_REF_PREFIX).unwrap_or(&self.name)
    }
}

/// Saves all uncommitted work of a worktree; returns `None` if there is none.
pub fn rescue_uncommitted(worktree: &Git, name: &str) -> Result<Option<RescueRef>, RescueError> {
    rescue_for(worktree, name, None, None)
}

/// Saves all uncommitted work of a worktree except a file or directory, given relative to its top.
pub fn rescue_uncommitted_except(
    worktree: &Git,
    name: &str,
    except: &str,
) -> Result<Option<RescueRef>, RescueError> {
    rescue_for(worktree, name, None, Some(except))
}

/// Saves all uncommitted work of a worktree, and the ignored files that checking out `to` would
/// overwrite. Fails if checking out `to` would overwrite a nested repository. What is at or below
/// `except` is not saved.
fn rescue_for(
    worktree: &Git,
    name: &str,
    to: Option<&str>,
    except: Option<&str>,
) -> Result<Option<RescueRef>, RescueError> {
    let git = worktree.plumbing();
    let head = git.commit_of("HEAD")?;
    let head_tree = match &head {
        Some(head) => Some(git.run(&["rev-parse", &format!("{head}^{{tree}}")])?.text()),
        None => None,
    };
    let index = PrivateIndex::of_worktree(&git)?;
    let staged = staged_tree(&git)?;
    add_all_except(&index, except)?;
    for commit in ["HEAD"].into_iter().chain(to) {
        let overwritten = OverwrittenPaths::find(index.git(), commit)?;
        if to == Some(commit) {
            overwritten.refuse_repositories(&git)?;
        }
        add_files(&index, &overwritten.files)?;
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
    if let Some(existing) = find_equal(&git, name, &tree, &parents)? {
        return Ok(Some(existing));
    }
    let message = format!("{UNCOMMITTED_SUBJECT}{name}");
    let commit = commit_tree(&git, &tree, &parents, &message)?;
    failpoint::reach("rescue.commit.made");
    keep_commit(&git, name, &commit).map(Some)
}

/// Saves the work of a worktree if checking out `commit` would overwrite ignored files.
///
/// Returns `None` if it would not.
pub fn rescue_before_checkout(
    worktree: &Git,
    name: &str,
    commit: &str,
) -> Result<Option<RescueRef>, RescueError> {
    match ignored_files_overwritten_by(worktree, commit)?.is_empty() {
        true => Ok(None),
        false => rescue_for(worktree, name, Some(commit), None),
    }
}

/// Keeps a commit under a rescue ref, or returns the ref of this name that keeps it already.
pub fn keep_commit(git: &Git, name: &str, commit: &str) -> Result<RescueRef, RescueError> {
    let git = git.plumbing();
    let prefix = ref_prefix(name);
    for _ in 0..TRIES_MAX {
        let refs = list_refs(&git, name)?;
        if let Some((reference, _)) = refs.iter().find(|(_, kept)| kept == commit) {
            return Ok(RescueRef { name: reference.clone(), commit: commit.to_owned() });
        }
        let numbers = refs.iter().filter_map(|(name, _)| name.rsplit('/').next()?.parse().ok());
        let next: u64 = numbers.max().unwrap_or(0) + 1;
        let reference = format!("{prefix}{next}");
        // The empty old value makes git fail if the ref exists: another process may be creating it.
        let message = format!("rescue: {name}");
        let args = ["update-ref", "-m", &message, &reference, commit, ""];
        let made = git.ask(&args)?;
        if made.success {
            failpoint::reach("rescue.ref.made");
            return Ok(RescueRef { name: reference, commit: commit.to_owned() });
        }
        if git.commit_of(&reference)?.is_none() {
            git.run(&args)?;
        }
    }
    Err(RescueError::NoFreeName { prefix })
}

/// Drops a stash whose work was restored, after keeping it under a rescue ref.
///
/// The staged version in the stash may differ from the restored files, so it must not be lost.
pub fn drop_stash(git: &Git, name: &str, stash: &str) -> Result<(), RescueError> {
    keep_commit(git, name, stash)?;
    Ok(git.stash_drop(stash)?)
}

/// Keeps a tree as a commit on top of `on`, or returns the equal rescue ref of this name.
pub(crate) fn keep_tree(
    git: &Git,
    name: &str,
    (tree, on): (&str, &str),
    message: &str,
) -> Result<RescueRef, RescueError> {
    let parents = [on.to_owned()];
    if let Some(existing) = find_equal(git, name, tree, &parents)? {
        return Ok(existing);
    }
    keep_commit(git, name, &commit_tree(git, tree, &parents, message)?)
}

/// Saves files that git does not track, as path and content, before they are replaced.
pub fn keep_files(
    git: &Git,
    name: &str,
    files: &[(String, Vec<u8>)],
) -> Result<Option<RescueRef>, RescueError> {
    let git = &git.plumbing();
    let (Some(head), false) = (git.commit_of("HEAD")?, files.is_empty()) else { return Ok(None) };
    let mut set = Vec::new();
    for (path, bytes) in files {
        let object = git.run_with(&["hash-object", "-w", "--stdin"], bytes)?.text();
        set.push(IndexEntry { path: path.as_bytes().to_vec(), mode: "100644".to_owned(), object });
    }
    let index = PrivateIndex::empty(git)?;
    index.read_tree(&head)?;
    index.edit(&[], &set)?;
    let message = format!("{UNCOMMITTED_SUBJECT}{name}");
    keep_tree(git, name, (&index.write_tree()?, &head), &message).map(Some)
}

/// Resets a worktree and its branch to a commit, after saving everything that this would lose.
///
/// That is the uncommitted work, and the commits of the branch that `commit` does not contain.
/// No other process may work in the worktree.
pub fn reset_to(worktree: &Git, name: &str, commit: &str) -> Result<Vec<RescueRef>, RescueError> {
    reset_to_except(worktree, name, commit, None)
}

/// Like [`reset_to`], but neither saves nor removes the untracked file `except`.
pub fn reset_to_except(
    worktree: &Git,
    name: &str,
    commit: &str,
    except: Option<&str>,
) -> Result<Vec<RescueRef>, RescueError> {
    let git = worktree.plumbing();
    let Some(commit) = git.commit_of(commit)? else {
        return Err(RescueError::NoCommit { commit: commit.to_owned() });
    };
    locks::remove_stale_locks(&git)?;
    let mut kept: Vec<RescueRef> =
        rescue_for(&git, name, Some(&commit), except)?.into_iter().collect();
    in_progress::quit_operation(&git)?;
    if let Some(head) = git.commit_of("HEAD")?
        && !git.is_ancestor(&head, &commit)?
    {
        kept.push(keep_commit(&git, name, &head)?);
    }
    // Clean before the reset: the reset may change which files are ignored, and ignored files were
    // not saved. Only files that the rescue saw may be removed.
    let except = except.map(except_pathspec);
    let mut clean = vec!["clean", "--quiet", "-d", "--force"];
    clean.extend(except.iter().flat_map(|except| ["--", ":(top)", except]));
    git.run(&clean)?;
    failpoint::reach("rescue.cleaned");
    git.run(&["reset", "--quiet", "--hard", &commit])?;
    failpoint::reach("rescue.reset");
    Ok(kept)
}

/// Checks out a worktree's branch again, at a given commit, after saving everything that this would
/// lose: uncommitted work, and commits that would be on no branch.
///
/// Files below `except`, relative to the worktree, stay as they are. No other process may work in
/// the worktree.
pub fn restore_branch(
    worktree: &Git,
    name: &str,
    [branch, commit]: [&str; 2],
    except: &str,
) -> Result<Vec<RescueRef>, RescueError> {
    let git = worktree.plumbing();
    locks::remove_stale_locks(&git)?;
    let rescued = rescue_for(&git, name, Some(commit), Some(except))?;
    let mut kept: Vec<RescueRef> = rescued.into_iter().collect();
    in_progress::quit_operation(&git)?;
    let full = format!("refs/heads/{branch}");
    for tip in [git.commit_of("HEAD")?, git.commit_of(&full)?].into_iter().flatten() {
        if !git.is_ancestor(&tip, commit)? {
            kept.push(keep_commit(&git, name, &tip)?);
        }
    }
    git.run(&["update-ref", "-m", &format!("rescue: {name}"), &full, commit])?;
    git.run(&["symbolic-ref", "HEAD", &full])?;
    let rest = format!(":(exclude,top){except}");
    git.run(&["reset", "--quiet"])?;
    // `git restore` fails if a pathspec matches nothing, as in a commit without files.
    if !git.run(&["ls-files", "-z", "--", ":(top)", &rest])?.stdout.is_empty() {
        git.run(&["restore", "--worktree", "--", ":(top)", &rest])?;
    }
    git.run(&["clean", "--quiet", "-d", "--force", "--", ":(top)", &rest])?;
    Ok(kept)
}

fn ref_prefix(name: &str) -> String {
    format!("{RESCUE_REF_PREFIX}{name}/")
}

/// Lists the rescue refs of this name with their commits.
fn list_refs(git: &Git, name: &str) -> Result<Vec<(String, String)>, GitError> {
    let answer =
        git.run(&["for-each-ref", "--format=%(refname) %(objectname)", &ref_prefix(name)])?;
    let lines = answer.text();
    let pairs = lines.lines().filter_map(|line| line.split_once(' '));
    Ok(pairs.map(|(name, commit)| (name.to_owned(), commit.to_owned())).collect())
}

/// Finds a rescue ref of this name with the same tree and parents.
fn find_equal(
    git: &Git,
    name: &str,
    tree: &str,
    parents: &[String],
) -> Result<Option<RescueRef>, GitError> {
    for (name, commit) in list_refs(git, name)? {
        let header = git.run(&["show", "--no-patch", "--format=%T %P", &commit])?.text();
        let mut words = header.split_whitespace();
        if words.next() != Some(tree) || words.clone().count() != parents.len() {
            continue;
        }
        // The second parent is a commit of ours with a timestamp, so only its tree can be compared.
        let is_same = words.zip(parents).enumerate().all(|(position, (theirs, ours))| {
            theirs == ours || (position == 1 && same_tree(git, theirs, ours))
        });
        if is_same {
            return Ok(Some(RescueRef { name, commit }));
        }
    }
    Ok(None)
}

fn same_tree(git: &Git, left: &str, right: &str) -> bool {
    git.ask(&["diff-tree", "--quiet", left, right]).is_ok_and(|answer| answer.success)
}

/// Adds all files of the worktree to a private index.
pub(crate) fn add_all(index: &PrivateIndex) -> Result<(), RescueError> {
    add_all_except(index, None)
}

/// Adds all files of the worktree to a private index, except those at or below a path.
fn add_all_except(index: &PrivateIndex, except: Option<&str>) -> Result<(), RescueError> {
    let git = index.git();
    // `--sparse` also adds files outside a sparse checkout: a reset would remove them.
    let add = ["-c", "advice.addEmbeddedRepo=false", "add", "--all", "--sparse", "--ignore-errors"];
    let except = except.map(except_pathspec);
    let mut words = add.to_vec();
    words.extend(except.iter().flat_map(|except| ["--", ":(top)", except]));
    if git.ask(&words)?.success {
        return Ok(());
    }
    let mut left = git.run(&["ls-files", "--others", "--exclude-standard", "-z"])?.stdout;
    left.extend(git.run(&["diff-files", "--name-only", "-z"])?.stdout);
    // A name with a slash at the end is a nested repository, which a reset leaves alone.
    let paths: Vec<_> =
        parse_names(&left).into_iter().filter(|path| !path.ends_with('/')).collect();
    if paths.is_empty() {
        return Ok(());
    }
    Err(RescueError::Unreadable { worktree: git.dir().to_path_buf(), paths })
}

/// Returns the pathspec for everything except what is at or below a path.
fn except_pathspec(path: &str) -> String {
    format!(":(exclude,top,literal){path}")
}

/// Adds files to the index even if git ignores them; `list` ends each path with a NUL byte.
fn add_files(index: &PrivateIndex, list: &[u8]) -> Result<(), GitError> {
    if !list.is_empty() {
        let add = ["--literal-pathspecs", "-c", "advice.addEmbeddedRepo=false", "add", "--force"];
        let from = ["--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"];
        index.git().run_with(&[&add[..], &from].concat(), list)?;
    }
    Ok(())
}

/// Returns the staged files as a tree, or `None` if git cannot write one.
///
/// Conflicting files get the version of HEAD; their conflict markers are in the worktree's files.
fn staged_tree(git: &Git) -> Result<Option<String>, GitError> {
    let index = PrivateIndex::of_worktree(git)?;
    let open = index.git().run(&["ls-files", "--unmerged", "-z"])?.stdout;
    let (mut removed, mut set) = (BTreeSet::new(), Vec::new());
    for line in open.split(|byte| *byte == 0) {
        // Mode, object and stage precede each name.
        let Some(tab) = line.iter().position(|byte| *byte == b'\t') else { continue };
        let (header, path) = (String::from_utf8_lossy(&line[..tab]), line[tab + 1..].to_vec());
        removed.insert(path.clone());
        if let [mode, object, "2"] = header.split(' ').collect::<Vec<_>>()[..] {
            set.push(IndexEntry { path, mode: mode.to_owned(), object: object.to_owned() });
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

/// Creates a commit with mow as author, so that saving work needs no git identity of the user.
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
