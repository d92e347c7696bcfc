//! Directories that hold nothing: git does not keep them, so no check may rest on them.

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::git::{Git, GitError};

/// Empty directories that are gone until the value is.
#[derive(Debug, Default)]
pub struct SetAside {
    /// The outer ones last.
    removed: Vec<PathBuf>,
}

#[expect(clippy::disallowed_methods, reason = "these hold nothing that could be torn or lost")]
impl Drop for SetAside {
    fn drop(&mut self) {
        // The next task may want to put something there. Nothing was in them, so nothing is lost.
        for dir in self.removed.iter().rev() {
            fs::create_dir(dir).ok();
        }
    }
}

/// Removes the directories of a worktree that hold nothing, for a while; one path is left alone, and
/// so is what git ignores.
pub fn set_aside(git: &Git, except: &str) -> Result<SetAside, GitError> {
    let words = ["ls-files", "--others", "--directory", "--exclude-standard", "-z", "--", ":(top)"];
    let except = format!(":(exclude,top){except}");
    let listed = git.run(&[&words[..], &[&except]].concat())?;
    let mut aside = SetAside::default();
    for name in listed.stdout.split(|byte| *byte == 0).filter(|name| name.ends_with(b"/")) {
        aside.clear(&git.dir().join(OsStr::from_bytes(name)));
    }
    Ok(aside)
}

impl SetAside {
    /// Returns the paths, the outer ones last.
    pub fn paths(&self) -> &[PathBuf] {
        &self.removed
    }

    /// Removes a directory and those in it, as far as there is nothing in them.
    ///
    /// What cannot be read or removed stays, as what it is to git: something that is there.
    #[expect(clippy::disallowed_methods, reason = "these hold nothing that could be torn or lost")]
    fn clear(&mut self, dir: &Path) {
        let Ok(entries) = fs::read_dir(dir).and_then(Iterator::collect::<io::Result<Vec<_>>>)
        else {
            return;
        };
        // A repository needs its empty directories.
        if entries.iter().any(|entry| entry.file_name() == ".git") {
            return;
        }
        for entry in entries {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.clear(&entry.path());
            }
        }
        if fs::remove_dir(dir).is_ok() {
            self.removed.push(dir.to_path_buf());
        }
    }
}
