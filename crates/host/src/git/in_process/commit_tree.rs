//! Creates a commit of an existing tree, as `git commit-tree` does for a user who does not sign
//! commits.

use gix::ObjectId;
use gix::objs::{Commit, Kind};

use super::InProcessRepo;
use super::objects::Durability;

impl InProcessRepo {
    /// Creates a commit and returns its hash; `None` when git must do it, for signing too.
    pub(crate) fn commit_tree(
        &self,
        tree: &str,
        parents: &[&str],
        message: &str,
    ) -> Option<String> {
        let checked = |id: ObjectId, kind: Kind| self.read(id, kind, |_| Some(id));
        let tree = checked(Self::id(tree)?, Kind::Tree)?;
        let mut parent_ids = Vec::new();
        for parent in parents {
            let parent = checked(Self::id(parent)?, Kind::Commit)?;
            // Git drops a parent that is named twice.
            if parent_ids.contains(&parent) {
                return None;
            }
            parent_ids.push(parent);
        }
        let [author, committer] = self.author_and_committer()?;
        if self.signs_commits() || !is_kept_by_git(message) || !self.has_real_parents() {
            return None;
        }
        let commit = Commit {
            tree,
            parents: parent_ids.into(),
            author,
            committer,
            encoding: None,
            message: message.into(),
            extra_headers: Vec::new(),
        };
        Some(self.store(&commit, Durability::Synced)?.to_string())
    }
}

/// Returns whether git stores a text unchanged. Git re-encodes texts with Unicode noncharacters
/// byte by byte.
pub(super) fn is_kept_by_git(text: &str) -> bool {
    let is_noncharacter = |char: char| {
        let code = u32::from(char);
        code == 0 || code & 0xfffe == 0xfffe || (0xfdd0..=0xfdef).contains(&code)
    };
    !text.chars().any(is_noncharacter)
}

#[cfg(test)]
mod tests;
