//! Tests the bounds of tool calls and results.

use serde_json::json;

use super::*;

#[test]
fn a_short_input_is_kept_as_it_is() {
    let input = json!({ "command": "ls -la\npwd", "timeout": 5, "list": [true, null] });
    let call = ToolUse::new("c1", "Bash", &main_input(&input), &input);
    assert_eq!((call.summary.as_str(), &call.input), ("ls -la\npwd", &input));
}

#[test]
fn every_part_of_a_long_call_is_cut() {
    let long = "é".repeat(100_000);
    let many: Vec<_> = (0..100_000).map(|n| json!({ "n": n })).collect();
    let input = json!({ "file_path": "a.rs", "content": long, "many": many });
    let call = ToolUse::new("c1", "Write", &main_input(&input), &input);
    assert_eq!(call.summary, "a.rs");
    assert!(call.input.to_string().len() < 2 * INPUT_BYTES_MAX, "{}", call.input);
    assert!(call.input["content"].as_str().unwrap().ends_with("é…"));
    let call = ToolUse::new("c1", "x", &main_input(&json!(many)), &json!(many));
    assert!(call.input.to_string().len() < 2 * INPUT_BYTES_MAX, "{}", call.input);
    assert!(call.summary.len() < 2 * INPUT_BYTES_MAX);
    let result = ToolOutcome::new("c1", false, &long);
    assert_eq!(result.text.len(), RESULT_BYTES_MAX + "…".len());
}

#[test]
fn edits_are_counted_and_unique() {
    let paths: Vec<_> = (0..1_000).map(|n| format!("file-{}", n / 2)).collect();
    let call = ToolUse::new("c", "edit", "", &Value::Null);
    let call = call.with_edits(paths.iter().map(String::as_str));
    assert_eq!(call.edits.len(), EDITS_MAX / 2);
}

#[test]
fn texts_of_content_blocks_are_joined() {
    assert_eq!(content_text(&json!("plain")), "plain");
    let blocks = json!([
        { "type": "text", "text": "one" }, { "type": "image" },
        { "type": "content", "content": { "type": "text", "text": "two" } },
    ]);
    assert_eq!(content_text(&blocks), "one\ntwo");
    assert_eq!(content_text(&Value::Null), "");
}
