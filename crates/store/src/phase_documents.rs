//! Renders the documents that the engine writes for a phase: context, summary, verification and
//! checkpoint.
//!
//! Takes facts and returns bytes; the caller writes the files.

mod context;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use mow_core::inbox::InboxAnswer;
use mow_core::worker::Evidence;
use serde_json::{Map, Value, json};

use crate::frontmatter::{self, EditError};

pub use context::render_context;

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

/// A finished task, for SUMMARY.md.
#[derive(Clone, Debug)]
pub struct FinishedTask {
    /// The task's name in the plan.
    pub name: String,
    /// The task's commit; `None` when it changed no file.
    pub commit: Option<String>,
    /// The check commands that passed.
    pub checks: Vec<String>,
}

/// A finished plan, for SUMMARY.md.
#[derive(Clone, Debug)]
pub struct FinishedPlan<'a> {
    /// The plan's number in the phase, as in its file name.
    pub plan: &'a str,
    /// The plan's objective; only the first line is used.
    pub objective: &'a str,
    /// All tasks in order.
    pub tasks: &'a [FinishedTask],
    /// The files that were created or changed.
    pub files: &'a [String],
    /// The ids of the requirements that the plan completes.
    pub requirements: &'a [String],
    /// The answers of people to questions during the plan.
    pub answers: &'a [InboxAnswer],
    /// How the work differs from the plan, one sentence each.
    pub deviations: &'a [String],
    /// The results of the check commands.
    pub evidence: &'a [Evidence],
    /// The duration as text, such as `3min`.
    pub duration: &'a str,
}

/// Renders a plan's SUMMARY.md.
pub fn render_summary(
    header: &DocumentHeader<'_>,
    plan: &FinishedPlan<'_>,
) -> Result<Vec<u8>, EditError> {
    let objective = one_line(plan.objective.lines().next().unwrap_or_default());
    let mut text = format!(
        "# Phase {} Plan {}: {} Summary\n\n**{objective}**\n\n## Performance\n\n\
         - **Duration:** {}\n- **Tasks:** {}\n- **Files modified:** {}\n\n## Task Commits\n\n",
        header.number,
        plan.plan,
        header.name,
        plan.duration,
        plan.tasks.len(),
        plan.files.len(),
    );
    for (n, task) in plan.tasks.iter().enumerate() {
        let commit = task.commit.as_deref().map_or("no change", short);
        writeln!(text, "{}. **{}** - `{commit}`", n + 1, one_line(&task.name))
            .expect("text can be extended");
        for check in &task.checks {
            writeln!(text, "   - passed: `{}`", one_line(check)).expect("text can be extended");
        }
    }
    section(&mut text, "Files Created/Modified", plan.files, |file| format!("`{file}`"));
    section(&mut text, "Decisions Made", plan.answers, |answer| {
        format!("{}: **{}**", one_line(&answer.question), one_line(&answer.text))
    });
    evidence_table(&mut text, plan.evidence);
    section(&mut text, "Deviations from Plan", plan.deviations, Clone::clone);
    text.push_str("\n## Issues Encountered\n\nNone.\n");
    with_keys(
        &text,
        json!({
            "phase": header.dir,
            "plan": plan.plan,
            "requirements-completed": plan.requirements,
            "key-files": { "modified": plan.files },
            "duration": plan.duration,
            "completed": header.today(),
        }),
    )
}

/// Adds the table of check commands, each with the tree on which it ran.
fn evidence_table(text: &mut String, evidence: &[Evidence]) {
    text.push_str("\n## Evidence\n\n");
    if evidence.is_empty() {
        return text.push_str("No command checks this plan.\n");
    }
    text.push_str("| Check | Exit | Tree | Output |\n|-------|------|------|--------|\n");
    for one in evidence {
        let (command, exit) = (cell(&one.command), one.exit.unwrap_or(-1));
        let (tree, output) = (short(&one.tree), short(&one.output));
        writeln!(text, "| `{command}` | {exit} | `{tree}` | `{output}` |")
            .expect("text can be extended");
    }
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
