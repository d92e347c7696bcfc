//! Tests of the lead, driven input by input, mostly on a diamond of four phases.

mod commands;
mod golden;
mod left_out;
mod lookahead;
mod overlap;
mod stalls;

use super::*;
use crate::inbox::InboxQuestion;
use crate::machine::step;
use crate::money::{AgentSpending, Spending};
use crate::report::{HaltReason, Report};
use crate::stage::{Lookahead, Stage};

fn number(text: &str) -> PhaseNumber {
    PhaseNumber::parse(text).unwrap()
}

fn spec(text: &str, depends_on: &[&str]) -> PhaseSpec {
    PhaseSpec {
        number: number(text),
        name: format!("Phase {text}"),
        depends_on: depends_on.iter().map(|n| number(n)).collect(),
        done: false,
        touches: None,
        ahead: Vec::new(),
        held: None,
    }
}

/// A lead with the effects that it released and that have no outcome yet, in order.
struct LeadHarness {
    lead: Lead,
    pending_effects: Vec<(u64, Effect)>,
    events: Vec<Event>,
    now: u64,
}

impl LeadHarness {
    fn new(settings: Settings, phases: Vec<PhaseSpec>) -> Self {
        let lead = Lead::default();
        let mut harness =
            Self { lead, pending_effects: Vec::new(), events: Vec::new(), now: 1_000 };
        let (run, target, tip) = ("r".to_owned(), "main".to_owned(), "c0".to_owned());
        harness.input(&Input::Begin { run, target, tip });
        harness.input(&Input::LeadStarted { settings });
        harness.input(&Input::Roadmap { scope: RunScope::All, phases });
        harness
    }

    fn diamond(settings: Settings) -> Self {
        let phases =
            vec![spec("1", &[]), spec("2", &["1"]), spec("3", &["1"]), spec("4", &["2", "3"])];
        Self::new(settings, phases)
    }

    fn input(&mut self, input: &Input) {
        self.now += 1_000;
        let decision = step(&mut self.lead, Some(input), self.now);
        let is_sentence = |event: &Event| {
            matches!(event, Event::StatusChanged { why: Reason::Text(_), .. })
                || matches!(event, Event::Commanded { effect: CommandEffect::Text(_), .. })
        };
        assert!(!decision.events.iter().any(is_sentence), "reasons are data: {decision:?}");
        self.events.extend(decision.events);
        self.pending_effects.extend(decision.effects);
    }

    /// Ends the oldest pending effect of a kind.
    fn finish(&mut self, is: impl Fn(&Effect) -> bool, outcome: Outcome) {
        let at =
            self.pending_effects.iter().position(|(_, effect)| is(effect)).expect("such an effect");
        let (id, _) = self.pending_effects.remove(at);
        self.input(&Input::Finished { id, outcome });
    }

    fn prepare_and_start(&mut self, phase: &str) {
        let phase = number(phase);
        let base = Outcome::Prepared { base: "c0".to_owned() };
        self.finish(|e| matches!(e, Effect::Prepare { phase: p, .. } if *p == phase), base);
        self.finish(
            |e| matches!(e, Effect::Start { brief } if brief.phase == phase),
            Outcome::Done,
        );
    }

    fn report(&mut self, phase: &str, seq: u64, report: Report) {
        let phase = number(phase);
        let attempt = self.lead.phases[&phase].attempt;
        self.input(&Input::Report { phase, attempt, seq, report });
    }

    fn report_and_exit(&mut self, phase: &str, seq: u64, report: Report) {
        self.report(phase, seq, report);
        let phase = number(phase);
        let attempt = self.lead.phases[&phase].attempt;
        self.input(&Input::WorkerExited { phase, attempt });
    }

    fn complete(&mut self, phase: &str) {
        self.prepare_and_start(phase);
        self.report_and_exit(phase, 1, Report::Complete { commit: format!("p{phase}") });
    }

