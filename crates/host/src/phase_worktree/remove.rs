//! Removes a phase's worktree, and its branch, if that loses no work.

use std::path::{Path, PathBuf};

use super::git_entries::{clear_unfinished, drop_entry};
use super::{WorktreeError, is_at, is_usable};
use crate::git::{Git, GitError};
use crate::{rescue, submodules, tamper_detection};

/// A worktree to remove.
#[derive(Clone, Debug)]
pub struct WorktreeRemoval {
    /// The directory of the worktree.
    pub path: PathBuf,
    /// Its branch, without `refs/heads/`.
    pub branch: String,
    /// Whether to delete the branch too.
    pub delete_branch: bool,
}

/// The outcome of removing a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemovalOutcome {
    /// The worktree is gone; it may have been gone before.
    Gone,
    /// The worktree has uncommitted changes or new files; nothing was changed.
    Dirty,
    /// Submodules have commits that exist nowhere else; nothing was changed.
    Submodules {
        /// The names of the submodules.
        names: Vec<String>,
    },
    /// The worktree contains nested repositories; nothing was changed.
    Repositories {
        /// The repositories, relative to the worktree.
        paths: Vec<PathBuf>,
    },
    /// No ref would reach a commit any more; nothing was changed.
    Unmerged {
        /// The commit that would be lost.
        commit: String,
    },
}

/// Removes a worktree together with its ignored files.
pub fn remove(root: &Path, removal: &WorktreeRemoval) -> Result<RemovalOutcome, WorktreeError> {
    let git = Git::new(root).plumbing();
    clear_unfinished(root)?;
    let full = format!("refs/heads/{}", removal.branch);
    let (at_path, others): (Vec<_>, Vec<_>) =
        git.worktrees()?.into_iter().partition(|worktree| is_at(worktree, &removal.path));
    let is_listed = !at_path.is_empty();
    let elsewhere = others.into_iter().find(|other| other.branch.as_ref() == Some(&full));
    if let Some(other) = elsewhere.filter(|_| removal.delete_branch) {
        let (branch, path) = (removal.branch.clone(), other.path);
        return Err(WorktreeError::BranchInUse { branch, path });
    }
    let has_files = is_listed && removal.path.exists();
    if has_files && !is_usable(&removal.path) {
        // An earlier removal was interrupted after it had removed the `.git` link.
        git.ask(&["worktree".as_ref(), "repair".as_ref(), removal.path.as_os_str()])?;
    }
    if !is_listed && removal.path.exists() {
        return Err(WorktreeError::PathOccupied { path: removal.path.clone() });
    }
    let mut commits: Vec<String> = Vec::new();
    if has_files {
        let worktree = Git::at_top(&removal.path).plumbing();
        if has_uncommitted_work(&worktree)?
            || !tamper_detection::find_hidden_changes(&worktree)?.is_empty()
        {
            return Ok(RemovalOutcome::Dirty);
        }
        let paths = rescue::nested_repositories(&removal.path);
        if !paths.is_empty() {
            return Ok(RemovalOutcome::Repositories { paths });
        }
        commits.extend(worktree.commit_of("HEAD")?);
    }
    let tip = git.commit_of(&full)?;
    if removal.delete_branch {
        commits.extend(tip.clone());
    }
    for commit in commits {
        let deleted = removal.delete_branch.then_some(full.as_str());
        if !is_held_by_ref(&git, &commit, deleted)? {
            return Ok(RemovalOutcome::Unmerged { commit });
        }
    }
    if has_files {
        // Git removes the repositories of submodules with the worktree.
        let names = submodules::rescue_commits(&git, &removal.path, &removal.branch)?;
        if !names.is_empty() {
            return Ok(RemovalOutcome::Submodules { names });
        }
        remove_with_git(&git, &removal.path)?;
    } else if is_listed {
        drop_entry(&git, &removal.path)?;
    }
    if let Some(tip) = tip.filter(|_| removal.delete_branch) {
        git.run(&["update-ref", "-d", &full, &tip])?;
    }
    Ok(RemovalOutcome::Gone)
}

/// Runs `git worktree remove` on a worktree without uncommitted work.
fn remove_with_git(git: &Git, path: &Path) -> Result<(), GitError> {
    let words = ["worktree", "remove"].map(AsRef::as_ref);
    // Without `--force`, git checks again that no new work was written meanwhile.
    if git.ask(&[&words[..], &[path.as_os_str()]].concat())?.success {
        return Ok(());
    }
    if path.exists() && has_uncommitted_work(&Git::at_top(path).plumbing())? {
        return git.run(&[&words[..], &[path.as_os_str()]].concat()).map(drop);
    }
    // With `--force`: files that an interrupted removal deleted look like changes to git, and git
    // never removes a worktree with submodules otherwise.
    let force = ["--force"].map(AsRef::as_ref);
    git.run(&[&words[..], &force[..], &[path.as_os_str()]].concat()).map(drop)
}

/// Returns whether there is uncommitted work; missing files do not count.
fn has_uncommitted_work(worktree: &Git) -> Result<bool, GitError> {
    let args = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal"];
    let output = worktree.run(&[&args[..], &["--ignore-submodules=none"]].concat())?.stdout;
    let mut lines = output.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    Ok(lines.any(|line| !line.starts_with(b" D ")))
}

/// Returns whether a ref other than the deleted one contains the commit.
fn is_held_by_ref(git: &Git, commit: &str, deleted: Option<&str>) -> Result<bool, GitError> {
    let args = ["for-each-ref", "--count=2", "--format=%(refname)", "--contains", commit];
    let names = git.run(&args)?.text();
    Ok(names.lines().any(|name| Some(name) != deleted))
}
