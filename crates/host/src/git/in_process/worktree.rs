//! Creates a worktree without files on a new branch, as `git worktree add --no-checkout` does.
//!
//! Git's entry for the worktree is written under a temporary name and renamed as a whole, so that
//! nobody finds a partial entry. The branch comes last, so that every failure before can be undone.
//! A killed process leaves, depending on the moment: a temporary entry, which the next call
//! removes; a directory that is empty or holds only the link; the same with an entry whose branch
//! has no commit; or the complete worktree.

#![expect(clippy::disallowed_methods, reason = "this module creates worktrees")]

use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use rustix::fs::{CWD, RenameFlags};

use super::reference::reflog_line;
use super::{InProcessRepo, file_contains};
use crate::git::git_dirs::Head;
use crate::git::process_files;

/// The name prefix of temporary entries.
const STAGING_PREFIX: &str = "mow-worktree.";

/// The parts of a worktree that is not complete yet; dropping the value removes them.
struct PartialWorktree {
    /// The temporary entry in the common git directory.
    staging: PathBuf,
    /// The final entry below `worktrees/`, once it was renamed.
    entry: Option<PathBuf>,
    /// The top directory of the worktree, once it was created.
    target: Option<PathBuf>,
}

impl Drop for PartialWorktree {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.staging).ok();
        if let Some(entry) = &self.entry {
            fs::remove_dir_all(entry).ok();
        }
        if let Some(target) = &self.target {
            fs::remove_file(target.join(".git")).ok();
            fs::remove_dir(target).ok();
        }
    }
}

impl InProcessRepo {
    /// Creates a worktree at a free path, on a branch that does not exist yet.
    pub(crate) fn add_worktree(&self, path: &Path, branch: &str, base: &str) -> Option<()> {
        let common = &self.dirs.common_dir;
        let id = ObjectId::from_hex(base.as_bytes()).ok()?;
        self.tree_of(id)?;
        let name = path.file_name()?.to_str()?;
        let parent = path.parent()?;
        fs::create_dir_all(parent).ok()?;
        let target = parent.canonicalize().ok()?.join(name);
        if !self.is_free(&target, branch)? || !is_simple_name(name) || !is_simple_name(branch) {
            return None;
        }
        let [_, committer] = self.author_and_committer()?;
        process_files::remove_stale(common, STAGING_PREFIX);
        let staging = process_files::path_for_this_process(common, STAGING_PREFIX, name);
        fs::create_dir(&staging).ok()?;
        let mut partial = PartialWorktree { staging: staging.clone(), entry: None, target: None };
        let null = id.kind().null();
        write_entry(&staging, &target, branch, &reflog_line((null, id), &committer, "")?)?;

        fs::create_dir(&target).ok()?;
        partial.target = Some(target.clone());
        let entry = common.join("worktrees").join(name);
        let link = [b"gitdir: ", entry.as_os_str().as_bytes(), b"\n"].concat();
        fs::write(target.join(".git"), link).ok()?;
        fs::create_dir_all(common.join("worktrees")).ok()?;
        rustix::fs::renameat_with(CWD, &staging, CWD, &entry, RenameFlags::NOREPLACE).ok()?;
        partial.entry = Some(entry);
        failpoint::reach("worktree.entered");

        let reason = format!("branch: Created from {base}");
        self.create_branch(branch, id, &reflog_line((null, id), &committer, &reason)?)?;
        (partial.entry, partial.target) = (None, None);
        Some(())
    }

    /// Returns whether the path and the branch are free, and all settings are ordinary.
    fn is_free(&self, target: &Path, branch: &str) -> Option<bool> {
        let config = self.repo.config_snapshot();
        let full = format!("refs/heads/{branch}");
        let below = format!(" {full}/");
        Some(
            self.has_default_checkout_settings()
                && config.boolean("extensions.worktreeConfig").is_none_or(|is_own| !is_own)
                && target.symlink_metadata().is_err()
                && self.dirs.resolve_ref(&full)?.is_none()
                && !self.dirs.common_dir.join(&full).exists()
                && !file_contains(&self.dirs.common_dir.join("packed-refs"), below.as_bytes())
                && !self.is_taken(target, &full)?,
        )
    }

    /// Returns whether an existing worktree has this path or this branch.
    fn is_taken(&self, target: &Path, branch: &str) -> Option<bool> {
        for (one, path) in self.dirs.worktree_dirs()? {
            let is_on = matches!(one.head()?, Head::Branch(name) if name == branch);
            if is_on || path == target {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Creates a branch and syncs it to disk.
    fn create_branch(&self, branch: &str, id: ObjectId, log: &[u8]) -> Option<()> {
        let full = format!("refs/heads/{branch}");
        let mut lock = self.lock_ref(&full, None)??;
        lock.write(|file| writeln!(file, "{id}").and_then(|()| file.sync_all()))?;
        let file = self.dirs.common_dir.join("logs").join(&full);
        fs::create_dir_all(file.parent()?).ok()?;
        let mut reflog = fs::OpenOptions::new().write(true).create_new(true).open(&file).ok()?;
        let is_made = reflog.write_all(log).ok().and_then(|()| lock.commit());
        if is_made.is_none() {
            fs::remove_file(&file).ok();
        }
        is_made
    }
}

/// Writes git's entry of a worktree, without the `locked` file that git keeps in it while it
/// writes.
fn write_entry(entry: &Path, target: &Path, branch: &str, log: &[u8]) -> Option<()> {
    let link = [target.as_os_str().as_bytes(), b"/.git\n"].concat();
    fs::write(entry.join("gitdir"), link).ok()?;
    fs::write(entry.join("commondir"), "../..\n").ok()?;
    fs::create_dir(entry.join("refs")).ok()?;
    fs::create_dir(entry.join("logs")).ok()?;
    fs::write(entry.join("logs/HEAD"), log).ok()?;
    fs::write(entry.join("HEAD"), format!("ref: refs/heads/{branch}\n")).ok()
}

/// Returns whether git uses a name unchanged, both for a branch and for an entry.
fn is_simple_name(name: &str) -> bool {
    let is_simple = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    !name.is_empty() && name != "HEAD" && !name.starts_with('-') && name.bytes().all(is_simple)
}

#[cfg(test)]
mod tests;
