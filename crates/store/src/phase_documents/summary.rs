//! Renders SUMMARY.md, the report on a complete plan.
//!
//! Subsystem and tags follow a rule that asks no agent: see [`subsystem`] and [`tags`].

use std::collections::BTreeMap;
use std::fmt::Write;

use mow_core::inbox::InboxAnswer;
use mow_core::worker::Evidence;
use serde_json::{Value, json};

use super::{DocumentHeader, cell, one_line, section, short, with_keys};
use crate::frontmatter::EditError;

#[cfg(test)]
mod tests;

/// The most characters of the one-liner.
const ONE_LINER_MAX: usize = 300;
/// The most tags of a summary.
const TAGS_MAX: usize = 8;
/// Directories that hold all code of a project, so they name no part of it.
const CODE_DIRS: [&str; 8] = ["src", "lib", "crates", "packages", "apps", "app", "pkg", "internal"];

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

/// A file that a plan changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedFile {
    /// The path below the top of the repository.
    pub path: String,
    /// How the plan changed the file.
    pub change: FinishedChange,
}

/// How a plan changed a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishedChange {
    /// The plan created the file.
    Created,
    /// The file existed before.
    Modified,
    /// The file does not exist any more.
    Deleted,
}

/// A finished plan, for SUMMARY.md.
#[derive(Clone, Debug)]
pub struct FinishedPlan<'a> {
    /// The plan's number in the phase, as in its file name.
    pub plan: &'a str,
    /// The plan's objective; only the first sentence is used.
    pub objective: &'a str,
    /// What the agents of the tasks did, in their words; empty without agents.
    pub results: &'a [String],
    /// All tasks in order.
    pub tasks: &'a [FinishedTask],
    /// The files that were created, changed or deleted.
    pub files: &'a [FinishedFile],
    /// What the files are for, as the plan promises it.
    pub provides: &'a [String],
    /// The ids of the requirements that the plan completes.
    pub requirements: &'a [String],
    /// The answers of people to questions during the plan.
    pub answers: &'a [InboxAnswer],
    /// What agents decided.
    pub decisions: &'a [String],
    /// Patterns that later plans should follow.
    pub patterns: &'a [String],
    /// What agents left for later.
    pub deferred: &'a [String],
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
    let (one_liner, decisions) = (one_liner(plan), decisions(plan));
    let mut text = format!(
        "# Phase {} Plan {}: {} Summary\n\n**{}**\n\n## Performance\n\n\
         - **Duration:** {}\n- **Tasks:** {}\n- **Files modified:** {}\n",
        header.number,
        plan.plan,
        header.name,
        one_liner.replace("**", ""),
        plan.duration,
        plan.tasks.len(),
        plan.files.len(),
    );
    if !plan.results.is_empty() {
        section(&mut text, "Accomplishments", plan.results, |result| one_line(result));
    }
    task_commits(&mut text, plan.tasks);
    section(&mut text, "Files Created/Modified", plan.files, |file| match file.change {
        FinishedChange::Created => format!("`{}` (created)", file.path),
        FinishedChange::Modified => format!("`{}`", file.path),
        FinishedChange::Deleted => format!("{} (deleted)", file.path),
    });
    section(&mut text, "Decisions Made", &decisions, Clone::clone);
    evidence_table(&mut text, plan.evidence);
    section(&mut text, "Deviations from Plan", plan.deviations, Clone::clone);
    section(&mut text, "Deferred Items", plan.deferred, |item| one_line(item));
    text.push_str("\n## Issues Encountered\n\nNone.\n");
    self_check(&mut text, plan);
    with_keys(&text, keys(header, plan, (&one_liner, &decisions)))
}

/// Returns the frontmatter of a summary.
fn keys(
    header: &DocumentHeader<'_>,
    plan: &FinishedPlan<'_>,
    (one_liner, decisions): (&str, &[String]),
) -> Value {
    let paths = |change: FinishedChange| {
        let files = plan.files.iter().filter(move |file| file.change == change);
        files.map(|file| file.path.as_str()).collect::<Vec<_>>()
    };
    json!({
        "phase": header.dir,
        "plan": plan.plan,
        "name": header.name,
        "one-liner": one_liner,
        "subsystem": subsystem(header, plan.files),
        "tags": tags(header, plan.files),
        "provides": plan.provides,
        "key-files": {
            "created": paths(FinishedChange::Created),
            "modified": paths(FinishedChange::Modified),
        },
        "key-decisions": decisions,
        "patterns-established": plan.patterns,
        "requirements-completed": plan.requirements,
        "duration": plan.duration,
        "completed": header.today(),
    })
}

