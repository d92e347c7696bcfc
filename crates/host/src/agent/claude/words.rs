//! Reads and writes single things in the messages of Claude Code.

use std::hash::{BuildHasher, RandomState};

use serde_json::{Value, json};

use crate::agent::{Ask, Choice, Question, one_line};

/// Reads what its tool for questions gets.
pub(super) fn question(id: &str, input: &Value) -> Ask {
    let owned = |value: &Value, at: &str| text(value, at).to_owned();
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let choice = |value: &Value| Choice {
        label: owned(value, "/label"),
        description: owned(value, "/description"),
    };
    let one = |value: &Value| Question {
        text: owned(value, "/question"),
        header: owned(value, "/header"),
        choices: list(value, "options").iter().map(choice).collect(),
        many: value["multiSelect"].as_bool().unwrap_or(false),
    };
    Ask::Question {
        id: id.to_owned(),
        questions: list(input, "questions").iter().map(one).collect(),
    }
}

/// Returns what the tool for questions gets once they are answered.
pub(super) fn answered(input: &Value, questions: &[Question], answers: &[String]) -> Value {
    let mut input = input.clone();
    let answer = |n: usize| answers.get(n).map_or("no answer", String::as_str);
    let all = questions.iter().enumerate().map(|(n, q)| (q.text.clone(), json!(answer(n))));
    if input.is_object() {
        input["answers"] = Value::Object(all.collect());
    }
    input
}

/// Says in a line what a tool is used for.
pub(super) fn summary(input: &Value) -> String {
    let keys = ["command", "file_path", "path", "pattern", "url", "query", "description", "prompt"];
    let said = keys.iter().find_map(|key| input[*key].as_str());
    said.map_or_else(|| one_line(&input.to_string()), one_line)
}

pub(super) fn text<'a>(value: &'a Value, at: &str) -> &'a str {
    value.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn status(value: &Value) -> Option<u16> {
    value.as_u64().and_then(|status| u16::try_from(status).ok())
}

/// Makes a name that no other message of any session has.
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