    fn merge(&mut self, commit: &str) {
        self.settle();
        let merged = Outcome::Merged { commit: commit.to_owned(), note: String::new() };
        self.finish(|e| matches!(e, Effect::Merge { .. }), merged);
    }

    /// Ends all pending messages and fast-forwards.
    fn settle(&mut self) {
        let is_small =
            |e: &Effect| matches!(e, Effect::FastForward { .. } | Effect::SendMessage { .. });
        while self.pending_effects.iter().any(|(_, effect)| is_small(effect)) {
            self.finish(is_small, Outcome::Done);
        }
    }

    fn command(&mut self, seq: u64, command: Command) {
        let origin = CommandOrigin::default();
        self.input(&Input::Command { seq, command, origin });
    }

    /// Starts a phase and returns the answers in the brief of its worker.
    fn answers(&mut self, phase: &str) -> Vec<String> {
        self.prepare_and_start(phase);
        let started = self.events.iter().rev().find_map(|event| match event {
            Event::Intended { effect: Effect::Start { brief }, .. } => Some(brief.answers.clone()),
            _ => None,
        });
        started.unwrap().into_iter().map(|answer| answer.text).collect()
    }

    fn status(&self, phase: &str) -> Status {
        self.lead.phases[&number(phase)].status
    }
}

#[test]
fn runs_a_diamond_of_phases_to_completion() {
    let mut harness = LeadHarness::diamond(Settings::default());
    assert_eq!(harness.status("2"), Status::Waiting);
    harness.complete("1");
    harness.merge("m1");
    harness.complete("2");
    assert_eq!(harness.status("2"), Status::Complete, "its wave is not closed");
    harness.complete("3");
    harness.merge("m2");
    assert_eq!(harness.status("4"), Status::Waiting);
    harness.merge("m3");
    assert_eq!(harness.status("4"), Status::Preparing);
    harness.complete("4");
    harness.merge("m4");
    harness.settle();
    harness.finish(
        |e| matches!(e, Effect::CommitPlanningFiles { .. }),
        Outcome::Merged { commit: "closed".to_owned(), note: String::new() },
    );
    harness.settle();
    assert_eq!(harness.lead.status(), RunStatus::Done);
    assert_eq!(harness.lead.target.last_attempt.as_deref(), Some("closed"));
}

#[test]
fn merges_each_phase_at_once_when_set() {
    let mut harness = LeadHarness::diamond(Settings { merge_at_once: true, ..Settings::default() });
    harness.complete("1");
    harness.merge("m1");
    harness.complete("2");
    assert_eq!(harness.status("2"), Status::Complete, "the branch follows the first one");
    harness.settle();
    assert_eq!(harness.status("2"), Status::Merging);
}

#[test]
fn ignores_reports_of_older_attempts_and_older_records() {
    let mut harness = LeadHarness::diamond(Settings::default());
    harness.prepare_and_start("1");
    harness.report("1", 5, Report::Plans { done: 1, total: 2 });
    harness.report("1", 5, Report::Plans { done: 2, total: 2 });
    harness.report("1", 4, Report::Complete { commit: "early".to_owned() });
    let state = &harness.lead.phases[&number("1")];
    assert_eq!((state.plans, state.last_report.clone()), ((1, 2), None));
    let phase = number("1");
    harness.input(&Input::WorkerExited { phase, attempt: 1 });
    assert_eq!(harness.lead.phases[&phase].attempt, 2);
    let late = Report::Complete { commit: "late".to_owned() };
    harness.input(&Input::Report { phase, attempt: 1, seq: 9, report: late });
    harness.input(&Input::WorkerExited { phase, attempt: 1 });
    assert_eq!(harness.status("1"), Status::Preparing);
}

