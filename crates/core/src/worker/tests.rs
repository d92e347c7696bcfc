//! Tests of a worker that runs through its stages.

mod briefs;
mod golden;
mod live_status;
mod parallel_plans;

use super::*;
use crate::inbox::QuestionKind;
use crate::machine::step;
use crate::phase::PhaseNumber;
use crate::report::{HaltOrder, HaltOrigin, HaltReason};
use crate::stage::Gates;

fn plan(id: &str, wave: u32, depends_on: &[&str], tasks: usize) -> PlanSnapshot {
    PlanSnapshot {
        id: id.to_owned(),
        wave,
        depends_on: depends_on.iter().map(|id| (*id).to_owned()).collect(),
        tasks: (1..=tasks)
            .map(|n| TaskSnapshot { name: format!("t{n}"), ..TaskSnapshot::default() })
            .collect(),
        ..PlanSnapshot::default()
    }
}

/// A worker whose effects succeed at once, unless a test sets another outcome.
struct AutoWorker {
    worker: Worker,
    found: PhaseSnapshot,
    answers: Vec<InboxAnswer>,
    /// The effects in order, each as a short text.
    done: Vec<String>,
    reports: Vec<Report>,
    /// The outcomes of the next effects of a kind, instead of success.
    outcomes: Vec<(&'static str, Outcome)>,
    now: u64,
}

impl AutoWorker {
    fn new(found: PhaseSnapshot) -> Self {
        Self {
            worker: Worker::default(),
            found,
            answers: Vec::new(),
            done: Vec::new(),
            reports: Vec::new(),
            outcomes: Vec::new(),
            now: 0,
        }
    }

    fn put(&mut self, input: &Input) {
        self.now += 10;
        let decision = step(&mut self.worker, Some(input), self.now);
        for event in decision.events {
            if let Event::Reported(report) = event {
                self.reports.push(report);
            }
        }
        for (id, effect) in decision.effects {
            let outcome = self.perform(&effect);
            self.put(&Input::Finished { id, outcome });
        }
    }

    fn perform(&mut self, effect: &Effect) -> Outcome {
        let (name, words) = match effect {
            Effect::Inspect => return Outcome::Inspected { found: self.found.clone() },
            Effect::Freeze => {
                return Outcome::Frozen { plans: Vec::new(), settings: String::new() };
            }
            Effect::RunRole { role, .. } => (role.name(), role.name().to_owned()),
            Effect::RunTask { plan, task, .. } => ("task", format!("{plan}/{task}")),
            Effect::ClosePlan { plan, .. } => ("close", format!("close {plan}")),
            Effect::Checkpoint { status, .. } => ("checkpoint", format!("checkpoint {status}")),
            Effect::WriteContext { answers } => {
                self.found.context = true;
                ("context", format!("context {}", answers.len()))
            }
            Effect::ClosePhase => ("phase", "close phase".to_owned()),
            Effect::NoteStatus { .. } => ("note", "note".to_owned()),
            Effect::Interrupt { .. } => ("interrupt", "interrupt".to_owned()),
            Effect::PrepareParallel { plans } => ("clear", format!("clear {}", plans.join(" "))),
            Effect::CheckFileScopes { plans } => ("gather", format!("gather {}", plans.join(" "))),
            Effect::CheckPlan { plan } => ("check", format!("check {plan}")),
            Effect::CheckCompletePlans => ("complete", "check complete plans".to_owned()),
        };
        self.done.push(words);
        if let Some(at) = self.outcomes.iter().position(|(kind, _)| *kind == name) {
            return self.outcomes.remove(at).1;
        }
        if name == "researcher" {
            self.found.research = true;
        }
        match name {
            "task" | "close" | "phase" => Outcome::Committed { commit: Some("c1".to_owned()) },
            "plan-checker" | "verifier" => Outcome::Verdict { verdict: Verdict::Passed },
            _ => Outcome::Done,
        }
    }

    /// Begins an attempt with the answers so far.
    fn begin(&mut self) {
        self.begin_as(|_| {});
    }

    /// Begins an attempt with a brief of its own.
    fn begin_as(&mut self, change: impl Fn(&mut Brief)) {
        self.worker = Worker::default();
        (self.done, self.reports) = (Vec::new(), Vec::new());
        let mut brief = Brief {
            run: "r".to_owned(),
            phase: PhaseNumber::whole(3),
            name: "Three".to_owned(),
            attempt: 1,
            base: "c0".to_owned(),
            answers: self.answers.clone(),
            agents: 2,
            through: None,
            after: Vec::new(),
            clear: vec![crate::file_scope::EVERYTHING.to_owned()],
            spent: crate::money::Spending::default(),
            checked: false,
            ignored: None,
        };
        change(&mut brief);
        self.put(&Input::Begin { brief, pid: 1 });
    }

