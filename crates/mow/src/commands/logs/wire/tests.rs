//! Pins the keys of every kind: scripts rely on them.

use mow_engine::activity::ActivitySource;
use serde_json::json;

use super::*;

fn object(kind: ActivityKind) -> Value {
    let source = ActivitySource { role: "check".to_owned(), plan: None, task: None };
    let record = ActivityRecord { at: 1, source, kind };
    let mut value = json!(ActivityLine::new("r", "3", 2, &record).unwrap());
    let fields = value.as_object_mut().unwrap();
    let common: Vec<_> = [
        ("v", json!(1)),
        ("run", json!("r")),
        ("phase", json!("3")),
        ("attempt", json!(2)),
        ("at", json!(1)),
        ("time", json!("1970-01-01T00:00:00.001Z")),
        ("role", json!("check")),
        ("plan", Value::Null),
        ("task", Value::Null),
    ]
    .into_iter()
    .collect();
    for (key, expected) in common {
        assert_eq!(fields.shift_remove(key), Some(expected), "{key}");
    }
    value
}

#[test]
fn every_kind_has_its_documented_keys() {
    let text = || "t".to_owned();
    let cases = [
        (
            ActivityKind::AgentStarted { agent: text(), log: text() },
            json!({ "kind": "agent_started", "agent": "t", "log": "t" }),
        ),
        (
            ActivityKind::CommandStarted { command: text(), log: text() },
            json!({ "kind": "command_started", "command": "t", "log": "t" }),
        ),
        (ActivityKind::Text { text: text() }, json!({ "kind": "text", "text": "t" })),
        (
            ActivityKind::Tool { call: text(), name: text(), summary: text(), input: json!(1) },
            json!({ "kind": "tool", "call": "t", "name": "t", "summary": "t", "input": 1 }),
        ),
        (
            ActivityKind::Edit { call: text(), name: text(), paths: vec![text()], input: json!(1) },
            json!({ "kind": "edit", "call": "t", "name": "t", "paths": ["t"], "input": 1 }),
        ),
        (
            ActivityKind::Result { call: text(), ok: true, text: text() },
            json!({ "kind": "result", "call": "t", "ok": true, "text": "t" }),
        ),
        (
            ActivityKind::Retry { reason: text(), wait_ms: 5 },
            json!({ "kind": "retry", "text": "t", "wait_ms": 5 }),
        ),
        (
            ActivityKind::Usage { input_tokens: 1, output_tokens: 2, cached_tokens: 3, usd: None },
            json!({
                "kind": "usage", "input_tokens": 1, "output_tokens": 2, "cached_tokens": 3,
                "usd": null,
            }),
        ),
        (ActivityKind::Output { text: text() }, json!({ "kind": "output", "text": "t" })),
        (ActivityKind::Skipped { lines: 4 }, json!({ "kind": "skipped", "lines": 4 })),
        (
            ActivityKind::Ended { ok: false, text: text() },
            json!({ "kind": "ended", "ok": false, "text": "t" }),
        ),
    ];
    for (kind, expected) in cases {
        assert_eq!(object(kind), expected);
    }
}
