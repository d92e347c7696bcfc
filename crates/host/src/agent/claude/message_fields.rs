//! Reads and writes single fields of Claude Code's messages.

use std::hash::{BuildHasher, RandomState};

use serde_json::{Value, json};

use crate::agent::tool_use::{content_text, main_input};
use crate::agent::{AgentQuestion, AgentRequest, QuestionChoice, ToolOutcome, ToolUse, one_line};

/// The tools that edit files.
const EDIT_TOOLS: [&str; 4] = ["Edit", "MultiEdit", "NotebookEdit", "Write"];

/// Parses the input of the question tool.
pub(super) fn question(id: &str, input: &Value) -> AgentRequest {
    let owned = |value: &Value, at: &str| text(value, at).to_owned();
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let choice = |value: &Value| QuestionChoice {
        label: owned(value, "/label"),
        description: owned(value, "/description"),
    };
    let one = |value: &Value| AgentQuestion {
        text: owned(value, "/question"),
        header: owned(value, "/header"),
        choices: list(value, "options").iter().map(choice).collect(),
        allows_many: value["multiSelect"].as_bool().unwrap_or(false),
    };
    AgentRequest::Question {
        id: id.to_owned(),
        questions: list(input, "questions").iter().map(one).collect(),
    }
}

/// Returns the input of the question tool with the answers added.
pub(super) fn with_answers(
    input: &Value,
    questions: &[AgentQuestion],
    answers: &[String],
) -> Value {
    let mut input = input.clone();
    let answer = |n: usize| answers.get(n).map_or("no answer", String::as_str);
    let all = questions.iter().enumerate().map(|(n, q)| (q.text.clone(), json!(answer(n))));
    if input.is_object() {
        input["answers"] = Value::Object(all.collect());
    }
    input
}

/// Returns the main input of a tool in one line.
pub(super) fn summary(input: &Value) -> String {
    let keys = ["command", "file_path", "path", "pattern", "url", "query", "description", "prompt"];
    let main_input = keys.iter().find_map(|key| input[*key].as_str());
    main_input.map_or_else(|| one_line(&input.to_string()), one_line)
}

/// Parses a tool call of the model.
pub(super) fn tool_use(block: &Value) -> ToolUse {
    let (name, input) = (text(block, "/name"), &block["input"]);
    let call = ToolUse::new(text(block, "/id"), name, &main_input(input), input);
    if !EDIT_TOOLS.contains(&name) {
        return call;
    }
    call.with_edits([text(input, "/file_path"), text(input, "/notebook_path")])
}

/// Returns the results of tool calls in a message to the model.
pub(super) fn tool_outcomes(line: &Value) -> Vec<ToolOutcome> {
    let blocks = line.pointer("/message/content").and_then(Value::as_array).into_iter().flatten();
    let results = blocks.filter(|block| block["type"] == "tool_result");
    let outcome = |block: &Value| {
        let is_ok = block["is_error"] != true;
        ToolOutcome::new(text(block, "/tool_use_id"), is_ok, &content_text(&block["content"]))
    };
    results.map(outcome).collect()
}

pub(super) fn text<'a>(value: &'a Value, at: &str) -> &'a str {
    value.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn status(value: &Value) -> Option<u16> {
    value.as_u64().and_then(|status| u16::try_from(status).ok())
}

/// Returns a random version 4 UUID for a message.
pub(super) fn new_uuid() -> String {
    let random = || RandomState::new().hash_one(std::process::id());
    let (high, low) = (random(), random());
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        low >> 52,
        low & 0xffff_ffff_ffff,
    )
}
