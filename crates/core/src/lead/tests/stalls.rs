//! Tests of stuck workers and effects, and of the number of agents of each worker.

use super::*;
use crate::inbox::{QuestionKind, STUCK_CHOICES};
use crate::report::LeadMessage;

fn alone() -> LeadHarness {
    let mut harness = LeadHarness::new(Settings::default(), vec![spec("1", &[])]);
    harness.prepare_and_start("1");
    harness
}

fn hang(harness: &mut LeadHarness) {
    let (phase, attempt) = (number("1"), harness.lead.phases[&number("1")].attempt);
    let signs = "its process has been stopped for 60 s".to_owned();
    harness.input(&Input::WorkerHung { phase, attempt, signs });
}

fn stuck(harness: &mut LeadHarness, seq: u64) -> u32 {
    let ask = ask(&format!("1/stuck/1.{seq}#1"), QuestionKind::Stuck, &STUCK_CHOICES);
    harness.report("1", seq, Report::Asked { ask });
    *harness.lead.inbox.items.keys().last().unwrap()
}

fn gone(harness: &mut LeadHarness) {
    let (phase, attempt) = (number("1"), harness.lead.phases[&number("1")].attempt);
    harness.input(&Input::WorkerExited { phase, attempt });
}

#[test]
fn an_answer_about_a_stuck_effect_reaches_its_worker_at_once() {
    let mut harness = alone();
    assert_eq!(harness.lead.status(), RunStatus::Moving);
    let item = stuck(&mut harness, 1);
    assert_eq!(harness.lead.status(), RunStatus::Waiting, "nothing moves but by a person");
    harness.command(1, Command::Answer { item, text: "retry".to_owned() });
    let is_sent = |(_, effect): &(u64, Effect)| match effect {
        Effect::SendMessage { note: LeadMessage::Answer(answer), .. } => answer.text == "retry",
        _ => false,
    };
    assert!(harness.pending_effects.iter().any(is_sent), "{:?}", harness.pending_effects);
    assert_eq!((harness.lead.status(), harness.status("1")), (RunStatus::Moving, Status::Running));
}

#[test]
fn a_question_about_stuck_work_is_withdrawn_when_the_work_continues() {
    let mut harness = alone();
    let item = stuck(&mut harness, 1);
    harness.report("1", 2, Report::QuestionObsolete { key: "1/stuck/1.1#1".parse().unwrap() });
    assert!(harness.events.contains(&Event::Withdrawn { item }));
    assert_eq!(harness.lead.inbox.open().count(), 0);
    // A worker that dies while it is stuck does not wait for an answer.
    stuck(&mut harness, 3);
    gone(&mut harness);
    assert_eq!(harness.status("1"), Status::Preparing, "begun again");
    assert_eq!(harness.lead.inbox.open().count(), 0);
}

#[test]
fn a_hanging_worker_is_asked_about_once_and_the_question_is_withdrawn_when_it_is_active() {
    let mut harness = alone();
    hang(&mut harness);
    hang(&mut harness);
    assert_eq!(harness.lead.inbox.open().count(), 1);
    assert!(harness.lead.is_stuck(number("1")));
    harness.input(&Input::WorkerActive { phase: number("1"), attempt: 1 });
    assert_eq!((harness.lead.inbox.open().count(), harness.status("1")), (0, Status::Running));
    harness.input(&Input::WorkerHung { phase: number("1"), attempt: 7, signs: String::new() });
    assert_eq!(harness.lead.inbox.open().count(), 0, "of another attempt");
}

#[test]
fn people_kill_a_hanging_worker() {
    let answer = |text: &str| Command::Answer { item: 1, text: text.to_owned() };
    let phase = Some(number("1"));
    let cases = [
        (answer("retry"), Status::Preparing),
        (answer("fail"), Status::Failed),
        (Command::Resume { phase }, Status::Preparing),
        (Command::Cancel { phase, now: false }, Status::Cancelled),
    ];
    for (command, then) in cases {
        let mut harness = alone();
        hang(&mut harness);
        harness.command(1, command.clone());
        assert_eq!(harness.status("1"), Status::Ending, "{command:?}");
        assert!(
            harness.pending_effects.iter().any(|(_, e)| matches!(e, Effect::KillWorker { .. }))
        );
        gone(&mut harness);
        assert_eq!(harness.status("1"), then, "{command:?}");
    }
    let mut harness = alone();
    hang(&mut harness);
    harness.command(1, answer("wait"));
    assert_eq!(harness.status("1"), Status::Running);
}

