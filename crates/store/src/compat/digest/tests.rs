//! Tests that summaries are collected by phase.

use super::*;
use crate::compat::summary::parse;

#[test]
fn puts_the_summaries_of_a_phase_together() {
    let mut digest = SummaryDigest::default();
    let first = "---\nphase: \"01\"\nname: Base\nprovides: [a, b]\naffects: [x]\nkey-decisions:\n  - Use A\ntech-stack:\n  added: [axum]\n---\n";
    let second = "---\nphase: \"01\"\nprovides: b\ntech-stack:\n  added:\n    - name: axum\n    - serde\n---\n";
    digest.add("01-foundation", &parse(first.as_bytes()));
    digest.add("01-foundation", &parse(second.as_bytes()));
    digest.add("02-user-auth", &parse(b"no block\n"));
    digest.add("loose", &parse(b""));
    let expected = json!({
        "phases": {
            "01": { "name": "Base", "provides": ["a", "b"], "affects": ["x"], "patterns": [] },
            "02": { "name": "user auth", "provides": [], "affects": [], "patterns": [] },
            "loose": { "name": "Unknown", "provides": [], "affects": [], "patterns": [] },
        },
        "decisions": [{ "phase": "01", "decision": "Use A" }],
        "tech_stack": ["axum", "serde"],
    });
    assert_eq!(serde_json::to_value(&digest).unwrap(), expected);
}
