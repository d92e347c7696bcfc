//! Tests when the ref is known to contain no commit of an attempt.

use super::*;

fn phase(number: &str) -> PhaseNumber {
    PhaseNumber::parse(number).unwrap()
}

fn move_to(run_ref: &RunRef, commit: &str) {
    run_ref.history().add(commit);
}

#[test]
fn a_ref_contains_nothing_of_a_worker_until_it_is_merged() {
    let (one, two) = (phase("1"), phase("2"));
    let run_ref = RunRef::default();
    run_ref.worker_starts(one, 1);
    run_ref.worker_starts(two, 1);
    move_to(&run_ref, "a");
    assert_eq!(run_ref.commit_without_attempt(one, 1).as_deref(), Some("a"));
    assert_eq!(run_ref.commit_without_attempt(one, 1), None, "it may be merged by now");
    assert_eq!(run_ref.commit_without_attempt(two, 2), None, "another attempt");
    move_to(&run_ref, "b");
    assert_eq!(run_ref.commit_without_attempt(two, 1).as_deref(), Some("b"));
}

#[test]
fn nothing_is_known_before_the_first_check_and_after_people_merged() {
    let (one, two) = (phase("1"), phase("2"));
    let run_ref = RunRef::default();
    run_ref.worker_starts(one, 1);
    assert_eq!(run_ref.commit_without_attempt(one, 1), None);
    run_ref.worker_starts(two, 1);
    move_to(&run_ref, "a");
    run_ref.add_commits_of_people();
    assert_eq!(run_ref.commit_without_attempt(two, 1), None, "people may have merged it");
}

#[test]
fn the_last_commits_are_remembered_in_order() {
    let run_ref = RunRef::default();
    for commit in ["a", "b", "b"] {
        move_to(&run_ref, commit);
    }
    assert!(run_ref.is_before("a", "b") && run_ref.is_before("b", "b"));
    assert!(!run_ref.is_before("b", "a") && !run_ref.is_before("a", "c"));
    for n in 0..COMMITS_MAX {
        move_to(&run_ref, &n.to_string());
    }
    assert!(!run_ref.is_before("b", "0"), "b is forgotten");
    assert!(run_ref.is_before("0", "9"));
}
