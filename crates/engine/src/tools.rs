//! The tools that mow serves to the agents of a phase: their answer, and messages to other phases.
//!
//! Claude Code and Codex get them over the line on which they are spoken to. Others start `mow mcp`,
//! which serves them ([`serve`]); it is bound to one job of one worker by its environment, and what is
//! handed over there is a file that the worker reads when the agent has ended. The agent's words are
//! data: read within bounds, and checked on both sides.

use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};

use mow_core::phase::PhaseNumber;
use mow_core::said::{self, Discussion, Review, Said, TaskReport, Verification};
use mow_core::worker::Role;
use mow_host::agent::{ToolSpec, mcp};
use mow_store::disk;
use mow_store::run_files::RunDir;
use serde_json::{Value, json};

use crate::EngineError;
use crate::peer;
use crate::site::Site;

/// The tool by which an agent hands over its answer.
pub(crate) const REPORT: &str = "report";
/// The tool by which it tells another phase something.
pub(crate) const PEER_SEND: &str = "peer_send";
/// What an agent is told that has handed over its answer.
pub(crate) const TAKEN: &str = "Taken. You are done: end your turn.";
/// The longest message that is read.
const LINE_MAX: u64 = 1 << 20;
/// How many messages are read from one agent.
const LINES_MAX: usize = 10_000;

/// Returns the JSON Schema of what a role answers, where it has to.
pub(crate) fn schema(role: Role) -> Option<&'static str> {
    match role {
        Role::Discusser => Some(Discussion::SCHEMA),
        Role::PlanChecker => Some(Review::SCHEMA),
        Role::Executor => Some(TaskReport::SCHEMA),
        Role::Verifier => Some(Verification::SCHEMA),
        Role::Researcher | Role::Planner => None,
    }
}

/// Says what is wrong with what a role hands over.
fn check(role: Role, value: &Value) -> Result<(), String> {
    let read = match role {
        Role::Discusser => Discussion::from_value(value).map(drop),
        Role::PlanChecker => Review::from_value(value).map(drop),
        Role::Executor => TaskReport::from_value(value).map(drop),
        Role::Verifier => Verification::from_value(value).map(drop),
        Role::Researcher | Role::Planner => return Err(format!("there is no tool {REPORT}")),
    };
    read.map_err(|error| error.to_string())
}

/// Describes the tools of a role.
pub(crate) fn specs(schema: Option<&str>) -> Vec<ToolSpec> {
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

/// Tells another phase what an agent wants it to know; says what came of it.
pub(crate) fn send_to_peer(
    site: &Site,
    from: &PhaseNumber,
    input: &Value,
) -> Result<String, String> {
    let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
    let (phase, text) = (text("phase"), text("text"));
    let to = PhaseNumber::parse(phase).ok_or_else(|| format!("`{phase}` is no phase"))?;
    let (length, most) = (text.chars().count(), peer::CHARS_MAX);
    if text.trim().is_empty() || length > most {
        return Err(format!("a message has 1 to {most} characters, this {length}"));
    }
    peer::send(&site.project, &site.run, (from, &to), text)
        .map(|()| format!("phase {to} will be told"))
        .map_err(|error| error.sentence())
}

/// Returns the file for what an agent hands over in a job of an attempt.
pub(crate) fn report_file(
    run: &RunDir,
    (phase, attempt): (&PhaseNumber, u32),
    job: &str,
) -> PathBuf {
    run.path().join("reports").join(format!("{}-{attempt}-{job}.json", phase.padded()))
}

/// Reads what was handed over; what is too long or no JSON is nothing.
pub(crate) fn read_report(file: &Path) -> Result<Option<Value>, EngineError> {
    if std::fs::metadata(file).is_ok_and(|about| about.len() > LINE_MAX) {
        return Ok(None);
    }
    let bytes = disk::read(file)?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

/// Whose agent is served.
#[derive(Debug)]
pub struct Scope {
    /// The run.
    pub site: Site,
    /// The phase.
    pub phase: PhaseNumber,
    /// The attempt at it.
    pub attempt: u32,
    /// The role that the agent plays.
    pub role: Role,
    /// The job that it does, as the worker calls it.
    pub job: String,
}

impl Scope {
    /// Returns whether it names a job: a plain word that is part of a file name.
    pub fn is_sound(&self) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        !self.job.is_empty() && !self.job.contains("..") && self.job.chars().all(is_plain)
    }

    fn call(&self, tool: &str, input: &Value) -> Result<String, String> {
        if tool == PEER_SEND {
            return send_to_peer(&self.site, &self.phase, input);
        }
        check(self.role, input)?;
        let file = report_file(&self.site.run, (&self.phase, self.attempt), &self.job);
        let written = disk::put(&file, input.to_string().as_bytes());
        written.map(|()| TAKEN.to_owned()).map_err(|error| error.to_string())
    }
}

/// Serves an agent until it closes its side, one message a line.
///
/// # Errors
/// When the line breaks, or more is said than anybody reads.
pub fn serve(scope: &Scope, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let specs = specs(schema(scope.role));
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
        let mut call = |tool: &str, input: &Value| scope.call(tool, input);
        let answer = match serde_json::from_slice(&line) {
            Ok(message) => mcp::answer(&specs, &mut call, &message),
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
    Err(io::Error::new(io::ErrorKind::InvalidData, "more messages than anybody reads"))
}

/// The most that a worker takes of what was handed over.
const _: () = assert!(said::BYTES_MAX as u64 <= LINE_MAX, "what may be said can be handed over");
