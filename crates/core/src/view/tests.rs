//! Tests of the views, on runs that are driven input by input.

use super::*;
use crate::inbox::QuestionKind;
use crate::lead::{Effect, Event, Input, Outcome, PhaseSpec, Settings};
use crate::machine::step;
use crate::report::Report;
use crate::stage::Stage;

fn number(text: &str) -> PhaseNumber {
    PhaseNumber::parse(text).unwrap()
}

fn numbers(texts: &[&str]) -> Vec<PhaseNumber> {
    texts.iter().map(|text| number(text)).collect()
}

/// A run of phases with their dependencies. Worktrees and workers start at once.
struct ViewedRun {
    lead: Lead,
    events: Vec<Event>,
    now: u64,
}

impl ViewedRun {
    fn new(phases: &[(&str, &[&str])]) -> Self {
        let spec = |(text, on): &(&str, &[&str])| PhaseSpec {
            number: number(text),
            name: format!("Phase {text}"),
            depends_on: numbers(on),
            done: false,
            touches: None,
            ahead: Vec::new(),
            held: None,
        };
        let mut run = Self { lead: Lead::default(), events: Vec::new(), now: 1_000 };
        let (id, target, tip) = ("r1".to_owned(), "main".to_owned(), "c0".to_owned());
        run.input(&Input::Begin { run: id, target, tip });
        let settings = Settings { circuit_breaker: 0, stagger_ms: 0, ..Settings::default() };
        run.input(&Input::LeadStarted { settings });
        run.input(&Input::Roadmap {
            scope: RunScope::All,
            phases: phases.iter().map(spec).collect(),
        });
        run
    }

    fn input(&mut self, input: &Input) {
        self.now += 1_000;
        let decision = step(&mut self.lead, Some(input), self.now);
        self.events.extend(decision.events);
        for (id, effect) in decision.effects {
            let outcome = match effect {
                Effect::Prepare { base, .. } => Outcome::Prepared { base },
                Effect::Start { .. } => Outcome::Done,
                _ => continue,
            };
            self.input(&Input::Finished { id, outcome });
        }
    }

    fn report(&mut self, phase: &str, seq: u64, report: Report) {
        let phase = number(phase);
        let attempt = self.lead.phases[&phase].attempt;
        self.input(&Input::Report { phase, attempt, seq, report });
    }

    /// Lets a phase fail; the run asks a question about it.
    fn fail(&mut self, phase: &str) {
        self.report(phase, 100, Report::Failed { reason: "boom".to_owned() });
        let attempt = self.lead.phases[&number(phase)].attempt;
        self.input(&Input::WorkerExited { phase: number(phase), attempt });
    }

    fn view(&self) -> RunView {
        RunView::of(&self.lead, &RunFacts { seq: 7, now: self.now, ..RunFacts::default() })
    }

    fn phase(&self, phase: &str) -> PhaseView {
        PhaseView::of(&self.lead, number(phase), &RunFacts::default()).unwrap()
    }
}

#[test]
fn questions_that_hold_up_more_phases_come_first() {
    let mut run = ViewedRun::new(&[("1", &[]), ("2", &[]), ("3", &["2"]), ("4", &["3"])]);
    run.fail("1");
    run.fail("2");
    let view = run.view();
    let order: Vec<_> = view.questions.iter().map(|question| question.id).collect();
    assert_eq!(order, [2, 1], "{:?}", view.questions);
    assert_eq!(view.questions[0].holds, numbers(&["3", "4"]));
    assert_eq!(view.questions[0].kind, QuestionKind::Failed);
    assert_eq!(view.questions[1].holds, []);
    assert_eq!(view.counts.questions, 2);
}

#[test]
fn a_waiting_phase_names_the_question_that_it_waits_behind() {
    let mut run = ViewedRun::new(&[("1", &[]), ("2", &["1"])]);
    run.fail("1");
    let [wait] = run.phase("2").waits_for.try_into().unwrap();
    let WaitView { number: on, status, question, file } = wait;
    assert_eq!((on, status, question, file), (number("1"), Status::Failed, Some(1), None));
    let failed = run.phase("1");
    assert_eq!((failed.sign(), failed.tone()), (PhaseSign::Failed, Tone::Bad));
    assert_eq!(failed.questions, [1]);
    assert_eq!(failed.why, run.lead.explain_status(&run.lead.phases[&number("1")]));
}

#[test]
fn a_running_phase_shows_its_stage_plans_and_tasks() {
    let mut run = ViewedRun::new(&[("1", &[])]);
    run.report("1", 1, Report::Started { pid: 5 });
    run.report("1", 2, Report::Plans { done: 1, total: 3 });
    run.report("1", 3, Report::PlanStarted { plan: "01-02".to_owned(), tasks: 4 });
    let phase = run.phase("1");
    let plan = PlanView { plan: "01-02".to_owned(), tasks_done: 0, tasks: 4 };
    assert_eq!((phase.plans_done, phase.plans, &phase.open_plans), (1, 3, &vec![plan]));
    assert_eq!(phase.open_plans[0].task(), 1);
    assert_eq!((phase.sign(), phase.phrase()), (PhaseSign::Working, "at work"));
    run.fail("1");
    assert_eq!(run.phase("1").open_plans, [], "no worker works on it");
}

