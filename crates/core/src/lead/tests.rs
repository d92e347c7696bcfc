//! A lead driven by hand: a diamond of four phases.

mod ahead;
mod apart;
mod stalls;

use super::*;
use crate::item::Ask;
use crate::machine::step;
use crate::money::{Money, Spent};

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
    }
}

/// A lead with what it wants done, in order.
struct Table {
    lead: Lead,
    wanted: Vec<(u64, Effect)>,
    events: Vec<Event>,
    now: u64,
}

impl Table {
    fn new(settings: Settings, phases: Vec<PhaseSpec>) -> Self {
        let lead = Lead::default();
        let mut table = Self { lead, wanted: Vec::new(), events: Vec::new(), now: 1_000 };
        let (run, target, tip) = ("r".to_owned(), "main".to_owned(), "c0".to_owned());
        table.put(&Input::Begin { run, target, tip });
        table.put(&Input::TakeUp { settings });
        table.put(&Input::Roadmap { scope: Scope::All, phases });
        table
    }

    fn diamond(settings: Settings) -> Self {
        let phases =
            vec![spec("1", &[]), spec("2", &["1"]), spec("3", &["1"]), spec("4", &["2", "3"])];
        Self::new(settings, phases)
    }

    fn put(&mut self, input: &Input) {
        self.now += 1_000;
        let decision = step(&mut self.lead, Some(input), self.now);
        self.events.extend(decision.events);
        self.wanted.extend(decision.effects);
    }

