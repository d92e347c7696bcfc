//! What all protocols have in common: a request as a conversation, and the reply to it.
//!
//! The files of the protocols turn their own JSON into these and back; nothing else knows that JSON.

use serde_json::Value;

use super::scripts::Usage;

/// A way to talk to a language model.
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

/// Who said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    User,
    Assistant,
    Tool,
}

#[derive(Debug)]
pub(super) struct Turn {
    pub(super) who: Who,
    pub(super) text: String,
}

/// A tool that the model may call.
#[derive(Debug)]
pub(super) struct Offer {
    /// With its group's name in front of it, if it is one of a group.
    pub(super) name: String,
    /// The group, and the name within it.
    pub(super) space: Option<(String, String)>,
    /// Whether it takes plain text in place of JSON.
    pub(super) takes_text: bool,
}

/// A prompt, whoever sent it.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    pub(super) model: String,
    pub(super) system: String,
    pub(super) turns: Vec<Turn>,
    pub(super) offers: Vec<Offer>,
    /// Whether the answer is to come as a stream of events.
    pub(super) is_streamed: bool,
}

impl Conversation {
    pub(super) fn add(&mut self, who: Who, text: String) {
        self.turns.push(Turn { who, text });
    }

    pub(super) fn add_system(&mut self, text: &str) {
        if !self.system.is_empty() {
            self.system.push('\n');
        }
        self.system.push_str(text);
    }

    pub(super) fn offer(&mut self, name: &Value, takes_text: bool) {
        if let Some(name) = name.as_str() {
            self.offers.push(Offer { name: name.to_owned(), space: None, takes_text });
        }
    }

    pub(super) fn offer_in(&mut self, space: &str, tool: &Value) {
        if let Some(own) = tool["name"].as_str() {
            let name = format!("{}__{own}", space.trim_end_matches('_'));
            let space = Some((space.to_owned(), own.to_owned()));
            self.offers.push(Offer { name, space, takes_text: tool["type"] == "custom" });
        }
    }

    /// What was said by somebody, in order.
    pub(super) fn said_by(&self, who: Who) -> impl DoubleEndedIterator<Item = &str> {
        self.turns.iter().filter(move |turn| turn.who == who).map(|turn| turn.text.as_str())
    }
}

/// A call of a tool.
#[derive(Debug, PartialEq)]
pub(super) struct ToolCall {
    pub(super) id: String,
    pub(super) name: String,
    /// The group that the name belongs to.
    pub(super) space: Option<String>,
    /// An object, or a string for tools that take text.
    pub(super) input: Value,
}

/// What the model says.
#[derive(Debug, Default)]
pub(super) struct Reply {
    /// Different in every reply.
    pub(super) id: String,
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) usage: Usage,
}

/// A reply in the words of a protocol.
#[derive(Debug)]
pub(super) enum Wire {
    Whole(Value),
    /// Each with its name, where the protocol names them.
    Events(Vec<(&'static str, Value)>),
}

/// The text in a message's content, which is a string, a list of parts, or one part.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(text_of).filter(|text| !text.is_empty());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(part) => {
            let keys = ["text", "content", "output", "parts"];
            keys.iter().find_map(|key| part.get(*key)).map(text_of).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// The entries of a list that must be there.
pub(super) fn list<'a>(body: &'a Value, key: &str) -> Result<&'a Vec<Value>, String> {
    body[key].as_array().ok_or_else(|| format!("`{key}` must be a list"))
}

/// The entries of a list that may be missing.
pub(super) fn entries<'a>(body: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    body[key].as_array().into_iter().flatten()
}

/// Cuts a text as a model does that thinks while it speaks.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(40).map(|piece| piece.iter().collect()).collect()
}
