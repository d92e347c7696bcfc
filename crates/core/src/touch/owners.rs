//! Who keeps which files, found by path: what it costs to ask does not grow with how many keep some.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::EVERYTHING;

/// Paths in one form, and who keeps them.
#[derive(Clone, Debug, PartialEq)]
pub struct Owners<K> {
    paths: BTreeMap<K, Vec<String>>,
    owners: BTreeMap<String, BTreeSet<K>>,
}

impl<K> Default for Owners<K> {
    fn default() -> Self {
        Self { paths: BTreeMap::new(), owners: BTreeMap::new() }
    }
}

impl<K: Copy + Ord> Owners<K> {
    /// Lets an owner keep some paths, and nothing else any more.
    pub fn set(&mut self, owner: K, paths: &[String]) {
        let old = self.paths.get(&owner).map_or(&[][..], Vec::as_slice);
        if old == paths {
            return;
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
    }

    /// Returns the paths that an owner keeps.
    pub fn paths_of(&self, owner: K) -> &[String] {
        self.paths.get(&owner).map_or(&[], Vec::as_slice)
    }

    /// Returns others that keep any of some paths, what is above them or below: for each path that
    /// they keep the first of them.
    pub fn others<'a>(&'a self, owner: K, paths: &'a [String]) -> impl Iterator<Item = K> + 'a
    where
        K: 'a,
    {
        let other = move |owners: &BTreeSet<K>| owners.iter().find(|it| **it != owner).copied();
        paths.iter().flat_map(|path| self.around(path)).filter_map(other)
    }

    /// Returns who keeps a path, a directory that it is in, or something below it.
    fn around<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a BTreeSet<K>> {
        let parents = path.match_indices('/').map(|(at, _)| &path[..at]);
        let above = [path, EVERYTHING].into_iter().chain(parents);
        above.filter_map(|path| self.owners.get(path)).chain(self.below(path))
    }

    /// Returns who keeps something below a path.
    fn below<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a BTreeSet<K>> {
        let prefix = if path == EVERYTHING { "" } else { path };
        let after = self.owners.range::<str, _>((Bound::Excluded(prefix), Bound::Unbounded));
        let after = after.take_while(move |(other, _)| other.starts_with(prefix));
        // Names like `src-x` come between `src` and what is in it.
        let is_inside =
            move |other: &str| prefix.is_empty() || other[prefix.len()..].starts_with('/');
        after.filter(move |(other, _)| is_inside(other)).map(|(_, owners)| owners)
    }
}