    /// Finishes the oldest wanted effect of a kind.
    fn finish(&mut self, is: impl Fn(&Effect) -> bool, outcome: Outcome) {
        let at = self.wanted.iter().position(|(_, effect)| is(effect)).expect("such an effect");
        let (id, _) = self.wanted.remove(at);
        self.put(&Input::Finished { id, outcome });
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

    fn say(&mut self, phase: &str, seq: u64, report: Report) {
        let phase = number(phase);
        let attempt = self.lead.phases[&phase].attempt;
        self.put(&Input::Report { phase, attempt, seq, report });
    }

    fn end(&mut self, phase: &str, seq: u64, report: Report) {
        self.say(phase, seq, report);
        let phase = number(phase);
        let attempt = self.lead.phases[&phase].attempt;
        self.put(&Input::Gone { phase, attempt });
    }

    fn complete(&mut self, phase: &str) {
        self.prepare_and_start(phase);
        self.end(phase, 1, Report::Complete { commit: format!("p{phase}") });
    }

    fn merge(&mut self, commit: &str) {
        self.settle();
        let merged = Outcome::Merged { commit: commit.to_owned(), note: String::new() };
        self.finish(|e| matches!(e, Effect::Merge { .. }), merged);
    }

    /// Finishes all that only tells or follows.
    fn settle(&mut self) {
        let is_small = |e: &Effect| matches!(e, Effect::Follow { .. } | Effect::Tell { .. });
        while self.wanted.iter().any(|(_, effect)| is_small(effect)) {
            self.finish(is_small, Outcome::Done);
        }
    }

    fn command(&mut self, seq: u64, command: Command) {
        self.put(&Input::Command { seq, command });
    }

    /// Starts a phase and returns what its worker is told about answers.
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
fn runs_a_diamond_to_its_end() {
    let mut table = Table::diamond(Settings::default());
    assert_eq!(table.status("2"), Status::Waiting);
    table.complete("1");
    table.merge("m1");
    table.complete("2");
    assert_eq!(table.status("2"), Status::Complete, "its wave is not closed");
    table.complete("3");
    table.merge("m2");
    assert_eq!(table.status("4"), Status::Waiting);
    table.merge("m3");
    assert_eq!(table.status("4"), Status::Preparing);
    table.complete("4");
    table.merge("m4");
    table.settle();
    table.finish(
        |e| matches!(e, Effect::Close { .. }),
        Outcome::Merged { commit: "closed".to_owned(), note: String::new() },
    );
    table.settle();
    assert_eq!(table.lead.standing(), Standing::Done);
    assert_eq!(table.lead.followed.as_deref(), Some("closed"));
}

#[test]
fn merges_at_once_where_that_is_wanted() {
    let mut table = Table::diamond(Settings { merge_at_once: true, ..Settings::default() });
    table.complete("1");
    table.merge("m1");
    table.complete("2");
    assert_eq!(table.status("2"), Status::Complete, "the branch follows the first one");
    table.settle();
    assert_eq!(table.status("2"), Status::Merging);
}

#[test]
fn ignores_what_an_older_attempt_or_an_older_record_says() {
    let mut table = Table::diamond(Settings::default());
    table.prepare_and_start("1");
    table.say("1", 5, Report::Plans { done: 1, total: 2 });
    table.say("1", 5, Report::Plans { done: 2, total: 2 });
    table.say("1", 4, Report::Complete { commit: "early".to_owned() });
    let track = &table.lead.phases[&number("1")];
    assert_eq!((track.plans, track.last.clone()), ((1, 2), None));
    let phase = number("1");
    table.put(&Input::Gone { phase, attempt: 1 });
    assert_eq!(table.lead.phases[&phase].attempt, 2);
    let late = Report::Complete { commit: "late".to_owned() };
    table.put(&Input::Report { phase, attempt: 1, seq: 9, report: late });
    table.put(&Input::Gone { phase, attempt: 1 });
    assert_eq!(table.status("1"), Status::Preparing);
}

#[test]
fn a_worker_that_keeps_dying_fails_its_phase() {
    let mut table = Table::diamond(Settings::default());
    let phase = number("1");
    for attempt in 1..=4 {
        table.prepare_and_start("1");
        table.put(&Input::Gone { phase, attempt });
    }
    assert_eq!(table.status("1"), Status::Failed);
    assert_eq!(table.lead.standing(), Standing::Failed);
    let item = table.lead.open_items().next().unwrap();
    assert!(item.ask.question.contains("died 4 times"), "{}", item.ask.question);
}

#[test]
fn a_parked_phase_holds_no_slot_and_goes_on_when_answered() {
    let settings = Settings { max_workers: 1, ..Settings::default() };
    let mut table = Table::new(settings, vec![spec("1", &[]), spec("2", &[])]);
    table.prepare_and_start("1");
    let ask = Ask {
        key: "1/discuss/1".to_owned(),
        kind: ItemKind::Discuss,
        question: "What?".to_owned(),
        choices: Vec::new(),
    };
    table.say("1", 1, Report::Asked { ask: ask.clone() });
    table.say("1", 2, Report::Asked { ask });
    assert_eq!(table.lead.items.len(), 1, "a question is put once");
    table.end("1", 3, Report::Parked);
    assert_eq!((table.status("1"), table.status("2")), (Status::Parked, Status::Preparing));
    let command = Command::Answer { item: 1, text: "This.".to_owned() };
    table.put(&Input::Command { seq: 1, command: command.clone() });
    assert_eq!(table.status("1"), Status::Waiting);
    let events = table.events.len();
    table.put(&Input::Command { seq: 1, command });
    assert_eq!(table.events.len(), events, "a command counts once");
    table.complete("2");
    table.finish(
        |e| matches!(e, Effect::Prepare { .. }),
        Outcome::Prepared { base: "c0".to_owned() },
    );
    let brief = table.wanted.iter().find_map(|(_, effect)| match effect {
        Effect::Start { brief } => Some(brief),
        _ => None,
    });
    assert_eq!(brief.unwrap().answers[0].text, "This.");
}

#[test]
fn a_phase_that_is_resumed_waits_for_all_its_answers() {
    let mut table = Table::diamond(Settings::default());
    table.prepare_and_start("1");
    for n in 1..=2 {
        let (key, question) = (format!("1/discuss/1.{n}"), "What?".to_owned());
        let ask = Ask { key, kind: ItemKind::Discuss, question, choices: Vec::new() };
        table.say("1", n, Report::Asked { ask });
    }
    let phase = Some(number("1"));
    table.command(1, Command::Pause { phase });
    table.end("1", 3, Report::Stopped { how: Halt::Paused });
    assert_eq!(table.status("1"), Status::Paused);
    table.command(2, Command::Answer { item: 2, text: "That.".to_owned() });
    table.command(3, Command::Resume { phase });
    assert_eq!(table.status("1"), Status::Parked, "its worker would go on with half of them");
    table.command(4, Command::Answer { item: 1, text: "This.".to_owned() });
    assert_eq!(table.answers("1"), ["This.", "That."]);
}

#[test]
fn failure_names_what_it_blocks_and_the_breaker_stops_starts() {
    let phases =
        vec![spec("1", &[]), spec("2", &[]), spec("3", &[]), spec("4", &["1"]), spec("5", &["4"])];
    let mut table = Table::new(Settings::default(), phases);
    for phase in ["1", "2", "3"] {
        table.prepare_and_start(phase);
    }
    table.end("1", 1, Report::Failed { reason: "tests fail".to_owned() });
    let why = &table.lead.phases[&number("1")].why;
    assert_eq!(why, "tests fail; blocks 4, 5; 2, 3 still running");
    assert!(!table.lead.breaker);
    table.end("2", 1, Report::Failed { reason: "disk".to_owned() });
    assert!(table.lead.breaker);
    let told = table
        .wanted
        .iter()
        .any(|(_, effect)| matches!(effect, Effect::Tell { phase, .. } if *phase == number("3")));
    assert!(told, "the third is told to rest");
    table.end("3", 1, Report::Stopped { how: Halt::Paused });
    table.settle();
    assert_eq!(table.lead.standing(), Standing::Failed);
    let breaker = table.lead.open_items().find(|i| i.ask.kind == ItemKind::Breaker).unwrap().id;
    let command = Command::Answer { item: breaker, text: "continue".to_owned() };
    table.put(&Input::Command { seq: 1, command });
    assert_eq!(table.status("3"), Status::Preparing);
}

#[test]
fn a_wave_closes_over_phases_that_wait_in_vain() {
    // 3 waits for the failed 1 in the same wave as 4, which must be merged all the same.
    let phases = vec![spec("1", &[]), spec("2", &[]), spec("3", &["1"]), spec("4", &["2"])];
    let settings = Settings { circuit_breaker: 0, ..Settings::default() };
    let mut table = Table::new(settings, phases);
    table.prepare_and_start("1");
    table.end("1", 1, Report::Failed { reason: "no".to_owned() });
    table.complete("2");
    table.merge("m2");
    table.complete("4");
    table.settle();
    assert_eq!(table.status("4"), Status::Merging);
}

#[test]
fn cancel_ends_a_worker_that_does_not_listen() {
    let mut table = Table::diamond(Settings::default());
    table.prepare_and_start("1");
    let phase = Some(number("1"));
    table.put(&Input::Command { seq: 1, command: Command::Cancel { phase } });
    let due = table.lead.deadline().unwrap();
    assert!(step(&mut table.lead, None, due - 1).events.is_empty());
    let decision = step(&mut table.lead, None, due);
    assert!(matches!(decision.effects[0].1, Effect::End { .. }));
    table.put(&Input::Gone { phase: number("1"), attempt: 1 });
    assert_eq!(table.status("1"), Status::Cancelled);
}

#[test]
fn a_phase_that_is_ticked_during_a_run_is_asked_about() {
    let ticked = || {
        let mut table = Table::diamond(Settings::default());
        let mut phases: Vec<_> = table.lead.phases.values().map(|t| t.spec.clone()).collect();
        phases.iter_mut().filter(|spec| spec.number != number("1")).for_each(|s| s.done = true);
        table.put(&Input::Roadmap { scope: Scope::All, phases: phases.clone() });
        assert_eq!(table.status("2"), Status::Parked, "nobody did it");
        let events = table.events.len();
        table.put(&Input::Roadmap { scope: Scope::All, phases: phases.clone() });
        assert_eq!(table.events.len(), events, "it is asked once");
        let open = table.lead.open_items().find(|item| item.phase == Some(number("2"))).unwrap();
        assert_eq!((open.ask.kind, open.ask.key.as_str()), (ItemKind::Ticked, "2/ticked"));
        let id = open.id;
        (table, phases, id)
    };

    let (mut table, _, id) = ticked();
    table.command(1, Command::Answer { item: id, text: "d".to_owned() });
    assert_eq!(table.status("2"), Status::Merged);

    let (mut table, phases, id) = ticked();
    table.command(1, Command::Answer { item: id, text: "not done".to_owned() });
    table.put(&Input::Roadmap { scope: Scope::All, phases });
    assert_eq!(table.status("2"), Status::Waiting, "a person has said so, and is not asked again");

    let (mut table, mut phases, _) = ticked();
    phases.iter_mut().for_each(|spec| spec.done = false);
    table.put(&Input::Roadmap { scope: Scope::All, phases });
    assert_eq!(table.status("2"), Status::Waiting, "it is not ticked any more");
    assert_eq!(table.lead.open_items().count(), 0);

    let (mut table, mut phases, _) = ticked();
    phases.retain(|spec| spec.number == number("1"));
    table.put(&Input::Roadmap { scope: Scope::All, phases });
    assert_eq!(table.status("2"), Status::Cancelled, "it left the roadmap");
    assert_eq!(table.lead.open_items().count(), 0);
}

#[test]
fn a_phase_that_is_ticked_while_it_rests_is_asked_about_before_it_starts() {
    let mut table = Table::diamond(Settings { stagger_ms: 0, ..Settings::default() });
    let mut phases: Vec<_> = table.lead.phases.values().map(|t| t.spec.clone()).collect();
    table.command(1, Command::Pause { phase: Some(number("2")) });
    phases.iter_mut().filter(|spec| spec.number == number("2")).for_each(|spec| spec.done = true);
    table.put(&Input::Roadmap { scope: Scope::All, phases: phases.clone() });
    assert_eq!(table.status("2"), Status::Paused, "nobody wants to start it");
    table.command(2, Command::Resume { phase: Some(number("2")) });
    table.complete("1");
    table.merge("m1");
    assert_eq!(table.status("2"), Status::Parked);
    assert!(table.lead.is_doubted(&table.lead.phases[&number("2")]));

    let others: Vec<_> = phases.iter().filter(|s| s.number != number("2")).cloned().collect();
    table.put(&Input::Roadmap { scope: Scope::All, phases: others });
    assert_eq!(table.status("2"), Status::Cancelled, "it left the roadmap");
    table.put(&Input::Roadmap { scope: Scope::All, phases });
    assert_eq!(table.status("2"), Status::Parked, "it is back, and asked about again");
    assert_eq!(table.lead.open_items().count(), 1);
}

#[test]
fn the_roadmap_may_change_during_a_run() {
    let mut table = Table::diamond(Settings::default());
    table.complete("1");
    let mut phases = vec![spec("1", &[]), spec("2", &["1"]), spec("3", &["2"]), spec("5", &["1"])];
    phases[0].done = true;
    table.put(&Input::Roadmap { scope: Scope::All, phases: phases.clone() });
    assert_eq!(table.status("4"), Status::Cancelled);
    let events = table.events.len();
    table.put(&Input::Roadmap { scope: Scope::All, phases: phases.clone() });
    assert_eq!(table.events.len(), events, "nothing new, nothing written");
    phases.push(spec("4", &["5"]));
    table.put(&Input::Roadmap { scope: Scope::All, phases });
    assert_eq!(table.status("4"), Status::Waiting, "it is back");
    table.merge("m1");
    assert_eq!((table.status("3"), table.status("5")), (Status::Waiting, Status::Waiting));
    table.prepare_and_start("2");
}

#[test]
fn a_journal_read_again_gives_the_same_state() {
    let mut table = Table::diamond(Settings::default());
    table.complete("1");
    table.merge("m1");
    let mut again = Lead::default();
    for event in &table.events {
        let line = serde_json::to_string(event).unwrap();
        again.apply(&serde_json::from_str(&line).unwrap(), 0);
    }
    let strip = |lead: &Lead| {
        let mut lead = lead.clone();
        (lead.last_start, lead.last_follow) = (None, None);
        for track in lead.phases.values_mut() {
            (track.since, track.started, track.due) = (0, None, None);
        }
        lead
    };
    assert_eq!(strip(&again), strip(&table.lead));
}

fn ask(key: &str, kind: ItemKind, choices: &[&str]) -> Ask {
    let choices = choices.iter().map(|choice| (*choice).to_owned()).collect();
    Ask { key: key.to_owned(), kind, question: "Well?".to_owned(), choices }
}

#[test]
fn a_cancelled_phase_is_cancelled_whatever_it_came_to() {
    let lasts = [
        Report::Complete { commit: "p1".to_owned() },
        Report::Stopped { how: Halt::Paused },
        Report::Failed { reason: "no".to_owned() },
        Report::Parked,
    ];
    for last in lasts {
        let mut table = Table::diamond(Settings::default());
        table.prepare_and_start("1");
        table.command(1, Command::Cancel { phase: Some(number("1")) });
        // The question was under way when the phase was cancelled.
        table.say("1", 1, Report::Asked { ask: ask("1/gate/plan", ItemKind::Gate, &["approve"]) });
        table.end("1", 2, last.clone());
        assert_eq!(table.status("1"), Status::Cancelled, "{last:?}");
        assert_eq!(table.lead.open_items().count(), 0, "{last:?}");
    }
}

#[test]
fn cancelling_a_phase_answers_none_of_its_questions() {
    let mut table = Table::diamond(Settings::default());
    table.prepare_and_start("1");
    let gate = ask("1/gate/plan", ItemKind::Gate, &["approve", "reject"]);
    table.say("1", 1, Report::Asked { ask: gate.clone() });
    table.end("1", 2, Report::Parked);
    table.command(1, Command::Cancel { phase: Some(number("1")) });
    table.command(2, Command::Resume { phase: Some(number("1")) });
    assert_eq!(table.answers("1"), [""; 0], "nobody said yes");
    table.say("1", 1, Report::Asked { ask: gate });
    assert_eq!(table.lead.open_items().count(), 1, "it is asked again");
}

#[test]
fn a_retry_takes_back_the_answer_that_ended_the_phase() {
    let mut table = Table::diamond(Settings::default());
    table.prepare_and_start("1");
    let gate = ask("1/gate/plan", ItemKind::Gate, &["approve", "reject"]);
    table.say("1", 1, Report::Asked { ask: gate.clone() });
    table.end("1", 2, Report::Parked);
    table.command(1, Command::Answer { item: 1, text: "reject".to_owned() });
    assert_eq!(table.answers("1"), ["reject"]);
    table.end("1", 1, Report::Failed { reason: "rejected".to_owned() });
    table.command(2, Command::Answer { item: 2, text: "retry".to_owned() });
    assert_eq!(table.answers("1"), ["retry"]);
    table.say("1", 1, Report::Asked { ask: gate });
    assert_eq!(table.lead.open_items().count(), 1, "it is asked again");
}

#[test]
fn quick_answers_are_no_deaths() {
    let mut table = Table::diamond(Settings::default());
    for n in 1..=6 {
        table.prepare_and_start("1");
        let ask = ask(&format!("1/discuss/{n}"), ItemKind::Discuss, &[]);
        table.say("1", 1, Report::Asked { ask });
        let item = u32::try_from(n).unwrap();
        table.command(n, Command::Answer { item, text: "yes".to_owned() });
        table.end("1", 2, Report::Parked);
        assert_eq!(table.status("1"), Status::Preparing, "answer {n}");
    }
    // A worker that waits for nothing anybody was asked is as good as dead.
    for _ in 0..4 {
        table.prepare_and_start("1");
        table.end("1", 1, Report::Parked);
    }
    assert_eq!(table.status("1"), Status::Failed);
}

#[test]
fn a_resume_reaches_a_phase_that_is_about_to_rest() {
    let mut table = Table::diamond(Settings::default());
    table.prepare_and_start("1");
    table.command(1, Command::Pause { phase: None });
    table.command(2, Command::Resume { phase: None });
    table.end("1", 1, Report::Stopped { how: Halt::Paused });
    assert_eq!(table.status("1"), Status::Preparing);
    assert_eq!(table.lead.phases[&number("1")].attempt, 2);
}

#[test]
fn a_pause_does_not_spare_a_worker_that_hangs_after_its_last_word() {
    let mut table = Table::diamond(Settings::default());
    table.prepare_and_start("1");
    table.say("1", 1, Report::Complete { commit: "p1".to_owned() });
    table.command(1, Command::Pause { phase: None });
    let due = table.lead.deadline().expect("it is ended in the end");
    let decision = step(&mut table.lead, None, due);
    assert!(matches!(decision.effects[0].1, Effect::End { .. }));
}

#[test]
fn a_late_failure_to_end_a_worker_hurts_nobody() {
    let mut table = Table::diamond(Settings::default());
    table.prepare_and_start("1");
    table.say("1", 1, Report::Complete { commit: "p1".to_owned() });
    table.now = table.lead.deadline().unwrap();
    table.end("1", 1, Report::Parked);
    assert_eq!(table.status("1"), Status::Merging);
    let failed = Outcome::Failed { reason: "no such process".to_owned() };
    table.finish(|e| matches!(e, Effect::End { .. }), failed);
    assert_eq!(table.lead.open_items().count(), 0);
}

fn conflict() -> Outcome {
    let file = Clash { path: "a".to_owned(), kind: "both changed".to_owned() };
    Outcome::Conflict { files: vec![file], settle: "git merge it".to_owned() }
}

#[test]
fn a_merge_that_did_not_work_is_tried_again_when_its_phase_is_resumed() {
    let mut table = Table::diamond(Settings::default());
    table.complete("1");
    table.finish(|e| matches!(e, Effect::Merge { .. }), conflict());
    assert_eq!(table.status("1"), Status::Parked);
    let asked = table.lead.open_items().next().unwrap().ask.question.clone();
    assert_eq!(asked, "Phase 1 cannot be merged: conflicts in a (both changed); git merge it");
    table.command(1, Command::Resume { phase: Some(number("1")) });
    assert_eq!(table.status("1"), Status::Merging);
    assert_eq!(table.lead.open_items().count(), 0, "that is its answer");
}

#[test]
fn conflicts_of_older_journals_can_be_read() {
    let old = r#"{"outcome":"conflict","files":["a"]}"#;
    let outcome: Outcome = serde_json::from_str(old).unwrap();
    let file = Clash { path: "a".to_owned(), kind: String::new() };
    assert_eq!(outcome, Outcome::Conflict { files: vec![file], settle: String::new() });
    let text = serde_json::to_string(&conflict()).unwrap();
    assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), conflict());
}

