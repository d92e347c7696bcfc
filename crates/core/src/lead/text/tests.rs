//! Tests that sentences name the phases, the reasons and the dependencies.

use super::*;
use crate::inbox::{InboxItem, InboxQuestion, QuestionKind, QuestionTopic};
use crate::lead::RunScope;
use crate::machine::Machine;
use crate::money::Spending;
use crate::stage::Stage;

fn number(text: &str) -> PhaseNumber {
    PhaseNumber::parse(text).unwrap()
}

fn spec(text: &str, depends_on: &[&str]) -> PhaseSpec {
    let depends_on = depends_on.iter().map(|n| number(n)).collect();
    PhaseSpec {
        number: number(text),
        name: format!("Phase {text}"),
        depends_on,
        done: false,
        touches: None,
        ahead: Vec::new(),
        held: None,
    }
}

fn planned_event(phases: Vec<PhaseSpec>) -> Event {
    Event::RoadmapRead { scope: RunScope::All, phases }
}

/// A run of four phases; 2 and 3 depend on 1, and 4 on both.
fn diamond() -> Lead {
    let mut lead = Lead::default();
    let (run, target, tip) = ("r".to_owned(), "main".to_owned(), "0123456789ab".to_owned());
    lead.apply(&Event::Begun { run, target, tip }, 0);
    let phases = vec![spec("1", &[]), spec("2", &["1"]), spec("3", &["1"]), spec("4", &["2", "3"])];
    lead.apply(&planned_event(phases), 0);
    lead
}

fn move_to(lead: &mut Lead, phase: &str, to: Status) {
    let (phase, why) = (number(phase), Reason::Text("so".to_owned()));
    lead.apply(&Event::StatusChanged { phase, attempt: 1, to, why, ahead: None }, 0);
}

#[test]
fn a_roadmap_is_described_by_the_dependencies_of_its_phases() {
    let phases = vec![spec("1", &[]), spec("2", &["1"]), spec("3", &["1"]), spec("4", &["2", "3"])];
    assert_eq!(
        planned_event(phases).sentence().unwrap(),
        "the roadmap has 4 phases: 1 at once; 2, 3 after 1; 4 after 2, 3"
    );
    let chain: Vec<_> = (2..40).map(|n| spec(&n.to_string(), &[&(n - 1).to_string()])).collect();
    let text = planned_event(chain).sentence().unwrap();
    assert!(text.ends_with("; 9 after 8; and 30 more"), "{text}");
}

#[test]
fn a_waiting_phase_names_what_it_waits_for() {
    let mut lead = diamond();
    let why = |lead: &Lead, phase: &str| lead.explain_status(&lead.phases[&number(phase)]);
    assert_eq!(why(&lead, "1"), "it may start: chosen for this run");
    assert_eq!(why(&lead, "4"), "it waits for 2 (waiting), 3 (waiting)");
    move_to(&mut lead, "1", Status::Merged);
    move_to(&mut lead, "2", Status::Failed);
    assert_eq!(why(&lead, "2"), "so");
    assert_eq!(why(&lead, "4"), "it waits for 2 (failed), 3 (waiting)");
    lead.settings.max_workers = 1;
    move_to(&mut lead, "2", Status::Running);
    assert_eq!(why(&lead, "3"), "it waits for a slot: 1 of 1 are taken");
    lead.starts.hold = Hold::Draining;
    assert_eq!(why(&lead, "3"), "nothing new is started");
    lead.starts.breaker_open = true;
    assert_eq!(why(&lead, "3"), "no phases are started until a person decides");
}

#[test]
fn an_outcome_is_described_together_with_its_effect() {
    let mut lead = diamond();
    let commit = "fedcba9876543210".to_owned();
    let begin = |lead: &mut Lead, id: u64, effect: Effect| {
        lead.apply(&Event::Intended { id, effect }, 0);
    };
    let (phase, onto, spent) = (number("2"), commit.clone(), Spending::default());
    let merge =
        Effect::Merge { phase, attempt: 1, commit: commit.clone(), onto, spent, alone: false };
    begin(&mut lead, 0, merge);
    let (target, from) = ("main".to_owned(), commit.clone());
    begin(&mut lead, 1, Effect::FastForward { target, commit: commit.clone(), from });
    let describe = |id: u64, outcome: Outcome| Event::Finished { id, outcome }.describe(&lead);
    let merged = describe(0, Outcome::Merged { commit, note: "a note".to_owned() }).unwrap();
    assert_eq!(merged, "phase 2: the target ref is now fedcba98; a note");
    assert_eq!(describe(1, Outcome::Done).unwrap(), "main is fast-forwarded to fedcba98");
    let (reason, command) = ("it is dirty".to_owned(), "git merge x".to_owned());
    assert_eq!(
        describe(1, Outcome::Refused { reason, command }).unwrap(),
        "main was not fast-forwarded: it is dirty; to finish: git merge x"
    );
    let conflict = Outcome::Conflict { files: Vec::new(), settle: String::new() };
    assert_eq!(describe(0, conflict), None, "the move of the phase says it");
}

#[test]
fn an_answer_names_the_phase_of_its_question() {
    let mut lead = diamond();
    let key = QuestionTopic::Gate(Stage::Plan).of_phase(number("3"));
    let ask = InboxQuestion::new(key, QuestionKind::Gate, "Go on?");
    let item = InboxItem { id: 7, phase: Some(number("3")), ask, answer: None };
    lead.apply(&Event::Asked { item }, 0);
    let answered = Event::Answered { item: 7, text: "yes".to_owned() };
    assert_eq!(answered.describe(&lead).unwrap(), "question 7 about phase 3 is answered: yes");
}