#[test]
fn a_worker_that_keeps_dying_fails_its_phase() {
    let mut harness = LeadHarness::diamond(Settings::default());
    let phase = number("1");
    for attempt in 1..=4 {
        harness.prepare_and_start("1");
        harness.input(&Input::WorkerExited { phase, attempt });
    }
    assert_eq!(harness.status("1"), Status::Failed);
    assert_eq!(harness.lead.status(), RunStatus::Failed);
    let item = harness.lead.inbox.open().next().unwrap();
    assert!(item.ask.question.contains("died 4 times"), "{}", item.ask.question);
}

#[test]
fn a_parked_phase_holds_no_slot_and_goes_on_when_answered() {
    let settings = Settings { max_workers: 1, ..Settings::default() };
    let mut harness = LeadHarness::new(settings, vec![spec("1", &[]), spec("2", &[])]);
    harness.prepare_and_start("1");
    let ask = ask("1/discuss/1", QuestionKind::Discuss, &[]);
    harness.report("1", 1, Report::Asked { ask: ask.clone() });
    harness.report("1", 2, Report::Asked { ask });
    assert_eq!(harness.lead.inbox.items.len(), 1, "a question is put once");
    harness.report_and_exit("1", 3, Report::Parked);
    assert_eq!((harness.status("1"), harness.status("2")), (Status::Parked, Status::Preparing));
    let command = Command::Answer { item: 1, text: "This.".to_owned() };
    harness.command(1, command.clone());
    assert_eq!(harness.status("1"), Status::Waiting);
    let events = harness.events.len();
    harness.command(1, command);
    assert_eq!(harness.events.len(), events, "a command counts once");
    harness.complete("2");
    harness.finish(
        |e| matches!(e, Effect::Prepare { .. }),
        Outcome::Prepared { base: "c0".to_owned() },
    );
    let brief = harness.pending_effects.iter().find_map(|(_, effect)| match effect {
        Effect::Start { brief } => Some(brief),
        _ => None,
    });
    assert_eq!(brief.unwrap().answers[0].text, "This.");
}

#[test]
fn a_phase_that_is_resumed_waits_for_all_its_answers() {
    let mut harness = LeadHarness::diamond(Settings::default());
    harness.prepare_and_start("1");
    for n in 1..=2 {
        let ask = ask(&format!("1/discuss/1.{n}"), QuestionKind::Discuss, &[]);
        harness.report("1", n, Report::Asked { ask });
    }
    let phase = Some(number("1"));
    harness.command(1, Command::Pause { phase });
    harness.report_and_exit("1", 3, Report::Stopped { how: HaltReason::Paused });
    assert_eq!(harness.status("1"), Status::Paused);
    harness.command(2, Command::Answer { item: 2, text: "That.".to_owned() });
    harness.command(3, Command::Resume { phase });
    assert_eq!(harness.status("1"), Status::Parked, "its worker would go on with half of them");
    harness.command(4, Command::Answer { item: 1, text: "This.".to_owned() });
    assert_eq!(harness.answers("1"), ["This.", "That."]);
}

#[test]
fn failure_names_what_it_blocks_and_the_breaker_stops_starts() {
    let phases =
        vec![spec("1", &[]), spec("2", &[]), spec("3", &[]), spec("4", &["1"]), spec("5", &["4"])];
    let mut harness = LeadHarness::new(Settings::default(), phases);
    for phase in ["1", "2", "3"] {
        harness.prepare_and_start(phase);
    }
    harness.report_and_exit("1", 1, Report::Failed { reason: "tests fail".to_owned() });
    let why = harness.lead.phases[&number("1")].why.to_string();
    assert_eq!(why, "tests fail; blocks 4, 5; 2, 3 still running");
    assert!(!harness.lead.starts.breaker_open);
    harness.report_and_exit("2", 1, Report::Failed { reason: "disk".to_owned() });
    assert!(harness.lead.starts.breaker_open);
    let is_sent = harness.pending_effects.iter().any(
        |(_, effect)| matches!(effect, Effect::SendMessage { phase, .. } if *phase == number("3")),
    );
    assert!(is_sent, "the third is told to pause");
    harness.report_and_exit("3", 1, Report::Stopped { how: HaltReason::Paused });
    harness.settle();
    assert_eq!(harness.lead.status(), RunStatus::Failed);
    let breaker =
        harness.lead.inbox.open().find(|i| i.ask.kind == QuestionKind::Breaker).unwrap().id;
    let command = Command::Answer { item: breaker, text: "continue".to_owned() };
    harness.command(1, command);
    assert_eq!(harness.status("3"), Status::Preparing);
}

