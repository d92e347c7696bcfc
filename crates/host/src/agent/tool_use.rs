//! A tool call of an agent and its result, cut to a bounded size.
//!
//! Both are shown to people and kept in files. They come from a model, so neither their size nor
//! their content can be relied on.

use serde_json::{Map, Value};

/// The most bytes of a tool call's input, and of its summary.
pub const INPUT_BYTES_MAX: usize = 4096;
/// The most bytes of a result's text.
pub const RESULT_BYTES_MAX: usize = 2048;
/// The most files that one call names as edited.
const EDITS_MAX: usize = 50;
/// The least that an element of an input counts, so that the number of elements is bounded, too.
const ELEMENT_BYTES_MIN: usize = 8;

/// A tool call of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    /// The agent's id of the call; [`ToolOutcome`] has the same id.
    pub id: String,
    /// The agent's own name of the tool.
    pub name: String,
    /// The exact command, path or other main input.
    pub summary: String,
    /// The files that the call edits; empty for other tools.
    pub edits: Vec<String>,
    /// The whole input. Long texts in it are cut.
    pub input: Value,
}

impl ToolUse {
    /// Creates a tool call; cuts all parts to their bounds.
    pub(super) fn new(id: &str, name: &str, summary: &str, input: &Value) -> Self {
        Self {
            id: cut_text(id, INPUT_BYTES_MAX),
            name: cut_text(name, INPUT_BYTES_MAX),
            summary: cut_text(summary.trim(), INPUT_BYTES_MAX),
            edits: Vec::new(),
            input: cut_input(input, &mut { INPUT_BYTES_MAX }),
        }
    }

    /// Sets the files that the call edits.
    pub(super) fn with_edits<'a>(mut self, paths: impl IntoIterator<Item = &'a str>) -> Self {
        let paths = paths.into_iter().filter(|path| !path.is_empty()).take(EDITS_MAX);
        self.edits = paths.map(|path| cut_text(path, INPUT_BYTES_MAX)).collect();
        self.edits.dedup();
        self
    }
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutcome {
    /// The id of the call.
    pub id: String,
    /// Whether the call succeeded.
    pub is_ok: bool,
    /// What the agent got back, cut to [`RESULT_BYTES_MAX`]; may be empty.
    pub text: String,
}

impl ToolOutcome {
    /// Creates a result; cuts its parts to their bounds.
    pub(super) fn new(id: &str, is_ok: bool, text: &str) -> Self {
        let id = cut_text(id, INPUT_BYTES_MAX);
        Self { id, is_ok, text: cut_text(text.trim(), RESULT_BYTES_MAX) }
    }
}

/// Returns the input by which people recognize a call: a command, a path, a pattern; else all of it.
pub(super) fn main_input(input: &Value) -> String {
    let keys = ["command", "file_path", "notebook_path", "path", "filePath", "pattern", "url"];
    let more = ["query", "description", "prompt"];
    let main = keys.iter().chain(&more).find_map(|key| input[*key].as_str());
    match (main, input) {
        (Some(main), _) => main.to_owned(),
        (None, Value::Null) => String::new(),
        (None, input) => cut_input(input, &mut { INPUT_BYTES_MAX }).to_string(),
    }
}

/// Returns the texts of a list of content blocks, or the content itself if it is a text.
pub(super) fn content_text(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let blocks = content.as_array().into_iter().flatten();
    let texts = blocks.filter_map(|block| {
        [&block["text"], &block["content"]["text"]].into_iter().find_map(Value::as_str)
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns a text that is cut to a number of bytes, with `…` at the end if anything is missing.
pub fn cut_text(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(bytes_max)])
}

/// Returns a value with at most about `left` bytes: texts are cut, then elements are left out.
fn cut_input(value: &Value, left: &mut usize) -> Value {
    *left = left.saturating_sub(ELEMENT_BYTES_MIN);
    match value {
        Value::String(text) => {
            let text = cut_text(text, *left);
            *left = left.saturating_sub(text.len());
            Value::String(text)
        }
        Value::Array(elements) => {
            let mut kept = Vec::new();
            for element in elements {
                if *left == 0 {
                    break;
                }
                kept.push(cut_input(element, left));
            }
            Value::Array(kept)
        }
        Value::Object(fields) => {
            let mut kept = Map::new();
            for (key, field) in fields {
                if *left == 0 {
                    break;
                }
                let key = cut_text(key, *left);
                *left = left.saturating_sub(key.len());
                kept.insert(key, cut_input(field, left));
            }
            Value::Object(kept)
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests;
