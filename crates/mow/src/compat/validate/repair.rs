//! The repairs of `mow validate health --repair`.
//!
//! The planning files are backed up before anything is changed.

use std::path::PathBuf;

use jiff::Timestamp;
use mow_store::disk::{DiskError, WAIT_DEFAULT, Writer};
use mow_store::project_phases;
use mow_store::roadmap::milestone::current_milestone;
use mow_store::state::snapshot;
use mow_store::state::transition::{self, NextPhase};
use serde::Serialize;
use serde_json::json;

use super::health::current_phase;
use crate::context::{Context, today};
use crate::failure::Failure;

/// A repair that mow can perform; the names are printed as `action`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Repair {
    RegenerateState,
    ResetConfig,
    CreateConfig,
}

/// The result of one repair, as it is printed.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum RepairResult {
    Backup {
        action: &'static str,
        success: bool,
        dir: String,
        files: Vec<&'static str>,
    },
    State {
        action: Repair,
        success: bool,
        path: String,
        diff_lines: Vec<ChangedLine>,
        diff_formatted: String,
    },
    Config {
        action: Repair,
        success: bool,
        path: String,
    },
    Failed {
        action: Repair,
        success: bool,
        error: String,
    },
}

/// A line of STATE.md that the repair changed.
#[derive(Serialize)]
pub(super) struct ChangedLine {
    line: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<String>,
}

pub(super) fn perform(context: &Context, repairs: &[Repair]) -> Result<Vec<RepairResult>, Failure> {
    let writer = Writer::open(&context.project, WAIT_DEFAULT)?;
    let mut done = vec![back_up(context, &writer, repairs)?];
    for repair in repairs {
        let result = match repair {
            Repair::RegenerateState => regenerate_state(context, &writer),
            Repair::ResetConfig | Repair::CreateConfig => {
                write_default_config(context, &writer, *repair)
            }
        };
        done.push(result.unwrap_or_else(|failure| RepairResult::Failed {
            action: *repair,
            success: false,
            error: failure.message,
        }));
    }
    Ok(done)
}

fn backups_dir(context: &Context) -> PathBuf {
    context.planning("backups")
}

/// Copies the planning documents, and the settings if they are about to be replaced.
fn back_up(
    context: &Context,
    writer: &Writer,
    repairs: &[Repair],
) -> Result<RepairResult, Failure> {
    let stamp = Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ").to_string();
    let names = std::iter::once(stamp.clone()).chain((2..).map(|n| format!("{stamp}-{n}")));
    let mut free = names.map(|name| backups_dir(context).join(name)).filter(|dir| !dir.exists());
    let dir = free.next().expect("names do not run out");
    let mut wanted = vec!["STATE.md", "ROADMAP.md", "REQUIREMENTS.md"];
    if repairs.contains(&Repair::ResetConfig) {
        wanted.push("config.json");
    }
    writer.create_dir(&dir)?;
    let mut files = Vec::new();
    for file in wanted {
        if let Some(bytes) = context.load(file)? {
            writer.replace(&dir.join(file), &bytes)?;
            files.push(file);
        }
    }
    Ok(RepairResult::Backup {
        action: "backup",
        success: true,
        dir: context.display_path(&dir),
        files,
    })
}

/// Repairs STATE.md. A readable file keeps everything except its current phase.
fn regenerate_state(context: &Context, writer: &Writer) -> Result<RepairResult, Failure> {
    let path = context.planning("STATE.md");
    let roadmap = context.load("ROADMAP.md")?.unwrap_or_default();
    let project_phases = project_phases::load(&context.project.planning)?;
    let (mut before, mut after) = (String::new(), String::new());
    writer.update(&path, |old| {
        let old = old.unwrap_or_default();
        let stub = || transition::stub(&current_milestone(&roadmap), &today()).into_bytes();
        let new = if is_readable(old) {
            let open = project_phases.as_ref().and_then(|project_phases| {
                project_phases
                    .phases
                    .iter()
                    .find(|phase| !phase.is_done() && !phase.entry.phase.archived)
            });
            let target = open.map(|open| &open.entry.phase);
            let target = target.map(|phase| NextPhase { number: &phase.number, name: &phase.name });
            target.map_or_else(|| old.to_vec(), |target| transition::set_current(old, target))
        } else {
            stub()
        };
        before = String::from_utf8_lossy(old).into_owned();
        after = String::from_utf8_lossy(&new).into_owned();
        Ok::<_, DiskError>(Some(new))
    })?;
    let diff_lines = diff(&before, &after);
    let mut formatted = Vec::new();
    for line in &diff_lines {
        formatted.extend(line.old.as_ref().map(|old| format!("- {old}")));
        formatted.extend(line.new.as_ref().map(|new| format!("+ {new}")));
    }
    Ok(RepairResult::State {
        action: Repair::RegenerateState,
        success: true,
        path: context.display_path(&path),
        diff_lines,
        diff_formatted: formatted.join("\n"),
    })
}

/// Returns whether a STATE.md has a status or a current phase that can be read, so that it is kept.
fn is_readable(bytes: &[u8]) -> bool {
    let snapshot = snapshot::parse(bytes);
    snapshot.status.is_some()
        || (snapshot.current_phase.is_some() && current_phase(bytes).is_some())
}

/// Compares two texts line by line.
fn diff(before: &str, after: &str) -> Vec<ChangedLine> {
    let (old, new): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let lines = (0..old.len().max(new.len())).filter(|at| old.get(*at) != new.get(*at));
    let owned = |line: Option<&&str>| line.map(|line| (*line).to_owned());
    lines
        .map(|at| ChangedLine { line: at + 1, old: owned(old.get(at)), new: owned(new.get(at)) })
        .collect()
}

fn write_default_config(
    context: &Context,
    writer: &Writer,
    repair: Repair,
) -> Result<RepairResult, Failure> {
    let path = context.planning("config.json");
    let defaults = json!({
        "model_profile": "balanced",
        "commit_docs": true,
        "search_gitignored": false,
        "branching_strategy": "none",
        "research": true,
        "plan_checker": true,
        "verifier": true,
        "parallelization": true,
    });
    let text = serde_json::to_vec_pretty(&defaults).expect("a literal can be printed");
    writer.replace(&path, &text)?;
    Ok(RepairResult::Config { action: repair, success: true, path: context.display_path(&path) })
}

/// From this number of backups on, the report suggests a cleanup.
const BACKUPS_SUGGEST_CLEANUP: usize = 5;

/// Suggests to delete old backups when there are many.
pub(super) fn cleanup_suggestion(context: &Context) -> Option<String> {
    let dir = backups_dir(context);
    let count = std::fs::read_dir(&dir).ok()?.filter(Result::is_ok).count();
    let shown = context.display_path(&dir);
    (count >= BACKUPS_SUGGEST_CLEANUP)
        .then(|| format!("{shown} holds {count} backups; delete those you no longer need"))
}
