//! Defines scripts and chooses the step that answers a conversation.
//!
//! Scripts are built in Rust or parsed from JSON, where every field is optional except tool names. The
//! choice depends on nothing but the conversation.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::conversation::{Conversation, Speaker};

/// The turns of a model in a conversation. After the last step the model answers "done".
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// The name in `[[script:NAME]]`. Several scripts may share it, with different [`Script::when`]s.
    pub name: String,
    /// Texts that the system prompt or the first user messages must all contain. Without a marker the
    /// first matching script answers; a script without such texts needs a marker.
    pub when: Vec<String>,
    /// Whether the script also answers requests without tools, which agents send for titles.
    pub toolless: bool,
    /// The turns.
    pub steps: Vec<Step>,
}

/// One turn of the model. In its strings `${k}` becomes `v` when the user wrote `[[k=v]]`, and
/// `${last_tool_result}` becomes the result of the last tool.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Step {
    /// The text of the turn.
    pub text: String,
    /// The tool calls of the turn.
    pub tools: Vec<Tool>,
    /// The delay before the answer in milliseconds; at most three minutes.
    pub delay_ms: u64,
    /// Fails with this HTTP status.
    pub status: Option<u16>,
    /// How often the step fails or drops the connection before it answers; `None` means always.
    /// Counted for all conversations together.
    pub times: Option<u32>,
    /// The value of the header `Retry-After`, in seconds.
    pub retry_after: Option<u32>,
    /// The protocol's error code, instead of the usual one.
    pub code: Option<String>,
    /// The error message, instead of the usual one.
    pub message: Option<String>,
    /// Drops the connection in the middle of the answer.
    pub drop: bool,
    /// The token counts to report.
    pub usage: TokenCounts,
    /// Answers only after [`super::ScriptedLlm::let_go`] of this name. Fails after three minutes.
    pub hold: Option<String>,
}

/// Token counts of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenCounts {
    /// Input tokens, without cache reads.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens read from the cache.
    pub cache_read: u64,
}

impl Default for TokenCounts {
    fn default() -> Self {
        Self { input: 100, output: 20, cache_read: 0 }
    }
}

/// A tool call in a script.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Tool {
    /// A call that is translated into the agent's own tool.
    Portable(Portable),
    /// A call by exactly this name, offered or not.
    Named {
        /// The name of the tool.
        name: String,
        /// What it is given.
        #[serde(default)]
        input: Value,
    },
    /// A call of the first of these tools that the agent offers.
    FirstOf {
        /// The names of the tools.
        names: Vec<String>,
        /// What it is given.
        #[serde(default)]
        input: Value,
    },
}

/// An action that every agent has a tool for.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Portable {
    /// Runs a command by the shell.
    Sh {
        /// The command.
        cmd: String,
    },
    /// Writes a file.
    Write {
        /// The path of the file.
        path: String,
        /// The whole content.
        content: String,
    },
    /// Asks the user to choose.
    Ask {
        /// The question.
        question: String,
        /// The choices.
        options: Vec<String>,
    },
}

