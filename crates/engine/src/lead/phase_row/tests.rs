//! Tests of the words for a phase in STATE.md, from the state of a run.

use mow_core::lead::{Event, Lead, PhaseSpec, Reason, RunScope, Status};
use mow_core::machine::Machine;
use mow_core::phase::PhaseNumber;
use mow_core::report::Report;
use mow_core::view::{PhaseView, RunFacts, SessionView};

use super::{PhaseRow, is_worker_name};

/// Returns a run of three phases; the third waits for the others.
fn run() -> Lead {
    let spec = |number, depends_on: &[u32]| PhaseSpec {
        number: PhaseNumber::whole(number),
        name: format!("Part {number}"),
        depends_on: depends_on.iter().copied().map(PhaseNumber::whole).collect(),
        done: false,
        touches: None,
        ahead: Vec::new(),
        held: None,
    };
    let phases = vec![spec(1, &[]), spec(2, &[]), spec(3, &[1, 2])];
    let mut lead = Lead::default();
    lead.apply(&Event::RoadmapRead { scope: RunScope::Named, phases }, 1);
    lead
}

fn set(lead: &mut Lead, phase: u32, to: Status) {
    let (phase, why) = (PhaseNumber::whole(phase), Reason::Chosen);
    lead.apply(&Event::StatusChanged { phase, attempt: 1, to, why, ahead: None }, 2);
}

fn row(lead: &Lead, phase: u32) -> PhaseRow {
    let view = PhaseView::of(lead, PhaseNumber::whole(phase), &RunFacts::default());
    PhaseRow::of(&view.expect("the run has it"))
}

fn cells(lead: &Lead, phase: u32) -> (String, String) {
    let text = row(lead, phase).text;
    (text.status, text.worker)
}

#[test]
fn a_waiting_phase_names_what_blocks_it_until_that_is_merged() {
    let mut lead = run();
    let check = |lead: &Lead, status: &str| {
        assert_eq!(cells(lead, 3), (status.to_owned(), "--".to_owned()));
    };
    check(&lead, "blocked (1,2)");
    for status in [Status::Preparing, Status::Running, Status::Complete, Status::Merging] {
        set(&mut lead, 1, status);
    }
    check(&lead, "blocked (1,2)");
    set(&mut lead, 1, Status::Merged);
    check(&lead, "blocked (2)");
    set(&mut lead, 2, Status::Merged);
    check(&lead, "not started");
}

#[test]
fn a_complete_phase_is_called_merging_only_while_it_is_merged() {
    let mut lead = run();
    let mut words = Vec::new();
    for status in [Status::Running, Status::Complete, Status::Merging, Status::Merged] {
        set(&mut lead, 1, status);
        words.push(cells(&lead, 1).0);
    }
    assert_eq!(words, ["executing", "complete", "merging", "complete"]);
    assert!(row(&lead, 1).is_merged_here());
}

#[test]
fn workers_take_the_lowest_free_colour() {
    let mut lead = run();
    let color = |lead: &Lead, phase| row(lead, phase).worker.and_then(|worker| worker.color);
    set(&mut lead, 1, Status::Preparing);
    set(&mut lead, 2, Status::Preparing);
    assert_eq!((color(&lead, 1), color(&lead, 2)), (Some("green"), Some("yellow")));
    set(&mut lead, 1, Status::Complete);
    assert_eq!(row(&lead, 1).worker.expect("its worktree has work").color, None);
    set(&mut lead, 3, Status::Preparing);
    assert_eq!((color(&lead, 3), color(&lead, 2)), (Some("green"), Some("yellow")));
    assert!(is_worker_name(&row(&lead, 3).text.worker) && !is_worker_name("phase-x-worker"));
}

#[test]
fn a_finished_plan_has_its_duration() {
    let mut lead = run();
    set(&mut lead, 1, Status::Running);
    let mut report = |report, at| {
        let phase = PhaseNumber::whole(1);
        lead.apply(&Event::Reported { phase, attempt: 1, seq: 1, report }, at);
    };
    let plan = || "01-02".to_owned();
    report(Report::PlanStarted { plan: plan(), tasks: 3 }, 1_000);
    report(
        Report::PlanDone {
            plan: plan(),
            commit: "c".to_owned(),
            minutes: 0,
            decisions: Vec::new(),
        },
        61_500,
    );
    let plans = row(&lead, 1).finished_plans;
    assert_eq!(
        (plans[0].plan.as_str(), plans[0].duration_ms, plans[0].tasks),
        ("01-02", 60_500, 3)
    );
}

#[test]
fn the_session_says_why_a_run_stopped_and_what_continues_it() {
    let mut lead = run();
    let check = |lead: &Lead, is_live, stopped_at: &str, command: &str| {
        let view = SessionView::of(lead, is_live);
        assert_eq!((view.stopped_at.trim(), view.command.as_str()), (stopped_at, command));
    };
    set(&mut lead, 1, Status::Running);
    check(&lead, true, "run  is running", "mow run 1 2 3");
    set(&mut lead, 1, Status::Merged);
    check(&lead, false, "run  was stopped: 1 of 3 phases merged", "mow run 2 3");
    for phase in [2, 3] {
        set(&mut lead, phase, Status::Merged);
    }
    let after = "mow (shows what to do next)";
    check(&lead, true, "run  finished: 3 of 3 phases merged", after);
}
