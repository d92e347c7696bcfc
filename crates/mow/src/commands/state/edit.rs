//! The commands that change fields, lists and metrics of STATE.md.
//!
//! Most of them answer softly: a field or section that is not there is a `reason`, a missing
//! argument or file an `error`, and the exit code stays 0, because callers go on in both cases. So
//! their flags may lack a value: an empty one is as good as none.

use mow_store::phase_dirs::PhaseDirs;
use mow_store::state::advance::{self, Advance, Progress, SessionEnd};
use mow_store::state::metrics::{self, Metric};
use mow_store::state::{fields, sections};
use serde_json::json;

use super::{FILE, change, no_state};
use crate::context::{Context, now, today};
use crate::failure::Failure;
use crate::output::Output;

/// The arguments of `state record-metric`.
#[derive(Debug, clap::Args)]
pub(crate) struct RecordMetric {
    /// The phase, such as 3
    #[arg(long, allow_hyphen_values = true)]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    phase: Option<String>,
    /// The plan, such as 01
    #[arg(long, allow_hyphen_values = true)]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    plan: Option<String>,
    /// How long it took, such as 12min
    #[arg(long, allow_hyphen_values = true)]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    duration: Option<String>,
    /// How many tasks it had
    #[arg(long, allow_hyphen_values = true, value_name = "N")]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    tasks: Option<String>,
    /// How many files it touched
    #[arg(long, allow_hyphen_values = true, value_name = "N")]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    files: Option<String>,
}

/// The arguments of `state add-decision`.
#[derive(Debug, clap::Args)]
pub(crate) struct AddDecision {
    /// What was decided
    #[arg(long, allow_hyphen_values = true, value_name = "TEXT")]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    summary: Option<String>,
    /// The phase it was decided in
    #[arg(long, allow_hyphen_values = true)]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    phase: Option<String>,
    /// Why
    #[arg(long, allow_hyphen_values = true, value_name = "TEXT")]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    rationale: Option<String>,
}

/// The arguments of `state add-blocker` and `state resolve-blocker`.
#[derive(Debug, clap::Args)]
pub(crate) struct Blocker {
    /// What is in the way
    #[arg(allow_hyphen_values = true)]
    words: Option<String>,
    /// The same as a flag
    #[arg(long, allow_hyphen_values = true, value_name = "TEXT")]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    text: Option<String>,
}

impl Blocker {
    fn given(&self) -> Option<&str> {
        given(self.text.as_ref().or(self.words.as_ref()))
    }
}

/// The arguments of `state record-session`.
#[derive(Debug, clap::Args)]
pub(crate) struct RecordSession {
    /// What was done last
    #[arg(long, allow_hyphen_values = true, value_name = "TEXT")]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    stopped_at: Option<String>,
    /// The file to read first next time; `None` if not given
    #[arg(long, alias = "resume", allow_hyphen_values = true, value_name = "FILE")]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    resume_file: Option<String>,
}

/// Returns a value that says something.
fn given(value: Option<&String>) -> Option<&str> {
    value.map(String::as_str).filter(|value| !value.trim().is_empty())
}

fn soft_error(error: &str) -> Output {
    Output::json(json!({ "error": error }))
}

fn missing_file() -> Output {
    soft_error("STATE.md not found")
}

fn has_state(context: &Context) -> bool {
    context.planning(FILE).exists()
}

