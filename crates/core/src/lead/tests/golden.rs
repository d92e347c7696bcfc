//! Journals of the first format, recorded before reasons and questions became data, must replay
//! for ever, with the same state and the same sentences.

use std::fmt::Write as _;

use serde_json::Value;

use crate::lead::{Event, Lead};
use crate::machine::Machine;

#[test]
fn a_journal_of_the_first_format_replays_with_the_same_sentences() {
    let (mut lead, mut text) = (Lead::default(), String::new());
    for line in include_str!("golden/v1.ndjson").lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        for stored in record["events"].as_array().unwrap() {
            let event: Event = serde_json::from_value(stored.clone()).unwrap();
            assert_eq!(serde_json::to_value(&event).unwrap(), *stored);
            if matches!(event, Event::Begun { .. }) {
                write_end(&mut text, &lead);
                lead = Lead::default();
            }
            if let Some(sentence) = event.describe(&lead) {
                writeln!(text, "{sentence}").unwrap();
            }
            lead.apply(&event, record["at"].as_u64().unwrap());
        }
    }
    write_end(&mut text, &lead);
    let expected = include_str!("golden/v1.txt");
    let differing = text.lines().zip(expected.lines()).find(|(got, wanted)| got != wanted);
    assert_eq!(differing, None);
    assert_eq!(text.len(), expected.len());
}

/// Writes the last state of a run.
fn write_end(text: &mut String, lead: &Lead) {
    for state in lead.phases.values() {
        let (number, status) = (state.spec.number, state.status.name());
        let why = lead.explain_status(state);
        writeln!(text, "= {number}-{} {status}: {why}", state.attempt).unwrap();
    }
    for item in lead.inbox.items.values() {
        let (id, question, answer) = (item.id, &item.ask.question, &item.answer);
        writeln!(text, "= #{id} {} {answer:?}: {question}", item.ask.kind.name()).unwrap();
    }
    if !lead.phases.is_empty() {
        writeln!(text, "= {:?}, spent {:?}", lead.status(), lead.spent).unwrap();
    }
}
