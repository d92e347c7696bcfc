//! The JSON of `mow logs --json`: one object per line, documented in `help/logs.md`.
//!
//! It is a type of its own, so that the stored records can change without breaking scripts.

use mow_engine::activity::{ActivityKind, ActivityRecord};
use serde::Serialize;
use serde_json::Value;

use crate::runs::format_utc;

#[cfg(test)]
mod tests;

/// The version of the output. Adding a kind or a key does not change it.
const VERSION: u32 = 1;

/// One line of `mow logs --json`.
#[derive(Debug, Serialize)]
pub(super) struct ActivityLine<'a> {
    v: u32,
    run: &'a str,
    phase: &'a str,
    attempt: u32,
    at: u64,
    time: String,
    role: &'a str,
    plan: Option<&'a str>,
    task: Option<usize>,
    #[serde(flatten)]
    entry: ActivityEntry<'a>,
}

/// The keys of each kind.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum ActivityEntry<'a> {
    AgentStarted { agent: &'a str, log: &'a str },
    CommandStarted { command: &'a str, log: &'a str },
    Text { text: &'a str },
    Tool { call: &'a str, name: &'a str, summary: &'a str, input: &'a Value },
    Edit { call: &'a str, name: &'a str, paths: &'a [String], input: &'a Value },
    Result { call: &'a str, ok: bool, text: &'a str },
    Retry { text: &'a str, wait_ms: u64 },
    Usage { input_tokens: u64, output_tokens: u64, cached_tokens: u64, usd: Option<f64> },
    Output { text: &'a str },
    Skipped { lines: usize },
    Ended { ok: bool, text: &'a str },
}

impl<'a> ActivityLine<'a> {
    /// Translates a record; `None` for a record of a newer mow.
    pub(super) fn new(
        run: &'a str,
        phase: &'a str,
        attempt: u32,
        record: &'a ActivityRecord,
    ) -> Option<Self> {
        let source = &record.source;
        Some(Self {
            v: VERSION,
            run,
            phase,
            attempt,
            at: record.at,
            time: format_utc(record.at),
            role: &source.role,
            plan: source.plan.as_deref(),
            task: source.task,
            entry: ActivityEntry::new(&record.kind)?,
        })
    }
}

impl<'a> ActivityEntry<'a> {
    fn new(kind: &'a ActivityKind) -> Option<Self> {
        Some(match kind {
            ActivityKind::AgentStarted { agent, log } => Self::AgentStarted { agent, log },
            ActivityKind::CommandStarted { command, log } => Self::CommandStarted { command, log },
            ActivityKind::Text { text } => Self::Text { text },
            ActivityKind::Tool { call, name, summary, input } => {
                Self::Tool { call, name, summary, input }
            }
            ActivityKind::Edit { call, name, paths, input } => {
                Self::Edit { call, name, paths, input }
            }
            ActivityKind::Result { call, ok, text } => Self::Result { call, ok: *ok, text },
            ActivityKind::Retry { reason, wait_ms } => {
                Self::Retry { text: reason, wait_ms: *wait_ms }
            }
            ActivityKind::Usage { input_tokens, output_tokens, cached_tokens, usd } => {
                Self::Usage {
                    input_tokens: *input_tokens,
                    output_tokens: *output_tokens,
                    cached_tokens: *cached_tokens,
                    usd: *usd,
                }
            }
            ActivityKind::Output { text } => Self::Output { text },
            ActivityKind::Skipped { lines } => Self::Skipped { lines: *lines },
            ActivityKind::Ended { ok, text } => Self::Ended { ok: *ok, text },
            ActivityKind::Unknown => return None,
        })
    }
}
