//! The bundles about all phases: milestone-op, progress, auto.

use std::fmt::Write;

use mow_core::phase::PhaseNumber;
use mow_core::slug::slug;
use mow_store::phase_dirs::{Artifact, DiskStatus, PhaseDir, PhaseDirs};
use mow_store::roadmap::milestone::{current_milestone, phases_in_progress};
use mow_store::state::snapshot;
use mow_store::survey::{Survey, Surveyed};
use mow_store::{phase_dirs, survey};
use serde::Serialize;
use serde_json::{Value, json};

use super::super::roadmap::{dag, no_roadmap};
use super::super::utility::model;
use super::phase::number_in;
use super::{add_contents, exists, milestone, object};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::teams;

pub(super) fn milestone_op(context: &Context) -> Result<Output, Failure> {
    let config = context.config()?;
    let milestone = milestone(context)?;
    let dirs = PhaseDirs::load(&context.project.planning);
    let count = dirs.iter().count();
    let completed = dirs.iter().filter(|dir| dir.status() == DiskStatus::Complete).count();
    let archived = phase_dirs::archived_milestones(&context.project.planning);
    Ok(Output::json(json!({
        "commit_docs": config.settings().commit_docs,
        "milestone_version": milestone.version,
        "milestone_name": milestone.name,
        "milestone_slug": slug(&milestone.name),
        "phase_count": count,
        "completed_phases": completed,
        "all_phases_complete": count > 0 && completed == count,
        "archived_milestones": archived,
        "archive_count": archived.len(),
        "project_exists": exists(context, "PROJECT.md"),
        "roadmap_exists": exists(context, "ROADMAP.md"),
        "state_exists": exists(context, "STATE.md"),
        "archive_exists": exists(context, "milestones"),
        "phases_dir_exists": exists(context, "phases"),
    })))
}

#[derive(Serialize)]
struct PhaseJson<'a> {
    number: &'a str,
    name: Option<&'a str>,
    directory: String,
    status: &'static str,
    plan_count: usize,
    summary_count: usize,
    has_research: bool,
}

fn item<'a>(context: &Context, dir: &'a PhaseDir) -> PhaseJson<'a> {
    let has_research = dir.count(Artifact::Research) > 0;
    let plan_count = dir.count(Artifact::Plan);
    PhaseJson {
        number: number_in(&dir.name),
        name: dir.label(),
        directory: context.shown(&dir.path),
        status: match dir.status() {
            DiskStatus::Complete => "complete",
            _ if plan_count > 0 => "in_progress",
            _ if has_research => "researched",
            _ => "pending",
        },
        plan_count,
        summary_count: dir.count(Artifact::Summary),
        has_research,
    }
}

pub(super) fn progress(context: &Context, include: Option<&str>) -> Result<Output, Failure> {
    let config = context.config()?;
    let milestone = milestone(context)?;
    let dirs = PhaseDirs::load(&context.project.planning);
    let phases: Vec<_> = dirs.iter().map(|dir| item(context, dir)).collect();
    let count = |status: &str| phases.iter().filter(|phase| phase.status == status).count();
    let first = |wanted: &[&str]| phases.iter().find(|phase| wanted.contains(&phase.status));
    let current = first(&["in_progress", "researched"]);
    let state = context.load("STATE.md")?;
    let paused_at = state.as_deref().and_then(|bytes| snapshot::parse(bytes).paused_at);
    let mut answer = object(json!({
        "executor_model": model(&config, "mow-executor"),
        "planner_model": model(&config, "mow-planner"),
        "commit_docs": config.settings().commit_docs,
        "milestone_version": milestone.version,
        "milestone_name": milestone.name,
        "phases": phases,
        "phase_count": phases.len(),
        "completed_count": count("complete"),
        "in_progress_count": count("in_progress"),
        "current_phase": current,
        "next_phase": first(&["pending"]),
        "paused_at": paused_at,
        "has_work_in_progress": current.is_some(),
        "project_exists": exists(context, "PROJECT.md"),
        "roadmap_exists": exists(context, "ROADMAP.md"),
        "state_exists": state.is_some(),
    }));
    let files = [
        ("state", "STATE.md"),
        ("roadmap", "ROADMAP.md"),
        ("project", "PROJECT.md"),
        ("config", "config.json"),
    ];
    add_contents(&mut answer, context, include, &files)?;
    Ok(Output::json(answer))
}

