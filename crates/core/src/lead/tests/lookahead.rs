//! Tests of look-aheads in a chain of three phases.

use super::*;

fn chain(lookahead: Lookahead) -> LeadHarness {
    let waiting = |text: &str, on: &str| PhaseSpec {
        ahead: vec![Stage::Research, Stage::Plan],
        ..spec(text, &[on])
    };
    let phases = vec![spec("1", &[]), waiting("2", "1"), waiting("3", "2")];
    LeadHarness::new(Settings { lookahead, ..unlimited_settings() }, phases)
}

fn is_gather(effect: &Effect) -> bool {
    matches!(effect, Effect::CollectLookahead { .. })
}

fn done(through: Stage) -> Report {
    Report::LookaheadDone { through }
}

/// Runs a whole look-ahead of a phase.
fn look_ahead(harness: &mut LeadHarness, phase: &str, through: Stage) {
    harness.prepare_and_start(phase);
    harness.report_and_exit(phase, 1, done(through));
    harness.finish(is_gather, Outcome::Done);
}

fn goals(harness: &LeadHarness) -> Vec<(String, Stage)> {
    let moved = harness.events.iter().filter_map(|event| match event {
        Event::StatusChanged { phase, ahead: Some(through), .. } => {
            Some((phase.to_string(), *through))
        }
        _ => None,
    });
    moved.collect()
}

fn goal(phase: &str, through: Stage) -> (String, Stage) {
    (phase.to_owned(), through)
}

#[test]
fn a_phase_that_waits_is_researched_ahead_once() {
    let mut harness = chain(Lookahead::Research);
    assert!(harness.lead.phases[&number("2")].looks_ahead());
    look_ahead(&mut harness, "2", Stage::Research);
    let state = &harness.lead.phases[&number("2")];
    assert_eq!((state.status, state.started), (Status::Waiting, None), "that was no start");
    assert_eq!(
        harness.lead.explain_status(state),
        "it waits for 1 (preparing); done ahead through research"
    );
    look_ahead(&mut harness, "3", Stage::Research);
    assert_eq!(goals(&harness), [goal("2", Stage::Research), goal("3", Stage::Research)]);
    harness.complete("1");
    harness.merge("c1");
    assert_eq!(harness.status("2"), Status::Preparing);
    assert!(!harness.lead.phases[&number("2")].looks_ahead());
    harness.lead.check_indices().unwrap();
}

#[test]
fn no_look_ahead_runs_when_it_is_off() {
    assert_eq!(goals(&chain(Lookahead::Off)), []);
    let diamond =
        LeadHarness::diamond(Settings { lookahead: Lookahead::Plan, ..unlimited_settings() });
    assert_eq!(goals(&diamond), [], "nobody has anything to do there");
}

#[test]
fn a_look_ahead_plans_once_the_dependencies_are_planned() {
    let mut harness = chain(Lookahead::Plan);
    look_ahead(&mut harness, "2", Stage::Research);
    look_ahead(&mut harness, "3", Stage::Research);
    harness.prepare_and_start("1");
    assert_eq!(goals(&harness).len(), 2, "nobody knows the plans of 1");
    harness.report("1", 1, Report::Planned { files: Vec::new(), waits: false });
    let count = Settings::default().max_agents - 1;
    harness.report("1", 2, Report::Agents { count });
    look_ahead(&mut harness, "2", Stage::Plan);
    look_ahead(&mut harness, "3", Stage::Plan);
    assert_eq!(goals(&harness)[2..], [goal("2", Stage::Plan), goal("3", Stage::Plan)]);
    assert_eq!(harness.status("3"), Status::Waiting);
    harness.lead.check_indices().unwrap();
}

