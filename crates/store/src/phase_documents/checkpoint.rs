//! Renders and reads CHECKPOINT.md: where a phase stopped, and the commands that continue it.
//!
//! Reading is tolerant, because people and older tools write checkpoints too. The text is a claim:
//! the caller compares it with the commits.

#[cfg(test)]
mod tests;

use std::fmt::Write;

use serde_json::{Map, json};

use super::{DocumentHeader, one_line, section, with_keys};
use crate::frontmatter::{self, EditError};

/// The status of a phase that reached its time limit.
const TIMEOUT: &str = "timeout";
/// The shortest text that is read as the hash of a commit.
const HASH_MIN: usize = 7;

/// A complete plan, with the commit that closed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletePlan {
    /// The id of the plan.
    pub id: String,
    /// The commit; `None` when the plan was complete before the phase began, or none is named.
    pub commit: Option<String>,
}

/// A plan that has begun besides the current one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BegunPlan {
    /// The id of the plan.
    pub id: String,
    /// How many of its tasks are committed.
    pub done: usize,
    /// The number of its tasks.
    pub tasks: usize,
}

/// Where a phase stopped, for CHECKPOINT.md.
#[derive(Clone, Debug, Default)]
pub struct CheckpointFacts<'a> {
    /// `failed`, `paused`, `cancelled` or `timeout`.
    pub status: &'a str,
    /// Why the phase stopped, in a sentence; may be empty.
    pub reason: &'a str,
    /// Who or what stopped the phase; `None` after a failure.
    pub stopped_by: Option<&'a str>,
    /// Whether the circuit breaker stopped the phase.
    pub is_breaker: bool,
    /// The name of the worker.
    pub worker: &'a str,
    /// The path of the worktree.
    pub worktree: &'a str,
    /// The current stage; `None` before the first.
    pub stage: Option<&'a str>,
    /// The complete plans.
    pub complete: &'a [CompletePlan],
    /// The id of the plan that was running; `None` between plans.
    pub plan: Option<&'a str>,
    /// The number of the task that was running, the number of tasks, and the task's name.
    pub task: Option<(usize, usize, &'a str)>,
    /// Other plans that have begun.
    pub others: &'a [BegunPlan],
    /// The last commit of the branch.
    pub head: &'a str,
    /// Git's summary of the uncommitted changes, untracked files included; empty without changes.
    pub changes: &'a str,
    /// The rescue commit with the uncommitted changes, and its short name; `None` without changes.
    pub rescue: Option<(&'a str, &'a str)>,
}

/// Renders CHECKPOINT.md.
pub fn render_checkpoint(
    header: &DocumentHeader<'_>,
    facts: &CheckpointFacts<'_>,
) -> Result<Vec<u8>, EditError> {
    let mut text = format!("# Checkpoint: {}\n", header.dir);
    if facts.status == TIMEOUT {
        text.push_str(
            "\n> **Warning:** the time limit interrupted this phase. The work of its current task \
             may be incomplete.\n",
        );
    }
    section(&mut text, "Completed Plans", facts.complete, |plan| match &plan.commit {
        Some(commit) => format!("{} (commit `{commit}`)", plan.id),
        None => format!("{} (complete before this phase began)", plan.id),
    });
    text.push_str(&position(facts));
    let changes = facts.changes.trim_end();
    let changes = match changes {
        "" => "None.".to_owned(),
        changes => format!("```text\n{changes}\n```"),
    };
    let rescue = facts.rescue.map_or_else(
        || "None.".to_owned(),
        |(commit, name)| {
            format!(
                "Saved in commit `{commit}`. `git show --stat {commit}` lists the files, \
                 `mow rescue restore {name}` restores them."
            )
        },
    );
    let reason = if facts.reason.is_empty() { "None." } else { facts.reason };
    write!(
        text,
        "\n## Uncommitted Changes\n\n{changes}\n\n## Stashed Changes\n\n{rescue}\n\n\
         ## Error Context\n\n{reason}\n\n## Resume Instructions\n\n{}",
        resume_instructions(header.number, facts),
    )
    .expect("text can be extended");
    with_keys(&text, keys(header, facts).into())
}

fn keys(
    header: &DocumentHeader<'_>,
    facts: &CheckpointFacts<'_>,
) -> Map<String, serde_json::Value> {
    let mut keys = Map::new();
    for (key, value) in [
        ("phase", header.dir),
        ("plan", facts.plan.unwrap_or("--")),
        ("status", facts.status),
        ("worker", facts.worker),
        ("worktree", facts.worktree),
        ("timestamp", header.now),
        ("reason", contract_reason(facts.status)),
    ] {
        keys.insert(key.to_owned(), json!(value));
    }
    keys.insert("circuit_breaker_hit".to_owned(), json!(facts.is_breaker));
    keys
}

/// Renders the section that says which plan and task were running.
fn position(facts: &CheckpointFacts<'_>) -> String {
    let (task, name) = facts
        .task
        .map_or_else(|| ("--".to_owned(), "--"), |(at, of, name)| (format!("{at} of {of}"), name));
    let mut text = format!(
        "\n## Current Plan State\n\n**Plan:** {}\n**Task:** {task}\n**Task name:** {}\n\
         **Stage:** {}\n**Last commit:** {}\n",
        facts.plan.unwrap_or("--"),
        one_line(name),
        facts.stage.unwrap_or("--"),
        facts.head,
    );
    if let Some(by) = facts.stopped_by {
        writeln!(text, "**Stopped by:** {}", one_line(by)).expect("text can be extended");
    }
    for BegunPlan { id, done, tasks } in facts.others {
        writeln!(text, "**Also begun:** {id}, {done} of {tasks} tasks committed")
            .expect("text can be extended");
    }
    text
}

