//! What each type must say, what is forgiven, and what never breaks the reader.

use proptest::prelude::*;

use super::*;

fn fields(pairs: &[(&str, &str)]) -> Fields {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect()
}

/// Fields that say all a type must, each with its own name as its value.
fn full(kind: MessageKind) -> Fields {
    kind.required().iter().map(|key| ((*key).to_owned(), json!(key))).collect()
}

#[test]
fn every_type_is_found_by_its_name_and_says_what_it_is() {
    for (index, kind) in MessageKind::ALL.into_iter().enumerate() {
        assert_eq!(MessageKind::parse(kind.name()), Some(kind));
        assert_eq!(kind as usize, index);
        assert_eq!(kind.since(), if index < 7 { 1 } else { 2 });
    }
    assert_eq!(MessageKind::parse("toString"), None);
    assert_eq!(MessageKind::parse("Error"), None);
}

#[test]
fn summaries_read_as_agreed() {
    let expected = [
        "Phase phase: plan plan started",
        "Phase phase: plan plan complete (duration_minmin)",
        "Phase phase: all plans complete",
        "Phase phase: error in plan",
        "Phase phase: blocker in plan (action)",
        "Phase phase: plan to_state",
        "Ack: ref_type ref_plan",
        "Phase phase: task task claimed",
        "Phase phase: commit commit_hash",
        "Phase phase: task task complete",
        "Phase phase: from_stage -> to_stage",
        "Phase phase: input needed (input_type)",
        "Phase phase: plan plan created",
    ];
    let summaries = MessageKind::ALL.map(|kind| Message::new(kind, full(kind)).unwrap().summary());
    assert_eq!(summaries, expected);
    let cancelled = Message::new(MessageKind::Ack, fields(&[("ref_type", "cancel")])).unwrap();
    assert_eq!(cancelled.summary(), "Ack: cancel ?");
}

#[test]
fn a_message_without_a_required_field_is_refused() {
    for kind in MessageKind::ALL {
        for key in kind.required() {
            let mut fields_of = full(kind);
            fields_of.insert((*key).to_owned(), Value::Null);
            let refusal = Message::new(kind, fields_of);
            if (kind, *key) == (MessageKind::Error, "plan") {
                assert_eq!(refusal.unwrap().fields()["plan"], "-");
                continue;
            }
            let named = MessageError::MissingFields { kind, fields: vec![*key] };
            assert_eq!(refusal, Err(named));
        }
    }
    let nothing = Message::new(MessageKind::Error, Fields::new()).unwrap_err();
    assert_eq!(nothing.to_string(), "Missing required fields for error: phase, plan, error");
    let empty = Message::new(MessageKind::PlanStarted, fields(&[("phase", ""), ("plan", "")]));
    assert!(empty.is_ok(), "an empty text is there");
}

#[test]
fn an_error_may_come_as_a_detail() {
    let message =
        Message::new(MessageKind::Error, fields(&[("phase", "3"), ("detail", "boom")])).unwrap();
    let expected = [("phase", "3"), ("detail", "boom"), ("error", "boom"), ("plan", "-")];
    assert_eq!(message.fields(), &fields(&expected));
    let own = [("phase", "3"), ("plan", "03-01"), ("error", "a"), ("detail", "b")];
    assert_eq!(Message::new(MessageKind::Error, fields(&own)).unwrap().fields(), &fields(&own));
}

#[test]
fn the_envelope_is_ours_and_comes_first() {
    let fields_of =
        [("ts", "never"), ("plan", "03-01"), ("type", "ack"), ("v", "9"), ("phase", "3")];
    let message = Message::new(MessageKind::PlanStarted, fields(&fields_of)).unwrap();
    assert_eq!(
        message.render("NOW", true),
        r#"{"v":2,"type":"plan_started","ts":"NOW","plan":"03-01","phase":"3","summary":"Phase 3: plan 03-01 started"}"#
    );
    let long = "é".repeat(41);
    let message = Message::new(
        MessageKind::PlanStarted,
        fields(&[("phase", "1"), ("plan", "1"), ("activity", &long)]),
    );
    assert_eq!(message.unwrap().fields()["activity"], "é".repeat(40));
}

