//! Serves tools to the agents of a phase: `report` takes their answer, `peer_send` messages a
//! phase.
//!
//! Claude Code and Codex call the tools over their own protocol. Other agents start `mow mcp`,
//! which serves them ([`serve`]). Its environment binds it to one job of one worker; it writes the
//! report to a file, which the worker reads when the agent has ended. All input of the agent is
//! untrusted: it is read within limits and validated here and by the worker.

use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};

use mow_core::agent_answer::{
    self, AgentAnswer, Discussion, Review, TaskReport, VerificationReport,
};
use mow_core::phase::PhaseNumber;
use mow_core::worker::Role;
use mow_host::agent::{ToolSpec, mcp};
use mow_store::disk;
use mow_store::run_files::RunDir;
use serde_json::{Value, json};

use crate::EngineError;
use crate::peer_messages;
use crate::run_context::RunContext;

/// The tool by which an agent submits its answer.
pub(crate) const REPORT: &str = "report";
/// The tool by which an agent sends a message to another phase.
pub(crate) const PEER_SEND: &str = "peer_send";
/// The reply to an agent that has submitted its answer.
pub(crate) const REPORT_ACCEPTED: &str = "Report accepted. You are done: end your turn.";
/// The most bytes in a message.
const LINE_MAX: u64 = 1 << 20;
/// The most messages that are read from one agent.
const LINES_MAX: usize = 10_000;

/// Returns the JSON Schema of the report of a role; `None` for roles without one.
pub(crate) fn report_schema(role: Role) -> Option<&'static str> {
    match role {
        Role::Discusser => Some(Discussion::SCHEMA),
        Role::PlanChecker => Some(Review::SCHEMA),
        Role::Executor => Some(TaskReport::SCHEMA),
        Role::Verifier => Some(VerificationReport::SCHEMA),
        Role::Researcher | Role::Planner => None,
    }
}

/// Validates the report of a role; the error says what is wrong.
fn validate_report(role: Role, value: &Value) -> Result<(), String> {
    let read = match role {
        Role::Discusser => Discussion::from_value(value).map(drop),
        Role::PlanChecker => Review::from_value(value).map(drop),
        Role::Executor => TaskReport::from_value(value).map(drop),
        Role::Verifier => VerificationReport::from_value(value).map(drop),
        Role::Researcher | Role::Planner => return Err(format!("there is no tool {REPORT}")),
    };
    read.map_err(|error| error.to_string())
}

/// Returns the tools of a role whose report has this schema.
pub(crate) fn tool_specs(schema: Option<&str>) -> Vec<ToolSpec> {
    let report = schema.and_then(|schema| serde_json::from_str(schema).ok());
    let report = report.map(|schema| ToolSpec {
        name: REPORT.to_owned(),
        description: "Hands over your answer, in place of the JSON block at the end.".to_owned(),
        schema,
    });
    let text = json!({ "type": "string" });
    let peer = ToolSpec {
        name: PEER_SEND.to_owned(),
        description: "Tells the agents of another phase something they must know.".to_owned(),
        schema: json!({
            "type": "object",
            "properties": { "phase": text, "text": text },
            "required": ["phase", "text"],
        }),
    };
    report.into_iter().chain([peer]).collect()
}

/// Sends an agent's message to another phase; returns the reply to the agent.
pub(crate) fn send_to_peer(
    ctx: &RunContext,
    from: &PhaseNumber,
    input: &Value,
) -> Result<String, String> {
    let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
    let (phase, text) = (text("phase"), text("text"));
    let to = PhaseNumber::parse(phase).ok_or_else(|| format!("`{phase}` is no phase"))?;
    let (length, max) = (text.chars().count(), peer_messages::CHARS_MAX);
    if text.trim().is_empty() || length > max {
        return Err(format!("a message must have 1 to {max} characters, this one has {length}"));
    }
    peer_messages::send(&ctx.project, &ctx.run, (from, &to), text)
        .map(|()| format!("phase {to} will be told"))
        .map_err(|error| error.sentence())
}

/// Returns the file for the report of an agent in one job of an attempt.
pub(crate) fn report_file(
    run: &RunDir,
    (phase, attempt): (&PhaseNumber, u32),
    job: &str,
) -> PathBuf {
    run.path().join("reports").join(format!("{}-{attempt}-{job}.json", phase.padded()))
}

/// Reads a report file; `None` if it is missing, too long or not valid JSON.
pub(crate) fn read_report(file: &Path) -> Result<Option<Value>, EngineError> {
    if std::fs::metadata(file).is_ok_and(|metadata| metadata.len() > LINE_MAX) {
        return Ok(None);
    }
    let bytes = disk::read(file)?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

/// The job whose agent is served.
#[derive(Debug)]
pub struct ToolSession {
    /// The run of the worker.
    pub ctx: RunContext,
    /// The phase that the agent works on.
    pub phase: PhaseNumber,
    /// The attempt at the phase.
    pub attempt: u32,
    /// The role of the agent; it decides the schema of the report.
    pub role: Role,
    /// The name of the job, which is part of the report's file name.
    pub job: String,
}

impl ToolSession {
    /// Returns whether the name of the job is safe in a file name.
    pub fn is_valid(&self) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        !self.job.is_empty() && !self.job.contains("..") && self.job.chars().all(is_plain)
    }

    fn call(&self, tool: &str, input: &Value) -> Result<String, String> {
        if tool == PEER_SEND {
            return send_to_peer(&self.ctx, &self.phase, input);
        }
        validate_report(self.role, input)?;
        let file = report_file(&self.ctx.run, (&self.phase, self.attempt), &self.job);
        let written = disk::write_engine_file(&file, input.to_string().as_bytes());
        written.map(|()| REPORT_ACCEPTED.to_owned()).map_err(|error| error.to_string())
    }
}

/// Serves an agent, one JSON-RPC message a line, until the agent closes its side.
///
/// # Errors
/// When reading or writing fails, or the agent exceeds the limits on messages.
pub fn serve(session: &ToolSession, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let specs = tool_specs(report_schema(session.role));
    let mut input = input;
    for _ in 0..LINES_MAX {
        let mut line = Vec::new();
        if input.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.last() != Some(&b'\n') {
            let text = format!("a message has at most {LINE_MAX} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let mut call = |tool: &str, input: &Value| session.call(tool, input);
        let answer = match serde_json::from_slice(&line) {
            Ok(message) => mcp::answer_message(&specs, &mut call, &message),
            Err(error) => {
                let error = json!({ "code": -32700, "message": error.to_string() });
                Some(json!({ "jsonrpc": "2.0", "id": null, "error": error }))
            }
        };
        if let Some(answer) = answer {
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "too many messages"))
}

// A report of the greatest size that a worker accepts fits into one message.
const _: () =
    assert!(agent_answer::BYTES_MAX as u64 <= LINE_MAX, "the largest report fits into a message");
