//! When it is known what the ref contains, and when it is not.

use super::*;

fn phase(number: &str) -> PhaseNumber {
    PhaseNumber::parse(number).unwrap()
}

#[test]
fn only_moves_of_this_process_keep_what_is_known() {
    let (one, two) = (phase("1"), phase("2"));
    let mut watched = Watched::default();
    watched.start(one, 1, None);
    watched.start(two, 1, None);
    watched.moved(None, "a");
    assert_eq!(watched.take(one, 1).as_deref(), Some("a"));
    assert_eq!(watched.take(one, 1), None, "it may be merged by now");
    assert_eq!(watched.take(two, 2), None, "another attempt");
    watched.moved(Some("a"), "b");
    assert_eq!(watched.take(two, 1).as_deref(), Some("b"));
    assert!(watched.is_before("a", "b") && watched.is_before("b", "b"));
    assert!(!watched.is_before("b", "a") && !watched.is_before("a", "c"));
}

#[test]
fn a_ref_that_somebody_else_moved_is_watched_anew() {
    let (one, two) = (phase("1"), phase("2"));
    let mut watched = Watched::default();
    watched.start(one, 1, Some("a".to_owned()));
    watched.start(two, 1, Some("x".to_owned()));
    assert_eq!(watched.take(one, 1), None, "x may contain it");
    watched.moved(Some("a"), "b");
    assert_eq!(watched.take(two, 1).as_deref(), Some("x"));
    assert!(!watched.is_before("a", "x"), "nobody knows how it came there");
}
