//! Commits of trees, as `git commit-tree` makes them of a user who does not sign.

use gix::ObjectId;
use gix::objs::{Commit, Kind};

use super::Plain;
use super::objects::Lasting;

impl Plain {
    /// Makes a commit; `None` where git itself is to be asked, also for signing.
    pub(crate) fn seal(&self, tree: &str, parents: &[&str], message: &str) -> Option<String> {
        let is = |id: ObjectId, kind: Kind| self.read(id, kind, |_| Some(id));
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
        if self.signs() || !is_kept(message) || !self.is_whole() {
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
        Some(self.store(&commit, Lasting::Now)?.to_string())
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
