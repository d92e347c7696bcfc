//! Every agent text either parses or gives a one-line error; none makes the parser panic.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn rejection<T: AgentAnswer + std::fmt::Debug>(value: &Value) -> String {
    let error = T::from_value(value).unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error:?}");
    error
}

fn question(id: &str, choices: &[&str]) -> Value {
    json!({ "id": id, "topic": "Index", "question": "Which one?", "choices": choices })
}

fn open_discussion(questions: &[Value]) -> Value {
    json!({ "clear": false, "questions": questions })
}

#[test]
fn a_discussion_has_questions_or_is_clear() {
    let clear = Discussion { clear: true, questions: Vec::new() };
    assert_eq!(Discussion::from_value(&json!({"clear": true})).unwrap(), clear);
    let discussion =
        Discussion::from_value(&open_discussion(&[question("a-1", &["A  trie", "A map"])]))
            .unwrap();
    assert_eq!(discussion.questions[0].choices, ["A trie", "A map"]);
    assert_eq!(discussion.questions[0].with_topic(), "Index: Which one?");

    let one = || question("a", &[]);
    for (value, error) in [
        (json!({"clear": false}), "`questions` is empty, but clear is false"),
        (json!({"clear": true, "questions": [one()]}), "`clear` is true, but there are questions"),
        (open_discussion(&[one(), one()]), "`questions[1].id` is the id of an earlier question"),
        (
            open_discussion(&[question("a/b", &[])]),
            "`questions[0].id` may have letters, digits, - and _ only",
        ),
        (
            open_discussion(&[question("a", &["Yes", "yes"])]),
            "`questions[0].choices` has the same choice twice",
        ),
        (
            open_discussion(&[question("a", &["Yes"])]),
            "`questions[0].choices` has one choice: give two or more, or none",
        ),
        (open_discussion(&vec![one(); 21]), "`questions` has 21 entries, but may have 20"),
        (
            open_discussion(&[question("a", &["1", "2", "3", "4", "5", "6", "7", "8", "9"])]),
            "`questions[0].choices` has 9 entries, but may have 8",
        ),
        (
            open_discussion(&[json!({"id": "a", "topic": "T"})]),
            "`questions[0].question` is missing",
        ),
        (open_discussion(&[json!("Why?")]), "`questions[0]` is a string, but must be an object"),
        (json!([]), "`answer` is an array, but must be an object"),
        (json!({"clear": "yes"}), "`clear` is a string, but must be a boolean"),
    ] {
        assert_eq!(rejection::<Discussion>(&value), error);
    }
}

#[test]
fn only_blockers_reject_plans() {
    let issue = |severity: &str| json!({"plan": "", "severity": severity, "description": "Gap"});
    let review = |verdict: &str, issues: &[Value]| json!({"verdict": verdict, "issues": issues});
    let warned = Review::from_value(&review("issues", &[issue("warning"), issue("info")])).unwrap();
    assert!(!warned.is_rejected());
    assert_eq!(warned.issues[0].plan, None);
    let mixed = review("issues", &[issue("warning"), issue("blocker")]);
    let blocked = Review::from_value(&mixed).unwrap();
    assert!(blocked.is_rejected());
    assert_eq!(blocked.blockers().count(), 1);
    assert!(Review::from_value(&review("passed", &[issue("info")])).is_ok());
    for (value, error) in [
        (
            review("passed", &[issue("blocker")]),
            "`verdict` is passed, but there is a blocker among the issues",
        ),
        (review("issues", &[]), "`issues` is empty, but the verdict is issues"),
        (
            review("no\n\u{1b}[31m", &[]),
            "`verdict` is \"no [31m\", but must be one of: passed, issues",
        ),
        (
            review("issues", &[issue("fatal")]),
            "`issues[0].severity` is \"fatal\", but must be one of: blocker, warning, info",
        ),
    ] {
        assert_eq!(rejection::<Review>(&value), error);
    }
}

#[test]
fn a_verdict_agrees_with_its_gaps() {
    let report = |verdict: &str, gaps: &[&str]| json!({"verdict": verdict, "gaps": gaps});
    let found = VerificationReport::from_value(&report("gaps_found", &["No\u{7} test "])).unwrap();
    assert_eq!(found.gaps, ["No test"]);
    assert!(VerificationReport::from_value(&report("passed", &[])).is_ok());
    assert!(VerificationReport::from_value(&report("human_needed", &["Look"])).is_ok());
    for (value, error) in [
        (report("passed", &["x"]), "`verdict` is passed, but there are gaps"),
        (report("gaps_found", &[]), "`gaps` is empty, but the verdict is gaps_found"),
        (report("human_needed", &[]), "`gaps` is empty: say what a person must look at"),
        (report("gaps_found", &[" "]), "`gaps[0]` is empty"),
        (
            report("gaps_found", &[&"é".repeat(1001)]),
            "`gaps[0]` has 1001 characters, but may have 1000",
        ),
        (json!({}), "`verdict` is missing"),
    ] {
        assert_eq!(rejection::<VerificationReport>(&value), error);
    }
}

