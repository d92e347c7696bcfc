//! Runs one coding agent: starts its program, speaks its language, and ends it with all it started.
//!
//! An agent is told a prompt and works until it is done, fails, is stopped, or is parked. What it asks
//! meanwhile goes to a [`Counterpart`]. Nothing here decides what an agent may do, tries anything
//! again, or remembers a run: whoever calls does. What an agent says is data, of bounded size.
//!
//! [`run`] blocks; each agent has a thread of its caller's. When it returns, whatever way, no process
//! of the agent is left. Should the caller be killed, its token (see [`crate::process::TOKEN`]), which
//! the environment of the job must hold, tells whom to end.

mod acp;
mod claude;
mod codex;
pub mod detect;
pub mod environment;
mod pump;
mod rpc;
mod trouble;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::process::ProcessError;
use crate::pulse::Sign;
use crate::stop::Stop;

pub use trouble::Trouble;

/// The languages that agents are spoken to in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Claude Code, by its stream of JSON with control messages.
    Claude,
    /// Codex, by its app server.
    Codex,
    /// Any other, by the Agent Client Protocol.
    Acp,
}

/// What an agent is to do, and within which bounds.
#[derive(Clone, Debug)]
pub struct Job {
    /// The program.
    pub program: PathBuf,
    /// Arguments that come before those which the driver needs.
    pub args: Vec<String>,
    /// All of its environment (see [`environment`]), the worker's token among it.
    pub env: Vec<(OsString, OsString)>,
    /// Where it works.
    pub cwd: PathBuf,
    /// What it is told first. A session that goes on by itself when it is resumed is not told.
    pub prompt: String,
    /// What is added to its system prompt.
    pub system: Option<String>,
    /// The model, by the agent's own name for it.
    pub model: Option<String>,
    /// Whether it begins or goes on.
    pub session: Session,
    /// What it may do without asking.
    pub access: Access,
    /// Programs that serve it tools, for agents which cannot be served otherwise ([`Kind::Acp`]).
    pub servers: Vec<ToolServer>,
    /// Its bounds.
    pub limits: Limits,
    /// The file for what is said in both directions; an earlier one is replaced.
    pub log: PathBuf,
    /// After how long without a sign of life it is stuck; `None` when nobody wants to know.
    pub stuck_after: Option<Duration>,
    /// The files and directories whose changes are signs of life.
    pub watched: Vec<PathBuf>,
}

/// Whether a session begins or goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Session {
    /// A new one.
    New,
    /// The one that [`Event::Started`] told of, where it was left: parked, stopped or killed.
    Resume(String),
}

/// What an agent may do without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Look; its tools for editing are taken away where that can be done.
    Read,
    /// Edit files below its directory, too.
    Edit,
}

/// A program that serves tools by the Model Context Protocol, on its standard streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolServer {
    /// What the agent knows it by.
    pub name: String,
    /// The program.
    pub command: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables on top of the agent's own.
    pub env: Vec<(String, String)>,
}

/// The bounds of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// How many dollars it may spend, where the agent counts them.
    pub usd: Option<f64>,
    /// How many tokens it may use, where it tells of them while it works. The answer that reaches the
    /// bound is not cut off; going on after it is.
    pub tokens: Option<u64>,
    /// How many times it may go to its model, where the agent counts that.
    pub turns: Option<u32>,
    /// How long it may take; the time that its questions take is not counted.
    pub wall: Option<Duration>,
    /// The longest line it may say.
    pub line_bytes: usize,
    /// How much it may say in all.
    pub all_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        // A line may carry a picture, and an agent that works for hours says a lot.
        Self {
            usd: None,
            tokens: None,
            turns: None,
            wall: None,
            line_bytes: 32 << 20,
            all_bytes: 2 << 30,
        }
    }
}

/// What happens while an agent works.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It works in this session, which can be resumed by this name.
    Started {
        /// The name.
        session: String,
    },
    /// It said something.
    Text(String),
    /// It uses a tool.
    Tool {
        /// The agent's own name of it.
        name: String,
        /// What it is used for, in a line.
        summary: String,
    },
    /// Its model did not answer; it tries again by itself.
    Retry {
        /// The status of the answer, if there was one.
        status: Option<u16>,
        /// After how long.
        wait_ms: u64,
        /// The agent's word for it.
        reason: String,
    },
    /// It used this since the last time; the sum is what this run used.
    Usage(Usage),
    /// It shows no sign of life, or does so again.
    Sign(Sign),
}

/// What was used of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that it read, those from its cache not counted.
    pub input: u64,
    /// Tokens that it wrote.
    pub output: u64,
    /// Tokens that it read from its cache.
    pub cached: u64,
    /// What that cost, where the agent says so.
    pub usd: Option<f64>,
}

