//! Plans side by side, and what is stuck: several things at a time.

use super::*;
use crate::item::Ask;

/// A worker at whose effects nothing happens by itself.
struct Hands {
    worker: Worker,
    now: u64,
    reports: Vec<Report>,
    /// Effects that were released and whose end nobody told yet.
    going: Vec<(u64, Effect)>,
}

impl Hands {
    /// Begins with some plans and agents, up to the first effect of the execute stage.
    fn new(found: &Found, agents: usize) -> Self {
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
            clear: vec![crate::touch::EVERYTHING.to_owned()],
            spent: crate::money::Money::default(),
            checked: false,
            ignored: None,
        };
        let (worker, going) = (Worker::default(), Vec::new());
        let mut hands = Self { worker, now: 0, reports: Vec::new(), going };
        hands.put(&Input::Begin { brief, pid: 1 });
        while hands.going.first().is_some_and(|(_, effect)| *effect == Effect::Look) {
            hands.end("", Outcome::Found { found: found.clone() });
        }
        hands.end("Freeze", Outcome::Frozen { plans: Vec::new(), settings: String::new() });
        hands
    }

    fn put(&mut self, input: &Input) {
        self.now += 10;
        let decision = step(&mut self.worker, Some(input), self.now);
        self.reports.extend(decision.events.into_iter().filter_map(|event| match event {
            Event::Reported(report) => Some(report),
            _ => None,
        }));
        self.going.extend(decision.effects);
    }

    /// Says what is going on, in words.
    fn going(&self) -> Vec<String> {
        let words = self.going.iter().map(|(_, effect)| match effect {
            Effect::RunTask { plan, task, beside } => {
                format!("{plan}/{task}{}", if *beside { " beside" } else { "" })
            }
            Effect::Clear { plans } => format!("clear {}", plans.join(" ")),
            Effect::Gather { plans } => format!("gather {}", plans.join(" ")),
            Effect::CheckPlan { plan } => format!("check {plan}"),
            Effect::ClosePlan { plan, .. } => format!("close {plan}"),
            Effect::Checkpoint { status, .. } => format!("checkpoint {status}"),
            Effect::Interrupt { of } => format!("interrupt {of:?}"),
            other => format!("{other:?}"),
        });
        words.collect()
    }

    /// Ends the first effect whose words begin with something.
    fn end(&mut self, what: &str, outcome: Outcome) {
        let at = self.going().iter().position(|words| words.starts_with(what));
        let at = at.unwrap_or_else(|| panic!("no {what} in {:?}", self.going()));
        let (id, _) = self.going.remove(at);
        self.put(&Input::Finished { id, outcome });
    }

    fn commit(&mut self, what: &str) {
        self.end(what, Outcome::Committed { commit: Some("c1".to_owned()) });
    }

    fn id(&self, what: &str) -> u64 {
        let at = self.going().iter().position(|words| words.starts_with(what)).unwrap();
        self.going[at].0
    }

    fn asked(&self) -> Vec<Ask> {
        let asks = self.reports.iter().filter_map(|report| match report {
            Report::Asked { ask } => Some(ask.clone()),
            _ => None,
        });
        asks.collect()
    }
}

/// Plans that each say what they change.
fn apart(plans: &[(&str, usize, &[&str])]) -> Found {
    let plans = plans.iter().map(|(id, tasks, files)| {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        FoundPlan { files, ..plan(id, 1, &[], *tasks) }
    });
    let mut found = planned(plans.collect());
    found.settings.side_by_side = true;
    found
}

#[test]
fn plans_apart_run_at_once_and_are_checked_when_all_rest() {
    let found = apart(&[("p1", 2, &["a"]), ("p2", 1, &["b"]), ("p3", 1, &["c"])]);
    let mut hands = Hands::new(&found, 2);
    assert_eq!(hands.going(), ["clear p1 p2 p3"]);
    hands.end("clear", Outcome::Done);
    assert_eq!(hands.going(), ["p1/1 beside", "p2/1 beside"], "as many as there are agents");
    hands.commit("p2/1");
    assert_eq!(hands.going(), ["p1/1 beside", "p3/1 beside"]);
    hands.commit("p3/1");
    assert_eq!(hands.going(), ["p1/1 beside"], "nothing is checked while one is at work");
    hands.commit("p1/1");
    hands.commit("p1/2");
    assert_eq!(hands.going(), ["gather p1 p2 p3"]);
    hands.end("gather", Outcome::Done);
    for plan in ["p1", "p2", "p3"] {
        assert_eq!(hands.going(), [format!("check {plan}")]);
        hands.end("check", Outcome::Done);
        assert_eq!(hands.going(), [format!("close {plan}")]);
        hands.commit("close");
    }
    assert_eq!(hands.worker.stage, Some(Stage::Refine));
    let done = hands.reports.iter().filter(|r| matches!(r, Report::PlanDone { .. })).count();
    assert_eq!(done, 3);
}

