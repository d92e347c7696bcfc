//! `mow roadmap analyze` compares the phases in the roadmap with the phase directories.

use mow_core::phase::PhaseNumber;
use mow_store::phase_dirs::{DiskStatus, PhaseFileKind};
use mow_store::project_phases::{ProjectPhase, ProjectPhases};
use serde::Serialize;
use serde_json::json;

use crate::commands::roadmap::load;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn run(context: &Context) -> Result<Output, Failure> {
    Ok(match load(context)? {
        Some(project_phases) => Output::json(analyze(&project_phases)),
        None => Output::json(json!({
            "error": "ROADMAP.md not found", "milestones": [], "phases": [], "current_phase": null,
        })),
    })
}

#[derive(Serialize)]
struct RoadmapAnalysisJson<'a> {
    milestones: Vec<MilestoneJson<'a>>,
    phases: Vec<AnalyzedPhaseJson<'a>>,
    phase_count: usize,
    completed_phases: usize,
    total_plans: usize,
    total_summaries: usize,
    progress_percent: usize,
    current_phase: Option<&'a str>,
    next_phase: Option<&'a str>,
    missing_phase_details: Option<Vec<&'a str>>,
}

#[derive(Serialize)]
struct MilestoneJson<'a> {
    heading: &'a str,
    version: &'a str,
}

#[derive(Serialize)]
struct AnalyzedPhaseJson<'a> {
    number: &'a str,
    name: &'a str,
    goal: Option<&'a str>,
    depends_on: Option<&'a str>,
    depends_on_parsed: Vec<String>,
    plan_count: usize,
    summary_count: usize,
    has_context: bool,
    has_research: bool,
    disk_status: &'static str,
    roadmap_complete: bool,
}

fn analyze(project_phases: &ProjectPhases) -> RoadmapAnalysisJson<'_> {
    let phases = phases_with_section(project_phases);
    let phases_json: Vec<_> =
        phases.iter().map(|phase| phase_json(phase, project_phases)).collect();
    let plans = phases_json.iter().map(|phase| phase.plan_count).sum();
    let summaries = phases_json.iter().map(|phase| phase.summary_count).sum();
    let first = |wanted: &[DiskStatus]| {
        let found = phases.iter().find(|phase| wanted.contains(&phase.disk_status()));
        found.map(|phase| phase.entry.phase.written.as_str())
    };
    let lacking = project_phases.phases.iter().filter(|phase| phase.entry.lacks_details);
    let missing: Vec<_> = lacking.map(|phase| phase.entry.phase.written.as_str()).collect();
    let milestones = project_phases.milestones.iter().map(|milestone| MilestoneJson {
        heading: &milestone.heading,
        version: &milestone.version,
    });
    let complete = DiskStatus::Complete.word();
    RoadmapAnalysisJson {
        milestones: milestones.collect(),
        phase_count: phases_json.len(),
        completed_phases: phases_json.iter().filter(|phase| phase.disk_status == complete).count(),
        total_plans: plans,
        total_summaries: summaries,
        progress_percent: percent(summaries, plans),
        current_phase: first(&[DiskStatus::Planned, DiskStatus::Partial]),
        next_phase: first(&[
            DiskStatus::Empty,
            DiskStatus::NoDirectory,
            DiskStatus::Discussed,
            DiskStatus::Researched,
        ]),
        missing_phase_details: Some(missing).filter(|missing| !missing.is_empty()),
        phases: phases_json,
    }
}

/// Returns the phases that have a section of their own; all phases if no phase has one.
fn phases_with_section(project_phases: &ProjectPhases) -> Vec<&ProjectPhase> {
    let with_section: Vec<_> =
        project_phases.phases.iter().filter(|phase| phase.entry.phase.sources.heading).collect();
    if with_section.is_empty() { project_phases.phases.iter().collect() } else { with_section }
}

fn count_files(phase: &ProjectPhase, kind: PhaseFileKind) -> usize {
    phase.dir.as_ref().map_or(0, |dir| dir.count(kind))
}

fn percent(done: usize, total: usize) -> usize {
    if total == 0 { 0 } else { ((200 * done + total) / (2 * total)).min(100) }
}

fn phase_json<'a>(
    project_phase: &'a ProjectPhase,
    project_phases: &ProjectPhases,
) -> AnalyzedPhaseJson<'a> {
    let phase = &project_phase.entry.phase;
    let as_written = |number: &PhaseNumber| {
        let declared = project_phases.by_number(number);
        declared.map_or_else(|| number.to_string(), |phase| phase.entry.phase.written.clone())
    };
    AnalyzedPhaseJson {
        number: &phase.written,
        name: &phase.name,
        goal: project_phase.entry.goal.as_deref(),
        depends_on: project_phase.entry.depends_text.as_deref(),
        depends_on_parsed: phase.depends_on.iter().map(as_written).collect(),
        plan_count: count_files(project_phase, PhaseFileKind::Plan),
        summary_count: count_files(project_phase, PhaseFileKind::Summary),
        has_context: count_files(project_phase, PhaseFileKind::Context) > 0,
        has_research: count_files(project_phase, PhaseFileKind::Research) > 0,
        disk_status: project_phase.disk_status().word(),
        roadmap_complete: project_phase.entry.ticked,
    }
}
