//! The index gives the same result as comparing with every owner.

use proptest::prelude::*;

use super::*;
use crate::file_scope::{common_path, normalized};

/// Paths that often contain each other or are neighbours in sort order.
fn paths() -> impl Strategy<Value = Vec<String>> {
    let name = prop::sample::select(vec!["a", "a-x", "a.b", "a0", "b"]);
    let path = prop::collection::vec(name, 0..4).prop_map(|parts| match parts.as_slice() {
        [] => EVERYTHING.to_owned(),
        parts => parts.join("/"),
    });
    prop::collection::vec(path, 0..3).prop_map(|paths| normalized(&paths))
}

proptest! {
    #[test]
    fn overlapping_owners_match_a_pairwise_comparison(
        claims in prop::collection::vec((0_u8..6, paths()), 0..24),
        own in paths(),
        owner in 0_u8..6,
    ) {
        let mut owners = FileOwners::default();
        let mut last = BTreeMap::new();
        for (owner, paths) in &claims {
            owners.set(*owner, paths);
            last.insert(*owner, paths.clone());
        }
        let is_hit = |(other, paths): &(&u8, &Vec<String>)| **other != owner && common_path(paths, &own).is_some();
        let first = last.iter().find(is_hit).map(|(other, _)| *other);
        prop_assert_eq!(owners.overlapping_owners(owner, &own).min(), first);
        for (owner, paths) in &last {
            prop_assert_eq!(owners.paths_of(*owner), paths.as_slice());
        }
    }

    #[test]
    fn an_owner_without_paths_leaves_no_entry(claims in prop::collection::vec((0_u8..6, paths()), 0..24)) {
        let mut owners = FileOwners::default();
        for (owner, paths) in &claims {
            owners.set(*owner, paths);
        }
        for owner in 0..6 {
            owners.set(owner, &[]);
        }
        prop_assert_eq!(owners, FileOwners::default());
    }
}