#[test]
fn plans_in_each_others_way_run_in_order() {
    let first = |found: &Found, agents: usize| Hands::new(found, agents).going();
    let both = || apart(&[("p1", 1, &["src"]), ("p2", 1, &["docs"])]);
    assert_eq!(first(&both(), 2), ["clear p1 p2"]);
    assert_eq!(first(&both(), 1), ["p1/1"], "one agent");
    let off = Found { settings: Settings::default(), ..both() };
    assert_eq!(first(&off, 2), ["p1/1"], "switched off");
    assert_eq!(first(&apart(&[("p1", 1, &["src"]), ("p2", 1, &["src/a"])]), 2), ["p1/1"]);
    assert_eq!(first(&apart(&[("p1", 1, &[]), ("p2", 1, &["b"]), ("p3", 1, &["c"])]), 2), ["p1/1"]);
    let mut later = both();
    later.plans[1].wave = 2;
    assert_eq!(first(&later, 2), ["p1/1"], "another wave");
    let mut behind = both();
    behind.plans[1].depends_on = vec!["p1".to_owned()];
    assert_eq!(first(&behind, 2), ["p1/1"], "one depends on the other");
    let mut asks = both();
    asks.plans[1].tasks[0].question = Some("Well?".to_owned());
    assert_eq!(first(&asks, 2), ["p1/1"], "a person is needed");
    let mut alone = both();
    alone.plans[1].alone = true;
    assert_eq!(first(&alone, 2), ["p1/1"], "it was undone before");
    let mixed = apart(&[("p1", 1, &["a"]), ("p2", 1, &["a/b"]), ("p3", 1, &["c"])]);
    assert_eq!(first(&mixed, 2), ["clear p1 p3"], "the rest comes after");
}

#[test]
fn a_failure_lets_the_others_end_their_task_and_no_more() {
    let mut hands = Hands::new(&apart(&[("p1", 2, &["a"]), ("p2", 2, &["b"])]), 2);
    hands.end("clear", Outcome::Done);
    hands.end("p1/1", Outcome::Failed { reason: "exit 1".to_owned() });
    assert_eq!(hands.going(), ["p2/1 beside"]);
    hands.commit("p2/1");
    assert_eq!(hands.going(), ["checkpoint failed"]);
    hands.end("checkpoint", Outcome::Done);
    let reason = "plan p1, task 1: exit 1".to_owned();
    assert_eq!(hands.reports.last(), Some(&Report::Failed { reason }));
}

#[test]
fn what_does_not_pass_is_undone_and_done_again_by_itself() {
    let mut found = apart(&[("p1", 2, &["a"]), ("p2", 1, &["b"])]);
    found.settings.tries_max = 2;
    let mut hands = Hands::new(&found, 2);
    hands.end("clear", Outcome::Done);
    hands.commit("p1/1");
    hands.commit("p1/2");
    hands.commit("p2/1");
    hands.end("gather", Outcome::Done);
    hands.end("check p1", Outcome::Undone { task: 2, reason: "exit 1".to_owned() });
    hands.end("check p2", Outcome::Done);
    hands.commit("close p2");
    assert_eq!(hands.going(), ["p1/2"], "with its checks, and nobody beside it");
    hands.commit("p1/2");
    hands.end("check p1", Outcome::Done);
    hands.commit("close p1");
    assert_eq!(hands.worker.stage, Some(Stage::Refine));
}

#[test]
fn undeclared_changes_fail_the_phase() {
    let mut hands = Hands::new(&apart(&[("p1", 1, &["a"]), ("p2", 1, &["b"])]), 2);
    hands.end("clear", Outcome::Done);
    hands.commit("p1/1");
    hands.commit("p2/1");
    hands.end("gather", Outcome::Failed { reason: "c is nobody's".to_owned() });
    assert_eq!(hands.going(), ["checkpoint failed"]);
}

#[test]
fn blockers_beside_others() {
    for strict in [false, true] {
        let mut found = apart(&[("p1", 1, &["a"]), ("p2", 2, &["b"])]);
        found.settings.strict = strict;
        let mut hands = Hands::new(&found, 2);
        hands.end("clear", Outcome::Done);
        hands.end("p1/1", Outcome::Blocked { text: "which?".to_owned() });
        hands.commit("p2/1");
        if !strict {
            hands.commit("p2/2");
            hands.end("gather", Outcome::Done);
            hands.end("check p2", Outcome::Done);
            hands.commit("close p2");
        }
        assert!(hands.going().is_empty(), "{:?}", hands.going());
        assert_eq!(hands.asked()[0].kind, ItemKind::Blocker);
        assert_eq!(hands.reports.last(), Some(&Report::Parked));
    }
}

