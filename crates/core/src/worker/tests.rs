//! A worker driven by hand through its stages.

mod beside;
mod briefs;

use super::*;
use crate::item::ItemKind;
use crate::machine::step;
use crate::phase::PhaseNumber;
use crate::stage::Gates;

fn plan(id: &str, wave: u32, depends_on: &[&str], tasks: usize) -> FoundPlan {
    FoundPlan {
        id: id.to_owned(),
        wave,
        depends_on: depends_on.iter().map(|id| (*id).to_owned()).collect(),
        tasks: (1..=tasks)
            .map(|n| FoundTask { name: format!("t{n}"), ..FoundTask::default() })
            .collect(),
        ..FoundPlan::default()
    }
}

/// A worker with a world that answers by itself.
struct Bench {
    worker: Worker,
    found: Found,
    answers: Vec<Answer>,
    /// Effects in order, as words.
    done: Vec<String>,
    reports: Vec<Report>,
    /// What the next effects of a kind come to, instead of success.
    outcomes: Vec<(&'static str, Outcome)>,
    now: u64,
}

impl Bench {
    fn new(found: Found) -> Self {
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
            Effect::Look => return Outcome::Found { found: self.found.clone() },
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
            Effect::Clear { plans } => ("clear", format!("clear {}", plans.join(" "))),
            Effect::Gather { plans } => ("gather", format!("gather {}", plans.join(" "))),
            Effect::CheckPlan { plan } => ("check", format!("check {plan}")),
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

    /// Begins an attempt with what was answered so far.
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
            clear: vec![crate::touch::EVERYTHING.to_owned()],
            spent: crate::money::Money::default(),
            checked: false,
            ignored: None,
        };
        change(&mut brief);
        self.put(&Input::Begin { brief, pid: 1 });
    }

    /// Answers all that was asked, and begins again.
    fn answer(&mut self, text: &str) {
        for report in self.reports.clone() {
            if let Report::Asked { ask } = report {
                let (key, question) = (ask.key, ask.question);
                self.answers.push(Answer { key, question, text: text.to_owned() });
            }
        }
        self.begin();
    }

    fn last(&self) -> &Report {
        self.reports.last().unwrap()
    }

    fn asked(&self) -> Vec<ItemKind> {
        let asked = self.reports.iter().filter_map(|report| match report {
            Report::Asked { ask } => Some(ask.kind),
            _ => None,
        });
        asked.collect()
    }
}

/// A phase that is discussed and has plans.
fn planned(plans: Vec<FoundPlan>) -> Found {
    Found { context: true, plans, ..Found::default() }
}

fn all_roles() -> Settings {
    Settings { roles: Role::ALL.into_iter().collect(), ..Settings::default() }
}

#[test]
fn carries_plans_out_in_waves_and_completes() {
    let plans =
        vec![plan("03-01", 1, &[], 2), plan("03-02", 1, &["03-01"], 1), plan("03-03", 2, &[], 1)];
    let mut bench = Bench::new(planned(plans));
    bench.begin();
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
    assert_eq!(bench.done, expected);
    assert_eq!(*bench.last(), Report::Complete { commit: "c1".to_owned() });
    let plans = bench.reports.iter().filter(|report| matches!(report, Report::Plans { .. }));
    assert_eq!(plans.count(), 4);
}

#[test]
fn goes_on_where_the_files_say_it_was() {
    let mut plans = vec![plan("03-01", 1, &[], 1), plan("03-02", 2, &[], 3)];
    plans[0].done = true;
    plans[1].tasks_done.insert(1);
    let mut bench = Bench::new(planned(plans));
    bench.begin();
    assert_eq!(bench.done[..3], ["03-02/2", "03-02/3", "close 03-02"]);
}

#[test]
fn discuss_asks_a_person_and_parks() {
    let found = Found {
        goal: "Add search".to_owned(),
        criteria: vec!["Finds words".to_owned()],
        plans: vec![plan("03-01", 1, &[], 1)],
        ..Found::default()
    };
    let mut bench = Bench::new(found);
    bench.begin();
    assert_eq!(bench.asked(), [ItemKind::Discuss; 4]);
    assert_eq!(*bench.last(), Report::Parked);
    bench.answer("like this");
    assert_eq!(bench.done[0], "context 4");
    assert!(matches!(bench.last(), Report::Complete { .. }));
}