#[test]
fn one_row_is_the_same_as_the_row_of_the_whole_view() {
    let run = ViewedRun::new(&[("1", &[]), ("2", &["1"]), ("2.1", &["2"])]);
    let view = run.view();
    for phase in &view.phases {
        assert_eq!(view.phase(phase.number), Some(phase));
        let facts = RunFacts::default();
        assert_eq!(PhaseView::of(&run.lead, phase.number, &facts).as_ref(), Some(phase));
    }
    assert_eq!(view.phase(number("9")), None);
    assert_eq!((view.seq, view.now), (7, run.now));
    assert_eq!(view, run.view(), "the view depends on state, facts and time only");
}

#[test]
fn a_view_has_limits_and_counts_what_it_leaves_out() {
    let mut run = ViewedRun::new(&[("1", &[]), ("2", &[]), ("3", &[])]);
    run.fail("1");
    run.fail("2");
    let limits = ViewLimits { phases: 2, questions: 1 };
    let view = RunView::limited(&run.lead, &RunFacts::default(), limits);
    assert_eq!((view.phases.len(), view.phases_left_out), (2, 1));
    assert_eq!((view.questions.len(), view.questions_left_out), (1, 1));
    assert_eq!((view.counts.phases, view.counts.questions), (3, 2));
    assert_eq!(bounded::text("häuser", 2), "hä… (4 more characters)");
    assert_eq!(bounded::text("häuser", 6), "häuser");
}

#[test]
fn facts_say_who_lives_and_which_answers_are_queued() {
    let mut run = ViewedRun::new(&[("1", &[]), ("2", &[])]);
    run.fail("1");
    let worker = WorkerFacts { pid: Some(9), is_alive: true };
    let facts = RunFacts {
        lead: Some(4),
        workers: BTreeMap::from([(number("2"), worker)]),
        asked_at: BTreeMap::from([(1, 55)]),
        queued_answers: BTreeMap::from([(1, "retry".to_owned())]),
        queued_commands: 1,
        ..RunFacts::default()
    };
    let view = RunView::of(&run.lead, &facts);
    assert_eq!(view.lead_text(), "running (process 4)");
    assert_eq!(run.view().lead_text(), "stopped");
    assert_eq!(view.phases[1].worker, Some(worker));
    let question = &view.questions[0];
    assert_eq!((question.state, question.asked_at), (QuestionState::Queued, Some(55)));
    assert_eq!(question.answer.as_deref(), Some("retry"));
    assert_eq!(view.progress(), "0 of 2 merged, 1 running, 1 failed");
}

#[test]
fn every_event_has_a_kind_and_a_fold_knows_more_than_a_live_screen() {
    let mut run = ViewedRun::new(&[("1", &[])]);
    run.report("1", 1, Report::Stage { from: None, to: Stage::Plan, artifact: String::new() });
    run.fail("1");
    let mut fold = EventFold::default();
    let views: Vec<_> = run.events.iter().map(|event| fold.read(event, (1, 2))).collect();
    let of = |kind| views.iter().find(|view: &&EventView| view.kind == kind).unwrap();
    assert_eq!(of(EventKind::Stage).stage, Some(Stage::Plan));
    assert_eq!(of(EventKind::Stage).detail.as_deref(), Some("stage plan"));
    assert_eq!(of(EventKind::Stage).text.as_deref(), Some("phase 1: stage plan"));
    assert_eq!(of(EventKind::QuestionAsked).question, Some(1));
    assert_eq!(of(EventKind::QuestionAsked).tone, Tone::Attention);
    // The end of an effect names its phase only by the state before.
    assert_eq!(of(EventKind::EffectFinished).phase, Some(number("1")));
    let failed = views.iter().find(|view| view.status == Some(Status::Failed)).unwrap();
    assert_eq!((failed.kind, failed.tone), (EventKind::StatusChanged, Tone::Bad));
    assert!(!fold.is_over());
}

#[test]
fn kinds_have_different_names() {
    let names: std::collections::BTreeSet<_> =
        EventKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(names.len(), EventKind::ALL.len());
    let is_word = |name: &&str| name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'_'));
    assert!(names.iter().all(is_word), "{names:?}");
}

#[test]
fn what_a_question_holds_up_is_counted_up_to_a_bound() {
    let names: Vec<_> = (1..=2_000).map(|n| n.to_string()).collect();
    let phases: Vec<(&str, &[&str])> = names
        .iter()
        .map(|name| (name.as_str(), if name == "1" { &[][..] } else { &["1"] }))
        .collect();
    let mut run = ViewedRun::new(&phases);
    run.fail("1");
    let question = &run.view().questions[0];
    assert_eq!(question.holds.len() + question.holds_left_out, 256);
}