#[test]
fn tasks_that_an_earlier_attempt_left_unchecked_are_checked_before_the_plan_closes() {
    let mut found = planned(vec![plan("p1", 1, &[], 1)]);
    found.plans[0].tasks_done = BTreeSet::from([1]);
    found.plans[0].unchecked = true;
    let mut hands = Hands::new(&found, 1);
    assert_eq!(hands.going(), ["check p1"]);
    hands.end("check", Outcome::Undone { task: 1, reason: "exit 1".to_owned() });
    assert_eq!(hands.going(), ["checkpoint failed"]);
}

#[test]
fn halts_wait_for_all_and_cut_all_off() {
    for (how, cut) in [(Halt::Paused, false), (Halt::Cancelled, true)] {
        let mut hands = Hands::new(&apart(&[("p1", 2, &["a"]), ("p2", 2, &["b"])]), 2);
        hands.end("clear", Outcome::Done);
        hands.put(&Input::Told(Note::Halt { how }));
        assert_eq!(hands.going().contains(&"interrupt None".to_owned()), cut);
        hands.going.retain(|(_, effect)| !matches!(effect, Effect::Interrupt { .. }));
        hands.commit("p1/1");
        assert_eq!(hands.going(), ["p2/1 beside"]);
        hands.end("p2/1", Outcome::Interrupted);
        assert_eq!(hands.going(), [format!("checkpoint {}", how.name())]);
        hands.end("checkpoint", Outcome::Done);
        assert!(hands.worker.ended);
    }
}

#[test]
fn a_person_decides_about_what_is_stuck() {
    for choice in ["wait", "retry", "fail"] {
        let mut hands = Hands::new(&planned(vec![plan("p1", 1, &[], 1)]), 1);
        let id = hands.id("p1/1");
        let stuck = Input::Stuck { id, signs: "no output for 12 min".to_owned() };
        hands.put(&stuck);
        hands.put(&stuck);
        let asked = hands.asked();
        assert_eq!(asked.len(), 1, "asked once");
        let words = "Phase 3, plan p1, task 1 seems stuck: no output for 12 min";
        assert!(asked[0].question.starts_with(words), "{}", asked[0].question);
        assert!(!hands.worker.ended, "it goes on meanwhile");
        hands.going.retain(|(_, effect)| !matches!(effect, Effect::NoteStatus { .. }));
        let (key, question) = (asked[0].key.clone(), String::new());
        let answer = Answer { key: key.clone(), question, text: choice.to_owned() };
        hands.put(&Input::Told(Note::Answer(answer)));
        let interrupt = format!("interrupt Some({id})");
        assert_eq!(hands.going().contains(&interrupt), choice != "wait");
        hands.going.retain(|(_, effect)| !matches!(effect, Effect::Interrupt { .. }));
        let cut = || Outcome::Interrupted;
        match choice {
            "wait" => hands.commit("p1/1"),
            _ => hands.end("p1/1", cut()),
        }
        assert!(hands.reports.contains(&Report::Settled { key }), "the question is taken back");
        let next = match choice {
            "wait" => "close p1",
            "retry" => "p1/1",
            _ => "checkpoint failed",
        };
        assert_eq!(hands.going(), [next], "{choice}");
    }
}

#[test]
fn what_moves_again_takes_its_question_back_and_may_be_stuck_again() {
    let mut hands = Hands::new(&planned(vec![plan("p1", 1, &[], 1)]), 1);
    let id = hands.id("p1/1");
    let stuck = Input::Stuck { id, signs: "CPU 0.0 s in 12 min".to_owned() };
    hands.put(&stuck);
    hands.put(&Input::Moving { id });
    hands.put(&Input::Moving { id });
    let settled = |report: &&Report| matches!(report, Report::Settled { .. });
    assert_eq!(hands.reports.iter().filter(settled).count(), 1);
    hands.put(&stuck);
    let asked = hands.asked();
    assert!(asked.len() == 2 && asked[0].key != asked[1].key, "{asked:?}");
    hands.put(&Input::Stuck { id: 99, signs: String::new() });
    assert_eq!(hands.asked().len(), 2, "of what is over nothing is noted");
}

#[test]
fn what_older_workers_wrote_can_be_read() {
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
