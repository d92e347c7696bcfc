//! `mow phase remove`.

use mow_core::phase::PhaseNumber;
use mow_store::phase_removal::Removal;
use mow_store::roadmap;
use serde_json::json;

use super::{load_roadmap, number, writer};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn run(context: &Context, phase: &str, force: bool) -> Result<Output, Failure> {
    let removed = number(phase)?;
    load_roadmap(context)?;
    let (writer, finished) = writer(context)?;
    if let Some(earlier) = finished {
        let message =
            format!("the removal of phase {earlier} had been cut off and is finished now");
        return Err(Failure::refused(format!("{message}; nothing else was removed"))
            .hint("look at the roadmap: phases behind it have other numbers now"));
    }
    let roadmap = load_roadmap(context)?;
    let plan = Removal::plan(&context.project.planning, &removed)?;
    check(phase, &removed, force, &plan, &roadmap)?;
    let json = json!({
        "removed": phase,
        "directory_deleted": plan.own,
        "renamed_directories": plan.directories,
        "renamed_files": plan.files,
        "roadmap_updated": true,
        "state_updated": context.load("STATE.md")?.is_some(),
    });
    plan.carry_out(&writer, &context.project.planning, &removed)?;
    Ok(Output::json(json))
}

/// Refuses what would be lost unasked.
fn check(
    phase: &str,
    removed: &PhaseNumber,
    force: bool,
    plan: &Removal,
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
    if plan.executed {
        return Err(Failure::refused(format!(
            "Phase {phase} has executed plans (there are summaries); use --force to remove it anyway"
        ))
        .hint(format!("mow phase remove {phase} --force deletes its directory")));
    }
    let hanging: Vec<_> = declared.iter().filter(|number| number.hangs_on(removed)).collect();
    let numbers = hanging.iter().map(ToString::to_string);
    let names: Vec<_> = numbers.chain(plan.hanging.iter().cloned()).collect();
    if !names.is_empty() {
        return Err(Failure::refused(format!(
            "other phases hang on phase {phase} ({}); remove them first, or all of it with --force",
            names.join(", ")
        )));
    }
    Ok(())
}