#[test]
fn a_wave_closes_when_its_other_phases_wait_for_a_failed_one() {
    // 3 waits for the failed 1 in the same wave as 4, which must be merged all the same.
    let phases = vec![spec("1", &[]), spec("2", &[]), spec("3", &["1"]), spec("4", &["2"])];
    let settings = Settings { circuit_breaker: 0, ..Settings::default() };
    let mut harness = LeadHarness::new(settings, phases);
    harness.prepare_and_start("1");
    harness.report_and_exit("1", 1, Report::Failed { reason: "no".to_owned() });
    harness.complete("2");
    harness.merge("m2");
    harness.complete("4");
    harness.settle();
    assert_eq!(harness.status("4"), Status::Merging);
}

#[test]
fn cancel_kills_a_worker_only_if_it_does_not_stop_at_once_as_told() {
    let mut harness = LeadHarness::diamond(Settings::default());
    harness.prepare_and_start("1");
    let phase = Some(number("1"));
    harness.command(1, Command::Cancel { phase, now: false });
    assert_eq!(harness.lead.deadline(), None, "it may take any time for its current task");
    harness.command(2, Command::Cancel { phase, now: true });
    let due = harness.lead.deadline().unwrap();
    assert!(step(&mut harness.lead, None, due - 1).events.is_empty());
    let decision = step(&mut harness.lead, None, due);
    assert!(matches!(decision.effects[0].1, Effect::KillWorker { .. }));
    harness.input(&Input::WorkerExited { phase: number("1"), attempt: 1 });
    assert_eq!(harness.status("1"), Status::Cancelled);
}

#[test]
fn a_phase_that_is_marked_done_during_a_run_is_asked_about() {
    let ticked = || {
        let mut harness = LeadHarness::diamond(Settings::default());
        let mut phases: Vec<_> = harness.lead.phases.values().map(|t| t.spec.clone()).collect();
        phases.iter_mut().filter(|spec| spec.number != number("1")).for_each(|s| s.done = true);
        harness.input(&Input::Roadmap { scope: RunScope::All, phases: phases.clone() });
        assert_eq!(harness.status("2"), Status::Parked, "nobody did it");
        let events = harness.events.len();
        harness.input(&Input::Roadmap { scope: RunScope::All, phases: phases.clone() });
        assert_eq!(harness.events.len(), events, "it is asked once");
        let open = harness.lead.inbox.open().find(|item| item.phase == Some(number("2"))).unwrap();
        assert_eq!(
            (open.ask.kind, open.ask.key.to_string().as_str()),
            (QuestionKind::MarkedDone, "2/ticked")
        );
        let id = open.id;
        (harness, phases, id)
    };

    let (mut harness, _, id) = ticked();
    harness.command(1, Command::Answer { item: id, text: "d".to_owned() });
    assert_eq!(harness.status("2"), Status::Merged);

    let (mut harness, phases, id) = ticked();
    harness.command(1, Command::Answer { item: id, text: "not done".to_owned() });
    harness.input(&Input::Roadmap { scope: RunScope::All, phases });
    assert_eq!(
        harness.status("2"),
        Status::Waiting,
        "a person has said so, and is not asked again"
    );

    let (mut harness, mut phases, _) = ticked();
    phases.iter_mut().for_each(|spec| spec.done = false);
    harness.input(&Input::Roadmap { scope: RunScope::All, phases });
    assert_eq!(harness.status("2"), Status::Waiting, "it is not ticked any more");
    assert_eq!(harness.lead.inbox.open().count(), 0);

    let (mut harness, mut phases, _) = ticked();
    phases.retain(|spec| spec.number == number("1"));
    harness.input(&Input::Roadmap { scope: RunScope::All, phases });
    assert_eq!(harness.status("2"), Status::Cancelled, "it left the roadmap");
    assert_eq!(harness.lead.inbox.open().count(), 0);
}