#[test]
fn a_merge_knows_what_its_phase_has_cost() {
    let mut table = Table::diamond(Settings::default());
    let spent = |input| Spent { money: Money { input, ..Money::default() }, ..Spent::default() };
    table.prepare_and_start("1");
    table.say("1", 1, Report::Spent(spent(5)));
    table.end("1", 2, Report::Complete { commit: "p1".to_owned() });
    table.put(&Input::Spent { phase: number("1"), spent: spent(7) });
    table.finish(|e| matches!(e, Effect::Merge { .. }), conflict());
    table.command(1, Command::Resume { phase: Some(number("1")) });
    let costs = table.events.iter().filter_map(|event| match event {
        Event::Intended { effect: Effect::Merge { spent, .. }, .. } => Some(spent.input),
        _ => None,
    });
    assert_eq!(costs.collect::<Vec<_>>(), [5, 12]);
}

#[test]
fn merges_of_older_journals_can_be_read() {
    let old = r#"{"effect":"merge","phase":"1","attempt":1,"commit":"p1","onto":"c0"}"#;
    let (commit, onto) = ("p1".to_owned(), "c0".to_owned());
    let (phase, spent) = (number("1"), Money::default());
    let effect = Effect::Merge { phase, attempt: 1, commit, onto, spent, alone: false };
    assert_eq!(serde_json::from_str::<Effect>(old).unwrap(), effect);
    assert_eq!(serde_json::to_string(&effect).unwrap(), old);
}