#[test]
fn a_phase_that_can_start_takes_precedence() {
    let settings = Settings { max_workers: 1, ..unlimited_settings() };
    let ahead = vec![Stage::Research];
    let phases = vec![spec("1", &[]), PhaseSpec { ahead, ..spec("2", &["1"]) }, spec("3", &[])];
    let mut harness = LeadHarness::new(settings, phases);
    harness.prepare_and_start("1");
    assert_eq!(goals(&harness), [], "there is no slot");
    harness.report_and_exit("1", 1, Report::Failed { reason: "so".to_owned() });
    assert_eq!(harness.status("3"), Status::Preparing);
    harness.complete("3");
    assert_eq!(goals(&harness), [], "what 2 waits for does not move");
}

#[test]
fn a_phase_whose_turn_comes_waits_for_its_look_ahead() {
    let mut harness = chain(Lookahead::Research);
    harness.prepare_and_start("2");
    harness.complete("1");
    harness.merge("c1");
    assert!(harness.lead.phases[&number("2")].looks_ahead(), "it is at it");
    harness.report_and_exit("2", 1, done(Stage::Research));
    assert_eq!(harness.status("2"), Status::Ending, "what it wrote is being brought");
    harness.input(&Input::WorkerExited { phase: number("2"), attempt: 1 });
    assert_eq!(harness.pending_effects.iter().filter(|(_, effect)| is_gather(effect)).count(), 1);
    harness.finish(is_gather, Outcome::Done);
    assert_eq!(
        (harness.status("2"), harness.lead.phases[&number("2")].attempt),
        (Status::Preparing, 2)
    );
    harness.lead.check_indices().unwrap();
}

#[test]
fn a_failed_look_ahead_is_dropped_and_does_not_fail_the_phase() {
    let ends: [&dyn Fn(&mut LeadHarness); 4] = [
        &|harness| {
            harness.prepare_and_start("2");
            harness.report_and_exit("2", 1, Report::Failed { reason: "so".to_owned() });
            harness.finish(is_gather, Outcome::Done);
        },
        &|harness| {
            harness.prepare_and_start("2");
            harness.input(&Input::WorkerExited { phase: number("2"), attempt: 1 });
            harness.finish(is_gather, Outcome::Done);
        },
        &|harness| {
            let is = |e: &Effect| matches!(e, Effect::Prepare { attempt: 1, phase, .. } if *phase == number("2"));
            harness.finish(is, Outcome::Failed { reason: "no space".to_owned() });
        },
        &|harness| {
            harness.prepare_and_start("2");
            harness.report_and_exit("2", 1, done(Stage::Research));
            harness.finish(is_gather, Outcome::Failed { reason: "no space".to_owned() });
        },
    ];
    for end in ends {
        let mut harness = chain(Lookahead::Research);
        end(&mut harness);
        assert_eq!(harness.status("2"), Status::Waiting);
        assert!(!goals(&harness)[1..].contains(&goal("2", Stage::Research)), "one try");
        assert_eq!((harness.lead.starts.failures, harness.lead.inbox.items.len()), (0, 0));
        harness.complete("1");
        harness.merge("c1");
        assert_eq!(harness.status("2"), Status::Preparing);
        harness.lead.check_indices().unwrap();
    }
}

#[test]
fn a_question_of_a_look_ahead_is_answered_and_the_look_ahead_continues() {
    let mut harness = chain(Lookahead::Research);
    harness.prepare_and_start("2");
    let ask = ask("2/discuss/1", QuestionKind::Discuss, &[]);
    harness.report("2", 1, Report::Asked { ask });
    harness.report_and_exit("2", 2, Report::Parked);
    harness.finish(is_gather, Outcome::Done);
    assert_eq!(harness.status("2"), Status::Parked);
    harness.command(1, Command::Answer { item: 1, text: "so".to_owned() });
    let researches = goals(&harness).into_iter().filter(|goal| goal.0 == "2");
    assert_eq!(researches.count(), 2, "it goes on with the answer");
    assert_eq!(harness.answers("2"), ["so"]);
    harness.lead.check_indices().unwrap();
}