impl Script {
    /// Creates an empty script.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Parses a script from JSON.
    ///
    /// # Errors
    /// Fails when the text is not a script; the error names the position.
    pub fn parse_json(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// Requires a text in the system prompt or in the first user messages.
    #[must_use]
    pub fn when(mut self, text: &str) -> Self {
        self.when.push(text.to_owned());
        self
    }

    /// Adds a turn.
    #[must_use]
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Adds a turn of text without tools, which ends the agent's work.
    #[must_use]
    pub fn says(self, text: &str) -> Self {
        self.step(Step::text(text))
    }

    fn fits(&self, opening: &str) -> bool {
        self.when.iter().all(|text| opening.contains(text.as_str()))
    }

    /// The turn of this number.
    fn turn(&self, number: usize) -> Step {
        self.steps.get(number).cloned().unwrap_or_else(|| Step::text("done"))
    }
}

impl Step {
    /// A turn that says something.
    pub fn text(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// A turn that runs a command.
    pub fn sh(cmd: &str) -> Self {
        Self::default().tool(Tool::Portable(Portable::Sh { cmd: cmd.to_owned() }))
    }

    /// A turn that writes a file.
    pub fn write(path: &str, content: &str) -> Self {
        let (path, content) = (path.to_owned(), content.to_owned());
        Self::default().tool(Tool::Portable(Portable::Write { path, content }))
    }

    /// A turn that asks the user to choose.
    pub fn ask(question: &str, options: &[&str]) -> Self {
        let options = options.iter().map(|&option| option.to_owned()).collect();
        let question = question.to_owned();
        Self::default().tool(Tool::Portable(Portable::Ask { question, options }))
    }

    /// A turn that calls a tool by its name.
    pub fn call(name: &str, input: Value) -> Self {
        Self::default().tool(Tool::Named { name: name.to_owned(), input })
    }

    /// Calls one more tool in the same turn.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Fails this often with an HTTP status before it answers; without a number it never answers.
    #[must_use]
    pub fn fails(mut self, status: u16, times: impl Into<Option<u32>>) -> Self {
        self.status = Some(status);
        self.times = times.into();
        self
    }

    /// Holds the answer until the test releases this name.
    #[must_use]
    pub fn hold(mut self, name: &str) -> Self {
        self.hold = Some(name.to_owned());
        self
    }

    /// Drops the connection in the middle of the answer, this often or always.
    #[must_use]
    pub fn drops(mut self, times: impl Into<Option<u32>>) -> Self {
        self.drop = true;
        self.times = times.into();
        self
    }

    /// Sets the token counts.
    #[must_use]
    pub fn usage(mut self, usage: TokenCounts) -> Self {
        self.usage = usage;
        self
    }
}

/// The step that answers a conversation.
#[derive(Debug)]
pub(super) struct ChosenStep {
    pub(super) script: String,
    pub(super) number: usize,
    pub(super) step: Step,
}

static MARKER: LazyLock<Regex> = LazyLock::new(|| regex(r"\[\[script:([A-Za-z0-9_.-]+)\]\]"));
static SETTING: LazyLock<Regex> = LazyLock::new(|| regex(r"\[\[([A-Za-z0-9_]+)=(.*?)\]\]"));
static VARIABLE: LazyLock<Regex> = LazyLock::new(|| regex(r"\$\{([A-Za-z0-9_]+)\}"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is sound")
}

/// Chooses the step that answers; returns `None` when no script applies.
///
/// # Errors
/// Fails when a marker names a script that does not exist.
pub(super) fn choose(
    scripts: &[Script],
    conversation: &Conversation,
) -> Result<Option<ChosenStep>, String> {
    let is_marked = |text: &str| MARKER.is_match(text);
    let at = conversation
        .turns
        .iter()
        .rposition(|turn| turn.speaker == Speaker::User && is_marked(&turn.text));
    let name = at.and_then(|at| {
        let last = MARKER.captures_iter(&conversation.turns[at].text).last();
        last.map(|found| found[1].to_owned())
    });
    let opening = opening(conversation);
    let script = match &name {
        Some(name) => scripts.iter().find(|script| script.name == *name && script.fits(&opening)),
        None => scripts.iter().find(|script| !script.when.is_empty() && script.fits(&opening)),
    };
    let Some(script) = script else {
        return match name {
            Some(name) => Err(format!("no script is called {name:?} and fits the prompt")),
            None => Ok(None),
        };
    };
    if conversation.offered_tools.is_empty() && !script.toolless {
        return Ok(None);
    }
    let number = assistant_turns(conversation, at.map_or(0, |at| at + 1));
    let step = fill(&script.turn(number), conversation)?;
    Ok(Some(ChosenStep { script: script.name.clone(), number, step }))
}

/// The system prompt and the user's messages before the first answer of the model.
fn opening(conversation: &Conversation) -> String {
    let first = conversation.turns.iter().take_while(|turn| turn.speaker != Speaker::Assistant);
    let prompt = first.filter(|turn| turn.speaker == Speaker::User).map(|turn| turn.text.as_str());
    [conversation.system.as_str()].into_iter().chain(prompt).collect::<Vec<_>>().join("\n")
}

/// Counts the turns of the model. Text and tool calls of one answer are one turn, even where a
/// protocol has an entry for each.
fn assistant_turns(conversation: &Conversation, from: usize) -> usize {
    let mut turns = 0;
    let mut before = Speaker::User;
    for turn in &conversation.turns[from..] {
        turns += usize::from(turn.speaker == Speaker::Assistant && before != Speaker::Assistant);
        before = turn.speaker;
    }
    turns
}

fn fill(step: &Step, conversation: &Conversation) -> Result<Step, String> {
    let mut values = HashMap::new();
    for text in conversation.texts_by(Speaker::User) {
        for setting in SETTING.captures_iter(text) {
            values.insert(setting[1].to_owned(), setting[2].to_owned());
        }
    }
    if let Some(result) = conversation.texts_by(Speaker::Tool).next_back() {
        values.insert("last_tool_result".to_owned(), result.to_owned());
    }
    let broken = |error: serde_json::Error| format!("a step cannot be filled in: {error}");
    let mut value = serde_json::to_value(step).map_err(broken)?;
    fill_strings(&mut value, &values);
    serde_json::from_value(value).map_err(broken)
}

/// Replaces known variables; unknown ones stay, because they may be shell variables.
fn fill_strings(value: &mut Value, values: &HashMap<String, String>) {
    match value {
        Value::String(text) => {
            let filled = VARIABLE.replace_all(text, |found: &regex::Captures<'_>| {
                values.get(&found[1]).cloned().unwrap_or_else(|| found[0].to_owned())
            });
            *text = filled.into_owned();
        }
        Value::Array(entries) => entries.iter_mut().for_each(|entry| fill_strings(entry, values)),
        Value::Object(fields) => fields.values_mut().for_each(|field| fill_strings(field, values)),
        _ => {}
    }
}
