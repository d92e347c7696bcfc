//! What a script is, and which step of which script answers a conversation.
//!
//! Scripts are made in Rust or read from JSON, where every field but the names may be left out. Choosing
//! looks at nothing but the conversation.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::conversation::{Conversation, Who};

/// What a model says in a conversation, turn by turn. Behind the last step it only says "done".
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// What `[[script:NAME]]` names. Several may have it, with different [`Script::when`]s.
    pub name: String,
    /// Texts that the system prompt or what the user said first must hold, all of them. Without a
    /// marker the first script is taken whose texts are there; one that asks for none needs a marker.
    pub when: Vec<String>,
    /// Whether it also answers requests that offer no tools. Agents send such on the side, for titles.
    pub toolless: bool,
    /// The turns.
    pub steps: Vec<Step>,
}

/// One turn of the model. In its strings `${k}` is `v` when the user said `[[k=v]]`, and
/// `${last_tool_result}` is what came of the last tool.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Step {
    /// What it says.
    pub text: String,
    /// What it calls.
    pub tools: Vec<Tool>,
    /// How long it thinks; a minute at most.
    pub delay_ms: u64,
    /// Answers with this HTTP status.
    pub status: Option<u16>,
    /// How often it fails or is cut before it answers; without end when there is no number. Counted
    /// for all conversations together.
    pub times: Option<u32>,
    /// The seconds of the header `Retry-After`.
    pub retry_after: Option<u32>,
    /// The protocol's name for the failure, in place of the usual one.
    pub code: Option<String>,
    /// What the failure says, in place of the usual.
    pub message: Option<String>,
    /// Cuts the connection in the middle of the answer.
    pub drop: bool,
    /// What the turn cost.
    pub usage: Usage,
    /// Answers only after [`super::ScriptedLlm::let_go`] of this name. A minute later it fails.
    pub hold: Option<String>,
}

/// Tokens of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// Read, without what was cached.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self { input: 100, output: 20, cache_read: 0 }
    }
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Tool {
    /// In the words of whichever agent asks.
    Portable(Portable),
    /// By this very name, offered or not.
    Named {
        /// The tool.
        name: String,
        /// What it is given.
        #[serde(default)]
        input: Value,
    },
    /// The first of these that is offered.
    FirstOf {
        /// The tools.
        names: Vec<String>,
        /// What it is given.
        #[serde(default)]
        input: Value,
    },
}

/// What every agent can do, each by a tool of its own.
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
        /// Where.
        path: String,
        /// All of it.
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
    /// Begins a script.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Reads a script.
    ///
    /// # Errors
    /// When the text is no script, with where.
    pub fn parse_json(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// Asks for a text in the system prompt or in what the user said first.
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

    /// Adds a turn that says something and ends the work.
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

    /// Waits for the test before it answers.
    #[must_use]
    pub fn hold(mut self, name: &str) -> Self {
        self.hold = Some(name.to_owned());
        self
    }

    /// Cuts the connection in the middle of the answer, this often or always.
    #[must_use]
    pub fn drops(mut self, times: impl Into<Option<u32>>) -> Self {
        self.drop = true;
        self.times = times.into();
        self
    }

    /// Says what the turn cost.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }
}

/// The step that answers a conversation.
#[derive(Debug)]
pub(super) struct Chosen {
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

/// Finds the step that answers; `None` when no script is meant.
///
/// # Errors
/// When a marker names a script that does not exist.
pub(super) fn choose(scripts: &[Script], talk: &Conversation) -> Result<Option<Chosen>, String> {
    let is_marked = |text: &str| MARKER.is_match(text);
    let at = talk.turns.iter().rposition(|turn| turn.who == Who::User && is_marked(&turn.text));
    let name = at.and_then(|at| {
        let last = MARKER.captures_iter(&talk.turns[at].text).last();
        last.map(|found| found[1].to_owned())
    });
    let opening = opening(talk);
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
    if talk.offers.is_empty() && !script.toolless {
        return Ok(None);
    }
    let number = assistant_turns(talk, at.map_or(0, |at| at + 1));
    let step = fill(&script.turn(number), talk)?;
    Ok(Some(Chosen { script: script.name.clone(), number, step }))
}

/// The system prompt and what the user said before the model said anything.
fn opening(talk: &Conversation) -> String {
    let first = talk.turns.iter().take_while(|turn| turn.who != Who::Assistant);
    let said = first.filter(|turn| turn.who == Who::User).map(|turn| turn.text.as_str());
    [talk.system.as_str()].into_iter().chain(said).collect::<Vec<_>>().join("\n")
}

/// Counts the turns of the model. What it said and what it called is one turn, even where a protocol
/// has an entry for each.
fn assistant_turns(talk: &Conversation, from: usize) -> usize {
    let mut turns = 0;
    let mut before = Who::User;
    for turn in &talk.turns[from..] {
        turns += usize::from(turn.who == Who::Assistant && before != Who::Assistant);
        before = turn.who;
    }
    turns
}

fn fill(step: &Step, talk: &Conversation) -> Result<Step, String> {
    let mut values = HashMap::new();
    for text in talk.said_by(Who::User) {
        for setting in SETTING.captures_iter(text) {
            values.insert(setting[1].to_owned(), setting[2].to_owned());
        }
    }
    if let Some(result) = talk.said_by(Who::Tool).next_back() {
        values.insert("last_tool_result".to_owned(), result.to_owned());
    }
    let broken = |error: serde_json::Error| format!("a step cannot be filled in: {error}");
    let mut value = serde_json::to_value(step).map_err(broken)?;
    fill_strings(&mut value, &values);
    serde_json::from_value(value).map_err(broken)
}

/// Fills in what is known; the shell has variables of its own.
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
