//! Tests of parallel plans and of stuck effects.

use std::collections::BTreeSet;

use super::*;
use crate::inbox::InboxQuestion;

/// A worker whose effects end only when a test ends them.
struct ManualWorker {
    worker: Worker,
    now: u64,
    reports: Vec<Report>,
    /// Effects that were released and have no outcome yet.
    running: Vec<(u64, Effect)>,
}

impl ManualWorker {
    /// Begins an attempt with these plans and agents, up to the first effect of the execute stage.
    fn new(found: &PhaseSnapshot, agents: usize) -> Self {
        let brief = Brief {
            run: "r".to_owned(),
            phase: PhaseNumber::whole(3),
            name: "Three".to_owned(),
            attempt: 1,
            base: "c0".to_owned(),
            answers: Vec::new(),
            agents,
            through: None,
            after: Vec::new(),
            clear: vec![crate::file_scope::EVERYTHING.to_owned()],
            spent: crate::money::Spending::default(),
            checked: false,
            ignored: None,
        };
        let (worker, running) = (Worker::default(), Vec::new());
        let mut manual = Self { worker, now: 0, reports: Vec::new(), running };
        manual.put(&Input::Begin { brief, pid: 1 });
        while manual.running.first().is_some_and(|(_, effect)| *effect == Effect::Inspect) {
            manual.end("", Outcome::Inspected { found: found.clone() });
        }
        manual.end("Freeze", Outcome::Frozen { plans: Vec::new(), settings: String::new() });
        manual
    }

    fn put(&mut self, input: &Input) {
        self.now += 10;
        let decision = step(&mut self.worker, Some(input), self.now);
        self.reports.extend(decision.events.into_iter().filter_map(|event| match event {
            Event::Reported(report) => Some(report),
            _ => None,
        }));
        self.running.extend(decision.effects);
    }

    /// Returns the running effects as short texts.
    fn running(&self) -> Vec<String> {
        let words = self.running.iter().map(|(_, effect)| match effect {
            Effect::RunTask { plan, task, parallel } => {
                format!("{plan}/{task}{}", if *parallel { " parallel" } else { "" })
            }
            Effect::PrepareParallel { plans } => format!("prepare {}", plans.join(" ")),
            Effect::CheckFileScopes { plans } => format!("check scopes {}", plans.join(" ")),
            Effect::CheckPlan { plan } => format!("check {plan}"),
            Effect::ClosePlan { plan, .. } => format!("close {plan}"),
            Effect::Checkpoint { status, .. } => format!("checkpoint {status}"),
            Effect::Interrupt { of } => format!("interrupt {of:?}"),
            other => format!("{other:?}"),
        });
        words.collect()
    }

    /// Ends the first effect whose text starts with a prefix.
    fn end(&mut self, what: &str, outcome: Outcome) {
        let at = self.running().iter().position(|words| words.starts_with(what));
        let at = at.unwrap_or_else(|| panic!("no {what} in {:?}", self.running()));
        let (id, _) = self.running.remove(at);
        self.put(&Input::Finished { id, outcome });
    }

    fn commit(&mut self, what: &str) {
        self.end(what, Outcome::Committed { commit: Some("c1".to_owned()) });
    }

    fn id(&self, what: &str) -> u64 {
        let at = self.running().iter().position(|words| words.starts_with(what)).unwrap();
        self.running[at].0
    }

    fn asked(&self) -> Vec<InboxQuestion> {
        let asks = self.reports.iter().filter_map(|report| match report {
            Report::Asked { ask } => Some(ask.clone()),
            _ => None,
        });
        asks.collect()
    }
}

/// Plans with file scopes.
fn apart(plans: &[(&str, usize, &[&str])]) -> PhaseSnapshot {
    let plans = plans.iter().map(|(id, tasks, files)| {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        PlanSnapshot { files, ..plan(id, 1, &[], *tasks) }
    });
    let mut found = planned(plans.collect());
    found.settings.side_by_side = true;
    found
}