#[test]
fn a_phase_that_is_marked_done_while_paused_is_asked_about_before_it_starts() {
    let mut harness = LeadHarness::diamond(Settings { stagger_ms: 0, ..Settings::default() });
    let mut phases: Vec<_> = harness.lead.phases.values().map(|t| t.spec.clone()).collect();
    harness.command(1, Command::Pause { phase: Some(number("2")) });
    phases.iter_mut().filter(|spec| spec.number == number("2")).for_each(|spec| spec.done = true);
    harness.input(&Input::Roadmap { scope: RunScope::All, phases: phases.clone() });
    assert_eq!(harness.status("2"), Status::Paused, "nobody wants to start it");
    harness.command(2, Command::Resume { phase: Some(number("2")) });
    harness.complete("1");
    harness.merge("m1");
    assert_eq!(harness.status("2"), Status::Parked);
    assert!(harness.lead.awaits_done_answer(&harness.lead.phases[&number("2")]));

    let others: Vec<_> = phases.iter().filter(|s| s.number != number("2")).cloned().collect();
    harness.input(&Input::Roadmap { scope: RunScope::All, phases: others });
    assert_eq!(harness.status("2"), Status::Cancelled, "it left the roadmap");
    harness.input(&Input::Roadmap { scope: RunScope::All, phases });
    assert_eq!(harness.status("2"), Status::Parked, "it is back, and asked about again");
    assert_eq!(harness.lead.inbox.open().count(), 1);
}

#[test]
fn the_roadmap_may_change_during_a_run() {
    let mut harness = LeadHarness::diamond(Settings::default());
    harness.complete("1");
    let mut phases = vec![spec("1", &[]), spec("2", &["1"]), spec("3", &["2"]), spec("5", &["1"])];
    phases[0].done = true;
    harness.input(&Input::Roadmap { scope: RunScope::All, phases: phases.clone() });
    assert_eq!(harness.status("4"), Status::Cancelled);
    let events = harness.events.len();
    harness.input(&Input::Roadmap { scope: RunScope::All, phases: phases.clone() });
    assert_eq!(harness.events.len(), events, "nothing new, nothing written");
    phases.push(spec("4", &["5"]));
    harness.input(&Input::Roadmap { scope: RunScope::All, phases });
    assert_eq!(harness.status("4"), Status::Waiting, "it is back");
    harness.merge("m1");
    assert_eq!((harness.status("3"), harness.status("5")), (Status::Waiting, Status::Waiting));
    harness.prepare_and_start("2");
}

#[test]
fn replaying_a_journal_gives_the_same_state() {
    let mut harness = LeadHarness::diamond(Settings::default());
    harness.complete("1");
    harness.merge("m1");
    let mut again = Lead::default();
    for event in &harness.events {
        let line = serde_json::to_string(event).unwrap();
        again.apply(&serde_json::from_str(&line).unwrap(), 0);
    }
    let strip = |lead: &Lead| {
        let mut lead = lead.clone();
        (lead.starts.last_at, lead.target.last_attempt_at) = (None, None);
        for state in lead.phases.values_mut() {
            (state.since, state.started, state.kill_at) = (0, None, None);
        }
        lead
    };
    assert_eq!(strip(&again), strip(&harness.lead));
}