/// Changes STATE.md in a way that the document may have no place for; tells whether it had.
fn try_change(
    context: &Context,
    mut edit: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> Result<Option<bool>, Failure> {
    change(context, |old| {
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

/// Sets each pair's field in turn; a name without a value has failed.
pub(super) fn patch(context: &Context, pairs: &[String]) -> Result<Output, Failure> {
    let lists = change(context, |old| {
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
    let (updated, failed) = lists.ok_or_else(no_state)?;
    let raw = if updated.is_empty() { "false" } else { "true" };
    Ok(Output::with_raw(json!({ "updated": updated, "failed": failed }), raw))
}

pub(super) fn advance_plan(context: &Context) -> Result<Output, Failure> {
    let moved = change(context, |old| {
        let moved = advance::advance_plan(old, &today());
        Ok(moved.map_or((None, None), |(bytes, outcome)| (Some(bytes), Some(outcome))))
    })?;
    Ok(match moved {
        None => missing_file(),
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

pub(super) fn record_metric(context: &Context, args: &RecordMetric) -> Result<Output, Failure> {
    if !has_state(context) {
        return Ok(missing_file());
    }
    let wanted =
        (given(args.phase.as_ref()), given(args.plan.as_ref()), given(args.duration.as_ref()));
    let (Some(phase), Some(plan), Some(duration)) = wanted else {
        return Ok(soft_error("phase, plan, and duration required"));
    };
    let (tasks, files) = (given(args.tasks.as_ref()), given(args.files.as_ref()));
    let metric = Metric { phase, plan, duration, tasks, files };
    let done = try_change(context, |old| metrics::record(old, metric))?;
    Ok(match done {
        None => missing_file(),
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
        return Ok(missing_file());
    }
    let progress = count_plans(context);
    let done = try_change(context, |old| advance::set_progress(old, progress))?;
    Ok(match done {
        None => missing_file(),
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

/// Counts the plans and summaries of all current phases by their names.
fn count_plans(context: &Context) -> Progress {
    let mut progress = Progress::default();
    for dir in PhaseDirs::load(&context.project.planning).iter() {
        for file in dir.files().map(str::to_ascii_lowercase) {
            progress.total += usize::from(file.ends_with("-plan.md"));
            progress.completed += usize::from(file.ends_with("-summary.md"));
        }
    }
    progress
}

pub(super) fn add_decision(context: &Context, args: &AddDecision) -> Result<Output, Failure> {
    if !has_state(context) {
        return Ok(missing_file());
    }
    let Some(summary) = given(args.summary.as_ref()) else {
        return Ok(soft_error("summary required"));
    };
    let (phase, rationale) = (given(args.phase.as_ref()), given(args.rationale.as_ref()));
    let decision = sections::render_decision(phase, summary, rationale);
    let done = try_change(context, |old| sections::add_decision(old, &decision))?;
    Ok(match done {
        None => missing_file(),
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

pub(super) fn add_blocker(context: &Context, args: &Blocker) -> Result<Output, Failure> {
    if !has_state(context) {
        return Ok(missing_file());
    }
    let Some(text) = args.given() else { return Ok(soft_error("text required")) };
    let done = try_change(context, |old| sections::add_blocker(old, text))?;
    Ok(match done {
        None => missing_file(),
        Some(true) => Output::with_raw(json!({ "added": true, "blocker": text }), "true"),
        Some(false) => {
            let reason = "Blockers section not found in STATE.md";
            Output::with_raw(json!({ "added": false, "reason": reason }), "false")
        }
    })
}

pub(super) fn resolve_blocker(context: &Context, args: &Blocker) -> Result<Output, Failure> {
    if !has_state(context) {
        return Ok(missing_file());
    }
    let Some(text) = args.given() else { return Ok(soft_error("text required")) };
    let removed = change(context, |old| {
        let resolved = sections::resolve_blocker(old, text);
        Ok(resolved.map_or((None, None), |(bytes, removed)| (Some(bytes), Some(removed))))
    })?;
    Ok(match removed {
        None => missing_file(),
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

pub(super) fn record_session(context: &Context, args: &RecordSession) -> Result<Output, Failure> {
    let now = now();
    let end = SessionEnd {
        now: &now,
        stopped_at: given(args.stopped_at.as_ref()),
        resume_file: given(args.resume_file.as_ref()),
    };
    let updated = change(context, |old| {
        let (bytes, updated) = advance::record_session(old, end);
        Ok((Some(bytes), updated))
    })?;
    Ok(match updated {
        None => missing_file(),
        Some(updated) if updated.is_empty() => {
            let reason = "No session fields found in STATE.md";
            Output::with_raw(json!({ "recorded": false, "reason": reason }), "false")
        }
        Some(updated) => Output::with_raw(json!({ "recorded": true, "updated": updated }), "true"),
    })
}
