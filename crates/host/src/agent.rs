//! Runs one coding agent: starts its program, speaks its protocol, and ends all its processes.
//!
//! An agent gets a prompt and works until it is done, fails, is stopped, or is parked. Its requests go
//! to [`AgentCallbacks`]. This module does not decide permissions, does not retry, and stores nothing
//! about a run: the caller does. Output of an agent is untrusted data of limited size.
//!
//! [`run`] blocks, so the caller gives each agent its own thread. When [`run`] returns, also with an
//! error, no process of the agent is left. If the caller is killed, its token identifies the processes
//! to end (see [`crate::launch::TOKEN_VARIABLE`]).

mod acp;
mod claude;
mod codex;
pub mod detect;
pub mod environment;
mod failure_kind;
mod json_line_process;
pub mod mcp;
mod rpc;
mod tool_use;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::launch::{AttemptMarks, LaunchError};
use crate::process::ProcessError;
use crate::stop_signal::StopSignal;
use crate::stuck_detector::ActivityChange;

pub use failure_kind::FailureKind;
pub use tool_use::{INPUT_BYTES_MAX, RESULT_BYTES_MAX, ToolOutcome, ToolUse, cut_text};

/// The protocol that an agent speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentKind {
    /// Claude Code: a stream of JSON lines with control messages.
    Claude,
    /// Codex: its app server.
    Codex,
    /// Any other agent: the Agent Client Protocol.
    Acp,
}

/// One run of an agent: its program, its prompt and its limits.
#[derive(Clone, Debug)]
pub struct AgentJob {
    /// The path of the agent's program.
    pub program: PathBuf,
    /// Arguments that come before those of the protocol.
    pub args: Vec<String>,
    /// The complete environment (see [`environment`]), except the marks.
    pub env: Vec<(OsString, OsString)>,
    /// The attempt that the agent works for.
    pub marks: AttemptMarks,
    /// The working directory.
    pub cwd: PathBuf,
    /// The first message. A resumed session that continues by itself does not get it.
    pub prompt: String,
    /// The agent's own name of the model; `None` for its default.
    pub model: Option<String>,
    /// Whether to start a session or resume one.
    pub session: AgentSession,
    /// What the agent may do without asking.
    pub access: Access,
    /// MCP servers that the agent starts; only for agents without another way to get tools
    /// ([`AgentKind::Acp`]).
    pub tool_servers: Vec<ToolServer>,
    /// Limits of cost, time and output.
    pub limits: Limits,
    /// The log of all messages in both directions; an existing file is replaced.
    pub log: PathBuf,
    /// After how long without activity the agent counts as stuck; `None` turns the detection off.
    pub stuck_after: Option<Duration>,
    /// Files and directories whose changes count as activity.
    pub watched_paths: Vec<PathBuf>,
}

/// Whether a run starts a new session or resumes one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentSession {
    /// Start a new session.
    New,
    /// Resume the session with this id, as [`Event::Started`] reported it. It was parked, stopped or
    /// killed.
    Resume(String),
}

/// What an agent may do without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Read files. Editing tools are disabled where the agent allows that.
    Read,
    /// Read files, and edit files below the working directory.
    Edit,
}

/// A program that serves tools over its standard streams by the Model Context Protocol (MCP).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolServer {
    /// The name under which the agent lists the server.
    pub name: String,
    /// The path of the server's program.
    pub command: PathBuf,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Variables in addition to the agent's environment.
    pub env: Vec<(String, String)>,
}

/// The limits of one run; `None` means no limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// The most dollars to spend, where the agent reports its cost.
    pub usd: Option<f64>,
    /// The most tokens to use, where the agent reports them during a turn. The answer that reaches the
    /// limit is completed; the next step is not.
    pub tokens: Option<u64>,
    /// The most requests to the model, where the agent counts them.
    pub turns: Option<u32>,
    /// The longest wall-clock time; waiting for answers to the agent's requests does not count.
    pub wall: Option<Duration>,
    /// The longest line of output, in bytes.
    pub line_bytes: usize,
    /// The most output in all, in bytes.
    pub output_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        // A line may contain an image, and an agent that works for hours prints a lot.
        Self {
            usd: None,
            tokens: None,
            turns: None,
            wall: None,
            line_bytes: 32 << 20,
            output_bytes: 2 << 30,
        }
    }
}

/// Something that happened while an agent works.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The session has started.
    Started {
        /// The id by which the session can be resumed.
        session: String,
    },
    /// The agent wrote a text.
    Text(String),
    /// The agent uses a tool.
    Tool(ToolUse),
    /// A tool call has ended.
    ToolEnded(ToolOutcome),
    /// A model request failed; the agent retries by itself.
    Retry {
        /// The HTTP status; `None` when there was no answer.
        status: Option<u16>,
        /// How long the agent waits before the retry; 0 when unknown.
        wait_ms: u64,
        /// The reason in the agent's words.
        reason: String,
    },
    /// Usage since the last such event; the sum is the usage of this run.
    Usage(Usage),
    /// The agent became stuck, or active again.
    Activity(ActivityChange),
}

/// Tokens and dollars that a run used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens, without those read from the cache.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens read from the cache.
    pub cached: u64,
    /// The cost in dollars; `None` when the agent does not report it.
    pub usd: Option<f64>,
}

