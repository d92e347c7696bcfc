//! The dashboard's files: recent events, and the pins of phases that wait for a person.
//!
//! mow alone writes both files. They may be deleted at any time; a broken state file counts as
//! empty. Start with [`parse_events`] and [`DashboardState::record_event`].

#[cfg(test)]
mod tests;

use mow_core::phase::PhaseNumber;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::ndjson;

/// The number of lines above which old events are dropped.
pub const EVENTS_MAX: usize = 100;
/// The number of events that then stay.
pub const EVENTS_KEPT: usize = 50;

/// One line of the events file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// The event type, such as `commit_made` or `input_needed`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The number of the phase; `None` for an event of the whole project.
    pub phase: Option<String>,
    /// A text for people; may be empty.
    pub detail: String,
    /// The time in ISO format.
    pub ts: String,
}

/// A question or an error that stays on the dashboard until its phase goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pin {
    /// The phase that waits; `None` when the event named none.
    pub phase: Option<String>,
    /// The type of the event: `input_needed` or `error`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind of input that is needed; `None` for an error.
    pub input_type: Option<String>,
    /// The time of the event in ISO format.
    pub ts: String,
    /// The detail of the event.
    pub detail: String,
}

/// The dashboard's data between two renderings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DashboardState {
    /// The pins, oldest first.
    pub pinned: Vec<Pin>,
    /// The number of lines of the last rendering.
    pub last_line_count: u64,
    /// The ISO time of the last rendering; `None` before the first.
    pub last_render_ts: Option<String>,
}

/// Parses the events file; lines that are not events are skipped.
pub fn parse_events(bytes: &[u8]) -> Vec<Event> {
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

/// Returns the string at a key; a number counts as its digits.
fn text(object: &Map<String, Value>, key: &str) -> Option<String> {
    match object.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

impl Event {
    /// Returns the line for the events file, with its line break.
    pub fn line(&self) -> String {
        let Self { kind, phase, detail, ts } = self;
        format!("{}\n", json!({"type": kind, "phase": phase, "detail": detail, "ts": ts}))
    }
}

/// Returns the last lines of an events file that is too long; `None` when it is not.
pub fn pruned(bytes: &[u8]) -> Option<Vec<u8>> {
    let is_long = ndjson::line_count(bytes) > EVENTS_MAX;
    is_long.then(|| ndjson::keep_last(bytes, EVENTS_KEPT))
}

impl DashboardState {
    /// Parses a state file; missing or broken parts count as empty.
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

    /// Updates the pins for an event and returns whether they changed.
    ///
    /// A question or an error adds a pin. Any other event of a phase shows that the phase goes on,
    /// and removes its pins. A pin without a phase stays.
    pub fn record_event(&mut self, event: &Event) -> bool {
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

/// Compares phases by number, or as text when one of them is not a number.
fn same_phase(a: &str, b: &str) -> bool {
    match (PhaseNumber::parse(a), PhaseNumber::parse(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}