#[test]
fn a_note_is_written_down_only_while_its_phase_waits_for_its_merge() {
    let mut table = Table::new(Settings::default(), vec![spec("1", &[]), spec("2", &[])]);
    let note = || Input::Noted { phase: number("1"), text: "it will conflict".to_owned() };
    assert!(table.lead.decide(&note(), 1).events.is_empty());
    table.complete("1");
    let noted = table.lead.decide(&note(), 1).events;
    assert_eq!(noted[0].sentence().unwrap(), "phase 1: it will conflict");
}

#[test]
fn a_worktree_without_a_sensible_answer_fails_its_phase() {
    let mut table = Table::diamond(Settings::default());
    // Nobody answers so; a phase that waited for a better answer would wait for ever.
    table.finish(|e| matches!(e, Effect::Prepare { .. }), Outcome::Done);
    assert_eq!(table.status("1"), Status::Failed);
    assert!(table.lead.phases[&number("1")].why.contains("no worktree"));
    assert!(table.lead.live().next().is_none(), "its slot is free");
    assert_eq!(table.lead.standing(), Standing::Failed);
}

#[test]
fn an_older_commit_is_not_taken_for_the_work_of_a_new_attempt() {
    let mut table = Table::diamond(Settings::default());
    table.complete("1");
    table.finish(|e| matches!(e, Effect::Merge { .. }), conflict());
    table.command(1, Command::Answer { item: 1, text: "give up".to_owned() });
    table.command(2, Command::Resume { phase: Some(number("1")) });
    table.prepare_and_start("1");
    table.command(3, Command::Pause { phase: None });
    table.end("1", 1, Report::Stopped { how: Halt::Paused });
    table.command(4, Command::Resume { phase: None });
    assert_eq!(table.status("1"), Status::Preparing, "there is nothing complete to merge");
}

#[test]
fn each_breaker_has_its_own_question() {
    let phases = vec![spec("1", &[]), spec("2", &[])];
    let settings = Settings { circuit_breaker: 1, ..Settings::default() };
    let mut table = Table::new(settings, phases);
    table.prepare_and_start("1");
    table.prepare_and_start("2");
    table.end("1", 1, Report::Failed { reason: "no".to_owned() });
    let open = |table: &Table| {
        let mut open = table.lead.open_items().filter(|i| i.ask.kind == ItemKind::Breaker);
        open.next().map(|item| item.id)
    };
    let item = open(&table).expect("a question about the breaker");
    table.command(1, Command::Answer { item, text: "continue".to_owned() });
    assert_eq!(open(&table), None);
    table.end("2", 1, Report::Failed { reason: "no".to_owned() });
    assert!(table.lead.breaker);
    assert!(open(&table).is_some(), "the second one is asked about too");
}

/// Settings with which everything starts that can.
fn at_once() -> Settings {
    Settings { stagger_ms: 0, ..Settings::default() }
}
