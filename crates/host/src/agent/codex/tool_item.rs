//! Reads tool calls and their results from the items of a Codex thread.

use serde_json::{Value, json};

use crate::agent::tool_use::{content_text, main_input};
use crate::agent::{ToolOutcome, ToolUse};

/// Returns whether an item of this type is a tool call.
pub(super) fn is_tool(item_type: &str) -> bool {
    matches!(
        item_type,
        "commandExecution" | "fileChange" | "mcpToolCall" | "dynamicToolCall" | "webSearch"
    )
}

/// Parses the tool call of an item.
pub(super) fn tool_use(item: &Value) -> ToolUse {
    let field = |key: &str| item[key].as_str().unwrap_or_default();
    let name = match field("tool") {
        "" => field("type"),
        tool => tool,
    };
    let changes = item["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let paths = || changes.iter().filter_map(|change| change["path"].as_str());
    let (summary, input) = match field("type") {
        "commandExecution" => (
            field("command").to_owned(),
            json!({ "command": field("command"), "cwd": field("cwd") }),
        ),
        "fileChange" => (paths().collect::<Vec<_>>().join(", "), json!({ "changes": changes })),
        "webSearch" => (field("query").to_owned(), json!({ "query": field("query") })),
        _ => (main_input(&item["arguments"]), item["arguments"].clone()),
    };
    ToolUse::new(field("id"), name, &summary, &input).with_edits(paths())
}

/// Parses the result of a tool call's item.
pub(super) fn outcome(item: &Value) -> ToolOutcome {
    let field = |key: &str| item[key].as_str().unwrap_or_default();
    let is_bad_status = matches!(field("status"), "failed" | "declined");
    let is_ok = !is_bad_status && item["success"] != false && item["error"].is_null();
    let exit = item["exitCode"].as_i64().filter(|code| *code != 0);
    let texts = [
        exit.map(|code| format!("exit {code}")).unwrap_or_default(),
        field("aggregatedOutput").to_owned(),
        content_text(&item["contentItems"]),
        content_text(&item["result"]["content"]),
        item["error"]["message"].as_str().unwrap_or_default().to_owned(),
        if field("status") == "declined" { "declined".to_owned() } else { String::new() },
    ];
    let texts: Vec<_> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    ToolOutcome::new(field("id"), is_ok && exit.is_none(), &texts.join("\n"))
}
