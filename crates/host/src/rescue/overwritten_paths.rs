//! Finds the files and repositories of a worktree that checking out a commit would overwrite.
//!
//! Git refuses to overwrite untracked files, but not ignored ones. A reset removes everything in
//! its way: directories, and repositories in them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::RescueError;
use crate::git::{Git, GitError, is_below};

/// Git's mode of a submodule entry.
const SUBMODULE_MODE: &[u8] = b"160000";
/// How deep directories are searched for repositories.
const DEPTH_MAX: usize = 64;

/// The paths of a worktree that checking out a commit would overwrite.
#[derive(Debug, Default)]
pub(super) struct OverwrittenPaths {
    /// Files and directories that are not in the index, each followed by a NUL byte.
    pub(super) files: Vec<u8>,
    /// Nested repositories of which at least one file would be overwritten.
    repositories: Vec<PathBuf>,
}

/// Returns the ignored files and directories that git would silently overwrite when checking out a
/// commit. Fails if it would overwrite a nested repository.
pub fn ignored_files_overwritten_by(
    worktree: &Git,
    commit: &str,
) -> Result<Vec<String>, RescueError> {
    let git = worktree.plumbing();
    let found = OverwrittenPaths::find(&git, commit)?;
    found.refuse_repositories(&git)?;
    if found.files.is_empty() {
        return Ok(Vec::new());
    }
    let list = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];
    let ignored = git.run(&list)?.stdout;
    // `--directory` marks a directory in which everything is ignored with a slash at the end.
    let ignored: Vec<_> =
        names(&ignored).map(|name| name.strip_suffix(b"/").unwrap_or(name)).collect();
    let is_ignored = |name: &&[u8]| {
        ignored.iter().any(|candidate| is_below(candidate, name) || is_below(name, candidate))
    };
    let overwritten = names(&found.files).filter(is_ignored);
    Ok(overwritten.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

impl OverwrittenPaths {
    /// Finds the paths that are not in the index and that a commit would overwrite.
    pub(super) fn find(git: &Git, commit: &str) -> Result<Self, GitError> {
        let mut found = Self::default();
        if git.commit_of(commit)?.is_none() {
            return Ok(found);
        }
        let diff = ["diff-index", "--cached", "--raw", "--no-renames", "--diff-filter=DT", "-z"];
        let differing = git.run(&[&diff[..], &[commit]].concat())?.stdout;
        let records: Vec<_> = names(&differing).collect();
        for pair in records.chunks_exact(2) {
            // Format: `:<mode in the commit> <mode in the index> <object> <object> <letter>`.
            let (header, path) = (pair[0], Path::new(OsStr::from_bytes(pair[1])));
            if !header[1..].starts_with(SUBMODULE_MODE) {
                found.inspect(git.dir(), path, header.ends_with(b"D"));
            }
        }
        found.repositories.sort_unstable();
        found.repositories.dedup();
        Ok(found)
    }

    /// Records the file, directory or repository at a path, or at the first non-directory above it.
    fn inspect(&mut self, top: &Path, path: &Path, is_untracked: bool) {
        let mut above: Vec<_> = path.ancestors().filter(|it| !it.as_os_str().is_empty()).collect();
        while let Some(candidate) = above.pop() {
            let absolute = top.join(candidate);
            let Ok(metadata) = absolute.symlink_metadata() else { return };
            let is_repository =
                metadata.is_dir() && absolute.join(".git").symlink_metadata().is_ok();
            if is_repository && top.join(path).symlink_metadata().is_ok() {
                return self.repositories.push(candidate.to_path_buf());
            }
            if metadata.is_dir() && candidate == path {
                find_repositories(top, candidate, DEPTH_MAX, &mut self.repositories);
            }
            if is_untracked && (candidate == path || !metadata.is_dir()) {
                self.files.extend([candidate.as_os_str().as_bytes(), b"\0"].concat());
                return;
            }
        }
    }

    /// Fails if a nested repository would be overwritten.
    pub(super) fn refuse_repositories(&self, git: &Git) -> Result<(), RescueError> {
        if self.repositories.is_empty() {
            return Ok(());
        }
        let paths = self.repositories.iter().map(|path| path.display().to_string()).collect();
        Err(RescueError::NestedRepositories { worktree: git.dir().to_path_buf(), paths })
    }
}

/// Finds the repositories inside a worktree that are not its submodules, as relative paths.
pub fn nested_repositories(worktree: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    find_repositories(worktree, Path::new(""), DEPTH_MAX, &mut found);
    // The worktree's own `.git` is at the top. The `.git` of a submodule is a file, not a
    // directory.
    found.retain(|inner| *inner != Path::new("") && worktree.join(inner).join(".git").is_dir());
    found.sort_unstable();
    found
}

/// Collects the repositories in a directory, down to `depth` levels below it.
fn find_repositories(top: &Path, directory: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(top.join(directory)).into_iter().flatten().flatten() {
        if entry.file_name() == ".git" {
            found.push(directory.to_path_buf());
        } else if depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            find_repositories(top, &directory.join(entry.file_name()), depth - 1, found);
        }
    }
}

fn names(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == 0).filter(|name| !name.is_empty())
}