#[test]
fn no_discussion_where_the_roadmap_wants_none() {
    let found =
        Found { skip_discuss: true, plans: vec![plan("03-01", 1, &[], 1)], ..Found::default() };
    let mut bench = Bench::new(found);
    bench.begin();
    assert_eq!(bench.done[0], "context 0");
}

#[test]
fn gates_stop_where_they_should_and_nowhere_else() {
    for (gates, stops) in [(Gates::None, 0), (Gates::BeforeExecute, 1), (Gates::EveryStage, 3)] {
        let mut found = planned(vec![plan("03-01", 1, &[], 1)]);
        found.settings.gates = gates;
        let mut bench = Bench::new(found);
        bench.begin();
        let mut seen = 0;
        while *bench.last() == Report::Parked {
            assert_eq!(bench.asked(), [ItemKind::Gate]);
            seen += 1;
            bench.answer("approve");
        }
        // Discuss was over before the run: no gate after it.
        assert_eq!(seen, stops, "{gates:?}");
        assert!(matches!(bench.last(), Report::Complete { .. }), "{gates:?}");
    }
    let mut found = planned(vec![plan("03-01", 1, &[], 1)]);
    found.settings.gates = Gates::BeforeExecute;
    let mut bench = Bench::new(found);
    bench.begin();
    bench.answer("reject");
    assert_eq!(bench.done, ["checkpoint failed"]);
    assert!(matches!(bench.last(), Report::Failed { .. }));
}

#[test]
fn research_is_tried_twice_and_then_fails() {
    let mut found = planned(Vec::new());
    found.settings = all_roles();
    let mut bench = Bench::new(found);
    let broken = || Outcome::Failed { reason: "no net".to_owned() };
    bench.outcomes = vec![("researcher", broken()), ("researcher", broken())];
    bench.begin();
    assert_eq!(bench.done, ["researcher", "researcher", "checkpoint failed"]);
    assert_eq!(*bench.last(), Report::Failed { reason: "researcher: no net".to_owned() });
}

#[test]
fn plans_go_back_to_the_planner_three_times_at_most() {
    let gaps = || Outcome::Verdict { verdict: Verdict::Gaps { text: "thin".to_owned() } };
    for (refusals, passes) in [(0, true), (2, true), (3, false)] {
        let mut found = planned(vec![plan("03-01", 1, &[], 1)]);
        found.settings = all_roles();
        found.research = true;
        let mut bench = Bench::new(found);
        bench.outcomes = (0..refusals).map(|_| ("plan-checker", gaps())).collect();
        bench.begin();
        let rounds = bench.done.iter().filter(|done| *done == "plan-checker").count();
        assert_eq!(rounds, refusals + usize::from(passes), "{:?}", bench.done);
        assert_eq!(matches!(bench.last(), Report::Complete { .. }), passes, "{:?}", bench.done);
    }
}

#[test]
fn without_plans_and_planner_a_person_is_asked() {
    let mut bench = Bench::new(planned(Vec::new()));
    bench.begin();
    assert_eq!(bench.asked(), [ItemKind::Plans]);
    bench.found.plans = vec![plan("03-01", 1, &[], 1)];
    bench.answer("retry");
    assert!(matches!(bench.last(), Report::Complete { .. }));
}

#[test]
fn a_blocker_lets_other_plans_go_on_unless_strict() {
    let blocked = || ("task", Outcome::Blocked { text: "no key".to_owned() });
    let plans =
        || vec![plan("03-01", 1, &[], 1), plan("03-02", 1, &[], 1), plan("03-03", 2, &[], 1)];
    let mut bench = Bench::new(planned(plans()));
    bench.outcomes = vec![blocked()];
    bench.begin();
    assert_eq!(bench.done, ["03-01/1", "03-02/1", "close 03-02"]);
    assert_eq!((bench.asked(), bench.last()), (vec![ItemKind::Blocker], &Report::Parked));
    bench.found.plans[1].done = true;
    bench.answer("retry");
    assert!(matches!(bench.last(), Report::Complete { .. }));

    let mut strict = Bench::new(planned(plans()));
    strict.found.settings.strict = true;
    strict.outcomes = vec![blocked()];
    strict.begin();
    assert_eq!(strict.done, ["03-01/1"]);
    strict.outcomes = vec![blocked()];
    strict.answer("retry");
    assert_eq!(strict.asked(), [ItemKind::Blocker], "blocked again, asked again");
    strict.answer("fail");
    assert_eq!(strict.done, ["checkpoint failed"], "given up, not tried again");
}

