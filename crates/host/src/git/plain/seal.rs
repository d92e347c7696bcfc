//! Commits of trees, as `git commit-tree` makes them of a user who does not sign, and the move of a
//! reference of ours to one.

use std::io::Write;
use std::time::Duration;

use gix::ObjectId;
use gix::objs::{Commit, Kind};

use super::Plain;
use super::lock::Lock;
use crate::git::{Git, is_hash, locks};

/// How long somebody else may keep a reference of ours locked.
const LOCKED_WITHIN: Duration = Duration::from_secs(1);

impl Git {
    /// Makes a commit; `None` where git itself is to be asked, also for signing.
    pub(crate) fn seal_plainly(
        &self,
        tree: &str,
        parents: &[&str],
        message: &str,
    ) -> Option<String> {
        self.plain()?.seal(tree, parents, message)
    }
}

impl Git {
    /// Moves a reference of ours if it still is where it was, and tells whether; `None` where git
    /// itself is to be asked.
    ///
    /// Only one process of ours moves it at a time. A lock that stays is that of one that was killed.
    pub(crate) fn swap_plainly(&self, name: &str, from: &str, to: &str) -> Option<bool> {
        let layout = self.plain()?.layout;
        let file = layout.common.join(name);
        let is_plain = name.starts_with("refs/mow/") && is_hash(to.as_bytes()) && file.is_file();
        if !is_plain || layout.common.join("logs").join(name).exists() {
            return None;
        }
        let mut lock = match Lock::take(&file, LOCKED_WITHIN) {
            Some(lock) => lock,
            None => {
                locks::clear_reference(self, name).ok()?;
                Lock::take(&file, Duration::ZERO)?
            }
        };
        if layout.commit(name)?.as_deref() != Some(from) {
            return Some(false);
        }
        lock.write(|file| writeln!(file, "{to}").and_then(|()| file.sync_all()))?;
        failpoint::reach("merge.ref.locked");
        lock.commit().map(|()| true)
    }
}

impl Plain {
    fn seal(&self, tree: &str, parents: &[&str], message: &str) -> Option<String> {
        let is = |id: ObjectId, kind: Kind| {
            self.repo.find_header(id).ok().filter(|header| header.kind() == kind).map(|_| id)
        };
        let tree = is(Self::id(tree)?, Kind::Tree)?;
        let mut known = Vec::new();
        for parent in parents {
            let parent = is(Self::id(parent)?, Kind::Commit)?;
            // Git leaves out one that is named twice.
            if known.contains(&parent) {
                return None;
            }
            known.push(parent);
        }
        let [author, committer] = self.people()?;
        if !is_kept(message) || !self.is_whole() {
            return None;
        }
        let commit = Commit {
            tree,
            parents: known.into(),
            author,
            committer,
            encoding: None,
            message: message.into(),
            extra_headers: Vec::new(),
        };
        Some(self.store(&commit)?.to_string())
    }
}

/// Returns whether git keeps a text as it is. What is no character it writes anew, byte by byte.
pub(super) fn is_kept(text: &str) -> bool {
    let is_none = |char: char| {
        let code = u32::from(char);
        code == 0 || code & 0xfffe == 0xfffe || (0xfdd0..=0xfdef).contains(&code)
    };
    !text.chars().any(is_none)
}

#[cfg(test)]
mod tests;
