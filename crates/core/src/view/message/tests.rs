//! Tests of the contract messages of reports and other events of a run.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::inbox::{InboxQuestion, QuestionTopic};
use crate::message::{BYTES_MAX, STATUS_REF, parse};
use crate::report::HaltReason;
use crate::stage::Stage;

fn phase() -> PhaseNumber {
    PhaseNumber::whole(3)
}

fn reported(report: Report) -> Event {
    Event::Reported { phase: phase(), attempt: 1, seq: 1, report }
}

fn moved(to: Status, why: Reason) -> Event {
    Event::StatusChanged { phase: phase(), attempt: 1, to, why, ahead: None }
}

fn asked() -> Event {
    let key = QuestionTopic::Plans { time: 1 }.of_phase(phase());
    let ask = InboxQuestion::new(key, QuestionKind::Blocker, "Which port?".to_owned());
    Event::Asked { item: InboxItem { id: 1, phase: Some(phase()), ask, answer: None } }
}

fn failed(cause: FailureCause) -> Event {
    moved(Status::Failed, Reason::Failed { cause, blocks: Vec::new(), running: Vec::new() })
}

fn from_agent(message: Value) -> Event {
    let Value::Object(message) = message else { panic!("an object") };
    reported(Report::AgentMessage { message })
}

/// A phase with a blocked plan that fails in the end.
fn events() -> Vec<Event> {
    let (plan, commit) = (|| "03-01".to_owned(), || "c".repeat(40));
    vec![
        moved(Status::Preparing, Reason::Chosen),
        reported(Report::Started { pid: 7 }),
        reported(Report::Stage { from: None, to: Stage::Discuss, artifact: String::new() }),
        reported(Report::PlanCreated { plan: plan() }),
        reported(Report::Planned { files: vec!["a".to_owned()], waits: false }),
        reported(Report::Stage {
            from: Some(Stage::Plan),
            to: Stage::Execute,
            artifact: "1 plan".to_owned(),
        }),
        reported(Report::PlanStarted { plan: plan(), tasks: 2 }),
        reported(Report::TaskStarted { plan: plan(), task: 1 }),
        reported(Report::TaskDone { plan: plan(), task: 1, commit: Some(commit()) }),
        reported(Report::Note { text: "a remark".to_owned() }),
        reported(Report::Blocked { plan: plan(), text: "no key".to_owned(), skipped: true }),
        asked(),
        Event::Answered { item: 1, text: "retry".to_owned() },
        from_agent(json!({"v": 2, "from_phase": "3", "type": "state_change", "phase": "3",
            "plan": "03-01", "from_state": "a", "to_state": "b"})),
        from_agent(json!({"type": "claim", "phase": "3"})),
        reported(Report::PlanDone {
            plan: plan(),
            commit: commit(),
            minutes: 4,
            decisions: vec![],
        }),
        reported(Report::Plans { done: 1, total: 1 }),
        reported(Report::Complete { commit: commit() }),
        reported(Report::Stopped { how: HaltReason::Paused }),
        reported(Report::Failed { reason: "boom".to_owned() }),
        failed(FailureCause::Reported("boom".to_owned())),
        failed(FailureCause::Hung),
    ]
}

#[test]
fn all_types_occur_and_each_message_is_valid() {
    let mut fold = MessageFold::default();
    let mut lines = Vec::new();
    let mut types = BTreeSet::new();
    for event in events() {
        for message in fold.read(&event, 240_000) {
            types.insert(message.kind());
            let text = message.render("T", "ref");
            let read = parse(&text);
            assert_eq!((read.kind, read.warnings), (Ok(message.kind()), Vec::new()), "{text}");
            assert!(!message.detail.is_empty(), "{text}");
            lines.push(text);
        }
    }
    assert_eq!(types, BTreeSet::from(MessageKind::ALL), "{lines:#?}");
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn the_milestones_of_events_and_of_messages_agree() {
    let mut fold = MessageFold::default();
    for event in events() {
        let messages = fold.read(&event, 0);
        let has_one = messages.iter().any(|message| message.kind().is_milestone());
        assert_eq!(is_milestone(&event), has_one, "{event:?}");
    }
}

#[test]
fn a_long_text_is_cut_between_characters_and_refers_to_status_md() {
    for text in
        ["é".repeat(4_000), "\"\\\n".repeat(2_000), "\u{1}😀".repeat(3_000), "x".repeat(1_200)]
    {
        let event = reported(Report::Failed { reason: text.clone() });
        let [error, ack] = MessageFold::default().read(&event, 0).try_into().unwrap();
        assert_eq!(ack.kind(), MessageKind::Ack);
        let rendered = error.render("2026-11-15T23:30:12.345Z", "a/03-STATUS.md#context");
        assert!(rendered.len() <= BYTES_MAX, "{}", rendered.len());
        assert!(rendered.len() > BYTES_MAX - 16, "no more than needed is cut: {}", rendered.len());
        let object = parse(&rendered).object;
        assert_eq!(object[STATUS_REF], "a/03-STATUS.md#context");
        let cut = object["error"].as_str().unwrap().strip_suffix('…').expect("it is marked");
        assert!(text.starts_with(cut));
    }
    let many = (0..500).map(|n| (format!("key{n}"), json!("a text of an agent")));
    let known = [("plan", "1"), ("blocker", "b"), ("action", "skip"), ("type", "blocker")];
    let known = known.map(|(key, value)| (key.to_owned(), json!(value)));
    let message = many.chain(known).chain([("phase".to_owned(), json!("3"))]).collect();
    let event = reported(Report::AgentMessage { message });
    let messages = MessageFold::default().read(&event, 0);
    assert!(messages[0].render("T", "ref").len() <= BYTES_MAX);
}

#[test]
fn a_pinned_question_stays_until_the_last_one_is_answered() {
    let mut fold = MessageFold::default();
    let mut second = asked();
    if let Event::Asked { item } = &mut second {
        item.id = 2;
    }
    fold.read(&asked(), 0);
    fold.read(&second, 0);
    let quiet = [
        reported(Report::Parked),
        moved(Status::Parked, Reason::AwaitsAnswer),
        moved(Status::Waiting, Reason::FilesFree),
        Event::Answered { item: 1, text: "a".to_owned() },
    ];
    for event in quiet {
        assert_eq!(fold.read(&event, 0), [], "{event:?}");
    }
    let [last] = fold.read(&Event::Withdrawn { item: 2 }, 0).try_into().unwrap();
    assert_eq!(last.message.fields()["to_state"], "withdrawn");
}
