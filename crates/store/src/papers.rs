//! The files that the engine writes about a phase: context, summary, verification, checkpoint.
//!
//! Facts in, bytes out; where they go is the caller's business. What people read first stands first.

mod context;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use mow_core::item::Answer;
use mow_core::worker::Evidence;
use serde_json::{Map, Value, json};

use crate::frontmatter::{self, EditError};

pub use context::context;

/// The phase a paper is about.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// Its number as people write it.
    pub number: &'a str,
    /// Its directory, `NN-slug`.
    pub dir: &'a str,
    /// Its name.
    pub name: &'a str,
    /// What it is for.
    pub goal: &'a str,
    /// The time, in the form all files use.
    pub now: &'a str,
}

impl About<'_> {
    fn today(&self) -> &str {
        self.now.get(..10).unwrap_or(self.now)
    }
}

/// Makes text fit for a list item: one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn with_keys(body: &str, keys: Value) -> Result<Vec<u8>, EditError> {
    let Value::Object(keys) = keys else { unreachable!("keys are written as an object") };
    frontmatter::merge(body.as_bytes(), &keys)
}

/// A task of a plan that is done.
#[derive(Clone, Debug)]
pub struct DoneTask {
    /// Its name.
    pub name: String,
    /// Its commit; `None` when it changed nothing.
    pub commit: Option<String>,
    /// The commands that checked it.
    pub checks: Vec<String>,
}

/// What a plan came to.
#[derive(Clone, Debug)]
pub struct DonePlan<'a> {
    /// Its number in the phase, as its file has it.
    pub plan: &'a str,
    /// What it was for.
    pub objective: &'a str,
    /// Its tasks.
    pub tasks: &'a [DoneTask],
    /// The files that were made or changed.
    pub files: &'a [String],
    /// The requirements it serves.
    pub requirements: &'a [String],
    /// What people answered on the way.
    pub answers: &'a [Answer],
    /// What it did other than its plan says.
    pub deviations: &'a [String],
    /// What proves it.
    pub evidence: &'a [Evidence],
    /// How long it took, for people.
    pub duration: &'a str,
}

/// Makes a plan's SUMMARY.md.
pub fn summary(about: &About<'_>, plan: &DonePlan<'_>) -> Result<Vec<u8>, EditError> {
    let objective = one_line(plan.objective.lines().next().unwrap_or_default());
    let mut text = format!(
        "# Phase {} Plan {}: {} Summary\n\n**{objective}**\n\n## Performance\n\n\
         - **Duration:** {}\n- **Tasks:** {}\n- **Files modified:** {}\n\n## Task Commits\n\n",
        about.number,
        plan.plan,
        about.name,
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
            "phase": about.dir,
            "plan": plan.plan,
            "requirements-completed": plan.requirements,
            "key-files": { "modified": plan.files },
            "duration": plan.duration,
            "completed": about.today(),
        }),
    )
}

/// Lists the checks that were run, each with the tree that it ran on.
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

/// Makes text fit for a cell of a table.
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

/// Returns the beginning of a commit's name.
fn short(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was checked.
    pub what: String,
    /// Why it does not hold; `None` when it does.
    pub gap: Option<String>,
    /// What proves it, where it is a command.
    pub evidence: Option<Evidence>,
}

/// Makes VERIFICATION.md. What no machine can check is named, for whoever reads it.
pub fn verification(
    about: &About<'_>,
    commit: &str,
    checks: &[Check],
    unproven: &[String],
) -> Result<Vec<u8>, EditError> {
    let gaps: Vec<_> = checks.iter().filter(|check| check.gap.is_some()).collect();
    let passed = checks.len() - gaps.len();
    let mut text = format!(
        "# Phase {}: {} — Verification\n\n**Goal:** {}\n**Commit:** `{commit}`\n\n\
         ## Checks\n\n| # | Check | Status | Evidence |\n|---|-------|--------|----------|\n",
        about.number,
        about.name,
        one_line(about.goal),
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
            "phase": about.dir,
            "verified": about.now,
            "status": if gaps.is_empty() { "passed" } else { "gaps_found" },
            "score": format!("{passed}/{} must-haves verified", checks.len()),
        }),
    )
}

/// Where a phase was left.
#[derive(Clone, Debug, Default)]
pub struct Left<'a> {
    /// `failed`, `paused`, `cancelled` or `timeout`.
    pub status: &'a str,
    /// Why.
    pub reason: &'a str,
    /// Who worked on it.
    pub worker: &'a str,
    /// Where.
    pub worktree: &'a str,
    /// Plans that are complete.
    pub done: &'a [String],
    /// The plan it was at.
    pub plan: Option<&'a str>,
    /// The task it was at, how many there are, and its name.
    pub task: Option<(usize, usize, &'a str)>,
    /// The last commit.
    pub head: &'a str,
    /// What was not committed, as git counts it.
    pub changes: &'a str,
    /// The commit that keeps what was not committed.
    pub rescue: Option<&'a str>,
}

/// Makes CHECKPOINT.md.
pub fn checkpoint(about: &About<'_>, left: &Left<'_>) -> Result<Vec<u8>, EditError> {
    let mut text = format!("# Checkpoint: {}\n", about.dir);
    section(&mut text, "Completed Plans", left.done, Clone::clone);
    let plan = left.plan.unwrap_or("--");
    let (task, name) = left
        .task
        .map_or_else(|| ("--".to_owned(), "--"), |(at, of, name)| (format!("{at} of {of}"), name));
    let or_none = |text: &str| if text.is_empty() { "None.".to_owned() } else { text.to_owned() };
    let rescue = left.rescue.map_or_else(
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
        left.head,
        or_none(left.changes),
        or_none(left.reason),
        about.number,
    )
    .expect("text can be extended");
    let mut keys = Map::new();
    for (key, value) in [
        ("phase", about.dir),
        ("plan", plan),
        ("status", left.status),
        ("worker", left.worker),
        ("worktree", left.worktree),
        ("timestamp", about.now),
        ("reason", reason_word(left.status)),
    ] {
        keys.insert(key.to_owned(), json!(value));
    }
    keys.insert("circuit_breaker_hit".to_owned(), json!(false));
    with_keys(&text, Value::Object(keys))
}

/// Returns the word of the contract for why a phase was left.
fn reason_word(status: &str) -> &'static str {
    match status {
        "paused" => "pause-signal",
        "cancelled" => "user_cancel",
        "timeout" => "timeout",
        _ => "error",
    }
}
