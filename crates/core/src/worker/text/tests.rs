//! Tests that sentences name plan, task and reason.

use super::*;

#[test]
fn steps_and_failures_have_sentences() {
    let task = Effect::RunTask { plan: "03-01".to_owned(), task: 2, parallel: false };
    assert_eq!(task.log_label().unwrap(), "03-01-t2-");
    let begun = Event::Intended { id: 1, effect: task };
    assert_eq!(begun.sentence().unwrap(), "plan 03-01: task 2 begins");
    assert!(!begun.is_failure());
    let outcome = Outcome::Failed { reason: "exit 3: boom".to_owned() };
    let failed = Event::Finished { id: 1, outcome };
    assert_eq!(failed.sentence().unwrap(), "failed: exit 3: boom");
    assert!(failed.is_failure());
    let look = Event::Intended { id: 2, effect: Effect::Inspect };
    assert_eq!(look.sentence(), None);
    let started = Event::Reported(Report::Started { pid: 12 });
    assert_eq!(started.sentence().unwrap(), "worker 12 is running");
}

#[test]
fn both_kinds_of_verification_find_their_logs() {
    let verifier = Effect::RunRole { role: Role::Verifier, round: 0 };
    let label = verifier.log_label().unwrap();
    assert!("verifier-0".starts_with(&label) && "verify-1".starts_with(&label));
    let planner = Effect::RunRole { role: Role::Planner, round: 1 };
    assert_eq!(planner.log_label().unwrap(), "planner-1");
    assert_eq!(planner.sentence().unwrap(), "the planner begins, round 2");
}
