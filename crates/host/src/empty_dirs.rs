//! Directories that hold nothing: git does not keep them, so no check may rest on them.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::git::{Git, GitError};

/// Empty directories that are gone until the value is.
#[derive(Debug, Default)]
pub struct SetAside {
    /// With what they allowed to whom; the outer ones last.
    removed: Vec<(PathBuf, Permissions)>,
    /// What git ignores; what is in there is left alone, too.
    ignored: BTreeSet<PathBuf>,
}

#[expect(clippy::disallowed_methods, reason = "these hold nothing that could be torn or lost")]
impl Drop for SetAside {
    fn drop(&mut self) {
        // The next task may want to put something there. Nothing was in them, so nothing is lost.
        for (dir, permissions) in self.removed.iter().rev() {
            if fs::create_dir(dir).is_ok() {
                fs::set_permissions(dir, permissions.clone()).ok();
            }
        }
    }
}

/// Removes the directories of a worktree that hold nothing, for a while; one path is left alone, and
/// so is what git ignores.
pub fn set_aside(git: &Git, except: &str) -> Result<SetAside, GitError> {
    let found = directories(git, except, &[])?;
    let mut aside = SetAside::default();
    if !found.is_empty() {
        aside.ignored = directories(git, except, &["--ignored"])?;
    }
    for dir in &found {
        aside.clear(dir);
    }
    Ok(aside)
}

/// Lists the directories of which git knows nothing, the outermost of each.
fn directories(git: &Git, except: &str, more: &[&str]) -> Result<BTreeSet<PathBuf>, GitError> {
    let words = ["ls-files", "--others", "--directory", "--exclude-standard", "-z"];
    let except = format!(":(exclude,top){except}");
    let listed = git.run(&[&words[..], more, &["--", ":(top)", &except]].concat())?.stdout;
    let names = listed.split(|byte| *byte == 0).filter_map(|name| name.strip_suffix(b"/"));
    Ok(names.map(|name| git.dir().join(OsStr::from_bytes(name))).collect())
}

impl SetAside {
    /// Returns the paths, the outer ones last.
    pub fn paths(&self) -> impl DoubleEndedIterator<Item = &Path> {
        self.removed.iter().map(|(dir, _)| dir.as_path())
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
        let is_repository = entries.iter().any(|entry| entry.file_name() == ".git");
        if is_repository || self.ignored.contains(dir) {
            return;
        }
        for entry in entries {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.clear(&entry.path());
            }
        }
        let Ok(about) = fs::metadata(dir) else { return };
        if fs::remove_dir(dir).is_ok() {
            self.removed.push((dir.to_path_buf(), about.permissions()));
        }
    }
}
