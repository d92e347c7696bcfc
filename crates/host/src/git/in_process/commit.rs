//! Commits worktree files in our own process, as `git add` and `git commit --only` do.
//!
//! The order is git's: objects, new index next to the old one, branch ref, index. A process killed
//! in between leaves at most a lock file, which [`super::super::locks`] removes.

use std::io::Write;

use gix::bstr::ByteSlice;
use gix::hash::ObjectId;
use gix::objs::Tree;
use gix::objs::tree::{Editor, Entry};

use super::files::{FileState, WorktreeFile};
use super::index::LockedIndex;
use super::lock::LockFile;
use super::objects::Durability;
use super::reference::{append_reflog, reflog_line};
use super::{InProcessRepo, commit_tree};
use crate::git::git_dirs::{GitDirs, Head};

/// Files that exist while an operation is in progress that a commit would conclude.
const IN_PROGRESS: [&str; 6] =
    ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG", "MERGE_MSG", "MERGE_RR"];

impl InProcessRepo {
    /// Prepares a commit of exactly these files, even when more is staged. `None` when git must do
    /// it, and when the files are the same as in the last commit.
    pub(crate) fn prepare_commit(
        &self,
        paths: &[&[u8]],
        message: &str,
    ) -> Option<PreparedCommit<'_>> {
        let [author, committer] = self.author_and_committer()?;
        let message = clean_message(message)?;
        if !commit_tree::is_kept_by_git(&message) || self.needs_git() {
            return None;
        }
        let (branch, head) = self.current_branch()?;
        let mut index = LockedIndex::acquire(&self.dirs.git_dir.join("index"))?;
        let files = self.files(paths, &index.index)?;
        index.set(self, &files)?;
        let before = self.tree_of(head)?;
        let tree = self.write_changed_tree(before, &files)?;
        if tree == before {
            return None;
        }
        index.write()?;
        // Git collapses spaces in a reflog message.
        let subject = message.lines().next().unwrap_or_default().split_ascii_whitespace();
        let log = format!("commit: {}", subject.collect::<Vec<_>>().join(" "));
        let commit = gix::objs::Commit {
            tree,
            parents: [head].into_iter().collect(),
            author,
            committer: committer.clone(),
            encoding: None,
            message: message.into(),
            extra_headers: Vec::new(),
        };
        let commit = self.store(&commit, Durability::Deferred)?;
        let log = reflog_line((head, commit), &committer, &log)?;
        Some(PreparedCommit { repo: self, index, branch, moves: (head, commit), log })
    }

    /// Returns whether git must make the commit: hooks, signing, special settings, or an operation
    /// in progress.
    fn needs_git(&self) -> bool {
        let hooks = match self.repo.config_snapshot().trusted_path("core.hooksPath") {
            Ok(None) => Some(self.dirs.common_dir.join("hooks")),
            Ok(Some(path)) => self.top().map(|top| top.join(path)),
            Err(_) => None,
        };
        let is_hook =
            |entry: std::fs::DirEntry| !entry.file_name().to_string_lossy().ends_with(".sample");
        let has_hooks = hooks.is_none_or(|dir| {
            std::fs::read_dir(dir).is_ok_and(|mut all| all.any(|one| one.map_or(true, is_hook)))
        });
        let is_busy = |name: &&str| self.dirs.git_dir.join(name).exists();
        has_hooks
            || self.has_section("hook")
            || self.signs_commits()
            || !self.has_default_worktree_settings()
            || IN_PROGRESS.iter().any(is_busy)
            || ["rebase-merge", "rebase-apply", "sequencer"].iter().any(is_busy)
    }

    /// Returns the full name of the checked-out branch, and its commit.
    pub(super) fn current_branch(&self) -> Option<(String, ObjectId)> {
        let Head::Branch(name) = self.dirs.head()? else { return None };
        let commit = self.dirs.resolve_ref(&name)??;
        Some((name, Self::id(&commit)?))
    }

    /// Writes the tree that results from applying these files to a tree.
    fn write_changed_tree(&self, tree: ObjectId, files: &[WorktreeFile]) -> Option<ObjectId> {
        let top = Tree { entries: self.entries(tree)? };
        let mut editor = Editor::new(top, self, self.repo.object_hash());
        for file in files.iter().filter(|file| matches!(file.state, FileState::Deleted)) {
            editor.remove_leaf(file.path.split_str("/")).ok()?;
        }
        for file in files {
            if let FileState::Present { kind, object, .. } = file.state {
                editor.upsert(file.path.split_str("/"), kind, object).ok()?;
            }
        }
        editor.write(|tree| self.store_complete_tree(tree).ok_or(())).ok()
    }

    /// Writes a tree if all its objects exist.
    fn store_complete_tree(&self, tree: &Tree) -> Option<ObjectId> {
        let is_there = |entry: &Entry| entry.mode.is_commit() || self.has(&entry.oid);
        tree.entries.iter().all(is_there).then(|| self.store(tree, Durability::Deferred))?
    }
}

/// A commit that is written, but that the branch does not point to yet.
pub(crate) struct PreparedCommit<'a> {
    repo: &'a InProcessRepo,
    /// The new index, written next to the one in use.
    index: LockedIndex,
    branch: String,
    /// The previous commit and the new commit.
    moves: (ObjectId, ObjectId),
    /// The line for the reflogs of the branch and of `HEAD`.
    log: Vec<u8>,
}

impl PreparedCommit<'_> {
    /// Moves the branch to the commit; `None` when another process moved it.
    pub(crate) fn finish(self) -> Option<String> {
        let Self { repo, index, branch, moves: (from, to), log } = self;
        let GitDirs { git_dir, common_dir } = &repo.dirs;
        // Keeps other processes from checking out another branch meanwhile.
        let _head = LockFile::acquire(&git_dir.join("HEAD"))?;
        let mut lock = repo.lock_ref(&branch, Some(from))??;
        if repo.current_branch()?.0 != branch {
            return None;
        }
        lock.write(|file| writeln!(file, "{to}"))?;
        append_reflog(&common_dir.join("logs").join(&branch), &log)?;
        append_reflog(&git_dir.join("logs/HEAD"), &log)?;
        lock.commit()?;
        // If the old index stays, git only compares these files again.
        let _ = index.replace();
        Some(to.to_string())
    }
}

/// Cleans a message as `--cleanup=whitespace` does; `None` when nothing is left.
fn clean_message(message: &str) -> Option<String> {
    if message.contains('\0') {
        return None;
    }
    let mut cleaned = String::with_capacity(message.len() + 1);
    let mut is_gap = false;
    for line in message.split('\n').map(|line| line.trim_end_matches(is_space)) {
        if line.is_empty() {
            is_gap = !cleaned.is_empty();
            continue;
        }
        if is_gap {
            cleaned.push('\n');
        }
        is_gap = false;
        cleaned.push_str(line);
        cleaned.push('\n');
    }
    Some(cleaned).filter(|message| !message.is_empty())
}

/// Returns whether git counts a character as a space.
fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

#[cfg(test)]
mod tests;
