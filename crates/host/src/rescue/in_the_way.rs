//! What lies in a worktree where a commit has something else.
//!
//! Git refuses to write over files that it does not know, but not over ignored ones, and a reset
//! removes whatever stands in its way: folders, and repositories in them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::RescueError;
use crate::git::{Git, GitError, is_below};

/// How git writes the kind of an entry that is a repository of its own.
const REPOSITORY: &[u8] = b"160000";
/// How deep folders are searched for repositories.
const DEPTH_MAX: usize = 64;

/// What lies where a commit has something else.
#[derive(Debug, Default)]
pub(super) struct InTheWay {
    /// Files and folders that the index does not have, each with a NUL byte behind it.
    pub(super) files: Vec<u8>,
    /// Repositories inside the worktree of which something would be written over.
    repositories: Vec<PathBuf>,
}

/// Returns the ignored files and folders that git would write over on its way to a commit, without
/// a word; repositories that it would are refused.
pub fn ignored_in_the_way(worktree: &Git, commit: &str) -> Result<Vec<String>, RescueError> {
    let git = worktree.plumbing();
    let found = InTheWay::find(&git, commit)?;
    found.refuse_repositories(&git)?;
    if found.files.is_empty() {
        return Ok(Vec::new());
    }
    let list = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];
    let ignored = git.run(&list)?.stdout;
    // Folders in which all is ignored have a slash behind them.
    let ignored: Vec<_> =
        names(&ignored).map(|name| name.strip_suffix(b"/").unwrap_or(name)).collect();
    let is_met =
        |name: &&[u8]| ignored.iter().any(|one| is_below(one, name) || is_below(name, one));
    let met = names(&found.files).filter(is_met);
    Ok(met.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

impl InTheWay {
    /// Finds what the index does not have and a commit would write over.
    pub(super) fn find(git: &Git, commit: &str) -> Result<Self, GitError> {
        let mut found = Self::default();
        if git.commit_of(commit)?.is_none() {
            return Ok(found);
        }
        let diff = ["diff-index", "--cached", "--raw", "--no-renames", "--diff-filter=DT", "-z"];
        let differing = git.run(&[&diff[..], &[commit]].concat())?.stdout;
        let records: Vec<_> = names(&differing).collect();
        for pair in records.chunks_exact(2) {
            // `:<mode in the commit> <mode in the index> <object> <object> <letter>`
            let (about, path) = (pair[0], Path::new(OsStr::from_bytes(pair[1])));
            if !about[1..].starts_with(REPOSITORY) {
                found.note(git.dir(), path, about.ends_with(b"D"));
            }
        }
        found.repositories.sort_unstable();
        found.repositories.dedup();
        Ok(found)
    }

    /// Looks what lies at a path, or at a folder above it.
    fn note(&mut self, top: &Path, path: &Path, is_unknown: bool) {
        let mut above: Vec<_> = path.ancestors().filter(|it| !it.as_os_str().is_empty()).collect();
        while let Some(one) = above.pop() {
            let there = top.join(one);
            let Ok(about) = there.symlink_metadata() else { return };
            let is_repository = about.is_dir() && there.join(".git").symlink_metadata().is_ok();
            if is_repository && top.join(path).symlink_metadata().is_ok() {
                return self.repositories.push(one.to_path_buf());
            }
            if about.is_dir() && one == path {
                find_repositories(top, one, DEPTH_MAX, &mut self.repositories);
            }
            if is_unknown && (one == path || !about.is_dir()) {
                self.files.extend([one.as_os_str().as_bytes(), b"\0"].concat());
                return;
            }
        }
    }

    /// Fails where a repository would be written over.
    pub(super) fn refuse_repositories(&self, git: &Git) -> Result<(), RescueError> {
        if self.repositories.is_empty() {
            return Ok(());
        }
        let paths = self.repositories.iter().map(|path| path.display().to_string()).collect();
        Err(RescueError::Repositories { worktree: git.dir().to_path_buf(), paths })
    }
}

/// Finds the repositories inside a worktree that are no submodules of it, by their places in it.
pub fn repositories(worktree: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    find_repositories(worktree, Path::new(""), DEPTH_MAX, &mut found);
    // Its own `.git` lies at the top, and those of submodules are files that lead to its directory.
    found.retain(|inner| *inner != Path::new("") && worktree.join(inner).join(".git").is_dir());
    found.sort_unstable();
    found
}

/// Finds the repositories in a folder.
fn find_repositories(top: &Path, folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(top.join(folder)).into_iter().flatten().flatten() {
        if entry.file_name() == ".git" {
            found.push(folder.to_path_buf());
        } else if depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            find_repositories(top, &folder.join(entry.file_name()), depth - 1, found);
        }
    }
}

fn names(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == 0).filter(|name| !name.is_empty())
}
