//! The `mow state` commands that change fields, lists and metrics of STATE.md.
//!
//! Most of them exit with 0 even if nothing was changed, because callers continue in both cases. A
//! missing field or section is reported as `reason`, a missing argument or file as `error`. For the
//! same reason their flags may lack a value: an empty value counts as not given.

use mow_store::phase_dirs::PhaseDirs;
use mow_store::state::advance::{self, Advance, PlanCompletion};
use mow_store::state::metrics::{self, Metric};
use mow_store::state::session::{self, SessionEnd};
use mow_store::state::{fields, list_sections};
use serde_json::json;

use super::{FILE, change_state, state_missing};
use crate::context::{Context, now, today};
use crate::failure::Failure;
use crate::output::Output;

/// The arguments of `state record-metric`.
#[derive(Debug, clap::Args)]
pub(crate) struct RecordMetricArgs {
    /// The phase, such as 3
    #[arg(long, allow_hyphen_values = true)]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    phase: Option<String>,
    /// The plan, such as 01
    #[arg(long, allow_hyphen_values = true)]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    plan: Option<String>,
    /// The duration of the plan, such as 12min
    #[arg(long, allow_hyphen_values = true)]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    duration: Option<String>,
    /// The number of tasks in the plan
    #[arg(long, allow_hyphen_values = true, value_name = "N")]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    tasks: Option<String>,
    /// The number of files that the plan changed
    #[arg(long, allow_hyphen_values = true, value_name = "N")]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    files: Option<String>,
}

/// The arguments of `state add-decision`.
#[derive(Debug, clap::Args)]
pub(crate) struct AddDecisionArgs {
    /// The decision
    #[arg(long, allow_hyphen_values = true, value_name = "TEXT")]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    summary: Option<String>,
    /// The phase of the decision
    #[arg(long, allow_hyphen_values = true)]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    phase: Option<String>,
    /// The reason for the decision
    #[arg(long, allow_hyphen_values = true, value_name = "TEXT")]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    rationale: Option<String>,
}

/// The arguments of `state add-blocker` and `state resolve-blocker`.
#[derive(Debug, clap::Args)]
pub(crate) struct BlockerArgs {
    /// The text of the blocker
    #[arg(allow_hyphen_values = true)]
    positional_text: Option<String>,
    /// The text of the blocker, as a flag
    #[arg(long, allow_hyphen_values = true, value_name = "TEXT")]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    text: Option<String>,
}

impl BlockerArgs {
    fn text(&self) -> Option<&str> {
        non_blank(self.text.as_ref().or(self.positional_text.as_ref()))
    }
}

/// The arguments of `state record-session`.
#[derive(Debug, clap::Args)]
pub(crate) struct RecordSessionArgs {
    /// The last thing that was done
    #[arg(long, allow_hyphen_values = true, value_name = "TEXT")]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    stopped_at: Option<String>,
    /// The file to read first in the next session; without it `None` is written
    #[arg(long, alias = "resume", allow_hyphen_values = true, value_name = "FILE")]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    resume_file: Option<String>,
}

/// Returns the value unless it is missing or blank.
fn non_blank(value: Option<&String>) -> Option<&str> {
    value.map(String::as_str).filter(|value| !value.trim().is_empty())
}

fn soft_error(error: &str) -> Output {
    Output::json(json!({ "error": error }))
}

fn state_missing_answer() -> Output {
    soft_error("STATE.md not found")
}

fn has_state(context: &Context) -> bool {
    context.planning(FILE).exists()
}

