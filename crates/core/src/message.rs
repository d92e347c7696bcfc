//! The messages of workers and lead: thirteen types, their required fields and their summaries.
//!
//! A message is one JSON object on one line: `v`, `type`, `ts`, then fields. Times come in as
//! values and nothing is sent here. Writing is strict, reading is tolerant: an unknown version is a
//! warning. Start with [`MessageKind`], then [`Message::new`] and [`parse`].

mod bounded;
mod kind;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};
use thiserror::Error;

pub use bounded::STATUS_REF;
pub use kind::MessageKind;

/// The schema version that is written; all versions from 1 up to it are read.
pub const VERSION: u64 = 2;
/// The most bytes that a message should have when it is sent.
pub const BYTES_MAX: usize = 1024;
/// The most characters of `activity` that are kept.
const ACTIVITY_CHARS_MAX: usize = 40;
/// The keys of the envelope, which a caller cannot set.
pub const ENVELOPE: [&str; 3] = ["v", "type", "ts"];
/// The plan of an error that concerns no plan.
const NO_PLAN: &str = "-";

/// The known values of `input_type`; others are allowed and cause a warning.
pub const INPUT_TYPES: [&str; 7] = [
    "discussion_prompt",
    "permission_prompt",
    "error_resolution",
    "worker_failed",
    "verification_question",
    "planning_approval",
    "stage_gate",
];

/// The fields of a message by name, in the order in which they were set.
pub type Fields = Map<String, Value>;

/// Why a text is not a valid message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MessageError {
    /// The text is not JSON.
    #[error("Invalid JSON: {0}")]
    NotJson(String),
    /// The `type` field is missing.
    #[error("Missing type field")]
    MissingType,
    /// The type is unknown.
    #[error("Unknown event type: {0}")]
    UnknownType(String),
    /// Required fields are missing.
    #[error("Missing required fields for {}: {}", kind.name(), fields.join(", "))]
    MissingFields {
        /// The type of the message.
        kind: MessageKind,
        /// The names of the missing fields.
        fields: Vec<&'static str>,
    },
}

/// A valid message without its envelope.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    kind: MessageKind,
    fields: Fields,
}

impl Message {
    /// Validates the fields of a caller.
    ///
    /// An error may be given as `detail` and without a plan. Envelope keys are dropped, and a long
    /// `activity` is truncated.
    pub fn new(kind: MessageKind, mut fields: Fields) -> Result<Self, MessageError> {
        fields.retain(|key, _| !ENVELOPE.contains(&key.as_str()));
        if kind == MessageKind::Error && is_set(&fields, "phase") {
            complete_error(&mut fields);
        }
        if let Some(Value::String(activity)) = fields.get_mut("activity")
            && let Some((end, _)) = activity.char_indices().nth(ACTIVITY_CHARS_MAX)
        {
            activity.truncate(end);
        }
        require(kind, &fields)?;
        Ok(Self { kind, fields })
    }

    /// Returns the type of the message.
    pub fn kind(&self) -> MessageKind {
        self.kind
    }

    /// Returns the fields without the envelope.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Returns the `input_type` of the message when it is an unknown one.
    pub fn unknown_input_type(&self) -> Option<&str> {
        let input_type =
            self.fields.get("input_type").filter(|_| self.kind == MessageKind::InputNeeded);
        input_type.and_then(Value::as_str).filter(|word| !INPUT_TYPES.contains(word))
    }

    /// Returns whether the phase cannot continue: an error, or a blocker that halts.
    pub fn is_failure(&self) -> bool {
        let halts = self.fields.get("action").and_then(Value::as_str) == Some("halt");
        self.kind == MessageKind::Error || (self.kind == MessageKind::Blocker && halts)
    }

    /// Returns the message in one line for people.
    pub fn summary(&self) -> String {
        self.kind.summary(&self.fields)
    }

    /// Returns an unchecked object in one line for people; for an invalid one, the error.
    pub fn summary_of(object: &Fields) -> String {
        kind_of(object).map_or_else(|refusal| refusal.to_string(), |kind| kind.summary(object))
    }

