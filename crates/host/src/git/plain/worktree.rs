//! Makes a worktree without files, on a new branch: what `git worktree add --no-checkout` does.
//!
//! Git's entry is made aside and put into its place as a whole, so nobody ever finds a part of it.
//! The branch comes last, so whoever gives up before can take everything back. Whoever dies leaves,
//! in this order: an entry aside, which the next one removes; a directory with nothing in it or
//! only the link; the same with an entry whose branch has no commit; the worktree.

#![expect(clippy::disallowed_methods, reason = "a worktree is made here")]

use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use rustix::fs::{CWD, RenameFlags};

use super::reference::log_line;
use super::{Plain, is_named_in};
use crate::git::layout::Head;
use crate::git::leftovers;

/// How entries are called that are made aside.
const ASIDE: &str = "mow-worktree.";

/// The parts of a worktree, to be removed if it does not become one.
struct Parts {
    aside: PathBuf,
    entry: Option<PathBuf>,
    place: Option<PathBuf>,
}

impl Drop for Parts {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.aside).ok();
        if let Some(entry) = &self.entry {
            fs::remove_dir_all(entry).ok();
        }
        if let Some(place) = &self.place {
            fs::remove_file(place.join(".git")).ok();
            fs::remove_dir(place).ok();
        }
    }
}

impl Plain {
    /// Makes a worktree at a place where nothing is, on a branch that is not there yet.
    pub(crate) fn add_worktree(&self, path: &Path, branch: &str, base: &str) -> Option<()> {
        let common = &self.layout.common;
        let id = ObjectId::from_hex(base.as_bytes()).ok()?;
        self.tree_of(id)?;
        let name = path.file_name()?.to_str()?;
        let home = path.parent()?;
        fs::create_dir_all(home).ok()?;
        let place = home.canonicalize().ok()?.join(name);
        if !self.has_room(&place, branch)? || !is_plain(name) || !is_plain(branch) {
            return None;
        }
        let [_, committer] = self.people()?;
        leftovers::sweep(common, ASIDE);
        let aside = leftovers::path(common, ASIDE, name);
        fs::create_dir(&aside).ok()?;
        let mut parts = Parts { aside: aside.clone(), entry: None, place: None };
        let none = id.kind().null();
        write_entry(&aside, &place, branch, &log_line((none, id), &committer, "")?)?;

        fs::create_dir(&place).ok()?;
        parts.place = Some(place.clone());
        let entry = common.join("worktrees").join(name);
        let link = [b"gitdir: ", entry.as_os_str().as_bytes(), b"\n"].concat();
        fs::write(place.join(".git"), link).ok()?;
        fs::create_dir_all(common.join("worktrees")).ok()?;
        rustix::fs::renameat_with(CWD, &aside, CWD, &entry, RenameFlags::NOREPLACE).ok()?;
        parts.entry = Some(entry);
        failpoint::reach("worktree.entered");

        let said = format!("branch: Created from {base}");
        self.make_branch(branch, id, &log_line((none, id), &committer, &said)?)?;
        (parts.entry, parts.place) = (None, None);
        Some(())
    }

    /// Returns whether nothing is there of what is to be made.
    fn has_room(&self, place: &Path, branch: &str) -> Option<bool> {
        let config = self.repo.config_snapshot();
        let full = format!("refs/heads/{branch}");
        let below = format!(" {full}/");
        Some(
            self.makes_worktrees_as_usual()
                && config.boolean("extensions.worktreeConfig").is_none_or(|is_own| !is_own)
                && place.symlink_metadata().is_err()
                && self.layout.commit(&full)?.is_none()
                && !self.layout.common.join(&full).exists()
                && !is_named_in(&self.layout.common.join("packed-refs"), below.as_bytes())
                && !self.is_taken(place, &full)?,
        )
    }

    /// Returns whether a worktree is at a place or on a branch.
    fn is_taken(&self, place: &Path, branch: &str) -> Option<bool> {
        for (one, path) in self.layout.places()? {
            let is_on = matches!(one.head()?, Head::Branch(name) if name == branch);
            if is_on || path == place {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Makes a branch, which is on the disk then.
    fn make_branch(&self, branch: &str, id: ObjectId, log: &[u8]) -> Option<()> {
        let full = format!("refs/heads/{branch}");
        let mut lock = self.lock_at(&full, None)??;
        lock.write(|file| writeln!(file, "{id}").and_then(|()| file.sync_all()))?;
        let file = self.layout.common.join("logs").join(&full);
        fs::create_dir_all(file.parent()?).ok()?;
        let mut made = fs::OpenOptions::new().write(true).create_new(true).open(&file).ok()?;
        let is_made = made.write_all(log).ok().and_then(|()| lock.commit());
        if is_made.is_none() {
            fs::remove_file(&file).ok();
        }
        is_made
    }
}

/// Writes git's entry of a worktree, without the lock that git has in it while it writes.
fn write_entry(entry: &Path, place: &Path, branch: &str, log: &[u8]) -> Option<()> {
    let link = [place.as_os_str().as_bytes(), b"/.git\n"].concat();
    fs::write(entry.join("gitdir"), link).ok()?;
    fs::write(entry.join("commondir"), "../..\n").ok()?;
    fs::create_dir(entry.join("refs")).ok()?;
    fs::create_dir(entry.join("logs")).ok()?;
    fs::write(entry.join("logs/HEAD"), log).ok()?;
    fs::write(entry.join("HEAD"), format!("ref: refs/heads/{branch}\n")).ok()
}

/// Returns whether git takes a name as it is, for a branch and for an entry.
fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    !name.is_empty() && name != "HEAD" && !name.starts_with('-') && name.bytes().all(is_plain)
}

#[cfg(test)]
mod tests;
