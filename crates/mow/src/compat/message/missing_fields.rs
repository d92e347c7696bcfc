//! Fills in the message fields that a caller of `message format` left out.
//!
//! The values come from STATUS.md, the summaries and git. Nothing is read when no field is missing,
//! and git is asked only when STATUS.md names no commit.

use mow_core::duration::parse_minutes;
use mow_core::message::{Fields, MessageKind};
use mow_store::compat::summary;
use mow_store::disk;
use mow_store::phase_dirs::{PhaseDir, PhaseFileKind};
use mow_store::status::{self, PlanRow, Status, UNSET};
use serde_json::Value;

use crate::context::Context;
use crate::failure::Failure;

/// The value of `commit` when neither STATUS.md nor git names one.
const UNKNOWN_COMMIT: &str = "unknown";

/// Adds the missing fields whose values are known.
pub(super) fn fill_missing(
    context: &Context,
    kind: MessageKind,
    fields: &mut Fields,
) -> Result<(), Failure> {
    let field = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
    let is_complete = kind.required().iter().all(|key| fields.contains_key(*key));
    match (kind, field("phase"), field("plan")) {
        (MessageKind::PlanComplete, Some(phase), Some(plan)) if !is_complete => {
            fill_plan_complete(context, &phase, &plan, fields)
        }
        (MessageKind::PhaseComplete, Some(phase), _) if !is_complete => {
            fill_phase_complete(context, &phase, fields)
        }
        _ => Ok(()),
    }
}

fn add_if_missing(fields: &mut Fields, key: &str, value: impl FnOnce() -> String) {
    fields.entry(key).or_insert_with(|| Value::String(value()));
}

fn fill_plan_complete(
    context: &Context,
    phase: &str,
    plan: &str,
    fields: &mut Fields,
) -> Result<(), Failure> {
    let dir = context.phase_dir(phase);
    let status = dir.as_ref().map(load_status).transpose()?.flatten();
    let row =
        status.iter().flat_map(|status| &status.plans).find(|row| names_plan(&row.plan, plan));
    let commit = row.map(|row| row.commit.clone()).filter(|commit| commit != UNSET);
    add_if_missing(fields, "commit", || {
        commit.or_else(|| short_head(context)).unwrap_or_else(|| UNKNOWN_COMMIT.to_owned())
    });
    let mut minutes = row.and_then(row_minutes);
    if let Some(dir) = dir.filter(|_| minutes.is_none()) {
        minutes = summary_minutes(&dir, |id| names_plan(id, plan))?;
    }
    add_if_missing(fields, "duration_min", || minutes.unwrap_or(0).to_string());
    Ok(())
}

fn fill_phase_complete(context: &Context, phase: &str, fields: &mut Fields) -> Result<(), Failure> {
    let dir = context.phase_dir(phase);
    let status = dir.as_ref().map(load_status).transpose()?.flatten();
    let rows = || status.iter().flat_map(|status| &status.plans);
    let mut minutes = rows().filter_map(row_minutes).reduce(u64::saturating_add);
    let mut complete = status.as_ref().map_or(0, |status| status.aggregate().complete);
    if let Some(dir) = dir {
        if dir.count(PhaseFileKind::Plan) > 0 {
            complete = plans_with_summary(&dir);
        }
        if minutes.is_none() {
            minutes = summary_minutes(&dir, |_| true)?;
        }
    }
    add_if_missing(fields, "plans_completed", || complete.to_string());
    add_if_missing(fields, "total_duration_min", || minutes.unwrap_or(0).to_string());
    Ok(())
}

/// Counts the complete plans. A plan is complete when it has a summary.
fn plans_with_summary(dir: &PhaseDir) -> usize {
    let plans = dir.files_of(PhaseFileKind::Plan).filter_map(|file| PhaseFileKind::Plan.id(file));
    plans.filter(|id| summary_ids(dir).any(|(summary, _)| summary == *id)).count()
}

fn load_status(dir: &PhaseDir) -> Result<Option<Status>, Failure> {
    let Some(file) = dir.status_file() else { return Ok(None) };
    Ok(disk::read(&dir.path.join(file))?.map(|bytes| status::parse(&bytes)))
}

fn row_minutes(row: &PlanRow) -> Option<u64> {
    parse_minutes(&row.duration)
}

/// Returns the plan id and file name of each summary.
fn summary_ids(dir: &PhaseDir) -> impl Iterator<Item = (&str, &str)> {
    dir.files_of(PhaseFileKind::Summary)
        .filter_map(|file| Some((PhaseFileKind::Summary.id(file)?, file)))
}

/// Adds up the durations in the summaries of the wanted plans; `None` when no summary has one.
fn summary_minutes(
    dir: &PhaseDir,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Option<u64>, Failure> {
    let mut total: Option<u64> = None;
    for (_, file) in summary_ids(dir).filter(|(id, _)| is_wanted(id)) {
        let bytes = disk::read(&dir.path.join(file))?.unwrap_or_default();
        let minutes = summary::parse(&bytes).duration.and_then(|text| parse_minutes(&text));
        total = total.map_or(minutes, |total| Some(total.saturating_add(minutes.unwrap_or(0))));
    }
    Ok(total)
}

/// Returns whether the typed text names the plan: `03-01`, `3-1`, `01` or `1`.
fn names_plan(id: &str, typed: &str) -> bool {
    let without_zeros = |part: &str| part.trim_start_matches('0').to_owned();
    let parts = |text: &str| text.split('-').map(without_zeros).collect::<Vec<_>>();
    let (id_parts, typed_parts) = (parts(id), parts(typed));
    id == typed || (typed_parts.len() <= id_parts.len() && id_parts.ends_with(&typed_parts))
}

/// Returns the abbreviated hash of `HEAD`; `None` outside of git.
fn short_head(context: &Context) -> Option<String> {
    context.project.repository.as_ref()?;
    let answer = context.git().ask(&["rev-parse", "--verify", "--short", "HEAD"]).ok()?;
    Some(answer.text()).filter(|text| answer.success && !text.is_empty())
}