impl Usage {
    /// Returns the tokens that count towards limits: input and output, without cache reads.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// A request that an agent needs answered before it continues.
///
/// A session that was parked or killed and then resumed asks again under the same id. Two requests for
/// the same permission in one session also have the same id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentRequest {
    /// The agent asks whether it may use a tool.
    Permission {
        /// The stable id of the request.
        id: String,
        /// The agent's own name of the tool.
        tool: String,
        /// What the tool would do, in one line.
        text: String,
        /// The input of the tool.
        input: Value,
    },
    /// The agent asks a person to choose or to answer in words.
    Question {
        /// The stable id of the request.
        id: String,
        /// The questions; at least one.
        questions: Vec<AgentQuestion>,
    },
}

impl AgentRequest {
    /// Returns the stable id of the request.
    pub fn id(&self) -> &str {
        match self {
            Self::Permission { id, .. } | Self::Question { id, .. } => id,
        }
    }
}

/// One question to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentQuestion {
    /// The text of the question.
    pub text: String,
    /// The topic in one word.
    pub header: String,
    /// The choices; empty when the answer is free text.
    pub choices: Vec<QuestionChoice>,
    /// Whether a person may pick more than one choice.
    #[serde(rename = "many")]
    pub allows_many: bool,
}

/// One choice of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionChoice {
    /// The name of the choice, which is also the answer.
    pub label: String,
    /// What the choice means.
    pub description: String,
}

/// The reply to an [`AgentRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The agent may use the tool.
    Allow,
    /// The agent may not use the tool, or gets no answer, for this reason.
    Deny(String),
    /// One answer per question, in order; several choices are joined by `, `.
    Answer(Vec<String>),
    /// There is no answer yet: end the process. The resumed session asks again.
    Park,
}

/// A tool that mow itself serves to an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The name that the model calls.
    pub name: String,
    /// What the tool does, for the model.
    pub description: String,
    /// The JSON Schema of the input.
    pub schema: Value,
}

/// The caller's side of a run: receives events, answers requests, serves tools.
///
/// All methods are called in the thread of [`run`], one at a time.
pub trait AgentCallbacks {
    /// Receives an event.
    fn on_event(&mut self, event: Event);
    /// Answers a request. The agent waits meanwhile; use [`Reply::Park`] instead of blocking for long.
    fn on_request(&mut self, request: &AgentRequest) -> Reply;
    /// Executes a tool of [`AgentCallbacks::tools`]; an error is returned to the agent as well.
    fn call_tool(&mut self, tool: &str, input: &Value) -> Result<String, String>;
    /// Returns the tools to serve. Called once, before the agent starts. Agents of [`AgentKind::Acp`]
    /// do not get these tools.
    fn tools(&self) -> Vec<ToolSpec>;
    /// Returns the messages to send before the agent's next turn, each message only once.
    fn take_messages(&mut self) -> Vec<String>;
}

/// How a run of an agent ended.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentOutcome {
    /// The agent reported that it is done.
    Done {
        /// The agent's last text.
        text: String,
    },
    /// The agent waits for an answer and has no process. Resume the session when there is an answer.
    Parked {
        /// The request that has no answer yet.
        ask: AgentRequest,
    },
    /// The stop signal ended the agent. Its work may be incomplete.
    Stopped,
    /// The agent failed.
    Failed {
        /// Which kind of failure this is.
        kind: FailureKind,
        /// The agent's own error text, or a description.
        text: String,
    },
}

impl AgentOutcome {
    fn not_installed(job: &AgentJob) -> Self {
        let text = format!("there is no program {}", job.program.display());
        Self::Failed { kind: FailureKind::NotInstalled, text }
    }
}

/// A failure of this machine, as opposed to a failure of the agent.
#[derive(Debug, Error)]
pub enum AgentError {
    /// The program exists but could not be started.
    #[error("cannot run the agent")]
    Start(#[from] LaunchError),
    /// The log could not be written.
    #[error("cannot write the log {path}")]
    Log {
        /// The path of the log.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Waiting for the process or its pipes failed.
    #[error("cannot watch the agent")]
    Watch {
        /// The error of the system.
        source: io::Error,
    },
    /// The agent, or a process that it started, did not exit.
    #[error("cannot end the agent")]
    Terminate(#[from] ProcessError),
}

/// Runs an agent and waits until it and every process that it started are gone.
pub fn run(
    kind: AgentKind,
    job: &AgentJob,
    callbacks: &mut dyn AgentCallbacks,
    stop: &StopSignal,
) -> Result<AgentOutcome, AgentError> {
    match kind {
        AgentKind::Claude => claude::run(job, callbacks, stop),
        AgentKind::Codex => codex::run(job, callbacks, stop),
        AgentKind::Acp => acp::run(job, callbacks, stop),
    }
}

/// The message for a resumed session that does not continue by itself and has no prompt.
const RESUME_PROMPT: &str = "You were interrupted. Look at what is done, and go on. \
                     What you were about to ask for, ask for again.";

/// Returns a stable id for a request: the same tool and input give the same id.
fn request_id(tool: &str, input: &Value) -> String {
    let mut input = input.clone();
    // A model that asks again may order the keys differently and describe the call in other words.
    if let Some(fields) = input.as_object_mut() {
        fields.shift_remove("description");
    }
    input.sort_all_objects();
    // FNV-1a: the id is stored in journals, so it must be the same in every build.
    let text = format!("{tool}\n{input}");
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Joins a text into one line of at most 200 characters.
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