/// Says which commands continue the phase. The commands work as they are.
fn resume_instructions(number: &str, facts: &CheckpointFacts<'_>) -> String {
    let place = match (facts.plan, facts.task) {
        (Some(plan), Some((at, ..))) => format!(" with plan {plan}, task {at}"),
        (Some(plan), None) => format!(" with plan {plan}"),
        _ => String::new(),
    };
    let (first, resume) = match facts.status {
        _ if facts.is_breaker => (
            "1. `mow log` shows why phases failed, `mow inbox` the question about it.\n".to_owned(),
            "mow resume".to_owned(),
        ),
        "failed" => (
            format!("1. `mow log {number}` shows the cause. Correct it first.\n"),
            format!("mow resume {number}"),
        ),
        TIMEOUT => (
            "1. `mow config-set multi_phase.worker_timeout_min MINUTES` changes the limit, if it is \
             too short.\n"
                .to_owned(),
            format!("mow resume {number}"),
        ),
        _ => (String::new(), format!("mow resume {number}")),
    };
    let at = if first.is_empty() { 1 } else { 2 };
    let all = if facts.is_breaker { " It closes the circuit breaker, too." } else { "" };
    let over = match facts.status {
        "cancelled" => format!(
            " When the run is over, `mow resume` is refused; then `mow run {number}` continues \
             this phase."
        ),
        _ => String::new(),
    };
    format!(
        "{first}{at}. Run these commands in the project:\n\n```sh\n{resume}\nmow run --all\n```\n\n\
         `{resume}` lets the phase continue{place}, after the checks of its completed plans have \
         passed.{all} `mow run --all` starts the run again. It is not needed, and refused, while \
         the run is active (`mow ps`).{over}\n"
    )
}

/// Returns the contract's word for the reason of a checkpoint.
fn contract_reason(status: &str) -> &'static str {
    match status {
        "paused" => "pause-signal",
        "cancelled" => "user_cancel",
        TIMEOUT => "timeout",
        _ => "error",
    }
}

/// A checkpoint as its text claims it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// The name of the phase directory; empty if none is named.
    pub phase: String,
    /// `failed`, `paused`, `cancelled`, `timeout`, or what another writer has written.
    pub status: String,
    /// The name of the worker; empty if none is named.
    pub worker: String,
    /// The complete plans.
    pub complete: Vec<CompletePlan>,
    /// The plan that was running.
    pub plan: Option<String>,
    /// The number of the task that was running.
    pub task: Option<usize>,
    /// The error context; empty if there is none.
    pub error: String,
}

/// Reads a checkpoint; fails with a sentence if it has no status.
pub fn parse_checkpoint(bytes: &[u8]) -> Result<Checkpoint, String> {
    let front = frontmatter::parse(bytes).ok_or("it has no frontmatter")?;
    let text = String::from_utf8_lossy(bytes);
    let key = |key: &str| {
        let value = front.entry(key).and_then(|value| value.as_str());
        value.unwrap_or_default().trim().to_owned()
    };
    let status = key("status");
    if status.is_empty() {
        return Err("its frontmatter has no `status`".to_owned());
    }
    let field = |name: &str| {
        let start = format!("**{name}:**");
        let line = text.lines().find_map(|line| line.trim().strip_prefix(&start));
        line.map(|value| value.trim().to_owned()).filter(|value| is_value(value))
    };
    let complete = lines_of(&text, "Completed Plans").filter_map(complete_plan).collect();
    let error: Vec<_> = lines_of(&text, "Error Context").collect();
    let error = error.join("\n").trim().to_owned();
    Ok(Checkpoint {
        phase: key("phase"),
        status,
        worker: key("worker"),
        complete,
        plan: field("Plan").or_else(|| Some(key("plan")).filter(|value| is_value(value))),
        task: field("Task").and_then(|text| text.split_whitespace().next()?.parse().ok()),
        error: if is_value(error.trim_end_matches('.')) { error } else { String::new() },
    })
}

/// Returns whether a text is more than a word for "nothing", and no placeholder of a template.
fn is_value(text: &str) -> bool {
    !matches!(text, "" | "--" | "-" | "null" | "none" | "None") && !text.starts_with(['{', '['])
}

/// Returns the lines of a section of level 2.
fn lines_of<'a>(text: &'a str, title: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    let heading = format!("## {title}");
    let after = text.lines().skip_while(move |line| line.trim_end() != heading).skip(1);
    after.take_while(|line| !line.starts_with("## "))
}

/// Reads a list item that names a plan, and its commit if there is one.
fn complete_plan(line: &str) -> Option<CompletePlan> {
    let item = line.trim_start().strip_prefix(['-', '*'])?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let mut words = item.split(|c: char| !is_part(c)).filter(|word| !word.is_empty());
    let is_id = |word: &&str| {
        let parts = word.rsplit_once('-');
        parts.is_some_and(|(phase, plan)| {
            plan.bytes().all(|byte| byte.is_ascii_digit())
                && !plan.is_empty()
                && phase.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    let id = words.by_ref().find(is_id)?.to_owned();
    let is_hash =
        |word: &&str| word.len() >= HASH_MIN && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    Some(CompletePlan { id, commit: words.find(is_hash).map(str::to_owned) })
}
