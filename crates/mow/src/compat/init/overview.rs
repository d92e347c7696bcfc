//! The answers of `mow init` about all phases: `milestone-op`, `progress` and `auto`.

use std::fmt::Write;

use mow_core::phase::PhaseNumber;
use mow_core::slug::slug;
use mow_store::phase_dirs::{DiskStatus, PhaseDir, PhaseDirs, PhaseFileKind};
use mow_store::project_phases::{ProjectPhase, ProjectPhases};
use mow_store::roadmap::milestone::{current_milestone, phases_in_progress};
use mow_store::state::snapshot;
use mow_store::{phase_dirs, project_phases};
use serde::Serialize;
use serde_json::{Value, json};

use super::phase::number_prefix;
use super::{add_contents, exists, into_object, load_current_milestone};
use crate::commands::profile::model;
use crate::commands::roadmap::no_roadmap;
use crate::compat::agent_teams;
use crate::compat::roadmap::dag;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn milestone_op(context: &Context) -> Result<Output, Failure> {
    let config = context.config()?;
    let milestone = load_current_milestone(context)?;
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
struct PhaseOverviewJson<'a> {
    number: &'a str,
    name: Option<&'a str>,
    directory: String,
    status: &'static str,
    plan_count: usize,
    summary_count: usize,
    has_research: bool,
}

fn phase_json<'a>(context: &Context, dir: &'a PhaseDir) -> PhaseOverviewJson<'a> {
    let has_research = dir.count(PhaseFileKind::Research) > 0;
    let plan_count = dir.count(PhaseFileKind::Plan);
    PhaseOverviewJson {
        number: number_prefix(&dir.name),
        name: dir.label(),
        directory: context.display_path(&dir.path),
        status: match dir.status() {
            DiskStatus::Complete => "complete",
            _ if plan_count > 0 => "in_progress",
            _ if has_research => "researched",
            _ => "pending",
        },
        plan_count,
        summary_count: dir.count(PhaseFileKind::Summary),
        has_research,
    }
}

pub(super) fn progress(context: &Context, include: Option<&str>) -> Result<Output, Failure> {
    let config = context.config()?;
    let milestone = load_current_milestone(context)?;
    let dirs = PhaseDirs::load(&context.project.planning);
    let phases: Vec<_> = dirs.iter().map(|dir| phase_json(context, dir)).collect();
    let count = |status: &str| phases.iter().filter(|phase| phase.status == status).count();
    let first = |wanted: &[&str]| phases.iter().find(|phase| wanted.contains(&phase.status));
    let current = first(&["in_progress", "researched"]);
    let state = context.load("STATE.md")?;
    let paused_at = state.as_deref().and_then(|bytes| snapshot::parse(bytes).paused_at);
    let mut answer = into_object(json!({
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

/// The phases that `mow init auto` runs.
struct MilestonePhases<'a> {
    /// The phase numbers as the roadmap writes them.
    phases: Vec<&'a str>,
    completed: usize,
    first_ready: Option<&'a str>,
}

impl<'a> MilestonePhases<'a> {
    /// Takes the phases under the heading of the open milestone, or else all that are not done.
    fn new(project_phases: &'a ProjectPhases, context: &Context, roadmap: &[u8]) -> Self {
        let scheduled = project_phases.scheduled();
        let listed: Vec<PhaseNumber> =
            phases_in_progress(roadmap).unwrap_or_default().iter().map(|p| p.number).collect();
        let chosen: Vec<&ProjectPhase> = if listed.is_empty() {
            scheduled.iter().filter(|phase| !phase.is_done()).copied().collect()
        } else {
            listed.iter().filter_map(|number| project_phases.by_number(number)).collect()
        };
        let graph = project_phases.graph(&context.project.planning, &scheduled);
        let written = |phase: &'a ProjectPhase| phase.entry.phase.written.as_str();
        let ready: Vec<_> =
            graph.ready().into_iter().map(|index| written(scheduled[index])).collect();
        let phases: Vec<_> = chosen.iter().map(|phase| written(phase)).collect();
        let ready_in_milestone = phases.iter().find(|phase| ready.contains(phase));
        Self {
            completed: chosen.iter().filter(|phase| phase.is_done()).count(),
            first_ready: ready_in_milestone.or(ready.first()).copied(),
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
    let project_phases = project_phases::load(&context.project.planning)?.ok_or_else(no_roadmap)?;
    let milestone = current_milestone(&roadmap);
    let milestone_phases = MilestonePhases::new(&project_phases, context, &roadmap);
    let is_active = config.value("workflow.auto_advance").and_then(Value::as_bool).unwrap_or(false);
    let teams = agent_teams::is_enabled();
    let total = milestone_phases.phases.len();
    if context.wants_json() {
        return Ok(Output::json(json!({
            "planning_exists": true,
            "auto_advance_active": is_active,
            "dag": dag::dag_json(context, &project_phases),
            "milestone_version": milestone.version,
            "milestone_name": milestone.name,
            "milestone_phases": milestone_phases.phases,
            "completed_count": milestone_phases.completed,
            "remaining_count": total - milestone_phases.completed,
            "total_phase_count": total,
            "first_ready_phase": milestone_phases.first_ready,
            "agent_teams_enabled": teams,
            "commit_docs": config.settings().commit_docs,
        })));
    }
    let on = |is: bool| if is { "on" } else { "off" };
    let or_none = |text: String| if text.is_empty() { "none".to_owned() } else { text };
    let mut text = format!("Milestone: {} {}\n", milestone.version, milestone.name);
    let _ = writeln!(text, "Phases: {}", or_none(milestone_phases.phases.join(", ")));
    let _ = writeln!(text, "Completed: {} of {total}", milestone_phases.completed);
    let _ = writeln!(text, "Remaining: {}", total - milestone_phases.completed);
    let next = milestone_phases
        .first_ready
        .map_or("nothing is ready".to_owned(), |p| format!("Phase {p}"));
    let _ = writeln!(text, "Next: {next}");
    let _ = writeln!(text, "Auto-advance: {}", on(is_active));
    let _ = writeln!(text, "Agent teams: {}", on(teams));
    Ok(Output::Text(text))
}
