//! Looking ahead at a chain of three phases.

use super::*;

fn chain(lookahead: Lookahead) -> Table {
    let waiting = |text: &str, on: &str| PhaseSpec {
        ahead: vec![Stage::Research, Stage::Plan],
        ..spec(text, &[on])
    };
    let phases = vec![spec("1", &[]), waiting("2", "1"), waiting("3", "2")];
    Table::new(Settings { lookahead, ..at_once() }, phases)
}

fn is_gather(effect: &Effect) -> bool {
    matches!(effect, Effect::Gather { .. })
}

fn done(through: Stage) -> Report {
    Report::Ahead { through }
}

/// Takes a phase ahead to the end.
fn look_ahead(table: &mut Table, phase: &str, through: Stage) {
    table.prepare_and_start(phase);
    table.end(phase, 1, done(through));
    table.finish(is_gather, Outcome::Done);
}

fn goals(table: &Table) -> Vec<(String, Stage)> {
    let moved = table.events.iter().filter_map(|event| match event {
        Event::Moved { phase, ahead: Some(through), .. } => Some((phase.to_string(), *through)),
        _ => None,
    });
    moved.collect()
}

fn goal(phase: &str, through: Stage) -> (String, Stage) {
    (phase.to_owned(), through)
}

#[test]
fn a_phase_that_waits_is_researched_ahead_once() {
    let mut table = chain(Lookahead::Research);
    assert!(table.lead.phases[&number("2")].looks_ahead());
    look_ahead(&mut table, "2", Stage::Research);
    let track = &table.lead.phases[&number("2")];
    assert_eq!((track.status, track.started), (Status::Waiting, None), "that was no start");
    assert_eq!(table.lead.why(track), "it waits for 1 (preparing); done ahead through research");
    look_ahead(&mut table, "3", Stage::Research);
    assert_eq!(goals(&table), [goal("2", Stage::Research), goal("3", Stage::Research)]);
    table.complete("1");
    table.merge("c1");
    assert_eq!(table.status("2"), Status::Preparing);
    assert!(!table.lead.phases[&number("2")].looks_ahead());
    table.lead.check_indices().unwrap();
}

#[test]
fn nothing_is_done_ahead_where_nobody_wants_it() {
    assert_eq!(goals(&chain(Lookahead::Off)), []);
    let diamond = Table::diamond(Settings { lookahead: Lookahead::Plan, ..at_once() });
    assert_eq!(goals(&diamond), [], "nobody has anything to do there");
}

#[test]
fn plans_are_drafted_when_those_before_are_planned() {
    let mut table = chain(Lookahead::Plan);
    look_ahead(&mut table, "2", Stage::Research);
    look_ahead(&mut table, "3", Stage::Research);
    table.prepare_and_start("1");
    assert_eq!(goals(&table).len(), 2, "nobody knows the plans of 1");
    table.say("1", 1, Report::Planned { files: Vec::new(), waits: false });
    look_ahead(&mut table, "2", Stage::Plan);
    look_ahead(&mut table, "3", Stage::Plan);
    assert_eq!(goals(&table)[2..], [goal("2", Stage::Plan), goal("3", Stage::Plan)]);
    assert_eq!(table.status("3"), Status::Waiting);
    table.lead.check_indices().unwrap();
}

#[test]
fn a_phase_that_can_start_takes_precedence() {
    let settings = Settings { max_workers: 1, ..at_once() };
    let ahead = vec![Stage::Research];
    let phases = vec![spec("1", &[]), PhaseSpec { ahead, ..spec("2", &["1"]) }, spec("3", &[])];
    let mut table = Table::new(settings, phases);
    table.prepare_and_start("1");
    assert_eq!(goals(&table), [], "there is no slot");
    table.end("1", 1, Report::Failed { reason: "so".to_owned() });
    assert_eq!(table.status("3"), Status::Preparing);
    table.complete("3");
    assert_eq!(goals(&table), [], "what 2 waits for does not move");
}

#[test]
fn a_phase_whose_turn_comes_waits_for_its_look_ahead() {
    let mut table = chain(Lookahead::Research);
    table.prepare_and_start("2");
    table.complete("1");
    table.merge("c1");
    assert!(table.lead.phases[&number("2")].looks_ahead(), "it is at it");
    table.end("2", 1, done(Stage::Research));
    assert_eq!(table.status("2"), Status::Ending, "what it wrote is being brought");
    table.put(&Input::Gone { phase: number("2"), attempt: 1 });
    assert_eq!(table.wanted.iter().filter(|(_, effect)| is_gather(effect)).count(), 1);
    table.finish(is_gather, Outcome::Done);
    assert_eq!(
        (table.status("2"), table.lead.phases[&number("2")].attempt),
        (Status::Preparing, 2)
    );
    table.lead.check_indices().unwrap();
}

#[test]
fn a_look_ahead_that_comes_to_nothing_is_dropped_and_harms_nobody() {
    let ends: [&dyn Fn(&mut Table); 4] = [
        &|table| {
            table.prepare_and_start("2");
            table.end("2", 1, Report::Failed { reason: "so".to_owned() });
            table.finish(is_gather, Outcome::Done);
        },
        &|table| {
            table.prepare_and_start("2");
            table.put(&Input::Gone { phase: number("2"), attempt: 1 });
            table.finish(is_gather, Outcome::Done);
        },
        &|table| {
            let is = |e: &Effect| matches!(e, Effect::Prepare { attempt: 1, phase, .. } if *phase == number("2"));
            table.finish(is, Outcome::Failed { reason: "no space".to_owned() });
        },
        &|table| {
            table.prepare_and_start("2");
            table.end("2", 1, done(Stage::Research));
            table.finish(is_gather, Outcome::Failed { reason: "no space".to_owned() });
        },
    ];
    for end in ends {
        let mut table = chain(Lookahead::Research);
        end(&mut table);
        assert_eq!(table.status("2"), Status::Waiting);
        assert!(!goals(&table)[1..].contains(&goal("2", Stage::Research)), "one try");
        assert_eq!((table.lead.failures, table.lead.items.len()), (0, 0));
        table.complete("1");
        table.merge("c1");
        assert_eq!(table.status("2"), Status::Preparing);
        table.lead.check_indices().unwrap();
    }
}

#[test]
fn a_question_that_is_put_ahead_is_answered_and_goes_on() {
    let mut table = chain(Lookahead::Research);
    table.prepare_and_start("2");
    let ask = Ask {
        key: "2/discuss/1".to_owned(),
        kind: ItemKind::Discuss,
        question: "?".to_owned(),
        choices: Vec::new(),
    };
    table.say("2", 1, Report::Asked { ask });
    table.end("2", 2, Report::Parked);
    table.finish(is_gather, Outcome::Done);
    assert_eq!(table.status("2"), Status::Parked);
    table.command(1, Command::Answer { item: 1, text: "so".to_owned() });
    let researches = goals(&table).into_iter().filter(|goal| goal.0 == "2");
    assert_eq!(researches.count(), 2, "it goes on with the answer");
    assert_eq!(table.answers("2"), ["so"]);
    table.lead.check_indices().unwrap();
}
