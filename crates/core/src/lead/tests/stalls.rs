//! Workers that are stuck or hang, and how many agents each may have.

use super::*;
use crate::item::{ItemKind, STUCK_CHOICES};
use crate::report::Note;

fn alone() -> Table {
    let mut table = Table::new(Settings::default(), vec![spec("1", &[])]);
    table.prepare_and_start("1");
    table
}

fn hang(table: &mut Table) {
    let (phase, attempt) = (number("1"), table.lead.phases[&number("1")].attempt);
    let signs = "its process has been stopped for 60 s".to_owned();
    table.put(&Input::Hung { phase, attempt, signs });
}

fn stuck(table: &mut Table, seq: u64) -> u32 {
    let choices = STUCK_CHOICES.iter().map(|word| (*word).to_owned()).collect();
    let (kind, question) = (ItemKind::Stuck, "stuck?".to_owned());
    let ask = Ask { key: format!("1/stuck/{seq}"), kind, question, choices };
    table.say("1", seq, Report::Asked { ask });
    *table.lead.items.keys().last().unwrap()
}

fn gone(table: &mut Table) {
    let (phase, attempt) = (number("1"), table.lead.phases[&number("1")].attempt);
    table.put(&Input::Gone { phase, attempt });
}

#[test]
fn an_answer_about_what_is_stuck_reaches_its_worker_at_once() {
    let mut table = alone();
    assert_eq!(table.lead.standing(), Standing::Moving);
    let item = stuck(&mut table, 1);
    assert_eq!(table.lead.standing(), Standing::Waiting, "nothing moves but by a person");
    table.command(1, Command::Answer { item, text: "retry".to_owned() });
    let told = |(_, effect): &(u64, Effect)| match effect {
        Effect::Tell { note: Note::Answer(answer), .. } => answer.text == "retry",
        _ => false,
    };
    assert!(table.wanted.iter().any(told), "{:?}", table.wanted);
    assert_eq!((table.lead.standing(), table.status("1")), (Standing::Moving, Status::Running));
}

#[test]
fn what_settles_by_itself_is_no_longer_asked() {
    let mut table = alone();
    let item = stuck(&mut table, 1);
    table.say("1", 2, Report::Settled { key: "1/stuck/1".to_owned() });
    assert!(table.events.contains(&Event::Withdrawn { item }));
    assert_eq!(table.lead.open_items().count(), 0);
    // A worker that dies while it is stuck does not wait for an answer.
    stuck(&mut table, 3);
    gone(&mut table);
    assert_eq!(table.status("1"), Status::Preparing, "begun again");
    assert_eq!(table.lead.open_items().count(), 0);
}

#[test]
fn a_worker_that_hangs_is_asked_about_once_and_forgotten_when_it_wakes() {
    let mut table = alone();
    hang(&mut table);
    hang(&mut table);
    assert_eq!(table.lead.open_items().count(), 1);
    assert!(table.lead.is_stuck(number("1")));
    table.put(&Input::Awake { phase: number("1"), attempt: 1 });
    assert_eq!((table.lead.open_items().count(), table.status("1")), (0, Status::Running));
    table.put(&Input::Hung { phase: number("1"), attempt: 7, signs: String::new() });
    assert_eq!(table.lead.open_items().count(), 0, "of another attempt");
}

#[test]
fn people_end_a_worker_that_hangs() {
    let answer = |text: &str| Command::Answer { item: 1, text: text.to_owned() };
    let phase = Some(number("1"));
    let cases = [
        (answer("retry"), Status::Preparing),
        (answer("fail"), Status::Failed),
        (Command::Resume { phase }, Status::Preparing),
        (Command::Cancel { phase }, Status::Cancelled),
    ];
    for (command, then) in cases {
        let mut table = alone();
        hang(&mut table);
        table.command(1, command.clone());
        assert_eq!(table.status("1"), Status::Ending, "{command:?}");
        assert!(table.wanted.iter().any(|(_, e)| matches!(e, Effect::End { .. })));
        gone(&mut table);
        assert_eq!(table.status("1"), then, "{command:?}");
    }
    let mut table = alone();
    hang(&mut table);
    table.command(1, answer("wait"));
    assert_eq!(table.status("1"), Status::Running);
}

#[test]
fn agents_are_shared_and_never_too_many() {
    let shares = |settings: Settings, phases: Vec<PhaseSpec>| -> Vec<usize> {
        let mut table = Table::new(settings, phases);
        let mut shares = Vec::new();
        while table.wanted.iter().any(|(_, effect)| matches!(effect, Effect::Prepare { .. })) {
            let prepared = Outcome::Prepared { base: "c0".to_owned() };
            table.finish(|e| matches!(e, Effect::Prepare { .. }), prepared);
            let brief = table.wanted.iter().rev().find_map(|(_, effect)| match effect {
                Effect::Start { brief } => Some(brief.agents),
                _ => None,
            });
            shares.push(brief.unwrap());
        }
        shares
    };
    let of = |max_workers: usize, max_agents: usize| Settings {
        max_workers,
        max_agents,
        stagger_ms: 0,
        ..Settings::default()
    };
    let free = |count: u32| (1..=count).map(|n| spec(&n.to_string(), &[])).collect::<Vec<_>>();
    assert_eq!(shares(of(3, 4), free(1)), [2], "one is left for each other worker");
    assert_eq!(shares(of(3, 4), vec![spec("1", &[]), spec("2", &["1"])]), [2], "one at a time");
    assert_eq!(shares(of(1, 4), free(1)), [4], "there is no other");
    assert_eq!(shares(of(3, 4), free(5)), [1, 1, 2]);
    assert_eq!(shares(of(2, 8), free(5)), [4, 4]);
    assert_eq!(shares(of(4, 2), free(5)), [1, 1], "no more workers than agents");
}
