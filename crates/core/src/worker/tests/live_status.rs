//! Tests of what STATUS.md shows of an attempt.

use super::super::live_status::{LivePlan, LiveStatus};
use super::*;
use crate::message::BlockerMode;

/// Runs the same attempt again and stops before an effect; returns what STATUS.md shows then.
fn shown_at(found: &PhaseSnapshot, stop: &'static str) -> LiveStatus {
    let mut auto = AutoWorker::new(found.clone());
    auto.outcomes.push((stop, Outcome::Interrupted));
    let mut shown = None;
    let begin = Input::Begin { brief: brief(), pid: 1 };
    let mut inputs = vec![begin];
    while let Some(input) = inputs.pop() {
        auto.now += 10;
        for (id, effect) in step(&mut auto.worker, Some(&input), auto.now).effects {
            let outcome = auto.perform(&effect);
            if outcome == Outcome::Interrupted {
                shown = auto.worker.live_status();
                break;
            }
            if let Effect::ClosePlan { plan, .. } = &effect {
                let mut plans = auto.found.plans.iter_mut();
                plans.find(|one| one.id == *plan).unwrap().done = true;
            }
            inputs.push(Input::Finished { id, outcome });
        }
    }
    shown.expect("the effect is reached")
}

fn brief() -> Brief {
    let mut auto = AutoWorker::new(PhaseSnapshot::default());
    auto.begin();
    auto.worker.brief.unwrap()
}

fn rows(shown: &LiveStatus) -> Vec<String> {
    let row = |plan: &LivePlan| {
        let LivePlan { id, status, tasks_done, tasks, started, .. } = plan;
        let start = if started.is_some() { ", started" } else { "" };
        format!("{id} {status} {tasks_done}/{tasks}{start}")
    };
    shown.plans.iter().flatten().map(row).collect()
}

fn two_plans() -> PhaseSnapshot {
    planned(vec![plan("03-01", 1, &[], 2), plan("03-02", 2, &[], 1)])
}

#[test]
fn plans_and_tasks_are_shown_while_they_run() {
    let shown = shown_at(&two_plans(), "task");
    assert_eq!((shown.status, shown.blocker_mode), ("executing", Some(BlockerMode::Skip)));
    assert_eq!(rows(&shown), ["03-01 in progress 0/2, started", "03-02 not started 0/1"]);
    let shown = shown_at(&two_plans(), "close");
    assert_eq!(rows(&shown), ["03-01 in progress 2/2, started", "03-02 not started 0/1"]);
    let shown = shown_at(&two_plans(), "verifier");
    assert_eq!(shown.status, "refining");
    assert_eq!(rows(&shown), ["03-01 complete 2/2", "03-02 complete 1/1"]);
}

#[test]
fn the_end_of_an_attempt_is_shown() {
    let mut auto = AutoWorker::new(two_plans());
    auto.begin();
    assert_eq!(auto.worker.live_status().unwrap().status, "complete");
    auto.outcomes.push(("task", Outcome::Failed { reason: "no".to_owned() }));
    auto.begin();
    let shown = auto.worker.live_status().unwrap();
    assert_eq!(shown.status, "failed");
    assert_eq!(rows(&shown), ["03-01 failed 0/2, started", "03-02 not started 0/1"]);
    auto.found.plans[0].tasks_done.insert(1);
    auto.found.context = false;
    auto.begin();
    let shown = auto.worker.live_status().unwrap();
    assert_eq!(shown.status, "waiting for input");
    assert_eq!(rows(&shown), ["03-01 in progress 1/2", "03-02 not started 0/1"]);
    auto.begin_as(|brief| brief.through = Some(Stage::Discuss));
    assert_eq!(auto.worker.live_status(), None, "a look-ahead does not begin the phase");
}

#[test]
fn a_paused_plan_without_finished_tasks_counts_as_not_started() {
    let mut worker = Worker::default();
    let found = two_plans();
    let mut inputs = vec![Input::Begin { brief: brief(), pid: 1 }];
    let mut now = 0;
    while let Some(input) = inputs.pop() {
        now += 10;
        for (id, effect) in step(&mut worker, Some(&input), now).effects {
            let outcome = match effect {
                Effect::Inspect => Outcome::Inspected { found: found.clone() },
                Effect::RunTask { .. } => {
                    let halt = LeadMessage::Halt(HaltReason::Paused.into());
                    step(&mut worker, Some(&Input::FromLead(halt)), now);
                    Outcome::Interrupted
                }
                _ => Outcome::Done,
            };
            inputs.push(Input::Finished { id, outcome });
        }
    }
    let shown = worker.live_status().unwrap();
    assert_eq!(shown.status, "paused");
    assert_eq!(rows(&shown), ["03-01 not started 0/2", "03-02 not started 0/1"]);
}

#[test]
fn a_worker_that_died_has_failed() {
    let mut auto = AutoWorker::new(two_plans());
    auto.found.plans[0].done = true;
    auto.begin();
    auto.worker.lifecycle = Lifecycle::default();
    auto.worker.plans.done.remove("03-02");
    auto.worker.plans.started.insert("03-02".to_owned(), 10);
    let shown = auto.worker.status_after_end(None).unwrap();
    assert_eq!(shown.status, "failed");
    assert_eq!(rows(&shown), ["03-01 complete 2/2", "03-02 failed 1/1, started"]);
    let shown = auto.worker.status_after_end(Some("cancelled")).unwrap();
    assert_eq!(shown.status, "cancelled");
    assert_eq!(shown.plans.unwrap()[1].status, "in progress", "its task is done");
}