#[test]
fn plans_with_disjoint_files_run_in_parallel_and_are_checked_when_all_have_stopped() {
    let found = apart(&[("p1", 2, &["a"]), ("p2", 1, &["b"]), ("p3", 1, &["c"])]);
    let mut manual = ManualWorker::new(&found, 2);
    assert_eq!(manual.running(), ["prepare p1 p2 p3"]);
    manual.end("prepare", Outcome::Done);
    assert_eq!(manual.running(), ["p1/1 parallel", "p2/1 parallel"], "as many as there are agents");
    manual.commit("p2/1");
    assert_eq!(manual.running(), ["p1/1 parallel", "p3/1 parallel"]);
    manual.commit("p3/1");
    assert_eq!(manual.running(), ["p1/1 parallel"], "nothing is checked while one is running");
    manual.commit("p1/1");
    manual.commit("p1/2");
    assert_eq!(manual.running(), ["check scopes p1 p2 p3"]);
    manual.end("check scopes", Outcome::Done);
    for plan in ["p1", "p2", "p3"] {
        assert_eq!(manual.running(), [format!("check {plan}")]);
        manual.end("check", Outcome::Done);
        assert_eq!(manual.running(), [format!("close {plan}")]);
        manual.commit("close");
    }
    assert_eq!(manual.worker.stage, Some(Stage::Refine));
    let done = manual.reports.iter().filter(|r| matches!(r, Report::PlanDone { .. })).count();
    assert_eq!(done, 3);
}

#[test]
fn plans_with_common_files_run_in_order() {
    let first = |found: &PhaseSnapshot, agents: usize| ManualWorker::new(found, agents).running();
    let both = || apart(&[("p1", 1, &["src"]), ("p2", 1, &["docs"])]);
    assert_eq!(first(&both(), 2), ["prepare p1 p2"]);
    assert_eq!(first(&both(), 1), ["p1/1"], "one agent");
    let off = PhaseSnapshot { settings: Settings::default(), ..both() };
    assert_eq!(first(&off, 2), ["p1/1"], "switched off");
    assert_eq!(first(&apart(&[("p1", 1, &["src"]), ("p2", 1, &["src/a"])]), 2), ["p1/1"]);
    assert_eq!(first(&apart(&[("p1", 1, &[]), ("p2", 1, &["b"]), ("p3", 1, &["c"])]), 2), ["p1/1"]);
    let mut later = both();
    later.plans[1].wave = 2;
    assert_eq!(first(&later, 2), ["p1/1"], "another wave");
    let mut dependent = both();
    dependent.plans[1].depends_on = vec!["p1".to_owned()];
    assert_eq!(first(&dependent, 2), ["p1/1"], "one depends on the other");
    let mut asks = both();
    asks.plans[1].tasks[0].question = Some("Well?".to_owned());
    assert_eq!(first(&asks, 2), ["p1/1"], "a person is needed");
    let mut alone = both();
    alone.plans[1].alone = true;
    assert_eq!(first(&alone, 2), ["p1/1"], "it was undone before");
    let mixed = apart(&[("p1", 1, &["a"]), ("p2", 1, &["a/b"]), ("p3", 1, &["c"])]);
    assert_eq!(first(&mixed, 2), ["prepare p1 p3"], "the rest comes after");
}

#[test]
fn after_a_failure_the_other_plans_finish_their_task_and_stop() {
    let mut manual = ManualWorker::new(&apart(&[("p1", 2, &["a"]), ("p2", 2, &["b"])]), 2);
    manual.end("prepare", Outcome::Done);
    manual.end("p1/1", Outcome::Failed { reason: "exit 1".to_owned() });
    assert_eq!(manual.running(), ["p2/1 parallel"]);
    manual.commit("p2/1");
    assert_eq!(manual.running(), ["checkpoint failed"]);
    manual.end("checkpoint", Outcome::Done);
    let reason = "plan p1, task 1: exit 1".to_owned();
    assert_eq!(manual.reports.last(), Some(&Report::Failed { reason }));
}

