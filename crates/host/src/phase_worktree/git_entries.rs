//! Removes git's entries for worktrees, `<common dir>/worktrees/*`, that a killed git left
//! unfinished.
//!
//! A git that is killed while it creates a worktree can leave an entry with empty files. Then every
//! `git worktree list` in the repository fails, so this module reads and removes such entries
//! without git. It touches only entries that git marked as unfinished, or that lost their contents
//! in a power failure.

#![expect(clippy::disallowed_methods, reason = "git cannot remove these itself")]

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{UNFINISHED, WorktreeError};
use crate::git::{Git, GitError, locks};
use crate::process::wait_for_programs;

/// How long to wait for a git process that may be creating a worktree at a path not yet recorded.
const CREATION_MAX: Duration = Duration::from_secs(5);

/// Removes the unfinished entries that a killed git left.
///
/// Waits for git processes that are creating a worktree now, and leaves their entries alone if they
/// take too long.
pub fn clear_unfinished(root: &Path) -> Result<(), WorktreeError> {
    let git = Git::new(root).plumbing();
    let entries = git.common_dir()?.join("worktrees");
    let listed = match fs::read_dir(&entries) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(WorktreeError::Io { path: entries, source }),
    };
    for entry in listed.flatten().map(|entry| entry.path()).filter(|entry| is_broken(entry)) {
        let worktree = worktree_of_entry(&entry);
        let busy = match &worktree {
            Some(worktree) => locks::wait_for_running_git(worktree),
            None => wait_for_programs("git", root, true, CREATION_MAX).unwrap_or_default(),
        };
        if busy.is_empty() && is_broken(&entry) {
            fs::remove_dir_all(&entry)
                .map_err(|source| WorktreeError::Io { path: entry.clone(), source })?;
            if let Some(worktree) = worktree.filter(|path| is_empty_but_for_link(path)) {
                remove_link_and_directory(&worktree)?;
            }
        }
    }
    Ok(())
}

/// Returns whether an entry is unfinished and lacks one of its required files.
fn is_broken(entry: &Path) -> bool {
    let has = |name: &str| fs::metadata(entry.join(name)).is_ok_and(|file| file.len() > 0);
    let is_unfinished = match fs::read(entry.join("locked")) {
        Ok(reason) => reason.is_empty() || reason.trim_ascii() == UNFINISHED.as_bytes(),
        // Git writes the lock first. An entry that mow creates has no lock and appears complete by
        // a rename, but a power failure may have lost the contents of its files.
        Err(_) => !entry.join("index").exists(),
    };
    is_unfinished && !["gitdir", "commondir", "HEAD"].into_iter().all(has)
}

/// Returns the directory of the worktree that an entry is for, if it is recorded.
fn worktree_of_entry(entry: &Path) -> Option<PathBuf> {
    let link = fs::read(entry.join("gitdir")).ok()?;
    let link = link.strip_suffix(b"\n")?;
    Path::new(OsStr::from_bytes(link)).parent().map(Path::to_path_buf)
}

/// Returns whether a directory is empty except for a `.git` link file.
pub(super) fn is_empty_but_for_link(path: &Path) -> bool {
    let Ok(entries) = fs::read_dir(path) else { return false };
    entries.into_iter().all(|entry| {
        entry.is_ok_and(|entry| {
            entry.file_name() == ".git" && entry.file_type().is_ok_and(|kind| kind.is_file())
        })
    })
}

/// Removes a directory that holds at most a `.git` link, and the entry that the link points to.
pub(super) fn remove_link_directory(git: &Git, path: &Path) -> Result<(), WorktreeError> {
    let entries = git.common_dir()?.join("worktrees");
    let link = fs::read(path.join(".git")).unwrap_or_default();
    let entry = link.trim_ascii().strip_prefix(b"gitdir: ").map(OsStr::from_bytes).map(Path::new);
    // Remove only an entry of this repository.
    if let Some(entry) = entry.filter(|entry| entry.parent() == Some(&entries) && entry.is_dir()) {
        let failed = |source| WorktreeError::Io { path: entry.to_path_buf(), source };
        fs::remove_dir_all(entry).map_err(failed)?;
    }
    remove_link_and_directory(path)?;
    if git.worktrees()?.iter().any(|worktree| worktree.path == path) {
        drop_entry(git, path)?;
    }
    Ok(())
}

/// Removes git's entry for one worktree whose directory is gone.
pub(super) fn drop_entry(git: &Git, path: &Path) -> Result<(), GitError> {
    let words = ["worktree", "remove", "--force", "--force"].map(AsRef::as_ref);
    git.run(&[&words[..], &[path.as_os_str()]].concat()).map(drop)
}

fn remove_link_and_directory(path: &Path) -> Result<(), WorktreeError> {
    let failed = |source| WorktreeError::Io { path: path.to_path_buf(), source };
    match fs::remove_file(path.join(".git")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    fs::remove_dir(path).map_err(failed)
}