/// The phases that are to be worked through.
struct Course<'a> {
    /// Their numbers as written.
    phases: Vec<&'a str>,
    completed: usize,
    first_ready: Option<&'a str>,
}

impl<'a> Course<'a> {
    /// Takes the phases under the open milestone's heading, else all that are not done.
    fn new(survey: &'a Survey, context: &Context, roadmap: &[u8]) -> Self {
        let scheduled = survey.scheduled();
        let listed: Vec<PhaseNumber> =
            phases_in_progress(roadmap).unwrap_or_default().iter().map(|p| p.number).collect();
        let chosen: Vec<&Surveyed> = if listed.is_empty() {
            scheduled.iter().filter(|phase| !phase.is_done()).copied().collect()
        } else {
            listed.iter().filter_map(|number| survey.by_number(number)).collect()
        };
        let graph = survey.graph(&context.project.planning, &scheduled);
        let written = |phase: &'a Surveyed| phase.entry.phase.written.as_str();
        let ready: Vec<_> =
            graph.ready().into_iter().map(|index| written(scheduled[index])).collect();
        let phases: Vec<_> = chosen.iter().map(|phase| written(phase)).collect();
        let in_course = phases.iter().find(|phase| ready.contains(phase));
        Self {
            completed: chosen.iter().filter(|phase| phase.is_done()).count(),
            first_ready: in_course.or(ready.first()).copied(),
            phases,
        }
    }
}

pub(super) fn auto(context: &Context) -> Result<Output, Failure> {
    if !context.project.planned {
        return Err(Failure::refused("no .planning/ directory found")
            .hint("run mow in a project with a .planning/ directory, or name one with --cwd DIR"));
    }
    let config = context.config()?;
    let roadmap = context.load("ROADMAP.md")?.ok_or_else(no_roadmap)?;
    let survey = survey::load(&context.project.planning)?.ok_or_else(no_roadmap)?;
    let milestone = current_milestone(&roadmap);
    let course = Course::new(&survey, context, &roadmap);
    let is_active = config.value("workflow.auto_advance").and_then(Value::as_bool).unwrap_or(false);
    let teams = teams::enabled();
    let total = course.phases.len();
    if context.wants_json() {
        return Ok(Output::json(json!({
            "planning_exists": true,
            "auto_advance_active": is_active,
            "dag": dag::value(context, &survey),
            "milestone_version": milestone.version,
            "milestone_name": milestone.name,
            "milestone_phases": course.phases,
            "completed_count": course.completed,
            "remaining_count": total - course.completed,
            "total_phase_count": total,
            "first_ready_phase": course.first_ready,
            "agent_teams_enabled": teams,
            "commit_docs": config.settings().commit_docs,
        })));
    }
    let on = |is: bool| if is { "on" } else { "off" };
    let or_none = |text: String| if text.is_empty() { "none".to_owned() } else { text };
    let mut text = format!("Milestone: {} {}\n", milestone.version, milestone.name);
    let _ = writeln!(text, "Phases: {}", or_none(course.phases.join(", ")));
    let _ = writeln!(text, "Completed: {} of {total}", course.completed);
    let _ = writeln!(text, "Remaining: {}", total - course.completed);
    let next = course.first_ready.map_or("nothing is ready".to_owned(), |p| format!("Phase {p}"));
    let _ = writeln!(text, "Next: {next}");
    let _ = writeln!(text, "Auto-advance: {}", on(is_active));
    let _ = writeln!(text, "Agent teams: {}", on(teams));
    Ok(Output::Text(text))
}
