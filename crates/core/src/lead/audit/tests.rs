//! A journal of the lead breaks no rule, and one that was tampered with does.

use super::*;
use crate::lead::Reason;
use crate::lead::{Effect, Outcome, PhaseSpec, RunScope, Settings};
use crate::machine::Machine;

fn number(text: &str) -> PhaseNumber {
    PhaseNumber::parse(text).unwrap()
}

/// Two phases, the second after the first, one slot.
fn begun() -> Lead {
    let spec = |text: &str, on: &[&str]| PhaseSpec {
        number: number(text),
        name: text.to_owned(),
        depends_on: on.iter().map(|n| number(n)).collect(),
        done: false,
        touches: None,
        ahead: Vec::new(),
        held: None,
    };
    let mut lead = Lead::default();
    let (run, target, tip) = ("r".to_owned(), "main".to_owned(), "c".to_owned());
    let settings = Settings { max_workers: 1, ..Settings::default() };
    let phases = vec![spec("1", &[]), spec("2", &["1"]), spec("3", &[])];
    for event in [
        Event::Begun { run, target, tip },
        Event::LeadStarted { settings },
        Event::RoadmapRead { scope: RunScope::All, phases },
    ] {
        assert_eq!(lead.check(&event), Ok(()));
        lead.apply(&event, 0);
    }
    lead
}

fn moved(phase: &str, attempt: u32, to: Status) -> Event {
    Event::StatusChanged { phase: number(phase), attempt, to, why: Reason::Chosen, ahead: None }
}

#[test]
fn moves_must_be_allowed() {
    let mut lead = begun();
    let start = moved("1", 1, Status::Preparing);
    assert_eq!(lead.check(&start), Ok(()));
    let broken = |lead: &Lead, event: &Event| lead.check(event).unwrap_err();
    assert_eq!(
        broken(&lead, &moved("1", 0, Status::Running)),
        "phase 1 goes from waiting to running, which is not allowed"
    );
    assert_eq!(
        broken(&lead, &moved("9", 1, Status::Preparing)),
        "phase 9 does not belong to the run"
    );
    assert_eq!(
        broken(&lead, &moved("1", 2, Status::Preparing)),
        "phase 1 has attempt 2 instead of 1"
    );
    assert_eq!(
        broken(&lead, &moved("2", 1, Status::Preparing)),
        "phase 2 starts before 1, which it depends on"
    );
    lead.apply(&start, 0);
    assert_eq!(
        broken(&lead, &moved("3", 1, Status::Preparing)),
        "phase 3 starts without a free slot"
    );
}

#[test]
fn what_ends_must_have_begun_and_once() {
    let mut lead = begun();
    let effect = Effect::CommitPlanningFiles { target: "main".to_owned(), commit: "c".to_owned() };
    let intended = Event::Intended { id: 0, effect };
    let finished = Event::Finished { id: 0, outcome: Outcome::Done };
    assert!(lead.check(&finished).is_err(), "nothing was begun");
    lead.apply(&intended, 0);
    assert_eq!(lead.check(&finished), Ok(()));
    assert!(lead.check(&intended).is_err(), "its number is used");
    lead.apply(&finished, 0);
    assert!(lead.check(&finished).is_err(), "it has ended");
    assert!(lead.check(&Event::Answered { item: 1, text: String::new() }).is_err());
}

#[test]
fn a_run_begins_once_and_first() {
    let (run, target, tip) = ("r".to_owned(), "main".to_owned(), "c".to_owned());
    let begin = Event::Begun { run, target, tip };
    assert!(begun().check(&begin).is_err());
    let early = Lead::default().check(&Event::Breaker { open: true });
    assert_eq!(early.unwrap_err(), "an event is recorded before the run begins");
}
