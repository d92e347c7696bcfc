//! An index from paths to their owners.
//!
//! Finding overlapping owners costs time in the depth of a path and the number of hits, not in the
//! number of owners.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::EVERYTHING;

/// The normalised paths that each owner, such as a phase, has claimed.
#[derive(Clone, Debug, PartialEq)]
pub struct FileOwners<K> {
    paths: BTreeMap<K, Vec<String>>,
    owners: BTreeMap<String, BTreeSet<K>>,
}

impl<K> Default for FileOwners<K> {
    fn default() -> Self {
        Self { paths: BTreeMap::new(), owners: BTreeMap::new() }
    }
}

impl<K: Copy + Ord> FileOwners<K> {
    /// Replaces the paths of an owner; an empty list removes the owner. Returns whether anything
    /// changed.
    pub fn set(&mut self, owner: K, paths: &[String]) -> bool {
        let old = self.paths.get(&owner).map_or(&[][..], Vec::as_slice);
        if old == paths {
            return false;
        }
        for path in self.paths.remove(&owner).into_iter().flatten() {
            if let Some(owners) = self.owners.get_mut(&path) {
                owners.remove(&owner);
                if owners.is_empty() {
                    self.owners.remove(&path);
                }
            }
        }
        for path in paths {
            self.owners.entry(path.clone()).or_default().insert(owner);
        }
        if !paths.is_empty() {
            self.paths.insert(owner, paths.to_vec());
        }
        true
    }

    /// Returns the paths of an owner; empty for an unknown owner.
    pub fn paths_of(&self, owner: K) -> &[String] {
        self.paths.get(&owner).map_or(&[], Vec::as_slice)
    }

    /// Returns other owners whose paths overlap with some paths.
    ///
    /// A path overlaps with itself, its parent directories and everything below it. For each
    /// overlapping path that others own, only the first of its other owners is returned, so an
    /// owner may come several times.
    pub fn overlapping_owners<'a>(
        &'a self,
        owner: K,
        paths: &'a [String],
    ) -> impl Iterator<Item = K> + 'a
    where
        K: 'a,
    {
        let other = move |owners: &BTreeSet<K>| owners.iter().find(|one| **one != owner).copied();
        paths.iter().flat_map(|path| self.overlapping(path)).filter_map(other)
    }

    /// Returns the owners of a path, of its parent directories and of everything below it.
    fn overlapping<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a BTreeSet<K>> {
        let parents = path.match_indices('/').map(|(at, _)| &path[..at]);
        let above = [path, EVERYTHING].into_iter().chain(parents);
        above.filter_map(|path| self.owners.get(path)).chain(self.below(path))
    }

    /// Returns the owners of paths below a path.
    fn below<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a BTreeSet<K>> {
        let prefix = if path == EVERYTHING { "" } else { path };
        let after = self.owners.range::<str, _>((Bound::Excluded(prefix), Bound::Unbounded));
        let after = after.take_while(move |(other, _)| other.starts_with(prefix));
        // `src-x` sorts between `src` and `src/a`, so the range has to be filtered.
        let is_inside =
            move |other: &str| prefix.is_empty() || other[prefix.len()..].starts_with('/');
        after.filter(move |(other, _)| is_inside(other)).map(|(_, owners)| owners)
    }
}