fn ask(key: &str, kind: QuestionKind, choices: &[&str]) -> InboxQuestion {
    let Ok(key) = key.parse();
    InboxQuestion::new(key, kind, "Well?").with_choices(choices.iter().copied())
}

#[test]
fn a_cancellation_wins_over_every_last_report() {
    let lasts = [
        Report::Complete { commit: "p1".to_owned() },
        Report::Stopped { how: HaltReason::Paused },
        Report::Failed { reason: "no".to_owned() },
        Report::Parked,
    ];
    for last in lasts {
        let mut harness = LeadHarness::diamond(Settings::default());
        harness.prepare_and_start("1");
        harness.command(1, Command::Cancel { phase: Some(number("1")), now: false });
        // The question was sent before the phase was cancelled.
        harness.report(
            "1",
            1,
            Report::Asked { ask: ask("1/gate/plan", QuestionKind::Gate, &["approve"]) },
        );
        harness.report_and_exit("1", 2, last.clone());
        assert_eq!(harness.status("1"), Status::Cancelled, "{last:?}");
        assert_eq!(harness.lead.inbox.open().count(), 0, "{last:?}");
    }
}

#[test]
fn cancelling_a_phase_answers_none_of_its_questions() {
    let mut harness = LeadHarness::diamond(Settings::default());
    harness.prepare_and_start("1");
    let gate = ask("1/gate/plan", QuestionKind::Gate, &["approve", "reject"]);
    harness.report("1", 1, Report::Asked { ask: gate.clone() });
    harness.report_and_exit("1", 2, Report::Parked);
    harness.command(1, Command::Cancel { phase: Some(number("1")), now: false });
    harness.command(2, Command::Resume { phase: Some(number("1")) });
    assert_eq!(harness.answers("1"), [""; 0], "nobody said yes");
    harness.report("1", 1, Report::Asked { ask: gate });
    assert_eq!(harness.lead.inbox.open().count(), 1, "it is asked again");
}

#[test]
fn a_retry_withdraws_the_answer_that_ended_the_phase() {
    let mut harness = LeadHarness::diamond(Settings::default());
    harness.prepare_and_start("1");
    let gate = ask("1/gate/plan", QuestionKind::Gate, &["approve", "reject"]);
    harness.report("1", 1, Report::Asked { ask: gate.clone() });
    harness.report_and_exit("1", 2, Report::Parked);
    harness.command(1, Command::Answer { item: 1, text: "reject".to_owned() });
    assert_eq!(harness.answers("1"), ["reject"]);
    harness.report_and_exit("1", 1, Report::Failed { reason: "rejected".to_owned() });
    harness.command(2, Command::Answer { item: 2, text: "retry".to_owned() });
    assert_eq!(harness.answers("1"), ["retry"]);
    harness.report("1", 1, Report::Asked { ask: gate });
    assert_eq!(harness.lead.inbox.open().count(), 1, "it is asked again");
}

#[test]
fn a_parked_worker_whose_questions_are_answered_does_not_count_as_dead() {
    let mut harness = LeadHarness::diamond(Settings::default());
    for n in 1..=6 {
        harness.prepare_and_start("1");
        let ask = ask(&format!("1/discuss/{n}"), QuestionKind::Discuss, &[]);
        harness.report("1", 1, Report::Asked { ask });
        let item = u32::try_from(n).unwrap();
        harness.command(n, Command::Answer { item, text: "yes".to_owned() });
        harness.report_and_exit("1", 2, Report::Parked);
        assert_eq!(harness.status("1"), Status::Preparing, "answer {n}");
    }
    // A worker that parks without an open question counts as dead.
    for _ in 0..4 {
        harness.prepare_and_start("1");
        harness.report_and_exit("1", 1, Report::Parked);
    }
    assert_eq!(harness.status("1"), Status::Failed);
}

