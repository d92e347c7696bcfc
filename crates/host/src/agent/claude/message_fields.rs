//! Reads and writes single fields of Claude Code's messages.

use std::hash::{BuildHasher, RandomState};

use serde_json::{Value, json};

use crate::agent::{AgentQuestion, AgentRequest, QuestionChoice, one_line};

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