#[test]
fn a_task_is_blocked_exactly_by_a_blocker() {
    let done = json!({"status": "done", "summary": "All of it", "blocker": "None", "decisions": null, "mood": {"good": [1]}});
    let report = TaskReport::from_value(&done).unwrap();
    assert_eq!((report.blocker, report.decisions.len()), (None, 0));
    let blocked = json!({"status": "blocked", "summary": "Half", "blocker": "No key"});
    let report = TaskReport::from_value(&blocked).unwrap();
    assert_eq!(report.blocker.as_deref(), Some("No key"));
    for (value, error) in [
        (
            json!({"status": "done", "summary": "x", "blocker": "No key"}),
            "`status` is done, but there is a blocker",
        ),
        (
            json!({"status": "blocked", "summary": "x", "blocker": null}),
            "`blocker` is missing: name the obstacle",
        ),
        (json!({"status": "done", "summary": null}), "`summary` is missing"),
    ] {
        assert_eq!(rejection::<TaskReport>(&value), error);
    }
}

/// Parses a verifier's text and returns its verdict, or the error message.
fn verdict_or_error(text: &str) -> String {
    match VerificationReport::parse(text) {
        Ok(report) => format!("{:?}", report.verdict),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_last_fenced_json_counts_or_a_bare_object() {
    let passed = r#"{"verdict": "passed"}"#;
    let gaps = r#"{"verdict": "gaps_found", "gaps": ["a\n```\nb"]}"#;
    for (text, verdict) in [
        (format!(" {passed}\n"), "Passed"),
        (
            format!("Well.\n\n```json\n{gaps}\n```\nSecond thoughts:\n```json\n{passed}\n```\nBye"),
            "Passed",
        ),
        (format!("```JSON\r\n{gaps}\r\n```\r\n"), "GapsFound"),
        (format!("  ~~~~json title\n{gaps}\n  ~~~~~\n"), "GapsFound"),
        (format!("```json\n{gaps}"), "GapsFound"),
        (format!("```sh\nls\n\n```json\n{gaps}\n```\n"), "GapsFound"),
        (
            format!("```json\n{gaps}\n```\n````markdown\n```json\n{passed}\n```\n````\n"),
            "GapsFound",
        ),
        (format!("```json\n{gaps}\n```\n```rust\n{{}}\n```\n"), "GapsFound"),
    ] {
        assert_eq!(verdict_or_error(&text), verdict, "{text}");
    }
    let missing = "there is no answer: end with one fenced ```json block that holds it";
    for text in ["", "All is well.", &format!("I say {passed}"), &format!("```\n{passed}\n```")] {
        assert_eq!(verdict_or_error(text), missing, "{text}");
    }
    let broken = verdict_or_error("```json\n{\"verdict\": passed}\n```");
    assert_eq!(broken, "the answer is not JSON: expected value at line 1 column 13");
    let deep = format!("```json\n{}", "[".repeat(10_000));
    assert!(verdict_or_error(&deep).starts_with("the answer is not JSON: recursion limit"));
}

#[test]
fn an_answer_over_the_size_limit_is_rejected() {
    let padding = "x".repeat(BYTES_MAX);
    let value = json!({"verdict": "passed", "more": padding});
    let error = "the answer has 65566 bytes, but at most 65536 are read: shorten it";
    assert_eq!(rejection::<VerificationReport>(&value), error);
    assert_eq!(verdict_or_error(&value.to_string()), error);
    let long = format!("{padding}\n```json\n{{\"verdict\": \"passed\"}}\n```\n");
    assert_eq!(verdict_or_error(&long), "Passed", "only the answer itself is bounded");
}

/// Calls `visit` for a schema and every schema inside it.
fn walk(schema: &Value, visit: &mut dyn FnMut(&Value)) {
    visit(schema);
    schema["properties"].as_object().into_iter().flatten().for_each(|(_, one)| walk(one, visit));
    if schema["type"] == "array" {
        walk(&schema["items"], visit);
    }
}

fn keys(value: &Value) -> Vec<String> {
    value.as_object().into_iter().flat_map(|map| map.keys().cloned()).collect()
}

/// Asserts that a schema and a serialised value have the same fields at every level.
fn assert_same_fields(schema: &Value, value: &Value) {
    match schema["type"].as_str() {
        Some("object") => {
            assert_eq!(keys(&schema["properties"]), keys(value));
            for (name, schema) in schema["properties"].as_object().unwrap() {
                assert_same_fields(schema, &value[name]);
            }
        }
        Some("array") => assert_same_fields(&schema["items"], &value[0]),
        _ => assert!(!value.is_null() && !value.is_object() && !value.is_array()),
    }
}

fn check_schema<T: AgentAnswer + Serialize + std::fmt::Debug>(full: &T) {
    let schema: Value = serde_json::from_str(T::SCHEMA).unwrap();
    let known = ["type", "description", "properties", "required", "items", "enum"];
    let bounds = ["minLength", "maxLength", "maxItems"];
    walk(&schema, &mut |part| {
        let unknown =
            |key: &String| !known.contains(&key.as_str()) && !bounds.contains(&key.as_str());
        assert_eq!(
            keys(part).into_iter().find(unknown),
            None,
            "the parser ignores this keyword: {part}"
        );
        let fields = keys(&part["properties"]);
        let required = part["required"].as_array().into_iter().flatten();
        required.for_each(|name| assert!(fields.iter().any(|f| name == f), "{name} is no field"));
        let is_bounded = match part["type"].as_str().unwrap() {
            "string" => part["maxLength"].is_u64() || part["enum"].is_array(),
            "array" => part["maxItems"].is_u64(),
            kind => ["object", "boolean"].contains(&kind),
        };
        assert!(is_bounded, "no size limit: {part}");
    });
    let value = serde_json::to_value(full).unwrap();
    assert_same_fields(&schema, &value);
    assert_eq!(serde_json::to_value(T::from_value(&value).unwrap()).unwrap(), value);
    // Serde requires exactly the fields that the schema requires.
    for name in keys(&schema["properties"]) {
        let mut less = value.clone();
        less.as_object_mut().unwrap().shift_remove(&name);
        let needed = schema["required"].as_array().unwrap().iter().any(|one| one == &name);
        let missed = serde_json::from_value::<T>(less).is_err();
        assert_eq!(missed, needed, "{name}");
    }
    // Serde accepts every enum value of the schema.
    for (name, field) in schema["properties"].as_object().unwrap() {
        for word in field["enum"].as_array().into_iter().flatten() {
            let mut other = value.clone();
            other[name] = word.clone();
            assert!(serde_json::from_value::<T>(other).is_ok(), "{word}");
        }
    }
}

#[test]
fn schemas_and_types_have_the_same_fields() {
    let text = || "x".to_owned();
    let choices = vec!["a".to_owned(), "b".to_owned()];
    let question = DiscussionQuestion { id: text(), topic: text(), question: text(), choices };
    check_schema(&Discussion { clear: false, questions: vec![question] });
    for severity in [Severity::Blocker, Severity::Warning, Severity::Info] {
        let (plan, fix_hint) = (Some(text()), Some(text()));
        let issue = ReviewIssue { plan, severity, description: text(), fix_hint };
        check_schema(&Review { verdict: ReviewVerdict::Issues, issues: vec![issue] });
    }
    check_schema(&VerificationReport {
        verdict: VerificationVerdict::GapsFound,
        gaps: vec![text()],
    });
    check_schema(&TaskReport {
        status: TaskStatus::Blocked,
        summary: text(),
        blocker: Some(text()),
        decisions: vec![text()],
        deferred: vec![text()],
        patterns: vec!["p".to_owned()],
    });
}

/// Parses a text as every kind of answer, and asserts that errors are short lines.
fn parse_as_every_kind(text: &str) {
    fn one<T: AgentAnswer + Serialize>(text: &str) {
        match T::parse(text) {
            Err(error) => {
                let line = error.to_string();
                assert!(line.len() < 300 && !line.contains(['\n', '\u{1b}']), "{line:?}");
            }
            Ok(answer) => {
                let value = serde_json::to_value(&answer).unwrap();
                // Parsing a serialised answer gives the same answer.
                let again = T::from_value(&value).unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(serde_json::to_value(&again).unwrap(), value);
            }
        }
    }
    one::<Discussion>(text);
    one::<Review>(text);
    one::<VerificationReport>(text);
    one::<TaskReport>(text);
}

/// JSON with the field names of the schemas and values of every type.
fn values() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "passed",
        "issues",
        "gaps_found",
        "human_needed",
        "done",
        "blocked",
        "blocker",
        "none",
        "",
        "a",
        "\u{1b}[2J",
        "two\nlines",
        "é",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word.prop_map(Value::from),
        ".{0,30}".prop_map(Value::from),
    ];
    let name = prop::sample::select(vec![
        "clear",
        "questions",
        "id",
        "topic",
        "question",
        "choices",
        "verdict",
        "issues",
        "plan",
        "severity",
        "description",
        "gaps",
        "status",
        "summary",
        "blocker",
        "decisions",
        "other",
    ]);
    leaf.prop_recursive(4, 64, 10, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..10).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..8).prop_map(|fields| {
                Value::Object(fields.into_iter().map(|(key, v)| (key.to_owned(), v)).collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "(?s).{0,200}") {
        parse_as_every_kind(&text);
    }

    #[test]
    fn arbitrary_fences_never_panic(text in "(```|~~~|````|json|\n|\r\n| |\\{\"verdict\": \"passed\"\\}|é|\\{|\\})*") {
        parse_as_every_kind(&text);
    }

    #[test]
    fn arbitrary_json_never_panics(value in values()) {
        parse_as_every_kind(&value.to_string());
        parse_as_every_kind(&format!("Well:\n```json\n{value:#}\n```\n"));
    }
}
