//! What the agents and commands of an attempt say and do, for people who watch them.
//!
//! The records are in a file of their own beside the logs of the attempt
//! ([`RunDir::activity`](mow_store::run_files::RunDir::activity)), not in a journal: nothing is
//! decided by them, they are not synced, and old ones are dropped. Writing them never fails a run.
//! [`ActivityWriter`] writes, [`ActivityReader`] reads while others write.
//!
//! All texts come from agents and commands. They are bounded here and cleaned where they are shown.

mod output_lines;
mod reader;
mod shell_command;
#[cfg(test)]
mod tests;
mod writer;

use mow_host::agent::{Event, ToolUse, cut_text};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use reader::ActivityReader;
pub(crate) use shell_command::run_shell;
pub use writer::{ActivityStream, ActivityWriter};

/// The role of records about checks.
pub const CHECK_ROLE: &str = "check";
/// The most bytes of one file. An attempt has two: the current one and the one before.
pub const FILE_BYTES_MAX: u64 = 4 << 20;
/// The most bytes of one record, with its line break.
const RECORD_BYTES_MAX: usize = 32 << 10;
/// The most bytes of a text of an agent or of a command.
const TEXT_BYTES_MAX: usize = 8 << 10;
/// The most bytes of each text in a record that would be too long otherwise.
const SHORT_BYTES_MAX: usize = 1 << 10;

/// Who says or does something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivitySource {
    /// The role of the agent or command, or [`CHECK_ROLE`].
    pub role: String,
    /// The plan; `None` if the work belongs to no plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The number of the task in its plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<usize>,
}

/// One record of an activity file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActivityRecord {
    /// Milliseconds since 1970.
    pub at: u64,
    /// Who it is about.
    #[serde(flatten)]
    pub source: ActivitySource,
    /// What happened.
    #[serde(flatten)]
    pub kind: ActivityKind,
}

/// What an agent or a command said or did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ActivityKind {
    /// A turn of an agent began.
    AgentStarted {
        /// The name of the agent.
        agent: String,
        /// The log with all its messages.
        log: String,
    },
    /// A shell command began.
    CommandStarted {
        /// The command.
        command: String,
        /// The log with its output.
        log: String,
    },
    /// The agent wrote a text.
    Text {
        /// The text; may have several lines.
        text: String,
    },
    /// The agent uses a tool.
    Tool {
        /// The agent's id of the call.
        call: String,
        /// The agent's name of the tool.
        name: String,
        /// The exact command, path or other main input.
        summary: String,
        /// The input. Long texts in it are cut.
        input: Value,
    },
    /// The agent uses a tool that edits files.
    Edit {
        /// The agent's id of the call.
        call: String,
        /// The agent's name of the tool.
        name: String,
        /// The files, relative to the worktree if they are in it.
        paths: Vec<String>,
        /// The input. Long texts in it are cut.
        input: Value,
    },
    /// A tool call has ended.
    Result {
        /// The agent's id of the call.
        call: String,
        /// Whether it succeeded.
        ok: bool,
        /// The beginning of what the agent got back.
        text: String,
    },
    /// A request to the model failed; the agent tries again.
    Retry {
        /// The reason in the agent's words.
        reason: String,
        /// How long the agent waits; 0 if unknown.
        wait_ms: u64,
    },
    /// The agent used tokens.
    Usage {
        /// Input tokens without cache reads.
        input_tokens: u64,
        /// Output tokens.
        output_tokens: u64,
        /// Input tokens read from the cache.
        cached_tokens: u64,
        /// Dollars; `None` if the agent does not report them.
        #[serde(default)]
        usd: Option<f64>,
    },
    /// A shell command printed a line.
    Output {
        /// The line.
        text: String,
    },
    /// A shell command printed more lines at once than are kept. They are in its log.
    Skipped {
        /// How many lines are missing here.
        lines: usize,
    },
    /// A turn or a command ended.
    Ended {
        /// Whether it succeeded.
        ok: bool,
        /// How it ended.
        text: String,
    },
    /// A record of a newer version.
    #[serde(other)]
    Unknown,
}

impl ActivityKind {
    /// Translates an event of an agent; `None` if it is of no interest to people.
    fn from_agent(event: &Event, relative: &dyn Fn(&str) -> String) -> Option<Self> {
        Some(match event {
            Event::Text(text) if text.trim().is_empty() => return None,
            Event::Text(text) => Self::Text { text: cut_text(text.trim(), TEXT_BYTES_MAX) },
            Event::Tool(ToolUse { id, name, summary, edits, input }) => {
                let (call, name, input) = (id.clone(), name.clone(), input.clone());
                if edits.is_empty() {
                    Self::Tool { call, name, summary: summary.clone(), input }
                } else {
                    let paths = edits.iter().map(|path| relative(path)).collect();
                    Self::Edit { call, name, paths, input }
                }
            }
            Event::ToolEnded(outcome) => Self::Result {
                call: outcome.id.clone(),
                ok: outcome.is_ok,
                text: outcome.text.clone(),
            },
            Event::Retry { reason, wait_ms, .. } => {
                Self::Retry { reason: cut_text(reason, SHORT_BYTES_MAX), wait_ms: *wait_ms }
            }
            Event::Usage(usage) => Self::Usage {
                input_tokens: usage.input,
                output_tokens: usage.output,
                cached_tokens: usage.cached,
                usd: usage.usd,
            },
            Event::Started { .. } | Event::Activity(_) => return None,
        })
    }

    /// Cuts all texts, so that the record is within its bound even if every character is escaped.
    fn shorten(&mut self) {
        let cut = |text: &mut String| *text = cut_text(text, SHORT_BYTES_MAX);
        match self {
            Self::AgentStarted { agent: text, log }
            | Self::CommandStarted { command: text, log } => {
                [text, log].into_iter().for_each(cut);
            }
            Self::Tool { call, name, summary, input } => {
                [call, name, summary].into_iter().for_each(cut);
                *input = Value::Null;
            }
            Self::Edit { call, name, paths, input } => {
                [call, name].into_iter().for_each(cut);
                paths.truncate(1);
                paths.iter_mut().for_each(cut);
                *input = Value::Null;
            }
            Self::Result { call, text, .. } => [call, text].into_iter().for_each(cut),
            Self::Text { text }
            | Self::Retry { reason: text, .. }
            | Self::Output { text }
            | Self::Ended { text, .. } => cut(text),
            Self::Usage { .. } | Self::Skipped { .. } | Self::Unknown => {}
        }
    }
}

impl ActivityRecord {
    /// Returns the record as one line of at most [`RECORD_BYTES_MAX`] bytes.
    fn line(&mut self) -> Vec<u8> {
        let to_line = |record: &Self| {
            let mut line = serde_json::to_vec(record).unwrap_or_default();
            line.push(b'\n');
            line
        };
        let line = to_line(self);
        if line.len() <= RECORD_BYTES_MAX {
            return line;
        }
        self.kind.shorten();
        to_line(self)
    }
}
