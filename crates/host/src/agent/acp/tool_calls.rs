//! Collects the messages about tool calls of the Agent Client Protocol.
//!
//! An agent may announce a call before its input is known and complete it by updates, or describe it
//! only in a request for permission. A call is reported once, as soon as the agent begins it or asks
//! for permission.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::agent::tool_use::{content_text, main_input};
use crate::agent::{Event, ToolOutcome, ToolUse};

/// The most calls that are open at the same time; the first one by id makes room for a further one.
const OPEN_MAX: usize = 100;

/// The tool calls that have not ended yet, by their ids.
#[derive(Debug, Default)]
pub(super) struct ToolCalls {
    open: BTreeMap<String, OpenCall>,
}

/// What the agent has said about a call so far.
#[derive(Debug, Default)]
struct OpenCall {
    fields: serde_json::Map<String, Value>,
    is_reported: bool,
}

impl ToolCalls {
    /// Takes the announcement or an update of a call; returns what there is to report.
    pub(super) fn update(&mut self, update: &Value) -> Vec<Event> {
        let status = update["status"].as_str().unwrap_or_default();
        let has_begun = !matches!(status, "" | "pending");
        let mut events = self.take(update, has_begun);
        if matches!(status, "completed" | "failed") {
            self.open.remove(id(update));
            events.push(Event::ToolEnded(outcome(update, status == "completed")));
        }
        events
    }

    /// Takes the call that a request for permission is about; returns what there is to report.
    pub(super) fn request(&mut self, call: &Value) -> Vec<Event> {
        self.take(call, true)
    }

    /// Adds the fields to what is known of the call. Reports it if it is complete.
    fn take(&mut self, fields: &Value, is_complete: bool) -> Vec<Event> {
        if self.open.len() >= OPEN_MAX && !self.open.contains_key(id(fields)) {
            self.open.pop_first();
        }
        let call = self.open.entry(id(fields).to_owned()).or_default();
        let fields = fields.as_object().into_iter().flatten().filter(|(_, field)| !field.is_null());
        call.fields.extend(fields.map(|(key, field)| (key.clone(), field.clone())));
        if !is_complete || std::mem::replace(&mut call.is_reported, true) {
            return Vec::new();
        }
        vec![Event::Tool(tool_use(&Value::Object(call.fields.clone())))]
    }
}

fn id(call: &Value) -> &str {
    call["toolCallId"].as_str().unwrap_or_default()
}

fn tool_use(call: &Value) -> ToolUse {
    let field = |key: &str| call[key].as_str().unwrap_or_default();
    let input = &call["rawInput"];
    let name = if field("kind").is_empty() { "other" } else { field("kind") };
    let has_input = input.as_object().is_some_and(|input| !input.is_empty());
    let summary = if has_input { main_input(input) } else { field("title").to_owned() };
    let tool = ToolUse::new(id(call), name, &summary, input);
    if !matches!(name, "edit" | "delete" | "move") {
        return tool;
    }
    let parts = [&call["locations"], &call["content"]].into_iter().filter_map(Value::as_array);
    tool.with_edits(parts.flatten().filter_map(|part| part["path"].as_str()))
}

fn outcome(update: &Value, is_ok: bool) -> ToolOutcome {
    let exit = update["rawOutput"]["metadata"]["exit"].as_i64().filter(|code| *code != 0);
    let texts = [exit.map(|code| format!("exit {code}")), Some(content_text(&update["content"]))];
    let texts: Vec<_> = texts.into_iter().flatten().collect();
    ToolOutcome::new(id(update), is_ok && exit.is_none(), &texts.join("\n"))
}

#[cfg(test)]
mod tests;
