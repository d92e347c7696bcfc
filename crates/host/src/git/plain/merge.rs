//! Merges that leave no doubt: both sides only added and changed files, and never the same one
//! differently.
//!
//! Without a deletion there is no rename, and no directory in the place of a file; where only one
//! side changed a file, neither attributes nor merge drivers have a say.

use std::collections::{BTreeMap, HashSet, VecDeque};

use gix::ObjectId;
use gix::bstr::BString;
use gix::objs::Tree;
use gix::objs::tree::{Entry, EntryKind};

use super::Plain;
use super::history::{DEPTH_MAX, LINE_MAX};
use super::objects::Lasting;

/// Files that tell git how to treat others.
const RULES: [&[u8]; 2] = [b".gitattributes", b".gitmodules"];

impl Plain {
    /// Merges two commits and writes the tree; each is written out, or the full name of a branch or
    /// of a reference of ours.
    pub(crate) fn merge(&self, ours: &str, theirs: &str) -> Option<String> {
        let commit = |name: &str| match Self::id(name) {
            Some(id) => Some(id),
            None => Self::id(&self.layout.commit(name)??),
        };
        let (ours, theirs) = (commit(ours)?, commit(theirs)?);
        let base = self.only_base(ours, theirs)?;
        if !self.only_grew(base, ours)? || !self.only_grew(base, theirs)? {
            return None;
        }
        let trees = [self.tree_of(base)?, self.tree_of(ours)?, self.tree_of(theirs)?];
        Some(self.join(trees, DEPTH_MAX)?.to_string())
    }

    /// Returns whether one commit has all files of another, each of the same kind, and the same
    /// rules.
    fn only_grew(&self, from: ObjectId, to: ObjectId) -> Option<bool> {
        let all = self.differing([from, to])?;
        Some(all.iter().all(|change| {
            let name = change.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            let is_rule = RULES.iter().any(|rule| name.eq_ignore_ascii_case(rule));
            let stays = match change.sides {
                [None, Some(_)] => true,
                [Some((old, _)), Some((new, _))] => old == new || (is_file(old) && is_file(new)),
                [_, None] => false,
            };
            stays && !is_rule
        }))
    }

    /// Joins the base, ours and theirs of a directory.
    fn join(&self, trees: [ObjectId; 3], depth: usize) -> Option<ObjectId> {
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
                let known = names.entry(entry.filename.clone()).or_default();
                if known[side].replace(entry).is_some() {
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
                ours.oid = self.join([base.oid, ours.oid, theirs.oid], depth)?;
                Some(ours)
            });
        }
        entries.sort();
        self.store(&Tree { entries }, Lasting::Now)
    }

    /// Returns the one commit that a merge begins from.
    ///
    /// Theirs goes down to it in a plain line. So what both sides have in common is the first
    /// commit of that line which ours contains, and all below it: there can be no second one. It
    /// is looked for on the first line of ours; then no commit above it may be in ours by another
    /// way.
    fn only_base(&self, ours: ObjectId, theirs: ObjectId) -> Option<ObjectId> {
        if !self.is_whole() {
            return None;
        }
        let (mut line, mut first) = (vec![theirs], HashSet::from([ours]));
        let (mut theirs_next, mut ours_next) = (Some(theirs), Some(ours));
        let mut found = (ours == theirs).then_some(ours);
        while found.is_none() {
            if (theirs_next, ours_next) == (None, None) || line.len().max(first.len()) > LINE_MAX {
                return None;
            }
            if let Some(at) = theirs_next {
                let parents = self.parents(at)?;
                theirs_next = (parents.len() == 1).then(|| parents[0]);
                line.extend(theirs_next);
                found = theirs_next.filter(|commit| first.contains(commit));
            }
            if let Some(at) = ours_next {
                ours_next = self.parents(at)?.first().copied();
                first.extend(ours_next);
                found = ours_next.filter(|commit| line.contains(commit)).or(found);
            }
        }
        let base = found?;
        let above: HashSet<_> = line.into_iter().take_while(|commit| *commit != base).collect();
        (above.is_empty() || self.contains_none(ours, &above, base)?).then_some(base)
    }

    /// Returns whether a commit contains none of some that stand above a base, which it contains.
    ///
    /// All ways down are gone, but for what lies below the base, where none of these can be. That
    /// is found out from the base with twice the pace, so that a way that has passed its beginning
    /// is caught up with.
    fn contains_none(
        &self,
        ours: ObjectId,
        some: &HashSet<ObjectId>,
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
            if some.contains(&commit) {
                return Some(false);
            }
            if !below.contains(&commit) && seen.insert(commit) {
                left.extend(self.parents(commit)?);
            }
            if seen.len() > LINE_MAX {
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