#[test]
fn a_task_whose_check_fails_is_undone_and_repeated_alone() {
    let mut found = apart(&[("p1", 2, &["a"]), ("p2", 1, &["b"])]);
    found.settings.tries_max = 2;
    let mut manual = ManualWorker::new(&found, 2);
    manual.end("prepare", Outcome::Done);
    manual.commit("p1/1");
    manual.commit("p1/2");
    manual.commit("p2/1");
    manual.end("check scopes", Outcome::Done);
    manual.end("check p1", Outcome::Undone { task: 2, reason: "exit 1".to_owned() });
    manual.end("check p2", Outcome::Done);
    manual.commit("close p2");
    assert_eq!(manual.running(), ["p1/2"], "with its checks, and no plan in parallel");
    manual.commit("p1/2");
    manual.end("check p1", Outcome::Done);
    manual.commit("close p1");
    assert_eq!(manual.worker.stage, Some(Stage::Refine));
}

#[test]
fn undeclared_changes_fail_the_phase() {
    let mut manual = ManualWorker::new(&apart(&[("p1", 1, &["a"]), ("p2", 1, &["b"])]), 2);
    manual.end("prepare", Outcome::Done);
    manual.commit("p1/1");
    manual.commit("p2/1");
    manual.end("check scopes", Outcome::Failed { reason: "c is nobody's".to_owned() });
    assert_eq!(manual.running(), ["checkpoint failed"]);
}

#[test]
fn blockers_of_parallel_plans() {
    for strict in [false, true] {
        let mut found = apart(&[("p1", 1, &["a"]), ("p2", 2, &["b"])]);
        found.settings.strict = strict;
        let mut manual = ManualWorker::new(&found, 2);
        manual.end("prepare", Outcome::Done);
        manual.end("p1/1", Outcome::Blocked { text: "which?".to_owned() });
        manual.commit("p2/1");
        if !strict {
            manual.commit("p2/2");
            manual.end("check scopes", Outcome::Done);
            manual.end("check p2", Outcome::Done);
            manual.commit("close p2");
        }
        assert!(manual.running().is_empty(), "{:?}", manual.running());
        assert_eq!(manual.asked()[0].kind, QuestionKind::Blocker);
        assert_eq!(manual.reports.last(), Some(&Report::Parked));
    }
}

#[test]
fn tasks_that_an_earlier_attempt_left_unchecked_are_checked_before_the_plan_closes() {
    let mut found = planned(vec![plan("p1", 1, &[], 1)]);
    found.plans[0].tasks_done = BTreeSet::from([1]);
    found.plans[0].unchecked = true;
    let mut manual = ManualWorker::new(&found, 1);
    assert_eq!(manual.running(), ["check p1"]);
    manual.end("check", Outcome::Undone { task: 1, reason: "exit 1".to_owned() });
    assert_eq!(manual.running(), ["checkpoint failed"]);
}

#[test]
fn a_cancellation_that_does_not_wait_interrupts_all_plans() {
    for (how, now) in
        [(HaltReason::Paused, false), (HaltReason::Cancelled, false), (HaltReason::Cancelled, true)]
    {
        let mut manual = ManualWorker::new(&apart(&[("p1", 2, &["a"]), ("p2", 2, &["b"])]), 2);
        manual.end("prepare", Outcome::Done);
        let order = HaltOrder { now, ..HaltOrder::from(how) };
        manual.put(&Input::FromLead(LeadMessage::Halt(order)));
        assert_eq!(manual.running().contains(&"interrupt None".to_owned()), now);
        manual.running.retain(|(_, effect)| !matches!(effect, Effect::Interrupt { .. }));
        manual.commit("p1/1");
        assert_eq!(manual.running(), ["p2/1 parallel"]);
        manual.end("p2/1", Outcome::Interrupted);
        assert_eq!(manual.running(), [format!("checkpoint {}", how.name())]);
        manual.end("checkpoint", Outcome::Done);
        assert!(manual.worker.has_ended());
    }
}

