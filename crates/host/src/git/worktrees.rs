//! Answers questions about worktrees, branches and stashes.
//!
//! Answers come from git's files ([`super::git_dirs`]) where possible, otherwise from git's machine
//! formats. Only [`Git::stash_push`] and [`Git::stash_drop`] change the repository.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::git_dirs::Head;
use super::{Git, GitError};

/// A worktree as git lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitWorktree {
    /// The top directory, which may be gone.
    pub path: PathBuf,
    /// The checked-out commit; `None` in a bare repository or on a branch without commits.
    pub head: Option<String>,
    /// The full name of the branch, `refs/heads/…`; `None` when detached or bare.
    pub branch: Option<String>,
    /// Whether this is the bare repository itself.
    pub bare: bool,
    /// Whether somebody locked it against removal.
    pub locked: bool,
    /// The reason for the lock; empty when none was given.
    pub lock_reason: String,
}

impl GitWorktree {
    /// Returns the name of the branch without `refs/heads/`.
    pub fn branch_name(&self) -> Option<&str> {
        let branch = self.branch.as_deref()?;
        Some(branch.strip_prefix("refs/heads/").unwrap_or(branch))
    }
}

/// Parses the output of `git worktree list --porcelain -z`.
pub fn parse_worktrees(output: &[u8]) -> Vec<GitWorktree> {
    let mut worktrees: Vec<GitWorktree> = Vec::new();
    for line in output.split(|byte| *byte == 0) {
        let word_end = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
        let (word, value) = line.split_at(word_end);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        if word == b"worktree" {
            let path = PathBuf::from(OsStr::from_bytes(value));
            worktrees.push(GitWorktree { path, ..GitWorktree::default() });
            continue;
        }
        let Some(worktree) = worktrees.last_mut() else { continue };
        let text = || Some(String::from_utf8_lossy(value).into_owned());
        match word {
            b"HEAD" => worktree.head = text().filter(|hash| hash.bytes().any(|b| b != b'0')),
            b"branch" => worktree.branch = text(),
            b"bare" => worktree.bare = true,
            b"locked" => {
                worktree.locked = true;
                worktree.lock_reason = text().unwrap_or_default();
            }
            _ => {}
        }
    }
    worktrees
}