#[test]
fn a_resume_reaches_a_phase_that_is_about_to_pause() {
    let mut harness = LeadHarness::diamond(Settings::default());
    harness.prepare_and_start("1");
    harness.command(1, Command::Pause { phase: None });
    harness.command(2, Command::Resume { phase: None });
    harness.report_and_exit("1", 1, Report::Stopped { how: HaltReason::Paused });
    assert_eq!(harness.status("1"), Status::Preparing);
    assert_eq!(harness.lead.phases[&number("1")].attempt, 2);
}

#[test]
fn a_worker_that_does_not_exit_after_its_last_report_is_killed_even_if_paused() {
    let mut harness = LeadHarness::diamond(Settings::default());
    harness.prepare_and_start("1");
    harness.report("1", 1, Report::Complete { commit: "p1".to_owned() });
    harness.command(1, Command::Pause { phase: None });
    let due = harness.lead.deadline().expect("it is ended in the end");
    let decision = step(&mut harness.lead, None, due);
    assert!(matches!(decision.effects[0].1, Effect::KillWorker { .. }));
}

#[test]
fn a_late_failure_to_kill_a_worker_is_ignored() {
    let mut harness = LeadHarness::diamond(Settings::default());
    harness.prepare_and_start("1");
    harness.report("1", 1, Report::Complete { commit: "p1".to_owned() });
    harness.now = harness.lead.deadline().unwrap();
    harness.report_and_exit("1", 1, Report::Parked);
    assert_eq!(harness.status("1"), Status::Merging);
    let failed = Outcome::Failed { reason: "no such process".to_owned() };
    harness.finish(|e| matches!(e, Effect::KillWorker { .. }), failed);
    assert_eq!(harness.lead.inbox.open().count(), 0);
}

fn conflict() -> Outcome {
    let file = ConflictedFile { path: "a".to_owned(), kind: "both changed".to_owned() };
    Outcome::Conflict { files: vec![file], settle: "git merge it".to_owned() }
}

#[test]
fn a_failed_merge_is_tried_again_when_its_phase_is_resumed() {
    let mut harness = LeadHarness::diamond(Settings::default());
    harness.complete("1");
    harness.finish(|e| matches!(e, Effect::Merge { .. }), conflict());
    assert_eq!(harness.status("1"), Status::Parked);
    let asked = harness.lead.inbox.open().next().unwrap().ask.question.clone();
    assert_eq!(asked, "Phase 1 cannot be merged: conflicts in a (both changed); git merge it");
    harness.command(1, Command::Resume { phase: Some(number("1")) });
    assert_eq!(harness.status("1"), Status::Merging);
    assert_eq!(harness.lead.inbox.open().count(), 0, "that is its answer");
}

#[test]
fn conflicts_of_older_journals_can_be_read() {
    let old = r#"{"outcome":"conflict","files":["a"]}"#;
    let outcome: Outcome = serde_json::from_str(old).unwrap();
    let file = ConflictedFile { path: "a".to_owned(), kind: String::new() };
    assert_eq!(outcome, Outcome::Conflict { files: vec![file], settle: String::new() });
    let text = serde_json::to_string(&conflict()).unwrap();
    assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), conflict());
}

#[test]
fn a_merge_knows_what_its_phase_has_cost() {
    let mut harness = LeadHarness::diamond(Settings::default());
    let spent = |input| AgentSpending {
        money: Spending { input, ..Spending::default() },
        ..AgentSpending::default()
    };
    harness.prepare_and_start("1");
    harness.report("1", 1, Report::Spent(spent(5)));
    harness.report_and_exit("1", 2, Report::Complete { commit: "p1".to_owned() });
    harness.input(&Input::Spent { phase: number("1"), spent: spent(7) });
    harness.finish(|e| matches!(e, Effect::Merge { .. }), conflict());
    harness.command(1, Command::Resume { phase: Some(number("1")) });
    let costs = harness.events.iter().filter_map(|event| match event {
        Event::Intended { effect: Effect::Merge { spent, .. }, .. } => Some(spent.input),
        _ => None,
    });
    assert_eq!(costs.collect::<Vec<_>>(), [5, 12]);
}

