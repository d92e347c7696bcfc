//! The messages of workers and lead: thirteen types, what each must say, how each reads.
//!
//! A message is one JSON object on one line: `v`, `type`, `ts`, then fields. Times come in as
//! values and nothing is sent here. Writing is strict, reading is tolerant: a version that is not
//! known is a warning. Start with [`Kind`], then [`Message::new`] and [`parse`].

mod kind;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};
use thiserror::Error;

pub use kind::Kind;

/// The version that is written; all from 1 up to it are read.
pub const VERSION: u64 = 2;
/// The most bytes a message should have on its way.
pub const BYTES_MAX: usize = 1024;
/// The most characters of `activity` that are kept.
const ACTIVITY_CHARS_MAX: usize = 40;
/// Keys that belong to the envelope and never to a caller.
pub const ENVELOPE: [&str; 3] = ["v", "type", "ts"];
/// What stands for a plan where none is concerned.
const NO_PLAN: &str = "-";

/// The sorts of input that are known; others are allowed and noticed.
pub const INPUT_TYPES: [&str; 7] = [
    "discussion_prompt",
    "permission_prompt",
    "error_resolution",
    "worker_failed",
    "verification_question",
    "planning_approval",
    "stage_gate",
];

/// The fields of a message by name, in their order.
pub type Fields = Map<String, Value>;

/// Why something is no message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// It is not JSON.
    #[error("Invalid JSON: {0}")]
    NotJson(String),
    /// It does not say what it is.
    #[error("Missing type field")]
    MissingType,
    /// It is of a type that nobody knows.
    #[error("Unknown event type: {0}")]
    UnknownType(String),
    /// It does not say all that its type must.
    #[error("Missing required fields for {}: {}", kind.name(), fields.join(", "))]
    MissingFields {
        /// Its type.
        kind: Kind,
        /// What it does not say.
        fields: Vec<&'static str>,
    },
}

/// A message that says all it must, without its envelope.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    kind: Kind,
    fields: Fields,
}

impl Message {
    /// Makes a message of what a caller said.
    ///
    /// An error may come as `detail` and without a plan. Keys of the envelope are dropped, and a
    /// long activity is cut.
    pub fn new(kind: Kind, mut fields: Fields) -> Result<Self, Refusal> {
        fields.retain(|key, _| !ENVELOPE.contains(&key.as_str()));
        if kind == Kind::Error && is_said(&fields, "phase") {
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

    /// Returns its type.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns what it says.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Returns the sort of input it asks for, when that is none of the known ones.
    pub fn unknown_input_type(&self) -> Option<&str> {
        let input_type = self.fields.get("input_type").filter(|_| self.kind == Kind::InputNeeded);
        input_type.and_then(Value::as_str).filter(|word| !INPUT_TYPES.contains(word))
    }

    /// Returns whether its phase cannot go on: an error, or a blocker that halts.
    pub fn is_failure(&self) -> bool {
        let halts = self.fields.get("action").and_then(Value::as_str) == Some("halt");
        self.kind == Kind::Error || (self.kind == Kind::Blocker && halts)
    }

    /// Returns the message in one line for people.
    pub fn summary(&self) -> String {
        self.kind.summary(&self.fields)
    }

    /// Returns what somebody sent in one line for people, whatever it is.
    pub fn summary_of(object: &Fields) -> String {
        kind_of(object).map_or_else(|refusal| refusal.to_string(), |kind| kind.summary(object))
    }

    /// Returns the message as compact JSON, with its summary if that is wanted.
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

/// Lets an error be told as a detail, and without a plan when it concerns none.
fn complete_error(fields: &mut Fields) {
    if !is_said(fields, "error")
        && let Some(detail) = fields.get("detail").filter(|detail| !detail.is_null()).cloned()
    {
        fields.insert("error".to_owned(), detail);
    }
    if is_said(fields, "error") && !is_said(fields, "plan") {
        fields.insert("plan".to_owned(), json!(NO_PLAN));
    }
}

fn is_said(fields: &Fields, key: &str) -> bool {
    fields.get(key).is_some_and(|value| !value.is_null())
}

fn require(kind: Kind, fields: &Fields) -> Result<(), Refusal> {
    // Acknowledging that a phase is cancelled concerns no plan.
    let cancels = kind == Kind::Ack && fields.get("ref_type").is_some_and(|word| word == "cancel");
    let needed = kind.required().iter().filter(|key| !(cancels && **key == "ref_plan"));
    let missing: Vec<_> = needed.filter(|key| !is_said(fields, key)).copied().collect();
    if missing.is_empty() { Ok(()) } else { Err(Refusal::MissingFields { kind, fields: missing }) }
}

/// What was read of a text that should be a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// The whole object as sent; empty when there is none.
    pub object: Fields,
    /// What is odd about it, without making it invalid.
    pub warnings: Vec<String>,
    /// Its type, or why it is no message.
    pub kind: Result<Kind, Refusal>,
}

/// Reads a message.
pub fn parse(text: &str) -> Received {
    let object = match serde_json::from_str(text) {
        Ok(Value::Object(object)) => object,
        // What is JSON but no object has no type.
        Ok(_) => Fields::new(),
        Err(error) => {
            let kind = Err(Refusal::NotJson(error.to_string()));
            return Received { object: Fields::new(), warnings: Vec::new(), kind };
        }
    };
    let kind = kind_of(&object);
    Received { warnings: version_warning(&object).into_iter().collect(), kind, object }
}

fn kind_of(object: &Fields) -> Result<Kind, Refusal> {
    let name = match object.get("type") {
        None | Some(Value::Null | Value::Bool(false)) => return Err(Refusal::MissingType),
        Some(Value::String(name)) if name.is_empty() => return Err(Refusal::MissingType),
        Some(Value::String(name)) => name.clone(),
        Some(other) => other.to_string(),
    };
    let kind = Kind::parse(&name).ok_or(Refusal::UnknownType(name))?;
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
    /// It goes on with the next task that it can do.
    Skip,
    /// It waits for an answer.
    Strict,
}

impl BlockerMode {
    /// Reads a mode; `pause` is an older word for `strict`.
    pub fn parse(word: &str) -> Option<Self> {
        match word.trim() {
            "skip" => Some(Self::Skip),
            "strict" | "pause" => Some(Self::Strict),
            _ => None,
        }
    }

    /// Returns the word that is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Strict => "strict",
        }
    }
}