/// Changes STATE.md if the document has the field or section that `edit` needs.
///
/// Returns `None` without a STATE.md, and `Some(false)` when `edit` found no place for the change.
fn try_change(
    context: &Context,
    mut edit: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> Result<Option<bool>, Failure> {
    change_state(context, |old| {
        let edited = edit(old);
        let done = edited.is_some();
        Ok((edited, done))
    })
}

pub(super) fn update(context: &Context, field: &str, value: &str) -> Result<Output, Failure> {
    if field.trim().is_empty() {
        return Err(Failure::refused("a field name is required")
            .hint("mow state update Status \"Ready to execute\""));
    }
    let reason = match try_change(context, |old| fields::set(old, field, value))? {
        Some(true) => return Ok(Output::json(json!({ "updated": true }))),
        Some(false) => format!("Field \"{field}\" not found in STATE.md"),
        None => "STATE.md not found".to_owned(),
    };
    Ok(Output::json(json!({ "updated": false, "reason": reason })))
}

/// Sets the fields in the given order; a name without a value counts as failed.
pub(super) fn patch(context: &Context, pairs: &[String]) -> Result<Output, Failure> {
    let lists = change_state(context, |old| {
        let mut bytes = old.to_vec();
        let (mut updated, mut failed) = (Vec::new(), Vec::new());
        for pair in pairs.chunks(2) {
            let name = pair[0].strip_prefix("--").unwrap_or(&pair[0]);
            let edited = pair.get(1).and_then(|value| fields::set(&bytes, name, value));
            let list = if edited.is_some() { &mut updated } else { &mut failed };
            if !list.contains(&name) {
                list.push(name);
            }
            bytes = edited.unwrap_or(bytes);
        }
        Ok((Some(bytes), (updated, failed)))
    })?;
    let (updated, failed) = lists.ok_or_else(state_missing)?;
    let raw = if updated.is_empty() { "false" } else { "true" };
    Ok(Output::with_raw(json!({ "updated": updated, "failed": failed }), raw))
}

pub(super) fn advance_plan(context: &Context) -> Result<Output, Failure> {
    let moved = change_state(context, |old| {
        let moved = advance::advance_plan(old, &today());
        Ok(moved.map_or((None, None), |(bytes, outcome)| (Some(bytes), Some(outcome))))
    })?;
    Ok(match moved {
        None => state_missing_answer(),
        Some(None) => soft_error("Cannot parse Current Plan or Total Plans in Phase from STATE.md"),
        Some(Some(Advance::Next { previous, total })) => {
            let value = json!({
                "advanced": true,
                "previous_plan": previous,
                "current_plan": previous + 1,
                "total_plans": total,
            });
            Output::with_raw(value, "true")
        }
        Some(Some(Advance::Last { current, total })) => {
            let value = json!({
                "advanced": false,
                "reason": "last_plan",
                "current_plan": current,
                "total_plans": total,
                "status": "ready_for_verification",
            });
            Output::with_raw(value, "false")
        }
    })
}

pub(super) fn record_metric(context: &Context, args: &RecordMetricArgs) -> Result<Output, Failure> {
    if !has_state(context) {
        return Ok(state_missing_answer());
    }
    let wanted = (
        non_blank(args.phase.as_ref()),
        non_blank(args.plan.as_ref()),
        non_blank(args.duration.as_ref()),
    );
    let (Some(phase), Some(plan), Some(duration)) = wanted else {
        return Ok(soft_error("phase, plan, and duration required"));
    };
    let (tasks, files) = (non_blank(args.tasks.as_ref()), non_blank(args.files.as_ref()));
    let metric = Metric { phase, plan, duration, tasks, files };
    let done = try_change(context, |old| metrics::record(old, metric))?;
    Ok(match done {
        None => state_missing_answer(),
        Some(true) => {
            let value =
                json!({ "recorded": true, "phase": phase, "plan": plan, "duration": duration });
            Output::with_raw(value, "true")
        }
        Some(false) => {
            let reason = "Performance Metrics section not found in STATE.md";
            Output::with_raw(json!({ "recorded": false, "reason": reason }), "false")
        }
    })
}

pub(super) fn update_progress(context: &Context) -> Result<Output, Failure> {
    if !has_state(context) {
        return Ok(state_missing_answer());
    }
    let progress = count_plans(context);
    let done = try_change(context, |old| advance::set_progress(old, progress))?;
    Ok(match done {
        None => state_missing_answer(),
        Some(true) => {
            let bar = progress.bar();
            let value = json!({
                "updated": true,
                "percent": progress.percent(),
                "completed": progress.completed,
                "total": progress.total,
                "bar": bar,
            });
            Output::with_raw(value, bar)
        }
        Some(false) => {
            let reason = "Progress field not found in STATE.md";
            Output::with_raw(json!({ "updated": false, "reason": reason }), "false")
        }
    })
}

/// Counts the plans and summaries of all current phases by their file names.
fn count_plans(context: &Context) -> PlanCompletion {
    let mut progress = PlanCompletion::default();
    for dir in PhaseDirs::load(&context.project.planning).iter() {
        for file in dir.files().map(str::to_ascii_lowercase) {
            progress.total += usize::from(file.ends_with("-plan.md"));
            progress.completed += usize::from(file.ends_with("-summary.md"));
        }
    }
    progress
}

pub(super) fn add_decision(context: &Context, args: &AddDecisionArgs) -> Result<Output, Failure> {
    if !has_state(context) {
        return Ok(state_missing_answer());
    }
    let Some(summary) = non_blank(args.summary.as_ref()) else {
        return Ok(soft_error("summary required"));
    };
    let (phase, rationale) = (non_blank(args.phase.as_ref()), non_blank(args.rationale.as_ref()));
    let decision = list_sections::render_decision(phase, summary, rationale);
    let done = try_change(context, |old| list_sections::add_decision(old, &decision))?;
    Ok(match done {
        None => state_missing_answer(),
        Some(true) => {
            let value = json!({ "added": true, "decision": format!("- {decision}") });
            Output::with_raw(value, "true")
        }
        Some(false) => {
            let reason = "Decisions section not found in STATE.md";
            Output::with_raw(json!({ "added": false, "reason": reason }), "false")
        }
    })
}

pub(super) fn add_blocker(context: &Context, args: &BlockerArgs) -> Result<Output, Failure> {
    if !has_state(context) {
        return Ok(state_missing_answer());
    }
    let Some(text) = args.text() else { return Ok(soft_error("text required")) };
    let done = try_change(context, |old| list_sections::add_blocker(old, text))?;
    Ok(match done {
        None => state_missing_answer(),
        Some(true) => Output::with_raw(json!({ "added": true, "blocker": text }), "true"),
        Some(false) => {
            let reason = "Blockers section not found in STATE.md";
            Output::with_raw(json!({ "added": false, "reason": reason }), "false")
        }
    })
}

pub(super) fn resolve_blocker(context: &Context, args: &BlockerArgs) -> Result<Output, Failure> {
    if !has_state(context) {
        return Ok(state_missing_answer());
    }
    let Some(text) = args.text() else { return Ok(soft_error("text required")) };
    let removed = change_state(context, |old| {
        let resolved = list_sections::resolve_blocker(old, text);
        Ok(resolved.map_or((None, None), |(bytes, removed)| (Some(bytes), Some(removed))))
    })?;
    Ok(match removed {
        None => state_missing_answer(),
        Some(Some(removed)) => {
            let value = json!({ "resolved": true, "blocker": text, "removed": removed });
            Output::with_raw(value, "true")
        }
        Some(None) => {
            let reason = "Blockers section not found in STATE.md";
            Output::with_raw(json!({ "resolved": false, "reason": reason }), "false")
        }
    })
}

pub(super) fn record_session(
    context: &Context,
    args: &RecordSessionArgs,
) -> Result<Output, Failure> {
    let now = now();
    let end = SessionEnd {
        now: &now,
        stopped_at: non_blank(args.stopped_at.as_ref()),
        resume_file: non_blank(args.resume_file.as_ref()),
    };
    let updated = change_state(context, |old| {
        let (bytes, updated) = session::record_session(old, end);
        Ok((Some(bytes), updated))
    })?;
    Ok(match updated {
        None => state_missing_answer(),
        Some(updated) if updated.is_empty() => {
            let reason = "No session fields found in STATE.md";
            Output::with_raw(json!({ "recorded": false, "reason": reason }), "false")
        }
        Some(updated) => Output::with_raw(json!({ "recorded": true, "updated": updated }), "true"),
    })
}
