//! Removes a phase's worktree when nothing is lost by it.

use std::path::{Path, PathBuf};

use super::entries::{clear_unfinished, forget};
use super::{WorktreeError, is_at, is_whole};
use crate::git::{Git, GitError};
use crate::{custody, rescue, submodules};

/// A worktree to remove.
#[derive(Clone, Debug)]
pub struct Remove {
    /// Where it is.
    pub path: PathBuf,
    /// Its branch, without `refs/heads/`.
    pub branch: String,
    /// Whether the branch goes, too.
    pub delete_branch: bool,
}

/// What came of removing a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removed {
    /// It is gone, now or already before.
    Gone,
    /// It has changes or new files that are not committed; nothing was changed.
    Dirty,
    /// These submodules have commits that are nowhere else; nothing was changed.
    Submodules {
        /// Their names.
        names: Vec<String>,
    },
    /// These are repositories of their own inside of it; nothing was changed.
    Repositories {
        /// Where they are in it.
        paths: Vec<PathBuf>,
    },
    /// This commit would be in no reference any more; nothing was changed.
    Unmerged {
        /// The commit.
        commit: String,
    },
}

/// Removes a worktree; ignored files in it go with it.
pub fn remove(root: &Path, remove: &Remove) -> Result<Removed, WorktreeError> {
    let git = Git::new(root).plumbing();
    clear_unfinished(root)?;
    let full = format!("refs/heads/{}", remove.branch);
    let (at_path, others): (Vec<_>, Vec<_>) =
        git.worktrees()?.into_iter().partition(|worktree| is_at(worktree, &remove.path));
    let is_listed = !at_path.is_empty();
    let elsewhere = others.into_iter().find(|other| other.branch.as_ref() == Some(&full));
    if let Some(other) = elsewhere.filter(|_| remove.delete_branch) {
        let (branch, path) = (remove.branch.clone(), other.path);
        return Err(WorktreeError::Elsewhere { branch, path });
    }
    let has_files = is_listed && remove.path.exists();
    if has_files && !is_whole(&remove.path) {
        // An earlier removal was cut short after the link to the repository was gone.
        git.ask(&["worktree".as_ref(), "repair".as_ref(), remove.path.as_os_str()])?;
    }
    if !is_listed && remove.path.exists() {
        return Err(WorktreeError::InTheWay { path: remove.path.clone() });
    }
    let mut commits: Vec<String> = Vec::new();
    if has_files {
        let worktree = Git::at_top(&remove.path).plumbing();
        if holds_work(&worktree)? || !custody::hidden(&worktree)?.is_empty() {
            return Ok(Removed::Dirty);
        }
        let paths = rescue::repositories(&remove.path);
        if !paths.is_empty() {
            return Ok(Removed::Repositories { paths });
        }
        commits.extend(worktree.commit_of("HEAD")?);
    }
    let tip = git.commit_of(&full)?;
    if remove.delete_branch {
        commits.extend(tip.clone());
    }
    for commit in commits {
        let deleted = remove.delete_branch.then_some(full.as_str());
        if !is_kept(&git, &commit, deleted)? {
            return Ok(Removed::Unmerged { commit });
        }
    }
    if has_files {
        // Git removes their repositories with the worktree.
        let names = submodules::keep(&git, &remove.path, &remove.branch)?;
        if !names.is_empty() {
            return Ok(Removed::Submodules { names });
        }
        take_away(&git, &remove.path)?;
    } else if is_listed {
        forget(&git, &remove.path)?;
    }
    if let Some(tip) = tip.filter(|_| remove.delete_branch) {
        git.run(&["update-ref", "-d", &full, &tip])?;
    }
    Ok(Removed::Gone)
}

/// Lets git remove a worktree that holds nothing.
fn take_away(git: &Git, path: &Path) -> Result<(), GitError> {
    let words = ["worktree", "remove"].map(AsRef::as_ref);
    // Git looks once more whether anything came into it meanwhile.
    if git.ask(&[&words[..], &[path.as_os_str()]].concat())?.success {
        return Ok(());
    }
    if path.exists() && holds_work(&Git::at_top(path).plumbing())? {
        return git.run(&[&words[..], &[path.as_os_str()]].concat()).map(drop);
    }
    // With force, for what an earlier removal took away looks like a change to git, and it never
    // removes submodules by itself.
    let force = ["--force"].map(AsRef::as_ref);
    git.run(&[&words[..], &force[..], &[path.as_os_str()]].concat()).map(drop)
}

/// Returns whether there is anything that is not committed, except for files that are missing.
fn holds_work(worktree: &Git) -> Result<bool, GitError> {
    let args = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal"];
    let output = worktree.run(&[&args[..], &["--ignore-submodules=none"]].concat())?.stdout;
    let mut lines = output.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    Ok(lines.any(|line| !line.starts_with(b" D ")))
}

/// Returns whether a reference other than the deleted one contains the commit.
fn is_kept(git: &Git, commit: &str, deleted: Option<&str>) -> Result<bool, GitError> {
    let args = ["for-each-ref", "--count=2", "--format=%(refname)", "--contains", commit];
    let names = git.run(&args)?.text();
    Ok(names.lines().any(|name| Some(name) != deleted))
}
