//! `mow roadmap analyze`: the roadmap laid beside the phase directories.

use mow_core::phase::PhaseNumber;
use mow_store::phase_dirs::{Artifact, DiskStatus};
use mow_store::survey::{Survey, Surveyed};
use serde::Serialize;
use serde_json::json;

use super::load;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn run(context: &Context) -> Result<Output, Failure> {
    Ok(match load(context)? {
        Some(survey) => Output::json(analyze(&survey)),
        None => Output::json(json!({
            "error": "ROADMAP.md not found", "milestones": [], "phases": [], "current_phase": null,
        })),
    })
}

#[derive(Serialize)]
struct Analysis<'a> {
    milestones: Vec<MilestoneJson<'a>>,
    phases: Vec<PhaseJson<'a>>,
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
struct PhaseJson<'a> {
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

fn analyze(survey: &Survey) -> Analysis<'_> {
    let phases = described(survey);
    let items: Vec<_> = phases.iter().map(|phase| item(phase, survey)).collect();
    let plans = items.iter().map(|item| item.plan_count).sum();
    let summaries = items.iter().map(|item| item.summary_count).sum();
    let first = |wanted: &[DiskStatus]| {
        let found = phases.iter().find(|phase| wanted.contains(&phase.disk_status()));
        found.map(|phase| phase.entry.phase.written.as_str())
    };
    let lacking = survey.phases.iter().filter(|phase| phase.entry.lacks_details);
    let missing: Vec<_> = lacking.map(|phase| phase.entry.phase.written.as_str()).collect();
    let milestones = survey.milestones.iter().map(|milestone| MilestoneJson {
        heading: &milestone.heading,
        version: &milestone.version,
    });
    let complete = DiskStatus::Complete.word();
    Analysis {
        milestones: milestones.collect(),
        phase_count: items.len(),
        completed_phases: items.iter().filter(|item| item.disk_status == complete).count(),
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
        phases: items,
    }
}

/// Returns the phases with a section; all of them in a roadmap that describes none.
fn described(survey: &Survey) -> Vec<&Surveyed> {
    let headed: Vec<_> =
        survey.phases.iter().filter(|phase| phase.entry.phase.sources.heading).collect();
    if headed.is_empty() { survey.phases.iter().collect() } else { headed }
}

fn count(phase: &Surveyed, kind: Artifact) -> usize {
    phase.dir.as_ref().map_or(0, |dir| dir.count(kind))
}

fn percent(done: usize, total: usize) -> usize {
    if total == 0 { 0 } else { ((200 * done + total) / (2 * total)).min(100) }
}

fn item<'a>(surveyed: &'a Surveyed, survey: &Survey) -> PhaseJson<'a> {
    let phase = &surveyed.entry.phase;
    let as_written = |number: &PhaseNumber| {
        let known = survey.by_number(number);
        known.map_or_else(|| number.to_string(), |known| known.entry.phase.written.clone())
    };
    PhaseJson {
        number: &phase.written,
        name: &phase.name,
        goal: surveyed.entry.goal.as_deref(),
        depends_on: surveyed.entry.depends_text.as_deref(),
        depends_on_parsed: phase.depends_on.iter().map(as_written).collect(),
        plan_count: count(surveyed, Artifact::Plan),
        summary_count: count(surveyed, Artifact::Summary),
        has_context: count(surveyed, Artifact::Context) > 0,
        has_research: count(surveyed, Artifact::Research) > 0,
        disk_status: surveyed.disk_status().word(),
        roadmap_complete: surveyed.entry.ticked,
    }
}
