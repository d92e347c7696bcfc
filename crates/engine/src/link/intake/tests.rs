//! Events of a link that are lost, repeated, late or of an older attempt.

use mow_core::lead::{PhaseSpec, RunScope};
use mow_core::machine::Machine as _;
use mow_core::report::Report;

use super::*;

fn phase() -> PhaseNumber {
    PhaseNumber::whole(1)
}

fn close(status: Status) -> LinkCall {
    LinkCall::Close { key: key(1), status }
}

fn key(attempt: u32) -> WorkerKey {
    (phase(), attempt).into()
}

/// A lead with one phase, and the intake of its link.
struct Fixture {
    lead: Lead,
    intake: LinkIntake,
}

impl Fixture {
    fn new() -> Self {
        let spec = PhaseSpec {
            number: phase(),
            name: "one".to_owned(),
            depends_on: Vec::new(),
            done: false,
            touches: None,
            ahead: Vec::new(),
            held: None,
        };
        let mut lead = Lead::default();
        lead.apply(&Event::RoadmapRead { scope: RunScope::All, phases: vec![spec] }, 0);
        Self { lead, intake: LinkIntake::default() }
    }

    /// Returns a fixture whose phase runs its first attempt, with the link open.
    fn running() -> Self {
        let mut fixture = Self::new();
        fixture.set_status(1, Status::Starting);
        let calls = fixture.set_status(1, Status::Running);
        assert_eq!(calls, [LinkCall::Open { key: key(1), through: 0 }]);
        fixture
    }

    fn set_status(&mut self, attempt: u32, to: Status) -> Vec<LinkCall> {
        let event = Event::StatusChanged {
            phase: phase(),
            attempt,
            to,
            why: mow_core::lead::Reason::Chosen,
            ahead: None,
        };
        self.record(&[event])
    }

    /// Records the events of a batch.
    fn record(&mut self, events: &[Event]) -> Vec<LinkCall> {
        for event in events {
            self.lead.apply(event, 0);
        }
        self.intake.after_batch(&self.lead, events)
    }

    /// Delivers records, all of them reports.
    fn records(&mut self, attempt: u32, first: u64, through: u64) {
        let note = |seq: u64| (seq, Report::Note { text: seq.to_string() });
        let reports = (first..=through).map(note).collect();
        let event = LinkEvent::Records { key: key(attempt), first, through, reports };
        self.intake.accept(&self.lead, event, 0);
    }

    fn gone(&mut self, attempt: u32, last: u64) {
        self.intake.accept(&self.lead, LinkEvent::Gone { key: key(attempt), last }, 0);
    }

    /// Takes the inputs of a batch: the numbers of reports, and whether the worker is gone.
    fn take(&mut self) -> (Vec<u64>, bool) {
        let reports = self.intake.take_reports().into_iter().map(|input| match input {
            Input::Report { seq, .. } => seq,
            other => panic!("{other:?} is no report"),
        });
        let reports = reports.collect();
        let changes = self.intake.take_changes(&self.lead, 0);
        (reports, changes == [Input::WorkerExited { phase: phase(), attempt: 1 }])
    }
}

#[test]
fn records_are_taken_once_and_in_order() {
    let mut fixture = Fixture::running();
    fixture.records(1, 1, 2);
    fixture.records(1, 1, 2);
    fixture.records(1, 2, 3);
    // Record 4 was lost.
    fixture.records(1, 5, 6);
    assert_eq!(fixture.take(), (vec![1, 2, 3], false));
    fixture.records(1, 4, 6);
    fixture.records(1, 2, 5);
    assert_eq!(fixture.take(), (vec![4, 5, 6], false));
}

#[test]
fn only_records_of_a_batch_are_confirmed_and_only_once() {
    let mut fixture = Fixture::running();
    fixture.records(1, 1, 2);
    assert_eq!(fixture.record(&[]), [], "the lead has not seen them");
    fixture.records(1, 3, 3);
    fixture.take();
    assert_eq!(fixture.record(&[]), [LinkCall::Confirm { key: key(1), through: 3 }]);
    fixture.records(1, 1, 3);
    fixture.take();
    assert_eq!(fixture.record(&[]), []);
}

