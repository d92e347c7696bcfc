//! Protocol-independent types: a request as a conversation, and the model's reply.
//!
//! Each protocol module converts its own JSON into these types and back. No other module reads it.

use serde_json::Value;

use super::scripts::TokenCounts;

/// A protocol of a language model's HTTP interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Anthropic's Messages: Claude Code.
    Anthropic,
    /// OpenAI's Responses: Codex.
    Responses,
    /// OpenAI's Chat Completions: OpenCode and many others.
    Chat,
    /// Google's Gemini: Gemini CLI.
    Gemini,
}

/// The author of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    User,
    Assistant,
    Tool,
}

#[derive(Debug)]
pub(super) struct Turn {
    pub(super) speaker: Speaker,
    pub(super) text: String,
}

/// A tool that the model may call.
#[derive(Debug)]
pub(super) struct OfferedTool {
    /// The name, prefixed with the namespace if there is one.
    pub(super) name: String,
    /// The namespace, and the name within it.
    pub(super) space: Option<(String, String)>,
    /// Whether the tool takes plain text instead of JSON.
    pub(super) takes_text: bool,
}

/// A prompt, independent of its protocol.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    pub(super) model: String,
    pub(super) system: String,
    pub(super) turns: Vec<Turn>,
    pub(super) offered_tools: Vec<OfferedTool>,
    /// Whether the client wants the answer as a stream of events.
    pub(super) is_streamed: bool,
}

impl Conversation {
    pub(super) fn add(&mut self, speaker: Speaker, text: String) {
        self.turns.push(Turn { speaker, text });
    }

    pub(super) fn add_system(&mut self, text: &str) {
        if !self.system.is_empty() {
            self.system.push('\n');
        }
        self.system.push_str(text);
    }

    pub(super) fn add_tool(&mut self, name: &Value, takes_text: bool) {
        if let Some(name) = name.as_str() {
            self.offered_tools.push(OfferedTool { name: name.to_owned(), space: None, takes_text });
        }
    }

    pub(super) fn add_namespaced_tool(&mut self, space: &str, tool: &Value) {
        if let Some(own) = tool["name"].as_str() {
            let name = format!("{}__{own}", space.trim_end_matches('_'));
            let space = Some((space.to_owned(), own.to_owned()));
            self.offered_tools.push(OfferedTool {
                name,
                space,
                takes_text: tool["type"] == "custom",
            });
        }
    }

    /// Returns the texts of one speaker, in order.
    pub(super) fn texts_by(&self, speaker: Speaker) -> impl DoubleEndedIterator<Item = &str> {
        self.turns.iter().filter(move |turn| turn.speaker == speaker).map(|turn| turn.text.as_str())
    }
}

/// A tool call of the model.
#[derive(Debug, PartialEq)]
pub(super) struct ToolCall {
    pub(super) id: String,
    pub(super) name: String,
    /// The namespace of the tool.
    pub(super) space: Option<String>,
    /// An object, or a string for tools that take text.
    pub(super) input: Value,
}

/// The reply of the model.
#[derive(Debug, Default)]
pub(super) struct ModelReply {
    /// Unique for each reply.
    pub(super) id: String,
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) usage: TokenCounts,
}

/// A reply encoded for a protocol.
#[derive(Debug)]
pub(super) enum ResponseBody {
    Whole(Value),
    /// Events with their names; the name is empty where the protocol has none.
    Events(Vec<(&'static str, Value)>),
}

/// The text in a message's content, which is a string, a list of parts, or one part.
pub(super) fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(content_text).filter(|text| !text.is_empty());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(part) => {
            let keys = ["text", "content", "output", "parts"];
            keys.iter().find_map(|key| part.get(*key)).map(content_text).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// Returns the entries of a required list.
pub(super) fn list<'a>(body: &'a Value, key: &str) -> Result<&'a Vec<Value>, String> {
    body[key].as_array().ok_or_else(|| format!("`{key}` must be a list"))
}

/// Returns the entries of an optional list.
pub(super) fn entries<'a>(body: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    body[key].as_array().into_iter().flatten()
}

/// Splits a text into pieces of 40 characters, as a streaming model does.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(40).map(|piece| piece.iter().collect()).collect()
}