    /// Answers all questions, and begins the next attempt.
    fn answer(&mut self, text: &str) {
        for report in self.reports.clone() {
            if let Report::Asked { ask } = report {
                let (key, question) = (ask.key, ask.question);
                self.answers.push(InboxAnswer { key, question, text: text.to_owned() });
            }
        }
        self.begin();
    }

    fn last(&self) -> &Report {
        self.reports.last().unwrap()
    }

    fn asked(&self) -> Vec<QuestionKind> {
        let asked = self.reports.iter().filter_map(|report| match report {
            Report::Asked { ask } => Some(ask.kind),
            _ => None,
        });
        asked.collect()
    }
}

/// A phase with CONTEXT.md and plans.
fn planned(plans: Vec<PlanSnapshot>) -> PhaseSnapshot {
    PhaseSnapshot { context: true, plans, ..PhaseSnapshot::default() }
}

fn all_roles() -> Settings {
    Settings { roles: Role::ALL.into_iter().collect(), ..Settings::default() }
}

#[test]
fn carries_plans_out_in_waves_and_completes() {
    let plans =
        vec![plan("03-01", 1, &[], 2), plan("03-02", 1, &["03-01"], 1), plan("03-03", 2, &[], 1)];
    let mut auto = AutoWorker::new(planned(plans));
    auto.begin();
    let expected = [
        "03-01/1",
        "03-01/2",
        "close 03-01",
        "03-02/1",
        "close 03-02",
        "03-03/1",
        "close 03-03",
        "verifier",
        "close phase",
    ];
    assert_eq!(auto.done, expected);
    assert_eq!(*auto.last(), Report::Complete { commit: "c1".to_owned() });
    let plans = auto.reports.iter().filter(|report| matches!(report, Report::Plans { .. }));
    assert_eq!(plans.count(), 4);
}

#[test]
fn continues_where_the_files_show_that_the_last_attempt_ended() {
    let mut plans = vec![plan("03-01", 1, &[], 1), plan("03-02", 2, &[], 3)];
    plans[0].done = true;
    plans[1].tasks_done.insert(1);
    let mut auto = AutoWorker::new(planned(plans));
    auto.begin();
    assert_eq!(auto.done[..4], ["check complete plans", "03-02/2", "03-02/3", "close 03-02"]);
}

#[test]
fn a_checkpoint_names_the_plan_to_go_on_with_and_its_contradictions_are_reported() {
    let mut found = planned(vec![plan("03-01", 1, &[], 1), plan("03-02", 1, &[], 1)]);
    found.checkpoint = Some(Box::new(CheckpointSnapshot {
        file: "03-CHECKPOINT.md".to_owned(),
        status: "paused".to_owned(),
        plan: Some("03-02".to_owned()),
        task: Some(1),
        doubts: vec!["it lists plan 03-07".to_owned()],
    }));
    let mut auto = AutoWorker::new(found);
    auto.begin();
    assert_eq!(auto.done[..3], ["03-02/1", "close 03-02", "03-01/1"]);
    let notes = auto.reports.iter().filter_map(|report| match report {
        Report::Note { text } => Some(text.as_str()),
        _ => None,
    });
    let expected = [
        "resumes from 03-CHECKPOINT.md (paused in plan 03-02, task 1); 0 of 2 plans are complete",
        "03-CHECKPOINT.md is not reliable: it lists plan 03-07",
    ];
    assert_eq!(notes.collect::<Vec<_>>(), expected, "reported once");
}

#[test]
fn a_failed_check_of_a_complete_plan_is_asked_about() {
    let ends = [
        ("retry", "check complete plans", true),
        ("continue", "03-02/1", true),
        ("fail", "checkpoint failed", false),
    ];
    for (answer, next, completes) in ends {
        let mut plans = vec![plan("03-01", 1, &[], 1), plan("03-02", 1, &[], 1)];
        plans[0].done = true;
        let mut auto = AutoWorker::new(planned(plans));
        let text = "plan 03-01 is complete, but its check failed".to_owned();
        let failed = Outcome::Verdict { verdict: Verdict::Gaps { text } };
        auto.outcomes = vec![("complete", failed)];
        auto.begin();
        assert_eq!(auto.done, ["check complete plans"]);
        assert_eq!((auto.asked(), auto.last()), (vec![QuestionKind::Gaps], &Report::Parked));
        let Some(Report::Asked { ask }) = auto.reports.iter().rev().nth(1).cloned() else {
            panic!("{:?}", auto.reports);
        };
        let (key, question) = (ask.key, ask.question);
        auto.answers.push(InboxAnswer { key, question, text: answer.to_owned() });
        auto.begin_as(|brief| brief.attempt = 2);
        assert_eq!(auto.done[0], next);
        assert_eq!(matches!(auto.last(), Report::Complete { .. }), completes, "{answer}");
    }
}

#[test]
fn discuss_asks_a_person_and_parks() {
    let found = PhaseSnapshot {
        goal: "Add search".to_owned(),
        criteria: vec!["Finds words".to_owned()],
        plans: vec![plan("03-01", 1, &[], 1)],
        ..PhaseSnapshot::default()
    };
    let mut auto = AutoWorker::new(found);
    auto.begin();
    assert_eq!(auto.asked(), [QuestionKind::Discuss; 4]);
    assert_eq!(*auto.last(), Report::Parked);
    auto.answer("like this");
    assert_eq!(auto.done[0], "context 4");
    assert!(matches!(auto.last(), Report::Complete { .. }));
}

#[test]
fn skips_the_discussion_when_the_roadmap_says_so() {
    let found = PhaseSnapshot {
        skip_discuss: true,
        plans: vec![plan("03-01", 1, &[], 1)],
        ..PhaseSnapshot::default()
    };
    let mut auto = AutoWorker::new(found);
    auto.begin();
    assert_eq!(auto.done[0], "context 0");
}

#[test]
fn gates_stop_where_they_should_and_nowhere_else() {
    for (gates, stops) in [(Gates::None, 0), (Gates::BeforeExecute, 1), (Gates::EveryStage, 3)] {
        let mut found = planned(vec![plan("03-01", 1, &[], 1)]);
        found.settings.gates = gates;
        let mut auto = AutoWorker::new(found);
        auto.begin();
        let mut seen = 0;
        while *auto.last() == Report::Parked {
            assert_eq!(auto.asked(), [QuestionKind::Gate]);
            seen += 1;
            auto.answer("approve");
        }
        // Discuss was over before the run: no gate after it.
        assert_eq!(seen, stops, "{gates:?}");
        assert!(matches!(auto.last(), Report::Complete { .. }), "{gates:?}");
    }
    let mut found = planned(vec![plan("03-01", 1, &[], 1)]);
    found.settings.gates = Gates::BeforeExecute;
    let mut auto = AutoWorker::new(found);
    auto.begin();
    auto.answer("reject");
    assert_eq!(auto.done, ["checkpoint failed"]);
    assert!(matches!(auto.last(), Report::Failed { .. }));
}

#[test]
fn research_is_tried_twice_and_then_fails() {
    let mut found = planned(Vec::new());
    found.settings = all_roles();
    let mut auto = AutoWorker::new(found);
    let broken = || Outcome::Failed { reason: "no net".to_owned() };
    auto.outcomes = vec![("researcher", broken()), ("researcher", broken())];
    auto.begin();
    assert_eq!(auto.done, ["researcher", "researcher", "checkpoint failed"]);
    assert_eq!(*auto.last(), Report::Failed { reason: "researcher: no net".to_owned() });
}

#[test]
fn plans_go_back_to_the_planner_three_times_at_most() {
    let gaps = || Outcome::Verdict { verdict: Verdict::Gaps { text: "thin".to_owned() } };
    for (refusals, passes) in [(0, true), (2, true), (3, false)] {
        let mut found = planned(vec![plan("03-01", 1, &[], 1)]);
        found.settings = all_roles();
        found.research = true;
        let mut auto = AutoWorker::new(found);
        auto.outcomes = (0..refusals).map(|_| ("plan-checker", gaps())).collect();
        auto.begin();
        let rounds = auto.done.iter().filter(|done| *done == "plan-checker").count();
        assert_eq!(rounds, refusals + usize::from(passes), "{:?}", auto.done);
        assert_eq!(matches!(auto.last(), Report::Complete { .. }), passes, "{:?}", auto.done);
    }
}

#[test]
fn without_plans_and_planner_a_person_is_asked() {
    let mut auto = AutoWorker::new(planned(Vec::new()));
    auto.begin();
    assert_eq!(auto.asked(), [QuestionKind::Plans]);
    auto.found.plans = vec![plan("03-01", 1, &[], 1)];
    auto.answer("retry");
    assert!(matches!(auto.last(), Report::Complete { .. }));
}

/// A worker in strict mode with a blocked plan, an independent plan, and a time limit for the lead.
fn strictly_blocked() -> AutoWorker {
    let mut auto =
        AutoWorker::new(planned(vec![plan("03-01", 1, &[], 1), plan("03-02", 1, &[], 1)]));
    auto.found.settings.strict = true;
    auto.found.settings.blocker_timeout_ms = Some(1_000);
    auto.outcomes = vec![("task", Outcome::Blocked { text: "no key".to_owned() })];
    auto.begin();
    assert!(auto.worker.awaits_blocker_ack());
    assert_eq!((auto.done.as_slice(), auto.asked()), (["03-01/1".to_owned()].as_slice(), vec![]));
    auto
}

#[test]
fn a_strict_blocker_pauses_once_the_lead_has_acknowledged_it() {
    let mut auto = strictly_blocked();
    auto.put(&Input::BlockerAcknowledged);
    assert_eq!((auto.asked(), auto.last()), (vec![QuestionKind::Blocker], &Report::Parked));
    assert_eq!(auto.done, ["03-01/1"]);
}

#[test]
fn a_strict_blocker_that_nobody_acknowledges_lets_independent_plans_go_on() {
    let mut auto = strictly_blocked();
    let deadline = auto.worker.deadline().expect("it waits for a time");
    auto.now = deadline - 20;
    auto.put(&Input::ActiveAgain { id: 99 });
    assert_eq!(auto.done, ["03-01/1"], "the time is not over");
    auto.put(&Input::ActiveAgain { id: 99 });
    assert_eq!(auto.done, ["03-01/1", "note", "03-02/1", "close 03-02"]);
    assert_eq!((auto.asked(), auto.last()), (vec![QuestionKind::Blocker], &Report::Parked));
}

#[test]
fn new_plans_and_begun_tasks_are_reported() {
    let mut auto = AutoWorker::new(planned(vec![plan("03-01", 1, &[], 1)]));
    auto.begin();
    let started = Report::TaskStarted { plan: "03-01".to_owned(), task: 1 };
    assert_eq!(auto.reports.iter().filter(|report| **report == started).count(), 1);
    let is_created = |report: &&Report| matches!(report, Report::PlanCreated { .. });
    assert_eq!(auto.reports.iter().find(is_created), None, "the plan was there before");
    auto.worker = Worker::default();
    auto.worker.plans.known = Some(std::collections::BTreeSet::new());
    let found = auto.found.clone();
    let created = auto.worker.reports_of_plans(&found);
    assert_eq!(created, [Report::PlanCreated { plan: "03-01".to_owned() }]);
}

#[test]
fn a_blocker_lets_other_plans_go_on_unless_strict() {
    let blocked = || ("task", Outcome::Blocked { text: "no key".to_owned() });
    let plans =
        || vec![plan("03-01", 1, &[], 1), plan("03-02", 1, &[], 1), plan("03-03", 2, &[], 1)];
    let mut auto = AutoWorker::new(planned(plans()));
    auto.outcomes = vec![blocked()];
    auto.begin();
    assert_eq!(auto.done, ["03-01/1", "03-02/1", "close 03-02"]);
    assert_eq!((auto.asked(), auto.last()), (vec![QuestionKind::Blocker], &Report::Parked));
    auto.found.plans[1].done = true;
    auto.answer("retry");
    assert!(matches!(auto.last(), Report::Complete { .. }));

    let mut strict = AutoWorker::new(planned(plans()));
    strict.found.settings.strict = true;
    strict.outcomes = vec![blocked()];
    strict.begin();
    assert_eq!(strict.done, ["03-01/1"]);
    strict.outcomes = vec![blocked()];
    strict.answer("retry");
    assert_eq!(strict.asked(), [QuestionKind::Blocker], "blocked again, asked again");
    strict.answer("fail");
    assert_eq!(strict.done, ["checkpoint failed"], "given up, not tried again");
}

#[test]
fn a_checkpoint_task_waits_for_a_person() {
    let mut with_person = plan("03-01", 1, &[], 2);
    with_person.tasks[0].question = Some("Does it look right?".to_owned());
    let mut auto = AutoWorker::new(planned(vec![with_person]));
    auto.begin();
    assert_eq!((auto.asked(), auto.last()), (vec![QuestionKind::Checkpoint], &Report::Parked));
    auto.answer("approved");
    assert_eq!(auto.done[..2], ["03-01/2", "close 03-01"]);
}

#[test]
fn a_person_decides_about_gaps() {
    let gaps = || Outcome::Verdict { verdict: Verdict::Gaps { text: "no docs".to_owned() } };
    for (answer, complete) in [("accept", true), ("fail", false), ("retry", true)] {
        let mut auto = AutoWorker::new(planned(vec![plan("03-01", 1, &[], 1)]));
        auto.outcomes = vec![("verifier", gaps())];
        auto.begin();
        assert_eq!(auto.asked(), [QuestionKind::Gaps]);
        auto.found.plans[0].done = true;
        auto.answer(answer);
        assert_eq!(matches!(auto.last(), Report::Complete { .. }), complete, "{answer}");
    }
}

#[test]
fn a_failing_task_leaves_a_checkpoint() {
    let mut auto = AutoWorker::new(planned(vec![plan("03-01", 1, &[], 2)]));
    auto.outcomes = vec![("task", Outcome::Failed { reason: "exit 1".to_owned() })];
    auto.begin();
    assert_eq!(auto.done, ["03-01/1", "checkpoint failed"]);
    assert_eq!(*auto.last(), Report::Failed { reason: "plan 03-01, task 1: exit 1".to_owned() });
}

#[test]
fn only_a_cancellation_that_does_not_wait_interrupts_the_task() {
    for (how, now) in
        [(HaltReason::Paused, false), (HaltReason::Cancelled, false), (HaltReason::Cancelled, true)]
    {
        let cut = now;
        let mut worker = Worker::default();
        let brief = Brief {
            run: "r".to_owned(),
            phase: PhaseNumber::whole(3),
            name: String::new(),
            attempt: 1,
            base: String::new(),
            answers: Vec::new(),
            agents: 1,
            through: None,
            after: Vec::new(),
            clear: vec![crate::file_scope::EVERYTHING.to_owned()],
            spent: crate::money::Spending::default(),
            checked: false,
            ignored: None,
        };
        step(&mut worker, Some(&Input::Begin { brief, pid: 1 }), 0);
        let mut found = planned(vec![plan("03-01", 1, &[], 2)]);
        found.settings.wall_max_ms = Some(1_000);
        while let Some((id, effect @ (Effect::Inspect | Effect::Freeze))) =
            worker.effects.running.first_key_value().map(|(id, effect)| (*id, effect.clone()))
        {
            let outcome = match effect {
                Effect::Inspect => Outcome::Inspected { found: found.clone() },
                _ => Outcome::Frozen { plans: Vec::new(), settings: String::new() },
            };
            step(&mut worker, Some(&Input::Finished { id, outcome }), 1);
        }
        let origin = HaltOrigin::Person { name: None, command: "mow x 3".to_owned() };
        let order = HaltOrder { now, ..HaltOrder::new(how, origin) };
        let halt = Input::FromLead(LeadMessage::Halt(order));
        let decision = step(&mut worker, Some(&halt), 2);
        assert_eq!(decision.effects.iter().any(|(_, e)| *e == Effect::Interrupt { of: None }), cut);
        let id = *worker.effects.running.keys().next().unwrap();
        let outcome = if cut { Outcome::Interrupted } else { Outcome::Committed { commit: None } };
        let decision = step(&mut worker, Some(&Input::Finished { id, outcome }), 3);
        let Effect::Checkpoint { reason, stage, .. } = &decision.effects[0].1 else {
            panic!("{decision:?}");
        };
        assert_eq!((reason.as_str(), *stage), ("a person ran `mow x 3`", Some(Stage::Execute)));
        let id = *worker.effects.running.keys().next().unwrap();
        step(&mut worker, Some(&Input::Finished { id, outcome: Outcome::Done }), 4);
        assert!(worker.has_ended());
    }
}

#[test]
fn a_time_limit_interrupts_running_effects() {
    let mut auto = AutoWorker::new(planned(vec![plan("03-01", 1, &[], 1)]));
    auto.found.settings.wall_max_ms = Some(0);
    auto.begin();
    assert_eq!(*auto.last(), Report::Stopped { how: HaltReason::Timeout });
    assert_eq!(auto.done, ["checkpoint timeout"]);
}

#[test]
fn events_survive_serialisation() {
    let report = Report::TaskDone { plan: "03-01".to_owned(), task: 1, commit: None };
    let outcome = Outcome::Verdict { verdict: Verdict::Gaps { text: "x".to_owned() } };
    let found = planned(vec![plan("03-01", 1, &[], 2)]);
    for event in [
        Event::Reported(report),
        Event::Reported(Report::Parked),
        Event::Finished { id: 3, outcome },
        Event::Finished { id: 4, outcome: Outcome::Inspected { found } },
    ] {
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event, "{line}");
    }
}
