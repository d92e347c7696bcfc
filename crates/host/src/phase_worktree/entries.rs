//! Git's entries of worktrees, `<common dir>/worktrees/*`, as a killed git may leave them.
//!
//! A git that is killed while it makes a worktree can leave an entry without contents, and then no
//! git in the whole repository can list worktrees any more. Such entries are read and removed here
//! without git. Only those are touched that git itself marked as unfinished.

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

/// How long somebody may take who is just making a worktree whose place is not known yet.
const MADE_WITHIN: Duration = Duration::from_secs(5);

/// Removes what a killed git left of worktrees that it had hardly begun to make.
///
/// Whoever makes one at this moment is waited for, and left alone if that takes too long.
pub fn clear_unfinished(root: &Path) -> Result<(), WorktreeError> {
    let git = Git::new(root).plumbing();
    let entries = git.common_dir()?.join("worktrees");
    let listed = match fs::read_dir(&entries) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(WorktreeError::Io { path: entries, source }),
    };
    for entry in listed.flatten().map(|entry| entry.path()).filter(|entry| is_broken(entry)) {
        let place = place(&entry);
        let busy = match &place {
            Some(place) => locks::wait_until_quiet(place),
            None => wait_for_programs("git", root, true, MADE_WITHIN).unwrap_or_default(),
        };
        if busy.is_empty() && is_broken(&entry) {
            fs::remove_dir_all(&entry)
                .map_err(|source| WorktreeError::Io { path: entry.clone(), source })?;
            if let Some(place) = place.filter(|place| is_empty_but_for_link(place)) {
                remove_with_link(&place)?;
            }
        }
    }
    Ok(())
}

/// Returns whether git began an entry and has not come to the end of its parts.
fn is_broken(entry: &Path) -> bool {
    let has = |name: &str| fs::metadata(entry.join(name)).is_ok_and(|file| file.len() > 0);
    let is_unfinished = match fs::read(entry.join("locked")) {
        Ok(reason) => reason.is_empty() || reason.trim_ascii() == UNFINISHED.as_bytes(),
        // The lock is the first thing in an entry of git's. One of ours has none, and comes as a
        // whole; after a power failure it may have lost what its files held.
        Err(_) => !entry.join("index").exists(),
    };
    is_unfinished && !["gitdir", "commondir", "HEAD"].into_iter().all(has)
}

/// Returns the worktree that an entry is for, if it says so.
fn place(entry: &Path) -> Option<PathBuf> {
    let link = fs::read(entry.join("gitdir")).ok()?;
    let link = link.strip_suffix(b"\n")?;
    Path::new(OsStr::from_bytes(link)).parent().map(Path::to_path_buf)
}

/// Returns whether a directory holds nothing, or only the link to a repository.
pub(super) fn is_empty_but_for_link(path: &Path) -> bool {
    let Ok(entries) = fs::read_dir(path) else { return false };
    entries.into_iter().all(|entry| {
        entry.is_ok_and(|entry| {
            entry.file_name() == ".git" && entry.file_type().is_ok_and(|kind| kind.is_file())
        })
    })
}

/// Removes a directory that holds at most a link, and git's entry that the link names.
pub(super) fn discard(git: &Git, path: &Path) -> Result<(), WorktreeError> {
    let entries = git.common_dir()?.join("worktrees");
    let link = fs::read(path.join(".git")).unwrap_or_default();
    let entry = link.trim_ascii().strip_prefix(b"gitdir: ").map(OsStr::from_bytes).map(Path::new);
    // Never anything but an entry of this repository.
    if let Some(entry) = entry.filter(|entry| entry.parent() == Some(&entries) && entry.is_dir()) {
        let failed = |source| WorktreeError::Io { path: entry.to_path_buf(), source };
        fs::remove_dir_all(entry).map_err(failed)?;
    }
    remove_with_link(path)?;
    if git.worktrees()?.iter().any(|worktree| worktree.path == path) {
        forget(git, path)?;
    }
    Ok(())
}

/// Drops git's entry of a worktree whose directory is gone, and no other.
pub(super) fn forget(git: &Git, path: &Path) -> Result<(), GitError> {
    let words = ["worktree", "remove", "--force", "--force"].map(AsRef::as_ref);
    git.run(&[&words[..], &[path.as_os_str()]].concat()).map(drop)
}

fn remove_with_link(path: &Path) -> Result<(), WorktreeError> {
    let failed = |source| WorktreeError::Io { path: path.to_path_buf(), source };
    match fs::remove_file(path.join(".git")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    fs::remove_dir(path).map_err(failed)
}
