//! What a caller of `message format` may leave out, because the disk or git knows it.
//!
//! Nothing is read when nothing is missing, and git is asked only when STATUS.md names no commit.

use mow_core::message::{Fields, Kind};
use mow_core::minutes::parse_minutes;
use mow_store::phase_dirs::{Artifact, PhaseDir};
use mow_store::status::{self, PlanRow, Status, UNSET};
use mow_store::{disk, summary};
use serde_json::Value;

use crate::context::Context;
use crate::failure::Failure;

/// What stands for a commit that nobody knows.
const UNKNOWN: &str = "unknown";

/// Adds what is missing and known.
pub(super) fn fill(context: &Context, kind: Kind, fields: &mut Fields) -> Result<(), Failure> {
    let said = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
    let is_whole = kind.required().iter().all(|key| fields.contains_key(*key));
    match (kind, said("phase"), said("plan")) {
        (Kind::PlanComplete, Some(phase), Some(plan)) if !is_whole => {
            plan_complete(context, &phase, &plan, fields)
        }
        (Kind::PhaseComplete, Some(phase), _) if !is_whole => {
            phase_complete(context, &phase, fields)
        }
        _ => Ok(()),
    }
}

fn add(fields: &mut Fields, key: &str, value: impl FnOnce() -> String) {
    fields.entry(key).or_insert_with(|| Value::String(value()));
}

fn plan_complete(
    context: &Context,
    phase: &str,
    plan: &str,
    fields: &mut Fields,
) -> Result<(), Failure> {
    let dir = context.phase_dir(phase);
    let status = dir.as_ref().map(load_status).transpose()?.flatten();
    let row = status.iter().flat_map(|status| &status.plans).find(|row| is_plan(&row.plan, plan));
    let commit = row.map(|row| row.commit.clone()).filter(|commit| commit != UNSET);
    add(fields, "commit", || {
        commit.or_else(|| head(context)).unwrap_or_else(|| UNKNOWN.to_owned())
    });
    let mut minutes = row.and_then(row_minutes);
    if let Some(dir) = dir.filter(|_| minutes.is_none()) {
        minutes = summary_minutes(&dir, |id| is_plan(id, plan))?;
    }
    add(fields, "duration_min", || minutes.unwrap_or(0).to_string());
    Ok(())
}

fn phase_complete(context: &Context, phase: &str, fields: &mut Fields) -> Result<(), Failure> {
    let dir = context.phase_dir(phase);
    let status = dir.as_ref().map(load_status).transpose()?.flatten();
    let rows = || status.iter().flat_map(|status| &status.plans);
    let mut minutes = rows().filter_map(row_minutes).reduce(u64::saturating_add);
    let mut complete = status.as_ref().map_or(0, |status| status.aggregate().complete);
    if let Some(dir) = dir {
        if dir.count(Artifact::Plan) > 0 {
            complete = plans_with_summary(&dir);
        }
        if minutes.is_none() {
            minutes = summary_minutes(&dir, |_| true)?;
        }
    }
    add(fields, "plans_completed", || complete.to_string());
    add(fields, "total_duration_min", || minutes.unwrap_or(0).to_string());
    Ok(())
}

/// Counts the plans that are complete, which is to have a summary.
fn plans_with_summary(dir: &PhaseDir) -> usize {
    let plans = dir.of(Artifact::Plan).filter_map(|file| Artifact::Plan.id(file));
    plans.filter(|id| summary_ids(dir).any(|(summary, _)| summary == *id)).count()
}

fn load_status(dir: &PhaseDir) -> Result<Option<Status>, Failure> {
    let Some(file) = dir.status_file() else { return Ok(None) };
    Ok(disk::read(&dir.path.join(file))?.map(|bytes| status::parse(&bytes)))
}

fn row_minutes(row: &PlanRow) -> Option<u64> {
    parse_minutes(&row.duration)
}

/// Returns the plan ids and names of the summaries.
fn summary_ids(dir: &PhaseDir) -> impl Iterator<Item = (&str, &str)> {
    dir.of(Artifact::Summary).filter_map(|file| Some((Artifact::Summary.id(file)?, file)))
}

/// Adds up what the summaries of some plans say they took; `None` when they do not say.
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

/// Returns whether a plan's id is meant by what a caller typed: `03-01`, `3-1`, `01` or `1`.
fn is_plan(id: &str, typed: &str) -> bool {
    let bare = |part: &str| part.trim_start_matches('0').to_owned();
    let parts = |text: &str| text.split('-').map(bare).collect::<Vec<_>>();
    let (id_parts, typed_parts) = (parts(id), parts(typed));
    id == typed || (typed_parts.len() <= id_parts.len() && id_parts.ends_with(&typed_parts))
}

/// Returns the commit that is checked out, in short form.
fn head(context: &Context) -> Option<String> {
    context.project.repository.as_ref()?;
    let answer = context.git().ask(&["rev-parse", "--verify", "--short", "HEAD"]).ok()?;
    Some(answer.text()).filter(|text| answer.success && !text.is_empty())
}
