//! Renders the documents that the engine writes for a phase: context, summary, verification and
//! checkpoint.
//!
//! Takes facts and returns bytes; the caller writes the files.

mod context;
pub mod deferred_items;
mod summary;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use mow_core::worker::Evidence;
use serde_json::{Map, Value, json};

use crate::frontmatter::{self, EditError};

pub use context::render_context;
pub use summary::{FinishedChange, FinishedFile, FinishedPlan, FinishedTask, render_summary};

/// The phase of a document, and the time of writing.
#[derive(Clone, Copy, Debug)]
pub struct DocumentHeader<'a> {
    /// The phase number without padding, such as `3`.
    pub number: &'a str,
    /// The name of the phase directory, `NN-slug`.
    pub dir: &'a str,
    /// The phase's name in the roadmap.
    pub name: &'a str,
    /// The phase's goal in the roadmap; may be empty.
    pub goal: &'a str,
    /// The time of writing in ISO format.
    pub now: &'a str,
}

impl DocumentHeader<'_> {
    fn today(&self) -> &str {
        self.now.get(..10).unwrap_or(self.now)
    }
}

/// Joins all lines of a text, for a list item.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn with_keys(body: &str, keys: Value) -> Result<Vec<u8>, EditError> {
    let Value::Object(keys) = keys else { unreachable!("keys are written as an object") };
    frontmatter::merge(body.as_bytes(), &keys)
}

/// Escapes text for a table cell.
fn cell(text: &str) -> String {
    one_line(text).replace('|', "\\|")
}

fn section<T>(text: &mut String, title: &str, items: &[T], line: impl Fn(&T) -> String) {
    write!(text, "\n## {title}\n\n").expect("text can be extended");
    if items.is_empty() {
        text.push_str("None.\n");
    }
    for item in items {
        writeln!(text, "- {}", line(item)).expect("text can be extended");
    }
}

/// Returns the first 8 characters of a hash.
fn short(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}

/// The result of one check, for VERIFICATION.md.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerificationCheck {
    /// The checked statement or command.
    pub what: String,
    /// Why the check failed; `None` when it passed.
    pub gap: Option<String>,
    /// The result of the command; `None` when the check is not a command.
    pub evidence: Option<Evidence>,
}

/// Renders VERIFICATION.md. `unproven` are the statements that no command can check.
pub fn render_verification(
    header: &DocumentHeader<'_>,
    commit: &str,
    checks: &[VerificationCheck],
    unproven: &[String],
) -> Result<Vec<u8>, EditError> {
    let gaps: Vec<_> = checks.iter().filter(|check| check.gap.is_some()).collect();
    let passed = checks.len() - gaps.len();
    let mut text = format!(
        "# Phase {}: {} — Verification\n\n**Goal:** {}\n**Commit:** `{commit}`\n\n\
         ## Checks\n\n| # | Check | Status | Evidence |\n|---|-------|--------|----------|\n",
        header.number,
        header.name,
        one_line(header.goal),
    );
    for (n, check) in checks.iter().enumerate() {
        let status = if check.gap.is_some() { "FAILED" } else { "VERIFIED" };
        let proof = match (&check.gap, &check.evidence) {
            (Some(gap), _) => cell(gap),
            (None, Some(one)) => {
                format!("exit 0, tree `{}`, output `{}`", short(&one.tree), short(&one.output))
            }
            (None, None) => "held at this commit".to_owned(),
        };
        writeln!(text, "| {} | {} | {status} | {proof} |", n + 1, cell(&check.what))
            .expect("text can be extended");
    }
    section(&mut text, "Not Checked by a Machine", unproven, |truth| one_line(truth));
    section(&mut text, "Gaps", &gaps, |check| {
        format!("{}: {}", one_line(&check.what), one_line(check.gap.as_deref().unwrap_or("")))
    });
    with_keys(
        &text,
        json!({
            "phase": header.dir,
            "verified": header.now,
            "status": if gaps.is_empty() { "passed" } else { "gaps_found" },
            "score": format!("{passed}/{} must-haves verified", checks.len()),
        }),
    )
}

/// Where a phase stopped, for CHECKPOINT.md.
#[derive(Clone, Debug, Default)]
pub struct CheckpointFacts<'a> {
    /// `failed`, `paused`, `cancelled` or `timeout`.
    pub status: &'a str,
    /// Why the phase stopped; may be empty.
    pub reason: &'a str,
    /// The name of the worker.
    pub worker: &'a str,
    /// The path of the worktree.
    pub worktree: &'a str,
    /// The ids of complete plans.
    pub done: &'a [String],
    /// The id of the plan that was running; `None` between plans.
    pub plan: Option<&'a str>,
    /// The number of the task that was running, the number of tasks, and the task's name.
    pub task: Option<(usize, usize, &'a str)>,
    /// The last commit of the branch.
    pub head: &'a str,
    /// Git's summary of the uncommitted changes; empty without changes.
    pub changes: &'a str,
    /// The rescue commit with the uncommitted changes; `None` without changes.
    pub rescue: Option<&'a str>,
}

/// Renders CHECKPOINT.md.
pub fn render_checkpoint(
    header: &DocumentHeader<'_>,
    facts: &CheckpointFacts<'_>,
) -> Result<Vec<u8>, EditError> {
    let mut text = format!("# Checkpoint: {}\n", header.dir);
    section(&mut text, "Completed Plans", facts.done, Clone::clone);
    let plan = facts.plan.unwrap_or("--");
    let (task, name) = facts
        .task
        .map_or_else(|| ("--".to_owned(), "--"), |(at, of, name)| (format!("{at} of {of}"), name));
    let or_none = |text: &str| if text.is_empty() { "None.".to_owned() } else { text.to_owned() };
    let rescue = facts.rescue.map_or_else(
        || "None.".to_owned(),
        |commit| format!("Kept in commit `{commit}`; `mow rescue list` names it."),
    );
    write!(
        text,
        "\n## Current Plan State\n\n**Plan:** {plan}\n**Task:** {task}\n**Task name:** {}\n\
         **Last commit:** {}\n\n## Uncommitted Changes\n\n{}\n\n## Stashed Changes\n\n{rescue}\n\n\
         ## Error Context\n\n{}\n\n## Resume Instructions\n\n`mow resume {}` goes on with this \
         task.\n",
        one_line(name),
        facts.head,
        or_none(facts.changes),
        or_none(facts.reason),
        header.number,
    )
    .expect("text can be extended");
    let mut keys = Map::new();
    for (key, value) in [
        ("phase", header.dir),
        ("plan", plan),
        ("status", facts.status),
        ("worker", facts.worker),
        ("worktree", facts.worktree),
        ("timestamp", header.now),
        ("reason", contract_reason(facts.status)),
    ] {
        keys.insert(key.to_owned(), json!(value));
    }
    keys.insert("circuit_breaker_hit".to_owned(), json!(false));
    with_keys(&text, Value::Object(keys))
}

/// Returns the contract's word for the reason of a checkpoint.
fn contract_reason(status: &str) -> &'static str {
    match status {
        "paused" => "pause-signal",
        "cancelled" => "user_cancel",
        "timeout" => "timeout",
        _ => "error",
    }
}
