//! Lists linear history: commits with one parent each, their trailers and their changed files.
//!
//! Settings that would change what git lists are checked first. Nothing is written here.

use std::cmp::Ordering;

use gix::ObjectId;
use gix::objs::CommitRef;
use gix::objs::tree::{Entry, EntryKind};

use super::InProcessRepo;
use crate::history::{FileChange, HistoryCommit, parse_trailers};

/// The longest history that is walked here, in commits.
pub(super) const COMMITS_MAX: usize = 1_000;
/// The deepest directory nesting that is compared.
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
/// Marks of lines that git itself appends to messages and treats specially.
const GENERATED_MARKS: [&str; 2] = ["(cherry picked from", "Signed-off-by"];
const OLD_CONFLICTS: &str = "Conflicts:";

impl InProcessRepo {
    /// Returns the commits after `base` up to `tip`, newest first. Both are full hashes; `tip` may
    /// also be `HEAD`.
    pub(crate) fn linear_history(
        &self,
        base: &str,
        tip: &str,
        with_changes: bool,
    ) -> Option<Vec<HistoryCommit>> {
        if !self.has_real_parents() || LOG_SETTINGS.iter().any(|key| self.is_set(key)) {
            return None;
        }
        let head = if tip == "HEAD" { self.dirs.resolve_ref(tip)? } else { None };
        let (base, mut current) = (Self::id(base)?, Self::id(head.as_deref().unwrap_or(tip))?);
        let mut line = Vec::new();
        while current != base {
            if line.len() == COMMITS_MAX {
                return None;
            }
            let (parent, trailers) = self.read_commit(current, parent_and_trailers)?;
            let changes =
                if with_changes { self.diff_commits([parent, current])? } else { Vec::new() };
            line.push(HistoryCommit {
                commit: current.to_string(),
                parents: vec![parent.to_string()],
                trailers,
                is_boundary: false,
                changes: changes.into_iter().map(TreeChange::into_change).collect(),
            });
            current = parent;
        }
        Some(line)
    }

    /// Lists the files that differ between two commits, in git's order.
    pub(super) fn diff_commits(&self, commits: [ObjectId; 2]) -> Option<Vec<TreeChange>> {
        let [old, new] = commits;
        let mut all = Vec::new();
        let trees = [Some(self.tree_of(old)?), Some(self.tree_of(new)?)];
        self.diff_trees(trees, &mut Vec::new(), DEPTH_MAX, &mut all)?;
        Some(all)
    }

    /// Compares two trees below a path; either tree may be absent.
    fn diff_trees(
        &self,
        trees: [Option<ObjectId>; 2],
        path: &mut Vec<u8>,
        depth: usize,
        all: &mut Vec<TreeChange>,
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
                self.diff_trees(trees, path, depth, all)?;
            } else {
                all.push(TreeChange::new(path, sides)?);
            }
            path.truncate(above);
        }
    }
}

/// Returns the only parent of a commit, and its trailers.
fn parent_and_trailers(commit: &CommitRef<'_>) -> Option<(ObjectId, Vec<(String, String)>)> {
    let parents: Vec<ObjectId> = commit.parents().collect();
    let [parent] = parents[..] else { return None };
    if commit.encoding.is_some() {
        return None;
    }
    let pairs = parse_trailers(trailer_paragraph(commit.message)?).into_iter();
    Some((parent, pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()))
}

/// A file that differs between two trees.
pub(super) struct TreeChange {
    pub(super) path: Vec<u8>,
    /// Mode and object before and after; `None` when the file is absent.
    pub(super) sides: [Option<(EntryKind, ObjectId)>; 2],
}

impl TreeChange {
    /// Returns `None` for submodules: settings in several places decide whether git lists them.
    fn new(path: &[u8], sides: [Option<Entry>; 2]) -> Option<Self> {
        let sides = sides.map(|side| side.map(|entry| (entry.mode.kind(), entry.oid)));
        let is_module = sides.iter().flatten().any(|(kind, _)| *kind == EntryKind::Commit);
        (!is_module).then(|| Self { path: path.to_vec(), sides })
    }

    fn into_change(self) -> FileChange {
        let written = |side: Option<(EntryKind, ObjectId)>| match side {
            Some((kind, id)) => (kind.as_octal_str().to_string(), id.to_string()),
            None => ("0".repeat(6), "0".repeat(40)),
        };
        let path = String::from_utf8_lossy(&self.path).into_owned();
        FileChange { path, sides: self.sides.map(written) }
    }
}

/// Returns the trailer paragraph of a message; `None` where only git can tell.
///
/// Git takes the last paragraph for trailers when all its lines look like trailers; the first
/// paragraph never counts. Comments, folded lines and mixed paragraphs follow rules that are left
/// to git.
fn trailer_paragraph(message: &[u8]) -> Option<&str> {
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
    let is_prose = |line: &str| {
        !line.contains(':')
            && !line.starts_with([' ', '\t'])
            && !GENERATED_MARKS.iter().any(|words| line.contains(words))
    };
    last.split('\n').all(is_prose).then_some("")
}

#[cfg(test)]
mod tests;