#[test]
fn agents_are_shared_and_never_too_many() {
    let shares = |settings: Settings, phases: Vec<PhaseSpec>| -> Vec<usize> {
        let mut harness = LeadHarness::new(settings, phases);
        let mut shares = Vec::new();
        while harness
            .pending_effects
            .iter()
            .any(|(_, effect)| matches!(effect, Effect::Prepare { .. }))
        {
            let prepared = Outcome::Prepared { base: "c0".to_owned() };
            harness.finish(|e| matches!(e, Effect::Prepare { .. }), prepared);
            let brief = harness.pending_effects.iter().rev().find_map(|(_, effect)| match effect {
                Effect::Start { brief } => Some(brief.agents),
                _ => None,
            });
            shares.push(brief.unwrap());
        }
        shares
    };
    let of = |max_workers: usize, max_agents: usize| Settings {
        max_workers,
        max_agents,
        stagger_ms: 0,
        ..Settings::default()
    };
    let free = |count: u32| (1..=count).map(|n| spec(&n.to_string(), &[])).collect::<Vec<_>>();
    assert_eq!(shares(of(3, 4), free(1)), [4], "there is no other phase");
    assert_eq!(shares(of(3, 4), vec![spec("1", &[]), spec("2", &["1"])]), [4], "one at a time");
    let prepared = PhaseSpec { ahead: vec![Stage::Research], ..spec("2", &["1"]) };
    assert_eq!(shares(of(3, 4), vec![spec("1", &[]), prepared]), [2, 1], "2 looks ahead");
    assert_eq!(shares(of(1, 4), free(1)), [4], "there is no other");
    assert_eq!(shares(of(3, 4), free(5)), [1, 1, 2]);
    assert_eq!(shares(of(2, 8), free(5)), [4, 4]);
    assert_eq!(shares(of(4, 2), free(5)), [1, 1], "no more workers than agents");
}

#[test]
fn an_agent_is_given_back_for_a_phase_that_comes_later() {
    let mut harness = LeadHarness::new(unlimited_settings(), vec![spec("1", &[])]);
    harness.prepare_and_start("1");
    assert_eq!(harness.lead.phases[&number("1")].agents, Settings::default().max_agents);
    let phases = vec![spec("1", &[]), spec("2", &[])];
    harness.input(&Input::Roadmap { scope: RunScope::All, phases });
    assert_eq!(harness.status("2"), Status::Waiting, "all agents may be running");
    harness.finish(is_share_of(3), Outcome::Done);
    harness.report("1", 1, Report::Agents { count: 3 });
    assert_eq!(harness.status("2"), Status::Preparing);
    harness.lead.check_indices().unwrap();
}

#[test]
fn agents_that_nobody_wants_go_to_a_worker_with_many_plans() {
    let phases = vec![spec("1", &[]), spec("2", &[]), spec("3", &[])];
    let mut harness = LeadHarness::new(unlimited_settings(), phases);
    ["1", "2", "3"].iter().for_each(|phase| harness.prepare_and_start(phase));
    assert_eq!(harness.lead.phases[&number("1")].agents, 1);
    harness.report("1", 1, Report::Plans { done: 1, total: 4 });
    for phase in ["2", "3"] {
        harness.report_and_exit(phase, 1, Report::Complete { commit: "c".to_owned() });
    }
    harness.finish(is_share_of(2), Outcome::Done);
    harness.report("1", 2, Report::Agents { count: 2 });
    harness.finish(is_share_of(3), Outcome::Done);
    assert_eq!(harness.lead.phases[&number("1")].agents, 3, "three plans are open");
    harness.lead.check_indices().unwrap();
}

/// Returns whether an effect tells a worker how many agents it may run.
fn is_share_of(count: usize) -> impl Fn(&Effect) -> bool {
    move |effect| {
        let message = LeadMessage::Agents { count };
        matches!(effect, Effect::SendMessage { note, .. } if *note == message)
    }
}
