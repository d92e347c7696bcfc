//! Commands that are bound to what a person saw, that are taken back, or that change a live run.

use super::*;
use crate::inbox::InboxItem;

/// A phase that waits for the answer to one question, number 1.
fn parked() -> LeadHarness {
    let mut harness = LeadHarness::new(Settings::default(), vec![spec("1", &[])]);
    harness.prepare_and_start("1");
    let ask = ask("1/gate/plan", QuestionKind::Gate, &["approve", "reject"]);
    harness.report("1", 1, Report::Asked { ask });
    harness.report_and_exit("1", 2, Report::Parked);
    harness
}

fn question(harness: &LeadHarness) -> &InboxItem {
    &harness.lead.inbox.items[&1]
}

fn answer(harness: &mut LeadHarness, seq: u64, seen: &str) {
    let command = Command::Answer { item: 1, text: "approve".to_owned() };
    let by = Caller { interface: Interface::Web, person: Some("ann".to_owned()), process: 7 };
    let origin = CommandOrigin { by: Some(by), seen: Some(seen.to_owned()) };
    harness.input(&Input::Command { seq, command, origin });
}

/// Returns the results of the commands, each with the person who gave it.
fn results(harness: &LeadHarness) -> Vec<(String, Option<String>)> {
    let commanded = harness.events.iter().filter_map(|event| match event {
        Event::Commanded { effect, by, .. } => {
            Some((effect.to_string(), by.as_ref()?.person.clone()))
        }
        _ => None,
    });
    commanded.collect()
}

#[test]
fn an_answer_to_another_text_than_the_person_saw_answers_nothing() {
    let mut harness = parked();
    answer(&mut harness, 1, "0123456789abcdef");
    assert_eq!(question(&harness).answer, None);
    assert_eq!(harness.status("1"), Status::Parked);
    let digest = question(&harness).ask.digest();
    answer(&mut harness, 2, &digest);
    assert_eq!(question(&harness).answer.as_deref(), Some("approve"));
    let ann = Some("ann".to_owned());
    let refused = "question 1 is not the one that the person saw".to_owned();
    let expected = [(refused, ann.clone()), ("question 1: approve".to_owned(), ann)];
    assert_eq!(results(&harness), expected);
}

#[test]
fn an_answer_that_was_read_cannot_be_taken_back() {
    let mut harness = parked();
    harness.command(1, Command::TakeBack { item: 1 });
    harness.command(2, Command::Answer { item: 1, text: "approve".to_owned() });
    harness.command(3, Command::TakeBack { item: 1 });
    harness.command(4, Command::TakeBack { item: 9 });
    assert_eq!(question(&harness).answer.as_deref(), Some("approve"));
    let effects: Vec<_> = harness
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Commanded { effect, .. } => Some(effect.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(effects[0], CommandEffect::TakenBack(1));
    assert_eq!(effects[2], CommandEffect::TakenBackTooLate(1));
    assert_eq!(effects[3], CommandEffect::NoQuestion(9));
}

#[test]
fn answers_are_dropped_only_before_the_command_that_takes_them_back() {
    let answer = |item, text: &str| Command::Answer { item, text: text.to_owned() };
    let all = [
        answer(1, "first"),
        answer(2, "kept"),
        Command::TakeBack { item: 1 },
        answer(1, "second"),
        Command::TakeBack { item: 3 },
    ];
    let queued = (1..)
        .zip(all)
        .map(|(seq, command)| (seq, QueuedCommand { command, origin: CommandOrigin::default() }));
    let kept = drop_taken_back(queued.collect());
    let numbers: Vec<_> = kept.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(numbers, [2, 3, 4, 5]);
}

#[test]
fn the_number_of_workers_of_a_live_run_can_be_raised_and_lowered() {
    let settings = Settings { max_workers: 1, stagger_ms: 0, ..Settings::default() };
    let phases = ["1", "2", "3"].map(|n| spec(n, &[])).to_vec();
    let mut harness = LeadHarness::new(settings, phases);
    // The only worker is given all agents, and keeps them.
    harness.prepare_and_start("1");
    assert_eq!(harness.lead.phases[&number("1")].agents, Settings::default().max_agents);
    assert_eq!(harness.lead.live().count(), 1);
    harness.command(1, Command::SetWorkers { max: 2 });
    assert_eq!(harness.lead.live().count(), 2);
    harness.command(2, Command::SetWorkers { max: 2 });
    harness.command(3, Command::SetWorkers { max: 1 });
    assert_eq!(harness.lead.live().count(), 2, "running phases continue");
    harness.report_and_exit("1", 1, Report::Complete { commit: "p1".to_owned() });
    assert_eq!(harness.lead.live().count(), 1, "phase 3 waits for a slot");
    harness.complete("2");
    assert_eq!(harness.lead.live().count(), 1, "phase 3 has started");
    let effects = harness.events.iter().filter_map(|event| match event {
        Event::Commanded { effect, .. } => Some(effect.to_string()),
        _ => None,
    });
    let expected =
        ["at most 2 at a time instead of 1", "nothing to do", "at most 1 at a time instead of 2"];
    assert_eq!(effects.collect::<Vec<_>>(), expected);
}

#[test]
fn commands_of_older_versions_have_no_origin() {
    let old = r#"{"command":"answer","item":3,"text":"yes"}"#;
    let queued: QueuedCommand = serde_json::from_str(old).unwrap();
    assert_eq!(queued.origin, CommandOrigin::default());
    assert_eq!(serde_json::to_string(&queued).unwrap(), old);
    let command = Command::SetWorkers { max: 3 };
    let by = Caller { interface: Interface::Cli, person: None, process: 1 };
    let origin = CommandOrigin { by: Some(by), seen: Some("d".to_owned()) };
    let queued = QueuedCommand { command: command.clone(), origin };
    let stored = serde_json::to_string(&queued).unwrap();
    assert_eq!(serde_json::from_str::<QueuedCommand>(&stored).unwrap(), queued);
    assert_eq!(serde_json::from_str::<Command>(&stored).unwrap(), command, "older leads read it");
}

#[test]
fn a_closed_run_has_no_open_question_and_does_nothing_more() {
    let settings = Settings { stagger_ms: 0, ..Settings::default() };
    let mut harness = LeadHarness::new(settings, vec![spec("1", &[]), spec("2", &["1"])]);
    harness.prepare_and_start("1");
    harness.report_and_exit("1", 1, Report::Failed { reason: "no rain".to_owned() });
    assert_eq!(harness.lead.inbox.open().count(), 1);
    let by = Caller { interface: Interface::Cli, person: None, process: 1 };
    harness.input(&Input::Close { by: by.clone() });
    assert_eq!((harness.lead.inbox.open().count(), harness.lead.status()), (0, RunStatus::Done));
    let open = vec![number("1"), number("2")];
    assert_eq!(harness.events.last(), Some(&Event::Closed { by: by.clone(), open }));
    let events = harness.events.len();
    harness.input(&Input::Close { by });
    assert_eq!(harness.events.len(), events, "it is closed once");
}
