//! Commits that follow one another in a plain line, with what they say and what they changed.
//!
//! What decides what git would list is looked at first; nothing is written here.

use std::cmp::Ordering;

use gix::ObjectId;
use gix::objs::CommitRef;
use gix::objs::tree::{Entry, EntryKind};

use super::Plain;
use crate::history::{Change, Trailed, parse_trailers};

/// How many commits a line may have.
pub(super) const LINE_MAX: usize = 1_000;
/// How deep directories may lie in one another.
pub(super) const DEPTH_MAX: usize = 256;
/// Settings that change what `git log` lists, or what it takes for a comment.
const LOG_SETTINGS: [&str; 6] = [
    "core.commentChar",
    "core.commentString",
    "diff.orderFile",
    "diff.relative",
    "i18n.commitEncoding",
    "i18n.logOutputEncoding",
];
/// What git itself puts below messages without a colon, and with one that is none of a trailer.
const GENERATED: [&str; 2] = ["(cherry picked from", "Signed-off-by"];
const OLD_CONFLICTS: &str = "Conflicts:";

impl Plain {
    /// Returns the commits after a base and up to a tip, newest first; both are written out, or the
    /// tip is `HEAD`.
    pub(crate) fn line(&self, base: &str, tip: &str, with_changes: bool) -> Option<Vec<Trailed>> {
        if !self.is_whole() || LOG_SETTINGS.iter().any(|key| self.is_set(key)) {
            return None;
        }
        let head = if tip == "HEAD" { self.layout.commit(tip)? } else { None };
        let (base, mut at) = (Self::id(base)?, Self::id(head.as_deref().unwrap_or(tip))?);
        let mut line = Vec::new();
        while at != base {
            if line.len() == LINE_MAX {
                return None;
            }
            let (parent, trailers) = self.commit(at, said)?;
            let changes = if with_changes { self.differing([parent, at])? } else { Vec::new() };
            line.push(Trailed {
                commit: at.to_string(),
                parents: vec![parent.to_string()],
                trailers,
                is_boundary: false,
                changes: changes.into_iter().map(Changed::into_change).collect(),
            });
            at = parent;
        }
        Some(line)
    }

    /// Lists what differs between two commits, in git's order.
    pub(super) fn differing(&self, commits: [ObjectId; 2]) -> Option<Vec<Changed>> {
        let [old, new] = commits;
        let mut all = Vec::new();
        let trees = [Some(self.tree_of(old)?), Some(self.tree_of(new)?)];
        self.compare(trees, &mut Vec::new(), DEPTH_MAX, &mut all)?;
        Some(all)
    }

    /// Compares two trees, of which one may not be there, below a path.
    fn compare(
        &self,
        trees: [Option<ObjectId>; 2],
        path: &mut Vec<u8>,
        depth: usize,
        all: &mut Vec<Changed>,
    ) -> Option<()> {
        if trees[0] == trees[1] {
            return Some(());
        }
        let depth = depth.checked_sub(1)?;
        let read =
            |tree: Option<ObjectId>| tree.map_or(Some(Vec::new()), |tree| self.entries(tree));
        let (old, new) = (read(trees[0])?, read(trees[1])?);
        let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return Some(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => old.cmp(new),
            };
            let sides = [
                if order.is_le() { old.next() } else { None },
                if order.is_ge() { new.next() } else { None },
            ];
            if sides[0] == sides[1] {
                continue;
            }
            let one = sides.iter().flatten().next()?;
            let (above, is_tree) = (path.len(), one.mode.is_tree());
            path.extend_from_slice(&one.filename);
            if is_tree {
                path.push(b'/');
                let trees = sides.map(|side| side.map(|entry| entry.oid));
                self.compare(trees, path, depth, all)?;
            } else {
                all.push(Changed::new(path, sides)?);
            }
            path.truncate(above);
        }
    }
}

/// Returns the only parent of a commit, and its trailers.
fn said(commit: &CommitRef<'_>) -> Option<(ObjectId, Vec<(String, String)>)> {
    let parents: Vec<ObjectId> = commit.parents().collect();
    let [parent] = parents[..] else { return None };
    if commit.encoding.is_some() {
        return None;
    }
    let pairs = parse_trailers(trailers(commit.message)?).into_iter();
    Some((parent, pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()))
}

/// A file that differs.
pub(super) struct Changed {
    pub(super) path: Vec<u8>,
    /// What it was and what it is.
    pub(super) sides: [Option<(EntryKind, ObjectId)>; 2],
}

impl Changed {
    /// Returns `None` for submodules, of which settings in several places say whether they count.
    fn new(path: &[u8], sides: [Option<Entry>; 2]) -> Option<Self> {
        let sides = sides.map(|side| side.map(|entry| (entry.mode.kind(), entry.oid)));
        let is_module = sides.iter().flatten().any(|(kind, _)| *kind == EntryKind::Commit);
        (!is_module).then(|| Self { path: path.to_vec(), sides })
    }

    fn into_change(self) -> Change {
        let written = |side: Option<(EntryKind, ObjectId)>| match side {
            Some((kind, id)) => (kind.as_octal_str().to_string(), id.to_string()),
            None => ("0".repeat(6), "0".repeat(40)),
        };
        let path = String::from_utf8_lossy(&self.path).into_owned();
        Change { path, sides: self.sides.map(written) }
    }
}

/// Returns the lines of a message that are its trailers; `None` where only git can tell.
///
/// Git takes the last paragraph for trailers when all of its lines look so, and never the first.
/// What it does with comments, folded lines and paragraphs that only partly look so is its own.
fn trailers(message: &[u8]) -> Option<&str> {
    let message = std::str::from_utf8(message).ok()?;
    let is_odd = |line: &str| {
        line.starts_with('#')
            || line.starts_with("---")
            || line == OLD_CONFLICTS
            || (!line.is_empty() && line.trim_ascii().is_empty())
    };
    let text = message.trim_end_matches('\n');
    if text.starts_with('\n') || message.contains(['\r', '\0']) || text.split('\n').any(is_odd) {
        return None;
    }
    let Some((_, last)) = text.rsplit_once("\n\n") else { return Some("") };
    let is_trailer = |line: &str| {
        let key = line.split_once(':').map_or("", |(key, _)| key);
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    if last.split('\n').all(is_trailer) {
        return Some(last);
    }
    let is_plain = |line: &str| {
        !line.contains(':')
            && !line.starts_with([' ', '\t'])
            && !GENERATED.iter().any(|words| line.contains(words))
    };
    last.split('\n').all(is_plain).then_some("")
}

#[cfg(test)]
mod tests;
