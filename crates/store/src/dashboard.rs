//! The dashboard's files: what happened lately, and what waits for a person.
//!
//! Both are the engine's own and may be deleted at any time; a broken state file is an empty one.
//! Start with [`events`] and [`State::note`].

#[cfg(test)]
mod tests;

use mow_core::phase::PhaseNumber;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::ndjson;

/// Above this many lines the events file is cut.
pub const EVENTS_MAX: usize = 100;
/// This many events are left when it is cut.
pub const EVENTS_KEPT: usize = 50;

/// One line of the events file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// What happened.
    #[serde(rename = "type")]
    pub kind: String,
    /// The phase it happened in.
    pub phase: Option<String>,
    /// More about it.
    pub detail: String,
    /// When, as ISO time.
    pub ts: String,
}

/// Something that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pin {
    /// The phase that waits.
    pub phase: Option<String>,
    /// The event that pinned it.
    #[serde(rename = "type")]
    pub kind: String,
    /// What sort of input is needed.
    pub input_type: Option<String>,
    /// When, as ISO time.
    pub ts: String,
    /// More about it.
    pub detail: String,
}

/// What the dashboard remembers between two renderings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct State {
    /// What waits for a person.
    pub pinned: Vec<Pin>,
    /// How many lines the last rendering had.
    pub last_line_count: u64,
    /// When it was.
    pub last_render_ts: Option<String>,
}

/// Reads all events that can be read.
pub fn events(bytes: &[u8]) -> Vec<Event> {
    let parsed = ndjson::objects(bytes).into_iter().filter_map(|object| {
        Some(Event {
            kind: text(&object, "type")?,
            phase: text(&object, "phase"),
            detail: text(&object, "detail").unwrap_or_default(),
            ts: text(&object, "ts").unwrap_or_default(),
        })
    });
    parsed.collect()
}

/// Reads a string; a number counts as its digits.
fn text(object: &Map<String, Value>, key: &str) -> Option<String> {
    match object.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

impl Event {
    /// Returns the line to append.
    pub fn line(&self) -> String {
        let Self { kind, phase, detail, ts } = self;
        format!("{}\n", json!({"type": kind, "phase": phase, "detail": detail, "ts": ts}))
    }
}

/// Returns the events file cut to its last lines when it has grown too long.
pub fn pruned(bytes: &[u8]) -> Option<Vec<u8>> {
    let is_long = ndjson::line_count(bytes) > EVENTS_MAX;
    is_long.then(|| ndjson::keep_last(bytes, EVENTS_KEPT))
}

impl State {
    /// Reads a state file; what is missing or broken counts as empty.
    pub fn parse(bytes: &[u8]) -> Self {
        let Ok(Value::Object(root)) = serde_json::from_slice(bytes) else { return Self::default() };
        let pinned = root.get("pinned").and_then(Value::as_array).into_iter().flatten();
        Self {
            pinned: pinned.filter_map(|pin| parse_pin(pin.as_object()?)).collect(),
            last_line_count: root.get("last_line_count").and_then(Value::as_u64).unwrap_or(0),
            last_render_ts: text(&root, "last_render_ts"),
        }
    }

    /// Returns the file's content.
    pub fn render(&self) -> String {
        let json = serde_json::to_string_pretty(self).expect("strings and numbers can be written");
        format!("{json}\n")
    }

    /// Takes note of an event and returns whether the pins changed.
    ///
    /// A question or an error pins its phase; any other event of a phase shows that it goes on. A
    /// pin without a phase stays.
    pub fn note(&mut self, event: &Event) -> bool {
        let is_question = event.kind == "input_needed";
        if is_question || event.kind == "error" {
            self.pinned.push(Pin {
                phase: event.phase.clone(),
                kind: event.kind.clone(),
                input_type: is_question.then(|| event.detail.clone()),
                ts: event.ts.clone(),
                detail: event.detail.clone(),
            });
            return true;
        }
        let Some(phase) = &event.phase else { return false };
        let before = self.pinned.len();
        self.pinned
            .retain(|pin| !pin.phase.as_ref().is_some_and(|pinned| same_phase(pinned, phase)));
        self.pinned.len() != before
    }
}

fn parse_pin(pin: &Map<String, Value>) -> Option<Pin> {
    Some(Pin {
        phase: text(pin, "phase"),
        kind: text(pin, "type")?,
        input_type: text(pin, "input_type"),
        ts: text(pin, "ts").unwrap_or_default(),
        detail: text(pin, "detail").unwrap_or_default(),
    })
}

/// Compares phases by number, and what is no number as text.
fn same_phase(a: &str, b: &str) -> bool {
    match (PhaseNumber::parse(a), PhaseNumber::parse(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}