#[test]
fn a_checkpoint_task_waits_for_a_person() {
    let mut with_person = plan("03-01", 1, &[], 2);
    with_person.tasks[0].question = Some("Does it look right?".to_owned());
    let mut bench = Bench::new(planned(vec![with_person]));
    bench.begin();
    assert_eq!((bench.asked(), bench.last()), (vec![ItemKind::Checkpoint], &Report::Parked));
    bench.answer("approved");
    assert_eq!(bench.done[..2], ["03-01/2", "close 03-01"]);
}

#[test]
fn gaps_are_for_a_person_to_judge() {
    let gaps = || Outcome::Verdict { verdict: Verdict::Gaps { text: "no docs".to_owned() } };
    for (answer, complete) in [("accept", true), ("fail", false), ("retry", true)] {
        let mut bench = Bench::new(planned(vec![plan("03-01", 1, &[], 1)]));
        bench.outcomes = vec![("verifier", gaps())];
        bench.begin();
        assert_eq!(bench.asked(), [ItemKind::Gaps]);
        bench.found.plans[0].done = true;
        bench.answer(answer);
        assert_eq!(matches!(bench.last(), Report::Complete { .. }), complete, "{answer}");
    }
}

#[test]
fn a_failing_task_leaves_a_checkpoint() {
    let mut bench = Bench::new(planned(vec![plan("03-01", 1, &[], 2)]));
    bench.outcomes = vec![("task", Outcome::Failed { reason: "exit 1".to_owned() })];
    bench.begin();
    assert_eq!(bench.done, ["03-01/1", "checkpoint failed"]);
    assert_eq!(*bench.last(), Report::Failed { reason: "plan 03-01, task 1: exit 1".to_owned() });
}

#[test]
fn halts_after_the_task_and_cuts_off_when_cancelled() {
    for (how, cut) in [(Halt::Paused, false), (Halt::Cancelled, true)] {
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
            clear: vec![crate::touch::EVERYTHING.to_owned()],
            spent: crate::money::Money::default(),
            checked: false,
            ignored: None,
        };
        step(&mut worker, Some(&Input::Begin { brief, pid: 1 }), 0);
        let mut found = planned(vec![plan("03-01", 1, &[], 2)]);
        found.settings.wall_max_ms = Some(1_000);
        while let Some((id, effect @ (Effect::Look | Effect::Freeze))) =
            worker.busy.first_key_value().map(|(id, effect)| (*id, effect.clone()))
        {
            let outcome = match effect {
                Effect::Look => Outcome::Found { found: found.clone() },
                _ => Outcome::Frozen { plans: Vec::new(), settings: String::new() },
            };
            step(&mut worker, Some(&Input::Finished { id, outcome }), 1);
        }
        let decision = step(&mut worker, Some(&Input::Told(Note::Halt { how })), 2);
        assert_eq!(decision.effects.iter().any(|(_, e)| *e == Effect::Interrupt { of: None }), cut);
        let id = *worker.busy.keys().next().unwrap();
        let outcome = if cut { Outcome::Interrupted } else { Outcome::Committed { commit: None } };
        let decision = step(&mut worker, Some(&Input::Finished { id, outcome }), 3);
        assert!(matches!(decision.effects[0].1, Effect::Checkpoint { .. }), "{decision:?}");
        let id = *worker.busy.keys().next().unwrap();
        step(&mut worker, Some(&Input::Finished { id, outcome: Outcome::Done }), 4);
        assert!(worker.ended);
    }
}

#[test]
fn time_that_is_up_cuts_off() {
    let mut bench = Bench::new(planned(vec![plan("03-01", 1, &[], 1)]));
    bench.found.settings.wall_max_ms = Some(0);
    bench.begin();
    assert_eq!(*bench.last(), Report::Stopped { how: Halt::Timeout });
    assert_eq!(bench.done, ["checkpoint timeout"]);
}

#[test]
fn events_survive_their_journal() {
    let report = Report::TaskDone { plan: "03-01".to_owned(), task: 1, commit: None };
    let outcome = Outcome::Verdict { verdict: Verdict::Gaps { text: "x".to_owned() } };
    let found = planned(vec![plan("03-01", 1, &[], 2)]);
    for event in [
        Event::Reported(report),
        Event::Reported(Report::Parked),
        Event::Finished { id: 3, outcome },
        Event::Finished { id: 4, outcome: Outcome::Found { found } },
    ] {
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event, "{line}");
    }
}
