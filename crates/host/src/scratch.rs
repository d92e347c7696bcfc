//! A fresh checkout of one commit, for checks that must see nothing else. It goes away with the value,
//! and what a killed process left of one is removed before the next is made in its place.

#![expect(clippy::disallowed_methods, reason = "the checkout is ours to remove")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::git::{Git, GitError};

/// A checkout that is removed when this is dropped.
#[derive(Debug)]
pub struct Scratch {
    git: Git,
    path: PathBuf,
}

impl Scratch {
    /// Checks out a commit at a place where nothing else may be.
    pub fn new(root: &Path, path: &Path, commit: &str) -> Result<Self, GitError> {
        let scratch = Self { git: Git::new(root).plumbing(), path: path.to_path_buf() };
        scratch.clear();
        let words = ["worktree", "add", "--quiet", "--detach", "--force"].map(AsRef::as_ref);
        let git = scratch.git.with_env("LC_ALL", "C");
        git.run(&[&words[..], &[path.as_os_str(), commit.as_ref()]].concat())?;
        Ok(scratch)
    }

    /// Returns its top.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn clear(&self) {
        if self.path.exists() {
            fs::remove_dir_all(&self.path).ok();
            let words = ["worktree", "remove", "--force", "--force"].map(AsRef::as_ref);
            // Fails when git does not know it, and then there is nothing to forget.
            self.git.ask(&[&words[..], &[self.path.as_os_str()]].concat()).ok();
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests;