/// Returns whether a path, as git names it, is a directory or lies below it.
pub(crate) fn is_below(path: &[u8], dir: &[u8]) -> bool {
    let dir = dir.strip_suffix(b"/").unwrap_or(dir);
    let rest = path.strip_prefix(dir);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// Splits a list of NUL-terminated names.
pub fn parse_names(output: &[u8]) -> Vec<String> {
    let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

impl Git {
    /// Lists all worktrees of the repository, the main one first.
    pub fn worktrees(&self) -> Result<Vec<GitWorktree>, GitError> {
        if let Some(worktrees) = self.git_dirs().and_then(|dirs| dirs.worktrees()) {
            return Ok(worktrees);
        }
        let answer = self.run(&["worktree", "list", "--porcelain", "-z"])?;
        Ok(parse_worktrees(&answer.stdout))
    }

    /// Returns the git directory of this worktree alone.
    pub fn git_dir(&self) -> Result<PathBuf, GitError> {
        match self.git_dirs() {
            Some(dirs) => Ok(dirs.git_dir),
            None => self.directory(&["rev-parse", "--absolute-git-dir"]),
        }
    }

    /// Returns the git directory that all worktrees share.
    pub fn common_dir(&self) -> Result<PathBuf, GitError> {
        match self.git_dirs() {
            Some(dirs) => Ok(dirs.common_dir),
            None => self.directory(&["rev-parse", "--path-format=absolute", "--git-common-dir"]),
        }
    }

    fn directory(&self, args: &[&str]) -> Result<PathBuf, GitError> {
        let stdout = self.run(args)?.stdout;
        let line = stdout.strip_suffix(b"\n").unwrap_or(&stdout);
        Ok(PathBuf::from(OsStr::from_bytes(line)))
    }

    /// Returns whether a local branch exists.
    pub fn branch_exists(&self, name: &str) -> Result<bool, GitError> {
        let full = format!("refs/heads/{name}");
        if let Some(commit) = self.git_dirs().and_then(|dirs| dirs.resolve_ref(&full)) {
            return Ok(commit.is_some());
        }
        Ok(self.ask(&["show-ref", "--verify", "--quiet", &full])?.success)
    }

    /// Returns the short name of the checked-out branch; `None` when detached or outside a
    /// repository.
    pub fn current_branch(&self) -> Result<Option<String>, GitError> {
        match self.git_dirs().and_then(|dirs| dirs.head()) {
            Some(Head::Branch(name)) => {
                return Ok(name.strip_prefix("refs/heads/").map(str::to_owned));
            }
            Some(Head::Detached(_)) => return Ok(None),
            None => {}
        }
        let answer = self.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        Ok(answer.success.then(|| answer.text()).filter(|name| !name.is_empty()))
    }

    /// Returns the commit that a revision names; `None` when there is none.
    pub fn commit_of(&self, name: &str) -> Result<Option<String>, GitError> {
        if let Some(commit) = self.git_dirs().and_then(|dirs| dirs.resolve_ref(name)) {
            return Ok(commit);
        }
        let wanted = format!("{name}^{{commit}}");
        let answer =
            self.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted])?;
        Ok(answer.success.then(|| answer.text()))
    }

    /// Returns whether `commit` is an ancestor of `of`, or the same commit.
    pub fn is_ancestor(&self, commit: &str, of: &str) -> Result<bool, GitError> {
        if commit == of {
            return Ok(true);
        }
        Ok(self.ask(&["merge-base", "--is-ancestor", commit, of])?.success)
    }

    /// Returns whether tracked files differ from the last commit; with `with_new_files`, untracked
    /// files count too.
    pub fn is_dirty(&self, with_new_files: bool) -> Result<bool, GitError> {
        let untracked = if with_new_files { "normal" } else { "no" };
        let untracked = format!("--untracked-files={untracked}");
        Ok(!self.run(&["status", "--porcelain", "-z", &untracked])?.stdout.is_empty())
    }

    /// Returns the files in conflict of a merge in progress.
    pub fn conflicts(&self) -> Result<Vec<String>, GitError> {
        let answer = self.run(&["diff", "--name-only", "--diff-filter=U", "-z"])?;
        Ok(parse_names(&answer.stdout))
    }

    /// Returns the content of a file in a commit; `None` when the commit has no such file.
    pub fn file_in(&self, commit: &str, path: &Path) -> Result<Option<Vec<u8>>, GitError> {
        let object = format!("{commit}:{}", path.display());
        let answer = self.ask(&["cat-file", "blob", &object])?;
        Ok(answer.success.then_some(answer.stdout))
    }

    /// Stashes all changes and untracked files; returns the stash commit, or `None` without
    /// changes.
    ///
    /// All worktrees share one stash list: the caller keeps other writers out meanwhile.
    pub fn stash_push(&self, message: &str) -> Result<Option<String>, GitError> {
        let before = self.stashes()?;
        self.run(&["stash", "push", "--quiet", "--include-untracked", "-m", message])?;
        Ok(self.stashes()?.into_iter().find(|commit| !before.contains(commit)))
    }

    /// Finds the newest stash of the checked-out branch with this message, as [`Self::stash_push`]
    /// sets it.
    pub fn stash_named(&self, message: &str) -> Result<Option<String>, GitError> {
        let Some(branch) = self.current_branch()? else { return Ok(None) };
        let wanted = format!("On {branch}: {message}");
        let answer = self.run(&["stash", "list", "-z", "--format=%H %gs"])?;
        let stashes = parse_names(&answer.stdout);
        let mut pairs = stashes.iter().filter_map(|line| line.split_once(' '));
        Ok(pairs.find(|(_, subject)| *subject == wanted).map(|(commit, _)| commit.to_owned()))
    }

    /// Drops a stash by its commit; does nothing when it is not listed.
    pub fn stash_drop(&self, commit: &str) -> Result<(), GitError> {
        let place = self.stashes()?.iter().position(|listed| listed == commit);
        if let Some(place) = place {
            self.run(&["stash", "drop", "--quiet", &format!("stash@{{{place}}}")])?;
        }
        Ok(())
    }

    /// Returns the stash commits, newest first.
    fn stashes(&self) -> Result<Vec<String>, GitError> {
        let answer = self.run(&["stash", "list", "-z", "--format=%H"])?;
        Ok(parse_names(&answer.stdout))
    }
}

#[cfg(test)]
mod tests;