/// Returns the result in one line: the first sentence of each agent's report, or else of the
/// objective.
fn one_liner(plan: &FinishedPlan<'_>) -> String {
    let sentences: Vec<_> = plan.results.iter().map(|result| first_sentence(result)).collect();
    let text = if sentences.is_empty() {
        first_sentence(plan.objective.trim_start().split("\n\n").next().unwrap_or_default())
    } else {
        sentences.join(" ")
    };
    let text = if text.is_empty() { format!("Plan {} is complete", plan.plan) } else { text };
    match text.char_indices().nth(ONE_LINER_MAX) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text,
    }
}

/// Returns the text up to the first full stop that ends a sentence.
fn first_sentence(text: &str) -> String {
    let text = one_line(text);
    let end = [". ", "! ", "? "].iter().filter_map(|mark| text.find(mark)).min();
    end.map_or_else(|| text.clone(), |end| text[..=end].to_owned())
}

/// Returns the decisions of agents, then the answers of people, each on one line.
fn decisions(plan: &FinishedPlan<'_>) -> Vec<String> {
    let own = plan.decisions.iter().map(|decision| one_line(decision));
    let answers = plan.answers.iter().map(|answer| {
        let (question, text) = (one_line(&answer.question), one_line(&answer.text));
        format!("{question} Answer: {text}")
    });
    own.chain(answers).collect()
}

/// Returns the part of the product that most of the changed files belong to. Without files in a
/// directory it is the phase's name.
fn subsystem(header: &DocumentHeader<'_>, files: &[FinishedFile]) -> String {
    let slug = header.dir.split_once('-').map_or(header.dir, |(_, slug)| slug);
    parts(files).into_iter().next().unwrap_or_else(|| slug.to_owned())
}

/// Returns the parts of the product that the changed files belong to; those with most files first.
fn tags(header: &DocumentHeader<'_>, files: &[FinishedFile]) -> Vec<String> {
    let parts: Vec<_> = parts(files).into_iter().take(TAGS_MAX).collect();
    if parts.is_empty() { vec![subsystem(header, files)] } else { parts }
}

/// Returns the parts of the product by the number of their changed files: the first directory of a
/// path that does not hold all code.
fn parts(files: &[FinishedFile]) -> Vec<String> {
    let mut counts = BTreeMap::<&str, usize>::new();
    for file in files {
        let mut dirs: Vec<_> = file.path.split('/').collect();
        dirs.pop();
        let part = dirs.iter().find(|dir| !CODE_DIRS.contains(dir)).or(dirs.first());
        if let Some(part) = part {
            *counts.entry(part).or_default() += 1;
        }
    }
    let mut parts: Vec<_> = counts.into_iter().collect();
    parts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    parts.into_iter().map(|(part, _)| part.to_owned()).collect()
}

fn task_commits(text: &mut String, tasks: &[FinishedTask]) {
    text.push_str("\n## Task Commits\n\n");
    for (n, task) in tasks.iter().enumerate() {
        let commit = task.commit.as_deref().map_or("no change", short);
        writeln!(text, "{}. **{}** - `{commit}`", n + 1, one_line(&task.name))
            .expect("text can be extended");
        for check in &task.checks {
            writeln!(text, "   - passed: `{}`", one_line(check)).expect("text can be extended");
        }
    }
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

/// Adds what the engine has checked before it closes a plan. Words of agents do not belong here.
fn self_check(text: &mut String, plan: &FinishedPlan<'_>) {
    let commits = plan.tasks.iter().filter(|task| task.commit.is_some()).count();
    let checks: usize = plan.tasks.iter().map(|task| task.checks.len()).sum();
    write!(
        text,
        "\n## Self-Check: PASSED\n\n- Tasks with a commit on the branch of the phase: {commits} \
         of {}\n- Checks that passed on these commits: {checks}\n",
        plan.tasks.len()
    )
    .expect("text can be extended");
}
