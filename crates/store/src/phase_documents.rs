//! Renders the documents that the engine writes for a phase: context, summary, verification and
//! checkpoint.
//!
//! Takes facts and returns bytes; the caller writes the files.

mod checkpoint;
mod context;
pub mod deferred_items;
mod summary;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use mow_core::worker::Evidence;
use serde_json::{Value, json};

use crate::frontmatter::{self, EditError};

pub use checkpoint::{
    BegunPlan, Checkpoint, CheckpointFacts, CompletePlan, parse_checkpoint, render_checkpoint,
};
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