#[test]
fn a_person_decides_about_a_stuck_effect() {
    for choice in ["wait", "retry", "fail"] {
        let mut manual = ManualWorker::new(&planned(vec![plan("p1", 1, &[], 1)]), 1);
        let id = manual.id("p1/1");
        let stuck = Input::Stuck { id, signs: "no output for 12 min".to_owned() };
        manual.put(&stuck);
        manual.put(&stuck);
        let asked = manual.asked();
        assert_eq!(asked.len(), 1, "asked once");
        let words = "Phase 3, plan p1, task 1 seems stuck: no output for 12 min";
        assert!(asked[0].question.starts_with(words), "{}", asked[0].question);
        assert!(!manual.worker.has_ended(), "it goes on meanwhile");
        manual.running.retain(|(_, effect)| !matches!(effect, Effect::NoteStatus { .. }));
        let (key, question) = (asked[0].key.clone(), String::new());
        let answer = InboxAnswer { key: key.clone(), question, text: choice.to_owned() };
        manual.put(&Input::FromLead(LeadMessage::Answer(answer)));
        let interrupt = format!("interrupt Some({id})");
        assert_eq!(manual.running().contains(&interrupt), choice != "wait");
        manual.running.retain(|(_, effect)| !matches!(effect, Effect::Interrupt { .. }));
        let cut = || Outcome::Interrupted;
        match choice {
            "wait" => manual.commit("p1/1"),
            _ => manual.end("p1/1", cut()),
        }
        assert!(
            manual.reports.contains(&Report::QuestionObsolete { key }),
            "the question is taken back"
        );
        let next = match choice {
            "wait" => "close p1",
            "retry" => "p1/1",
            _ => "checkpoint failed",
        };
        assert_eq!(manual.running(), [next], "{choice}");
    }
}

#[test]
fn an_effect_that_is_active_again_withdraws_its_question_and_may_be_stuck_again() {
    let mut manual = ManualWorker::new(&planned(vec![plan("p1", 1, &[], 1)]), 1);
    let id = manual.id("p1/1");
    let stuck = Input::Stuck { id, signs: "CPU 0.0 s in 12 min".to_owned() };
    manual.put(&stuck);
    manual.put(&Input::ActiveAgain { id });
    manual.put(&Input::ActiveAgain { id });
    let settled = |report: &&Report| matches!(report, Report::QuestionObsolete { .. });
    assert_eq!(manual.reports.iter().filter(settled).count(), 1);
    manual.put(&stuck);
    let asked = manual.asked();
    assert!(asked.len() == 2 && asked[0].key != asked[1].key, "{asked:?}");
    manual.put(&Input::Stuck { id: 99, signs: String::new() });
    assert_eq!(manual.asked().len(), 2, "of what is over nothing is noted");
}

#[test]
fn journals_of_older_workers_can_be_read() {
    for line in [
        r#"{"event":"briefed","brief":{"run":"r","phase":"3","name":"x","attempt":1,"base":"c","answers":[]}}"#,
        r#"{"event":"intended","id":3,"effect":{"effect":"run_task","plan":"03-01","task":1}}"#,
        r#"{"event":"intended","id":4,"effect":{"effect":"interrupt"}}"#,
        r#"{"event":"finished","id":1,"outcome":{"outcome":"found","found":{"settings":{"research":true,
            "plan_check":true,"verifier":true,"gates":"none","strict":false,"tries_max":1,
            "wall_max_ms":null,"roles":["executor"]},"goal":"","criteria":[],"skip_discuss":false,
            "context":true,"research":false,"plans":[{"id":"03-01","wave":1,"depends_on":[],
            "tasks":[],"done":false}],"verification":null}}}"#,
    ] {
        serde_json::from_str::<Event>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
}
