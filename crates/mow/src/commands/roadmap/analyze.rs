//! `mow roadmap analyze`: the roadmap laid beside the phase directories.

use mow_store::phase_dirs::{Artifact, DiskStatus};
use mow_store::survey::{Survey, Surveyed};
use serde_json::{Value, json};

use super::load;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn run(context: &Context) -> Result<Output, Failure> {
    Ok(Output::json(match load(context)? {
        Some(survey) => analyze(&survey),
        None => json!({
            "error": "ROADMAP.md not found", "milestones": [], "phases": [], "current_phase": null,
        }),
    }))
}

fn analyze(survey: &Survey) -> Value {
    let phases = described(survey);
    let counts = |kind| phases.iter().map(|phase| count(phase, kind)).sum::<usize>();
    let (plans, summaries) = (counts(Artifact::Plan), counts(Artifact::Summary));
    let statuses: Vec<_> = phases.iter().map(|phase| phase.disk_status()).collect();
    let first = |wanted: &[DiskStatus]| {
        let at = statuses.iter().position(|status| wanted.contains(status));
        at.map(|at| phases[at].entry.phase.written.clone())
    };
    let missing: Vec<_> = survey
        .phases
        .iter()
        .filter(|phase| phase.entry.lacks_details)
        .map(|phase| phase.entry.phase.written.clone())
        .collect();
    json!({
        "milestones": survey.milestones.iter()
            .map(|milestone| json!({ "heading": milestone.heading, "version": milestone.version }))
            .collect::<Vec<_>>(),
        "phases": phases.iter().map(|phase| item(phase, survey)).collect::<Vec<_>>(),
        "phase_count": phases.len(),
        "completed_phases": statuses.iter().filter(|status| **status == DiskStatus::Complete).count(),
        "total_plans": plans,
        "total_summaries": summaries,
        "progress_percent": percent(summaries, plans),
        "current_phase": first(&[DiskStatus::Planned, DiskStatus::Partial]),
        "next_phase": first(&[
            DiskStatus::Empty, DiskStatus::NoDirectory, DiskStatus::Discussed, DiskStatus::Researched,
        ]),
        "missing_phase_details": if missing.is_empty() { Value::Null } else { json!(missing) },
    })
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

fn item(surveyed: &Surveyed, survey: &Survey) -> Value {
    let phase = &surveyed.entry.phase;
    let parsed: Vec<_> = phase
        .depends_on
        .iter()
        .map(|number| {
            let known = survey.by_number(number);
            known.map_or_else(|| number.to_string(), |known| known.entry.phase.written.clone())
        })
        .collect();
    json!({
        "number": phase.written,
        "name": phase.name,
        "goal": surveyed.entry.goal,
        "depends_on": surveyed.entry.depends_text,
        "depends_on_parsed": parsed,
        "plan_count": count(surveyed, Artifact::Plan),
        "summary_count": count(surveyed, Artifact::Summary),
        "has_context": count(surveyed, Artifact::Context) > 0,
        "has_research": count(surveyed, Artifact::Research) > 0,
        "disk_status": surveyed.disk_status().word(),
        "roadmap_complete": surveyed.entry.ticked,
    })
}