#[test]
fn merges_of_older_journals_can_be_read() {
    let old = r#"{"effect":"merge","phase":"1","attempt":1,"commit":"p1","onto":"c0"}"#;
    let (commit, onto) = ("p1".to_owned(), "c0".to_owned());
    let (phase, spent) = (number("1"), Spending::default());
    let effect = Effect::Merge { phase, attempt: 1, commit, onto, spent, alone: false };
    assert_eq!(serde_json::from_str::<Effect>(old).unwrap(), effect);
    assert_eq!(serde_json::to_string(&effect).unwrap(), old);
}

#[test]
fn a_note_is_written_down_only_while_its_phase_waits_for_its_merge() {
    let mut harness = LeadHarness::new(Settings::default(), vec![spec("1", &[]), spec("2", &[])]);
    let note = || Input::Noted { phase: number("1"), text: "it will conflict".to_owned() };
    assert!(harness.lead.decide(&note(), 1).events.is_empty());
    harness.complete("1");
    let noted = harness.lead.decide(&note(), 1).events;
    assert_eq!(noted[0].sentence().unwrap(), "phase 1: it will conflict");
}

#[test]
fn a_worktree_without_a_result_fails_its_phase() {
    let mut harness = LeadHarness::diamond(Settings::default());
    // The engine never returns this; a phase that waited for another outcome would wait forever.
    harness.finish(|e| matches!(e, Effect::Prepare { .. }), Outcome::Done);
    assert_eq!(harness.status("1"), Status::Failed);
    let why = harness.lead.phases[&number("1")].why.to_string();
    assert!(why.contains("the worktree could not be created"), "{why}");
    assert!(harness.lead.live().next().is_none(), "its slot is free");
    assert_eq!(harness.lead.status(), RunStatus::Failed);
}

#[test]
fn an_older_commit_is_not_taken_for_the_work_of_a_new_attempt() {
    let mut harness = LeadHarness::diamond(Settings::default());
    harness.complete("1");
    harness.finish(|e| matches!(e, Effect::Merge { .. }), conflict());
    harness.command(1, Command::Answer { item: 1, text: "give up".to_owned() });
    harness.command(2, Command::Resume { phase: Some(number("1")) });
    harness.prepare_and_start("1");
    harness.command(3, Command::Pause { phase: None });
    harness.report_and_exit("1", 1, Report::Stopped { how: HaltReason::Paused });
    harness.command(4, Command::Resume { phase: None });
    assert_eq!(harness.status("1"), Status::Preparing, "there is nothing complete to merge");
}

#[test]
fn each_breaker_has_its_own_question() {
    let phases = vec![spec("1", &[]), spec("2", &[])];
    let settings = Settings { circuit_breaker: 1, ..Settings::default() };
    let mut harness = LeadHarness::new(settings, phases);
    harness.prepare_and_start("1");
    harness.prepare_and_start("2");
    harness.report_and_exit("1", 1, Report::Failed { reason: "no".to_owned() });
    let open = |harness: &LeadHarness| {
        let mut open = harness.lead.inbox.open().filter(|i| i.ask.kind == QuestionKind::Breaker);
        open.next().map(|item| item.id)
    };
    let item = open(&harness).expect("a question about the breaker");
    harness.command(1, Command::Answer { item, text: "continue".to_owned() });
    assert_eq!(open(&harness), None);
    harness.report_and_exit("2", 1, Report::Failed { reason: "no".to_owned() });
    assert!(harness.lead.starts.breaker_open);
    assert!(open(&harness).is_some(), "the second one is asked about too");
}

/// Settings without limits that would delay a start.
fn unlimited_settings() -> Settings {
    Settings { stagger_ms: 0, ..Settings::default() }
}
