//! Finding owners by path gives what comparing with each of them gives.

use proptest::prelude::*;

use super::*;
use crate::touch::{common, normalized};

/// Paths that lie in each other often, and next to each other in the order of names.
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
    fn others_are_found_as_if_each_were_asked(
        kept in prop::collection::vec((0_u8..6, paths()), 0..24),
        own in paths(),
        owner in 0_u8..6,
    ) {
        let mut owners = Owners::default();
        let mut last = BTreeMap::new();
        for (owner, paths) in &kept {
            owners.set(*owner, paths);
            last.insert(*owner, paths.clone());
        }
        let is_hit = |(other, paths): &(&u8, &Vec<String>)| **other != owner && common(paths, &own).is_some();
        let first = last.iter().find(is_hit).map(|(other, _)| *other);
        prop_assert_eq!(owners.others(owner, &own).min(), first);
        for (owner, paths) in &last {
            prop_assert_eq!(owners.paths_of(*owner), paths.as_slice());
        }
    }

    #[test]
    fn who_keeps_nothing_any_more_leaves_nothing(kept in prop::collection::vec((0_u8..6, paths()), 0..24)) {
        let mut owners = Owners::default();
        for (owner, paths) in &kept {
            owners.set(*owner, paths);
        }
        for owner in 0..6 {
            owners.set(owner, &[]);
        }
        prop_assert_eq!(owners, Owners::default());
    }
}
