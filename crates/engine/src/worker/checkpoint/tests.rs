//! Tests which claims of a checkpoint are doubted.

use mow_core::worker::TaskSnapshot;

use super::*;

fn plan(id: &str, tasks: usize, tasks_done: &[usize], done: bool) -> PlanSnapshot {
    PlanSnapshot {
        id: id.to_owned(),
        tasks: vec![TaskSnapshot::default(); tasks],
        tasks_done: tasks_done.iter().copied().collect(),
        done,
        ..PlanSnapshot::default()
    }
}

#[test]
fn only_claims_that_the_plans_contradict_are_doubted() {
    let plans = [plan("03-01", 1, &[1], true), plan("03-02", 3, &[1], false)];
    let check = |complete: &[&str], current: &str, task: usize, expected: &[&str]| {
        let complete =
            complete.iter().map(|id| CompletePlan { id: (*id).to_owned(), commit: None });
        let claimed = Checkpoint {
            status: "paused".to_owned(),
            complete: complete.collect(),
            task: Some(task),
            ..Checkpoint::default()
        };
        let found = doubts(&claimed, Some(current), &plans);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, words) in found.iter().zip(expected) {
            assert!(found.contains(words), "{found}");
        }
    };
    check(&["03-01"], "03-02", 2, &[]);
    // The branch is further than the checkpoint.
    check(&[], "03-02", 1, &[]);
    check(&["03-01", "03-02"], "03-02", 2, &["is not on the branch"]);
    check(&["03-07"], "03-02", 2, &["does not exist"]);
    check(&[], "03-02", 3, &["task 2 has no commit"]);
    check(&[], "03-01", 1, &["which is complete"]);
    check(&[], "03-09", 1, &["plan 03-09, which does not exist"]);
}

#[test]
fn a_plan_may_be_named_without_its_phase() {
    assert_eq!(full_plan_id("03", "2"), "03-02");
    assert_eq!(full_plan_id("03", "03-02"), "03-02");
}
