//! A commit of files as they lie in the worktree, as `git add` and `git commit --only` make it.
//!
//! The order is git's: the objects, the new index beside the old one, the reference, the index. Who
//! is killed in between leaves at most a lock that [`super::super::locks`] clears away.

use std::io::Write;

use gix::bstr::ByteSlice;
use gix::hash::ObjectId;
use gix::objs::Tree;
use gix::objs::tree::{Editor, Entry};

use super::files::{File, State};
use super::index::Locked;
use super::lock::Lock;
use super::objects::Lasting;
use super::reference::{append_log, log_line};
use super::{Plain, seal};
use crate::git::layout::{Head, Layout};

/// What git writes down while something is in progress that a commit would conclude.
const IN_PROGRESS: [&str; 6] =
    ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG", "MERGE_MSG", "MERGE_RR"];

impl Plain {
    /// Makes everything ready to commit these files and nothing else, also where more is staged;
    /// `None` where git is to do it, also when they are the same as in the last commit.
    pub(crate) fn ready(&self, paths: &[&[u8]], message: &str) -> Option<Ready<'_>> {
        let [author, committer] = self.people()?;
        let message = clean(message)?;
        if !seal::is_kept(&message) || self.others_have_a_say() {
            return None;
        }
        let (branch, head) = self.branch()?;
        let mut index = Locked::take(&self.layout.own.join("index"))?;
        let files = self.files(paths, &index.index)?;
        index.set(self, &files)?;
        let before = self.tree_of(head)?;
        let tree = self.changed_tree(before, &files)?;
        if tree == before {
            return None;
        }
        index.write()?;
        // A line of a reflog has one space where there were several.
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
        let commit = self.store(&commit, Lasting::AsUsual)?;
        let log = log_line((head, commit), &committer, &log)?;
        Some(Ready { plain: self, index, branch, moves: (head, commit), log })
    }

    /// Returns whether somebody else takes part in a commit: hooks, a program that signs, whatever
    /// is in progress.
    fn others_have_a_say(&self) -> bool {
        let hooks = match self.repo.config_snapshot().trusted_path("core.hooksPath") {
            Ok(None) => Some(self.layout.common.join("hooks")),
            Ok(Some(path)) => self.top().map(|top| top.join(path)),
            Err(_) => None,
        };
        let is_hook =
            |entry: std::fs::DirEntry| !entry.file_name().to_string_lossy().ends_with(".sample");
        let has_hooks = hooks.is_none_or(|dir| {
            std::fs::read_dir(dir).is_ok_and(|mut all| all.any(|one| one.map_or(true, is_hook)))
        });
        let is_busy = |name: &&str| self.layout.own.join(name).exists();
        has_hooks
            || self.has_section("hook")
            || self.signs()
            || !self.treats_worktrees_as_usual()
            || IN_PROGRESS.iter().any(is_busy)
            || ["rebase-merge", "rebase-apply", "sequencer"].iter().any(is_busy)
    }

    /// Returns the branch that is checked out, and its commit.
    pub(super) fn branch(&self) -> Option<(String, ObjectId)> {
        let Head::Branch(name) = self.layout.head()? else { return None };
        let commit = self.layout.commit(&name)??;
        Some((name, Self::id(&commit)?))
    }

    /// Writes the tree that a commit's becomes with these files.
    fn changed_tree(&self, tree: ObjectId, files: &[File]) -> Option<ObjectId> {
        let top = Tree { entries: self.entries(tree)? };
        let mut editor = Editor::new(top, self, self.repo.object_hash());
        for file in files.iter().filter(|file| matches!(file.state, State::Gone)) {
            editor.remove_leaf(file.path.split_str("/")).ok()?;
        }
        for file in files {
            if let State::There { kind, object, .. } = file.state {
                editor.upsert(file.path.split_str("/"), kind, object).ok()?;
            }
        }
        editor.write(|tree| self.store_whole(tree).ok_or(())).ok()
    }

    /// Writes a tree, if all is there that it holds.
    fn store_whole(&self, tree: &Tree) -> Option<ObjectId> {
        let is_there = |entry: &Entry| entry.mode.is_commit() || self.has(&entry.oid);
        tree.entries.iter().all(is_there).then(|| self.store(tree, Lasting::AsUsual))?
    }
}

/// A commit that only the branch does not know yet.
pub(crate) struct Ready<'a> {
    plain: &'a Plain,
    /// With the files of the commit, beside the one that is used.
    index: Locked,
    branch: String,
    /// From the last commit to this one.
    moves: (ObjectId, ObjectId),
    /// The line for the reflogs.
    log: Vec<u8>,
}

impl Ready<'_> {
    /// Moves the branch to the commit; `None` when somebody else moved it.
    pub(crate) fn make(self) -> Option<String> {
        let Self { plain, index, branch, moves: (from, to), log } = self;
        let Layout { own, common } = &plain.layout;
        // Only to keep others out, who would check out another branch.
        let _head = Lock::take(&own.join("HEAD"))?;
        let mut lock = plain.lock_at(&branch, Some(from))??;
        if plain.branch()?.0 != branch {
            return None;
        }
        lock.write(|file| writeln!(file, "{to}"))?;
        append_log(&common.join("logs").join(&branch), &log)?;
        append_log(&own.join("logs/HEAD"), &log)?;
        lock.commit()?;
        // Git looks at these files again if the old index stays.
        let _ = index.put();
        Some(to.to_string())
    }
}

/// Cleans a message as `--cleanup=whitespace` does; `None` when nothing is left of it.
fn clean(message: &str) -> Option<String> {
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

/// Returns whether git takes a letter for a space.
fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r')
}

#[cfg(test)]
mod tests;
