//! Merges two commits when the result is beyond doubt: both sides only added and edited files, and
//! never edited the same file differently.
//!
//! Without a deletion there is no rename, and no directory replaces a file. Where only one side
//! changed a file, neither attributes nor merge drivers matter.

use std::collections::{BTreeMap, HashSet, VecDeque};

use gix::ObjectId;
use gix::bstr::BString;
use gix::objs::Tree;
use gix::objs::tree::{Entry, EntryKind};

use super::InProcessRepo;
use super::history::{COMMITS_MAX, DEPTH_MAX};
use super::objects::Durability;

/// Files that tell git how to treat other files.
const RULE_FILES: [&[u8]; 2] = [b".gitattributes", b".gitmodules"];

impl InProcessRepo {
    /// Merges two commits and writes the tree; returns its hash. Each commit is a full hash, or the
    /// full name of a branch or of a `refs/mow/` ref.
    pub(crate) fn merge(&self, ours: &str, theirs: &str) -> Option<String> {
        let commit = |name: &str| match Self::id(name) {
            Some(id) => Some(id),
            None => Self::id(&self.dirs.resolve_ref(name)??),
        };
        let (ours, theirs) = (commit(ours)?, commit(theirs)?);
        let base = self.single_merge_base(ours, theirs)?;
        if !self.only_adds_and_edits(base, ours)? || !self.only_adds_and_edits(base, theirs)? {
            return None;
        }
        let trees = [self.tree_of(base)?, self.tree_of(ours)?, self.tree_of(theirs)?];
        Some(self.merge_trees(trees, DEPTH_MAX)?.to_string())
    }

    /// Returns whether `to` has all files of `from`, each of the same kind, and unchanged rule
    /// files.
    fn only_adds_and_edits(&self, from: ObjectId, to: ObjectId) -> Option<bool> {
        let all = self.diff_commits([from, to])?;
        Some(all.iter().all(|change| {
            let name = change.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            let is_rule = RULE_FILES.iter().any(|rule| name.eq_ignore_ascii_case(rule));
            let is_kept = match change.sides {
                [None, Some(_)] => true,
                [Some((old, _)), Some((new, _))] => old == new || (is_file(old) && is_file(new)),
                [_, None] => false,
            };
            is_kept && !is_rule
        }))
    }

    /// Merges one directory from the trees of the base, ours and theirs.
    fn merge_trees(&self, trees: [ObjectId; 3], depth: usize) -> Option<ObjectId> {
        let [base, ours, theirs] = trees;
        if ours == theirs || theirs == base {
            return Some(ours);
        }
        if ours == base {
            return Some(theirs);
        }
        let depth = depth.checked_sub(1)?;
        let mut names: BTreeMap<BString, [Option<Entry>; 3]> = BTreeMap::new();
        for (side, tree) in trees.into_iter().enumerate() {
            for entry in self.entries(tree)? {
                let sides = names.entry(entry.filename.clone()).or_default();
                if sides[side].replace(entry).is_some() {
                    return None;
                }
            }
        }
        let mut entries = Vec::new();
        for [base, ours, theirs] in names.into_values() {
            entries.extend(if ours == theirs || theirs == base {
                ours
            } else if ours == base {
                theirs
            } else {
                let (base, mut ours, theirs) = (base?, ours?, theirs?);
                if ![&base, &ours, &theirs].iter().all(|entry| entry.mode.is_tree()) {
                    return None;
                }
                ours.oid = self.merge_trees([base.oid, ours.oid, theirs.oid], depth)?;
                Some(ours)
            });
        }
        entries.sort();
        self.store(&Tree { entries }, Durability::Synced)
    }

    /// Returns the merge base if there is exactly one.
    ///
    /// Theirs must reach the base through single-parent commits. The first commit of that line that
    /// ours contains is then the only merge base, since ours contains everything below it too. The
    /// base is searched on the first-parent line of ours; then ours must contain no commit above it
    /// by another way.
    fn single_merge_base(&self, ours: ObjectId, theirs: ObjectId) -> Option<ObjectId> {
        if !self.has_real_parents() {
            return None;
        }
        let (mut their_line, mut our_line) = (vec![theirs], HashSet::from([ours]));
        let (mut theirs_next, mut ours_next) = (Some(theirs), Some(ours));
        let mut found = (ours == theirs).then_some(ours);
        while found.is_none() {
            if (theirs_next, ours_next) == (None, None)
                || their_line.len().max(our_line.len()) > COMMITS_MAX
            {
                return None;
            }
            if let Some(at) = theirs_next {
                let parents = self.parents(at)?;
                theirs_next = (parents.len() == 1).then(|| parents[0]);
                their_line.extend(theirs_next);
                found = theirs_next.filter(|commit| our_line.contains(commit));
            }
            if let Some(at) = ours_next {
                ours_next = self.parents(at)?.first().copied();
                our_line.extend(ours_next);
                found = ours_next.filter(|commit| their_line.contains(commit)).or(found);
            }
        }
        let base = found?;
        let above: HashSet<_> =
            their_line.into_iter().take_while(|commit| *commit != base).collect();
        (above.is_empty() || self.contains_none(ours, &above, base)?).then_some(base)
    }

    /// Returns whether a commit contains none of some commits above a base that it contains.
    ///
    /// All ancestors are walked except those of the base, among which none of these commits can be.
    /// The ancestors of the base are collected at twice the pace, so that a walk that has passed
    /// the base is caught up with.
    fn contains_none(
        &self,
        ours: ObjectId,
        commits: &HashSet<ObjectId>,
        base: ObjectId,
    ) -> Option<bool> {
        let mut below = HashSet::new();
        let (mut left, mut left_below) = (VecDeque::from([ours]), VecDeque::from([base]));
        let mut seen = HashSet::new();
        while let Some(commit) = left.pop_front() {
            for _ in 0..2 {
                if let Some(commit) = left_below.pop_front()
                    && below.insert(commit)
                {
                    left_below.extend(self.parents(commit)?);
                }
            }
            if commits.contains(&commit) {
                return Some(false);
            }
            if !below.contains(&commit) && seen.insert(commit) {
                left.extend(self.parents(commit)?);
            }
            if seen.len() > COMMITS_MAX {
                return None;
            }
        }
        Some(true)
    }
}

fn is_file(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::Blob | EntryKind::BlobExecutable)
}

#[cfg(test)]
mod tests;