#[test]
fn odd_things_are_noticed() {
    let ask = |word| {
        let fields_of = [("phase", "1"), ("input_type", word), ("detail", "d")];
        Message::new(MessageKind::InputNeeded, fields(&fields_of)).unwrap()
    };
    assert_eq!(ask("stage_gate").unknown_input_type(), None);
    assert_eq!(ask("riddle").unknown_input_type(), Some("riddle"));
    let blocked = |action| {
        let fields_of = [("phase", "1"), ("plan", "1"), ("blocker", "b"), ("action", action)];
        Message::new(MessageKind::Blocker, fields(&fields_of)).unwrap().is_failure()
    };
    assert!(blocked("halt") && !blocked("pause") && !blocked("skip"));
    let modes = ["skip", "strict", "pause", "halt"].map(BlockerMode::parse);
    let strict = Some(BlockerMode::Strict);
    assert_eq!(modes, [Some(BlockerMode::Skip), strict, strict, None]);
    assert_eq!(BlockerMode::Strict.name(), "strict");
}

#[test]
fn reading_is_tolerant_about_versions_only() {
    let read = |text: &str| {
        let ParsedMessage { kind, warnings, .. } = parse(text);
        (kind.map_err(|refusal| refusal.to_string()), warnings)
    };
    let good = |v: &str| read(&format!(r#"{{{v}"type":"plan_started","phase":"1","plan":"1"}}"#));
    let valid = |warnings: &[&str]| {
        (Ok(MessageKind::PlanStarted), warnings.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(good(r#""v":2,"#), valid(&[]));
    assert_eq!(good(r#""v":1,"#), valid(&[]));
    assert_eq!(good(""), valid(&["Missing schema version"]));
    assert_eq!(good(r#""v":"2","#), valid(&["Schema version is not a number"]));
    for version in ["3", "0", "1.5", "-1"] {
        let (kind, warnings) = good(&format!(r#""v":{version},"#));
        assert_eq!(kind, Ok(MessageKind::PlanStarted));
        let start = format!("Unknown schema version {version}");
        assert!(warnings.len() == 1 && warnings[0].starts_with(&start), "{warnings:?}");
    }
    let refused = |text: &str| read(text).0.unwrap_err();
    for text in ["null", "42", "[]", "\"ack\"", "{}", r#"{"type":""}"#, r#"{"type":null}"#] {
        assert_eq!(refused(text), "Missing type field", "{text}");
    }
    assert_eq!(refused(r#"{"type":"toString"}"#), "Unknown event type: toString");
    assert_eq!(refused(r#"{"type":7}"#), "Unknown event type: 7");
    assert_eq!(
        refused(r#"{"v":2,"type":"plan_complete","phase":"1","plan":"1","duration_min":null}"#),
        "Missing required fields for plan_complete: commit, duration_min"
    );
    assert_eq!(read(r#"{"type":"ack","ref_type":"cancel","v":2}"#), (Ok(MessageKind::Ack), vec![]));
    assert!(refused("{not").starts_with("Invalid JSON"));
}

proptest! {
    #[test]
    fn nothing_breaks_the_reader(text in ".{0,60}") {
        parse(&text);
    }

    #[test]
    fn what_is_written_is_read(
        index in 0_usize..13,
        more in proptest::collection::btree_map("[a-z_]{1,8}", ".{0,12}", 0..5),
    ) {
        let kind = MessageKind::ALL[index];
        let mut fields_of = full(kind);
        fields_of.extend(more.into_iter().map(|(key, value)| (key, json!(value))));
        let message = Message::new(kind, fields_of).unwrap();
        let received = parse(&message.render("2026-01-02T03:04:05.678Z", true));
        prop_assert_eq!(received.kind, Ok(kind));
        prop_assert!(received.warnings.is_empty());
        for (key, value) in message.fields().iter().filter(|(key, _)| *key != "summary") {
            prop_assert_eq!(received.object.get(key), Some(value));
        }
    }
}