    /// Returns the message as compact JSON, on request with its summary.
    pub fn render(&self, ts: &str, with_summary: bool) -> String {
        let mut object = Map::new();
        object.insert("v".to_owned(), json!(VERSION));
        object.insert("type".to_owned(), json!(self.kind.name()));
        object.insert("ts".to_owned(), json!(ts));
        object.extend(self.fields.clone());
        if with_summary {
            object.shift_remove("summary");
            object.insert("summary".to_owned(), json!(self.summary()));
        }
        Value::Object(object).to_string()
    }
}

/// Fills in `error` from `detail`, and the plan of an error that concerns none.
fn complete_error(fields: &mut Fields) {
    if !is_set(fields, "error")
        && let Some(detail) = fields.get("detail").filter(|detail| !detail.is_null()).cloned()
    {
        fields.insert("error".to_owned(), detail);
    }
    if is_set(fields, "error") && !is_set(fields, "plan") {
        fields.insert("plan".to_owned(), json!(NO_PLAN));
    }
}

fn is_set(fields: &Fields, key: &str) -> bool {
    fields.get(key).is_some_and(|value| !value.is_null())
}

fn require(kind: MessageKind, fields: &Fields) -> Result<(), MessageError> {
    // Acknowledging that a phase is cancelled concerns no plan.
    let cancels =
        kind == MessageKind::Ack && fields.get("ref_type").is_some_and(|word| word == "cancel");
    let needed = kind.required().iter().filter(|key| !(cancels && **key == "ref_plan"));
    let missing: Vec<_> = needed.filter(|key| !is_set(fields, key)).copied().collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(MessageError::MissingFields { kind, fields: missing })
    }
}

/// The result of parsing a message.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedMessage {
    /// The whole object as sent; empty when the text is not a JSON object.
    pub object: Fields,
    /// Problems that do not make the message invalid.
    pub warnings: Vec<String>,
    /// The type, or why the message is invalid.
    pub kind: Result<MessageKind, MessageError>,
}

/// Parses a message.
pub fn parse(text: &str) -> ParsedMessage {
    let object = match serde_json::from_str(text) {
        Ok(Value::Object(object)) => object,
        // JSON that is not an object has no type.
        Ok(_) => Fields::new(),
        Err(error) => {
            let kind = Err(MessageError::NotJson(error.to_string()));
            return ParsedMessage { object: Fields::new(), warnings: Vec::new(), kind };
        }
    };
    let kind = kind_of(&object);
    ParsedMessage { warnings: version_warning(&object).into_iter().collect(), kind, object }
}

fn kind_of(object: &Fields) -> Result<MessageKind, MessageError> {
    let name = match object.get("type") {
        None | Some(Value::Null | Value::Bool(false)) => return Err(MessageError::MissingType),
        Some(Value::String(name)) if name.is_empty() => return Err(MessageError::MissingType),
        Some(Value::String(name)) => name.clone(),
        Some(other) => other.to_string(),
    };
    let kind = MessageKind::parse(&name).ok_or(MessageError::UnknownType(name))?;
    require(kind, object)?;
    Ok(kind)
}

fn version_warning(object: &Fields) -> Option<String> {
    match object.get("v") {
        None => Some("Missing schema version".to_owned()),
        Some(Value::Number(version)) => {
            let is_known = version.as_f64().is_some_and(|v| v == 1.0 || v == VERSION as f64);
            let text =
                || format!("Unknown schema version {version}; the newest known is {VERSION}");
            (!is_known).then(text)
        }
        Some(_) => Some("Schema version is not a number".to_owned()),
    }
}

/// What a worker does when it is blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockerMode {
    /// The worker continues with other plans.
    Skip,
    /// The worker waits for an answer.
    Strict,
}

impl BlockerMode {
    /// Parses a mode; `pause` is an older name of `strict`.
    pub fn parse(word: &str) -> Option<Self> {
        match word.trim() {
            "skip" => Some(Self::Skip),
            "strict" | "pause" => Some(Self::Strict),
            _ => None,
        }
    }

    /// Returns the name that settings use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Strict => "strict",
        }
    }
}
