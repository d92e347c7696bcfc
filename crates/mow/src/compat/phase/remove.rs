//! `mow phase remove` removes a phase and renumbers the phases after it.
//!
//! If an earlier removal was interrupted, it is finished and nothing else is removed, because the
//! numbers have changed since the caller chose one.

use mow_core::phase::PhaseNumber;
use mow_store::compat::phase_removal::PhaseRemoval;
use mow_store::roadmap;
use serde_json::json;

use super::{load_roadmap, open_writer, parse_phase_number};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn run(context: &Context, phase: &str, force: bool) -> Result<Output, Failure> {
    let removed = parse_phase_number(phase)?;
    load_roadmap(context)?;
    let (writer, finished) = open_writer(context)?;
    if let Some(earlier) = finished {
        let message =
            format!("the removal of phase {earlier} had been cut off and is finished now");
        return Err(Failure::refused(format!("{message}; nothing else was removed"))
            .hint("look at the roadmap: the phases after it have new numbers"));
    }
    let roadmap = load_roadmap(context)?;
    let plan = PhaseRemoval::plan(&context.project.planning, &removed)?;
    check_removal(phase, &removed, force, &plan, &roadmap)?;
    let json = json!({
        "removed": phase,
        "directory_deleted": plan.own,
        "renamed_directories": plan.directories,
        "renamed_files": plan.files,
        "roadmap_updated": true,
        "state_updated": context.load("STATE.md")?.is_some(),
    });
    plan.apply(&writer, &context.project.planning, &removed)?;
    Ok(Output::json(json))
}

/// Refuses a removal that would delete work, unless `force` is set.
fn check_removal(
    phase: &str,
    removed: &PhaseNumber,
    force: bool,
    plan: &PhaseRemoval,
    roadmap: &[u8],
) -> Result<(), Failure> {
    let declared: Vec<_> =
        roadmap::parse(roadmap).entries.into_iter().map(|entry| entry.phase.number).collect();
    if plan.own.is_none() && !declared.contains(removed) {
        return Err(Failure::refused(format!("Phase {phase} not found on disk or in ROADMAP.md"))
            .hint("mow roadmap phases lists what the roadmap declares"));
    }
    if force {
        return Ok(());
    }
    if plan.has_summaries {
        return Err(Failure::refused(format!(
            "Phase {phase} has executed plans (there are summaries); use --force to remove it anyway"
        ))
        .hint(format!("mow phase remove {phase} --force deletes its directory")));
    }
    let decimals: Vec<_> =
        declared.iter().filter(|number| number.is_descendant_of(removed)).collect();
    let numbers = decimals.iter().map(ToString::to_string);
    let names: Vec<_> = numbers.chain(plan.sub_phases.iter().cloned()).collect();
    if !names.is_empty() {
        return Err(Failure::refused(format!(
            "other phases hang on phase {phase} ({}); remove them first, or all of it with --force",
            names.join(", ")
        )));
    }
    Ok(())
}
