//! When it is known what the ref contains, and when it is not.

use super::*;

fn phase(number: &str) -> PhaseNumber {
    PhaseNumber::parse(number).unwrap()
}

fn come_to(run_ref: &RunRef, place: &str) {
    run_ref.known().come_to(place);
}

#[test]
fn a_ref_contains_nothing_of_a_worker_until_it_is_merged() {
    let (one, two) = (phase("1"), phase("2"));
    let run_ref = RunRef::default();
    run_ref.start(one, 1);
    run_ref.start(two, 1);
    come_to(&run_ref, "a");
    assert_eq!(run_ref.place_without(one, 1).as_deref(), Some("a"));
    assert_eq!(run_ref.place_without(one, 1), None, "it may be merged by now");
    assert_eq!(run_ref.place_without(two, 2), None, "another attempt");
    come_to(&run_ref, "b");
    assert_eq!(run_ref.place_without(two, 1).as_deref(), Some("b"));
}

#[test]
fn nothing_is_known_before_somebody_looked_and_after_people_merged() {
    let (one, two) = (phase("1"), phase("2"));
    let run_ref = RunRef::default();
    run_ref.start(one, 1);
    assert_eq!(run_ref.place_without(one, 1), None);
    run_ref.start(two, 1);
    come_to(&run_ref, "a");
    run_ref.take_in();
    assert_eq!(run_ref.place_without(two, 1), None, "they may have merged it");
}

#[test]
fn the_last_places_are_known_in_their_order() {
    let run_ref = RunRef::default();
    for place in ["a", "b", "b"] {
        come_to(&run_ref, place);
    }
    assert!(run_ref.is_before("a", "b") && run_ref.is_before("b", "b"));
    assert!(!run_ref.is_before("b", "a") && !run_ref.is_before("a", "c"));
    for n in 0..PLACES_MAX {
        come_to(&run_ref, &n.to_string());
    }
    assert!(!run_ref.is_before("b", "0"), "b is forgotten");
    assert!(run_ref.is_before("0", "9"));
}