impl Usage {
    /// Returns the tokens that count, which are not those from a cache.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// Something that an agent needs an answer to before it goes on.
///
/// The id is the same when the same thing is asked again by a session that was parked or killed and
/// then resumed. Two requests for the very same permission in one session have one id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// May it use this tool?
    Permission {
        /// What it is known by.
        id: String,
        /// The agent's own name of the tool.
        tool: String,
        /// What it would do, in a line.
        text: String,
        /// What the tool would get.
        input: Value,
    },
    /// Which of these?
    Question {
        /// What it is known by.
        id: String,
        /// At least one.
        questions: Vec<Question>,
    },
}

impl Ask {
    /// Returns what it is known by.
    pub fn id(&self) -> &str {
        match self {
            Self::Permission { id, .. } | Self::Question { id, .. } => id,
        }
    }
}

/// One question to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The question.
    pub text: String,
    /// What it is about, in a word.
    pub header: String,
    /// What can be chosen; none when any words will do.
    pub choices: Vec<Choice>,
    /// Whether more than one may be chosen.
    pub many: bool,
}

/// One thing that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Its name, which is the answer.
    pub label: String,
    /// What it means.
    pub description: String,
}

/// What an agent is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It may.
    Allow,
    /// It may not, or gets no answer, for this reason.
    Deny(String),
    /// An answer to each question, in their order; several choices are joined by `, `.
    Answer(Vec<String>),
    /// Nobody knows yet: end it. Its session can be resumed, and asks again.
    Park,
}

/// A tool that mow itself serves to an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of what it gets.
    pub schema: Value,
}

/// Who an agent speaks with. Called in the thread of [`run`], one at a time.
pub trait Counterpart {
    /// Is told what happens.
    fn told(&mut self, event: Event);
    /// Is asked something. The agent waits, so this should not take long: there is [`Reply::Park`].
    fn asked(&mut self, ask: &Ask) -> Reply;
    /// Does what a tool is for; an error goes back to the agent, too.
    fn called(&mut self, tool: &str, input: &Value) -> Result<String, String>;
    /// Returns the tools that it serves. Asked once, before the agent begins; agents that are spoken
    /// to by [`Kind::Acp`] do not get them.
    fn tools(&self) -> Vec<ToolSpec>;
    /// Returns what the agent is to be told before its next turn, and does not return it again.
    fn messages(&mut self) -> Vec<String>;
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// The agent says that it is done.
    Done {
        /// Its last words.
        text: String,
    },
    /// It waits for an answer, and holds no process. To be resumed when there is one.
    Parked {
        /// What it asked.
        ask: Ask,
    },
    /// It was stopped. What it began may be half done.
    Stopped,
    /// It did not do it.
    Failed {
        /// What kind of failure it is.
        kind: Trouble,
        /// What the agent said, or what there is to say about it.
        text: String,
    },
}

impl End {
    fn not_installed(job: &Job) -> Self {
        let text = format!("there is no program {}", job.program.display());
        Self::Failed { kind: Trouble::NotInstalled, text }
    }
}

/// What this machine could not do for an agent.
#[derive(Debug, Error)]
pub enum AgentError {
    /// It could not be started, though it is there.
    #[error("cannot start {program} in {cwd}")]
    Start {
        /// The program.
        program: PathBuf,
        /// Where it was to run.
        cwd: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What is said could not be kept.
    #[error("cannot write the log {path}")]
    Log {
        /// The log.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system did not tell how it goes.
    #[error("cannot watch the agent")]
    Watch {
        /// What the system said.
        source: io::Error,
    },
    /// It, or something it started, did not end.
    #[error("cannot end the agent")]
    End(#[from] ProcessError),
}

/// Lets an agent do a job, and waits until it and all it started are gone.
pub fn run(
    kind: Kind,
    job: &Job,
    counterpart: &mut dyn Counterpart,
    stop: &Stop,
) -> Result<End, AgentError> {
    match kind {
        Kind::Claude => claude::run(job, counterpart, stop),
        Kind::Codex => codex::run(job, counterpart, stop),
        Kind::Acp => acp::run(job, counterpart, stop),
    }
}

/// What a session is told that is resumed, has nothing to do by itself, and has no prompt.
const GO_ON: &str = "You were interrupted. Look at what is done, and go on. \
                     What you were about to ask for, ask for again.";

/// Returns a name for something that is asked, the same each time it is.
fn id_of(tool: &str, input: &Value) -> String {
    let mut input = input.clone();
    // A model that asks again may put things in another order, and describe them in other words.
    if let Some(fields) = input.as_object_mut() {
        fields.shift_remove("description");
    }
    input.sort_all_objects();
    // FNV-1a: the name is kept in journals, so it must be the same in every build.
    let text = format!("{tool}\n{input}");
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Puts what somebody or something said into one line of bounded length.
fn one_line(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests;
