//! Tests when a call is reported, by the messages of real agents.

use serde_json::json;

use super::*;

#[test]
fn a_call_is_reported_when_its_input_is_known() {
    let mut calls = ToolCalls::default();
    let announced = json!({ "toolCallId": "c", "title": "bash", "kind": "execute",
        "status": "pending", "rawInput": { "cwd": "/w" } });
    assert_eq!(calls.update(&announced), []);
    let begun = json!({ "toolCallId": "c", "status": "in_progress",
        "rawInput": { "command": "ls", "cwd": "/w" } });
    let call = ToolUse::new("c", "execute", "ls", &begun["rawInput"]);
    assert_eq!(calls.update(&begun), [Event::Tool(call)]);
    assert_eq!(calls.request(&begun), [], "it is reported once");
    assert_eq!(calls.update(&begun), []);
    let ended = json!({ "toolCallId": "c", "status": "completed",
        "content": [{ "type": "content", "content": { "type": "text", "text": "bad\n" } }],
        "rawOutput": { "metadata": { "exit": 3 } } });
    let outcome = ToolOutcome::new("c", false, "exit 3\nbad");
    assert_eq!(calls.update(&ended), [Event::ToolEnded(outcome)]);
    assert!(calls.open.is_empty());
}

#[test]
fn a_call_that_only_a_permission_describes_is_reported() {
    let mut calls = ToolCalls::default();
    let asked =
        json!({ "toolCallId": "c", "title": "echo 1", "kind": "execute", "status": "pending" });
    let call = ToolUse::new("c", "execute", "echo 1", &Value::Null);
    assert_eq!(calls.request(&asked), [Event::Tool(call)]);
    let ended = json!({ "toolCallId": "c", "status": "failed" });
    assert_eq!(calls.update(&ended), [Event::ToolEnded(ToolOutcome::new("c", false, ""))]);
}

#[test]
fn an_edit_names_its_files() {
    let edit = json!({ "toolCallId": "c", "kind": "edit", "status": "in_progress",
        "locations": [{ "path": "a" }], "content": [{ "type": "diff", "path": "a" }] });
    let events = ToolCalls::default().update(&edit);
    let [Event::Tool(call)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(call.edits, ["a"]);
}

#[test]
fn calls_that_never_end_are_forgotten() {
    let mut calls = ToolCalls::default();
    for n in 0..1_000 {
        calls.update(&json!({ "toolCallId": n.to_string(), "status": "pending" }));
    }
    assert_eq!(calls.open.len(), OPEN_MAX);
}
