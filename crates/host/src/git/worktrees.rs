//! Questions about worktrees, branches and stashes, answered in machine formats.
//!
//! What git's files say plainly is read from them ([`super::layout`]); otherwise git is asked.
//! Nothing here changes a repository except [`Git::stash_push`] and [`Git::stash_drop`].

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::layout::Head;
use super::{Git, GitError};

/// A worktree that git knows of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worktree {
    /// Its top directory, which may be gone.
    pub path: PathBuf,
    /// The commit it stands at; `None` in a bare or empty repository.
    pub head: Option<String>,
    /// The full name of the branch, `refs/heads/…`; `None` when detached or bare.
    pub branch: Option<String>,
    /// Whether it is the bare repository itself.
    pub bare: bool,
    /// Whether somebody locked it against removal.
    pub locked: bool,
    /// Why it is locked, as far as that was said.
    pub lock_reason: String,
}

impl Worktree {
    /// Returns the name of the branch without `refs/heads/`.
    pub fn branch_name(&self) -> Option<&str> {
        let branch = self.branch.as_deref()?;
        Some(branch.strip_prefix("refs/heads/").unwrap_or(branch))
    }
}

/// Reads the output of `git worktree list --porcelain -z`.
pub fn parse_worktrees(output: &[u8]) -> Vec<Worktree> {
    let mut worktrees: Vec<Worktree> = Vec::new();
    for line in output.split(|byte| *byte == 0) {
        let word_end = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
        let (word, value) = line.split_at(word_end);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        if word == b"worktree" {
            let path = PathBuf::from(OsStr::from_bytes(value));
            worktrees.push(Worktree { path, ..Worktree::default() });
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

/// Returns whether a path, as git names it, is a directory or below it.
pub(crate) fn is_below(path: &[u8], dir: &[u8]) -> bool {
    let dir = dir.strip_suffix(b"/").unwrap_or(dir);
    let rest = path.strip_prefix(dir);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// Splits names that end with NUL bytes.
pub fn parse_names(output: &[u8]) -> Vec<String> {
    let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

impl Git {
    /// Lists all worktrees of the repository, the main one first.
    pub fn worktrees(&self) -> Result<Vec<Worktree>, GitError> {
        if let Some(worktrees) = self.layout().and_then(|layout| layout.worktrees()) {
            return Ok(worktrees);
        }
        let answer = self.run(&["worktree", "list", "--porcelain", "-z"])?;
        Ok(parse_worktrees(&answer.stdout))
    }

    /// Returns the directory that git keeps for this worktree alone.
    pub fn git_dir(&self) -> Result<PathBuf, GitError> {
        match self.layout() {
            Some(layout) => Ok(layout.own),
            None => self.directory(&["rev-parse", "--absolute-git-dir"]),
        }
    }

    /// Returns the directory that all worktrees of the repository share.
    pub fn common_dir(&self) -> Result<PathBuf, GitError> {
        match self.layout() {
            Some(layout) => Ok(layout.common),
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
        if let Some(commit) = self.layout().and_then(|layout| layout.commit(&full)) {
            return Ok(commit.is_some());
        }
        Ok(self.ask(&["show-ref", "--verify", "--quiet", &full])?.success)
    }

    /// Returns the branch that is checked out; `None` when detached or in no repository.
    pub fn current_branch(&self) -> Result<Option<String>, GitError> {
        match self.layout().and_then(|layout| layout.head()) {
            Some(Head::Branch(name)) => {
                return Ok(name.strip_prefix("refs/heads/").map(str::to_owned));
            }
            Some(Head::Detached(_)) => return Ok(None),
            None => {}
        }
        let answer = self.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        Ok(answer.success.then(|| answer.text()).filter(|name| !name.is_empty()))
    }

    /// Returns the commit that a name stands for; `None` when there is none.
    pub fn commit_of(&self, name: &str) -> Result<Option<String>, GitError> {
        if let Some(commit) = self.layout().and_then(|layout| layout.commit(name)) {
            return Ok(commit);
        }
        let wanted = format!("{name}^{{commit}}");
        let answer =
            self.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted])?;
        Ok(answer.success.then(|| answer.text()))
    }

    /// Returns whether a commit is contained in another.
    pub fn is_ancestor(&self, commit: &str, of: &str) -> Result<bool, GitError> {
        if commit == of {
            return Ok(true);
        }
        Ok(self.ask(&["merge-base", "--is-ancestor", commit, of])?.success)
    }

    /// Returns whether tracked files differ from the last commit, or also whether there are new
    /// files.
    pub fn is_dirty(&self, with_new_files: bool) -> Result<bool, GitError> {
        let untracked = if with_new_files { "normal" } else { "no" };
        let untracked = format!("--untracked-files={untracked}");
        Ok(!self.run(&["status", "--porcelain", "-z", &untracked])?.stdout.is_empty())
    }

    /// Returns the files of a merge in progress that are in conflict.
    pub fn conflicts(&self) -> Result<Vec<String>, GitError> {
        let answer = self.run(&["diff", "--name-only", "--diff-filter=U", "-z"])?;
        Ok(parse_names(&answer.stdout))
    }

    /// Returns a file as it is in a commit; `None` when the commit has no such file.
    pub fn file_in(&self, commit: &str, path: &Path) -> Result<Option<Vec<u8>>, GitError> {
        let object = format!("{commit}:{}", path.display());
        let answer = self.ask(&["cat-file", "blob", &object])?;
        Ok(answer.success.then_some(answer.stdout))
    }

    /// Puts all changes and new files onto the stash; returns its commit, `None` for no changes.
    ///
    /// The stash is one list for all worktrees: the caller keeps other writers out meanwhile.
    pub fn stash_push(&self, message: &str) -> Result<Option<String>, GitError> {
        let before = self.stashes()?;
        self.run(&["stash", "push", "--quiet", "--include-untracked", "-m", message])?;
        Ok(self.stashes()?.into_iter().find(|commit| !before.contains(commit)))
    }

    /// Finds the newest stash of the checked-out branch with a message, as [`Self::stash_push`] makes.
    pub fn stash_named(&self, message: &str) -> Result<Option<String>, GitError> {
        let Some(branch) = self.current_branch()? else { return Ok(None) };
        let wanted = format!("On {branch}: {message}");
        let answer = self.run(&["stash", "list", "-z", "--format=%H %gs"])?;
        let stashes = parse_names(&answer.stdout);
        let mut pairs = stashes.iter().filter_map(|line| line.split_once(' '));
        Ok(pairs.find(|(_, subject)| *subject == wanted).map(|(commit, _)| commit.to_owned()))
    }

    /// Takes a stash off the list by its commit; one that is not listed is left alone.
    pub fn stash_drop(&self, commit: &str) -> Result<(), GitError> {
        let place = self.stashes()?.iter().position(|listed| listed == commit);
        if let Some(place) = place {
            self.run(&["stash", "drop", "--quiet", &format!("stash@{{{place}}}")])?;
        }
        Ok(())
    }

    /// Returns the commits on the stash, the newest first.
    fn stashes(&self) -> Result<Vec<String>, GitError> {
        let answer = self.run(&["stash", "list", "-z", "--format=%H"])?;
        Ok(parse_names(&answer.stdout))
    }
}

#[cfg(test)]
mod tests;