#[test]
fn a_worker_is_gone_once_and_only_after_its_last_record() {
    let mut fixture = Fixture::running();
    fixture.gone(1, 2);
    fixture.records(1, 1, 1);
    assert_eq!(fixture.take(), (vec![1], false));
    fixture.records(1, 2, 2);
    assert_eq!(fixture.take(), (vec![2], true));
    fixture.gone(1, 2);
    assert_eq!(fixture.take(), (Vec::new(), false));
}

#[test]
fn a_worker_that_ends_before_its_start_is_known_is_gone_after_that() {
    let mut fixture = Fixture::new();
    fixture.set_status(1, Status::Starting);
    fixture.gone(1, 0);
    assert_eq!(fixture.take(), (Vec::new(), false));
    fixture.set_status(1, Status::Running);
    assert_eq!(fixture.take(), (Vec::new(), true));
}

#[test]
fn events_of_an_older_attempt_are_ignored() {
    let mut fixture = Fixture::running();
    fixture.set_status(1, Status::Waiting);
    fixture.set_status(2, Status::Preparing);
    fixture.set_status(2, Status::Running);
    fixture.records(1, 1, 1);
    fixture.gone(1, 1);
    assert_eq!(fixture.take(), (Vec::new(), false));
    fixture.records(2, 1, 1);
    assert_eq!(fixture.take(), (vec![1], false));
}

#[test]
fn an_attempt_that_is_over_is_closed() {
    let mut fixture = Fixture::running();
    fixture.records(1, 1, 1);
    fixture.take();
    assert_eq!(fixture.set_status(1, Status::Complete), [close(Status::Complete)]);
    assert_eq!(fixture.set_status(1, Status::Paused), [close(Status::Paused)]);
    assert_eq!(fixture.set_status(1, Status::Merged), []);
    fixture.records(1, 1, 2);
    fixture.gone(1, 2);
    assert_eq!(fixture.take(), (Vec::new(), false));
}

#[test]
fn a_new_lead_opens_what_runs_after_the_last_record_and_closes_the_rest() {
    let mut fixture = Fixture::running();
    let report = Report::Note { text: String::new() };
    fixture.record(&[Event::Reported { phase: phase(), attempt: 1, seq: 4, report }]);
    fixture.intake = LinkIntake::default();
    let calls = fixture.intake.resume(&fixture.lead);
    assert_eq!(calls, [LinkCall::Open { key: key(1), through: 4 }]);
    fixture.records(1, 1, 5);
    assert_eq!(fixture.take(), (vec![5], false));
    fixture.set_status(1, Status::Failed);
    fixture.intake = LinkIntake::default();
    assert_eq!(fixture.intake.resume(&fixture.lead), [close(Status::Failed)]);
}

#[test]
fn a_worker_without_heartbeats_hangs_until_it_shows_one() {
    let mut fixture = Fixture::running();
    let mut sample = |sample: u64, beats: u64, now: u64| {
        let event = LinkEvent::Health { key: key(1), sample, beats, is_stopped: false };
        fixture.intake.accept(&fixture.lead, event, now);
        fixture.intake.take_changes(&fixture.lead, now)
    };
    assert_eq!(sample(1, 1, 0), []);
    assert_eq!(sample(3, 1, 59_000), []);
    // A late sample shows nothing new.
    assert_eq!(sample(2, 7, 59_500), []);
    let (phase, attempt) = (phase(), 1);
    let signs = "it has shown no activity for 61 s".to_owned();
    assert_eq!(sample(4, 1, 61_000), [Input::WorkerHung { phase, attempt, signs }]);
    assert_eq!(sample(5, 1, 65_000), []);
    assert_eq!(sample(6, 2, 66_000), [Input::WorkerActive { phase, attempt }]);
}

#[test]
fn a_stopped_worker_hangs_after_the_time_that_was_set() {
    let mut fixture = Fixture::running();
    fixture.intake.set_stopped_max(Some(Duration::from_secs(3)));
    let mut sample = |sample: u64, is_stopped: bool, now: u64| {
        let event = LinkEvent::Health { key: key(1), sample, beats: sample, is_stopped };
        fixture.intake.accept(&fixture.lead, event, now);
        !fixture.intake.take_changes(&fixture.lead, now).is_empty()
    };
    assert!(!sample(1, true, 1_000));
    assert!(!sample(2, false, 2_000));
    assert!(!sample(3, true, 3_000));
    assert!(!sample(4, true, 5_000));
    assert!(sample(5, true, 6_000));
}
