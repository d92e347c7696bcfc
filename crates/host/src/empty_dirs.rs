//! Removes empty directories for the duration of a check: git does not store them, so no check may
//! depend on them.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::git::{Git, GitError};

/// Empty directories that are removed until this value is dropped.
#[derive(Debug, Default)]
pub struct RemovedEmptyDirs {
    /// Paths with their permissions; outer directories come last.
    removed: Vec<(PathBuf, Permissions)>,
    /// Directories that git ignores; nothing in them is removed.
    ignored: BTreeSet<PathBuf>,
}

#[expect(clippy::disallowed_methods, reason = "empty directories cannot be torn or lost")]
impl Drop for RemovedEmptyDirs {
    fn drop(&mut self) {
        // The next task may want to write there. The directories were empty, so nothing is lost.
        for (dir, permissions) in self.removed.iter().rev() {
            if fs::create_dir(dir).is_ok() {
                fs::set_permissions(dir, permissions.clone()).ok();
            }
        }
    }
}

/// Removes the empty directories of a worktree until the result is dropped, except below one path
/// and below ignored directories.
pub fn remove_empty_dirs(git: &Git, except: &str) -> Result<RemovedEmptyDirs, GitError> {
    let found = list_untracked_dirs(git, except, &[])?;
    let mut removed = RemovedEmptyDirs::default();
    if !found.is_empty() {
        removed.ignored = list_untracked_dirs(git, except, &["--ignored"])?;
    }
    for dir in &found {
        removed.remove_if_empty(dir);
    }
    Ok(removed)
}

/// Lists the untracked directories, only the outermost of each.
fn list_untracked_dirs(
    git: &Git,
    except: &str,
    more: &[&str],
) -> Result<BTreeSet<PathBuf>, GitError> {
    let words = ["ls-files", "--others", "--directory", "--exclude-standard", "-z"];
    let except = format!(":(exclude,top){except}");
    let listed = git.run(&[&words[..], more, &["--", ":(top)", &except]].concat())?.stdout;
    let names = listed.split(|byte| *byte == 0).filter_map(|name| name.strip_suffix(b"/"));
    Ok(names.map(|name| git.dir().join(OsStr::from_bytes(name))).collect())
}

impl RemovedEmptyDirs {
    /// Returns the removed paths; outer directories come last.
    pub fn paths(&self) -> impl DoubleEndedIterator<Item = &Path> {
        self.removed.iter().map(|(dir, _)| dir.as_path())
    }

    /// Removes a directory and its subdirectories as far as they are empty.
    ///
    /// A directory that cannot be read or removed stays.
    #[expect(clippy::disallowed_methods, reason = "empty directories cannot be torn or lost")]
    fn remove_if_empty(&mut self, dir: &Path) {
        let Ok(entries) = fs::read_dir(dir).and_then(Iterator::collect::<io::Result<Vec<_>>>)
        else {
            return;
        };
        // A repository needs its empty directories.
        let is_repository = entries.iter().any(|entry| entry.file_name() == ".git");
        if is_repository || self.ignored.contains(dir) {
            return;
        }
        for entry in entries {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.remove_if_empty(&entry.path());
            }
        }
        let Ok(metadata) = fs::metadata(dir) else { return };
        if fs::remove_dir(dir).is_ok() {
            self.removed.push((dir.to_path_buf(), metadata.permissions()));
        }
    }
}
