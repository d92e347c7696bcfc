//! `mow phase complete` marks a phase complete in the roadmap, ticks its requirements and makes the
//! next phase the current one in STATE.md.

use mow_core::phase::PhaseNumber;
use mow_core::slug::slug;
use mow_store::disk::Writer;
use mow_store::phase_dirs::{PhaseDir, PhaseDirs, PhaseFileKind};
use mow_store::roadmap::edit::{self, RoadmapProgress};
use mow_store::roadmap::{self, PhaseLookup};
use mow_store::state::transition::{self, NextPhase};
use mow_store::{phase_dirs, requirements};
use serde_json::json;

use super::open_writer;
use crate::context::{Context, today};
use crate::failure::Failure;
use crate::output::Output;

/// The phase that becomes the current one.
struct FollowingPhase {
    number: PhaseNumber,
    /// The number as the directory name has it.
    shown: String,
    /// The name with hyphens, as in a directory name.
    label: Option<String>,
    /// The name as people read it.
    name: String,
}

pub(super) fn run(context: &Context, phase: &str) -> Result<Output, Failure> {
    let (writer, _) = open_writer(context)?;
    let dir = phase_dirs::find(&context.project.planning, phase)
        .filter(|dir| dir.archived.is_none())
        .ok_or_else(|| {
            Failure::refused(format!("Phase {phase} not found in .planning/phases/"))
                .hint("mow phases list shows the phases that have a directory")
        })?;
    let today = today();
    let roadmap = context.load("ROADMAP.md")?;
    let next = dir.number.and_then(|number| find_next_phase(context, &number, roadmap.as_deref()));
    let counts =
        format!("{}/{}", dir.count(PhaseFileKind::Summary), dir.count(PhaseFileKind::Plan));
    if let (Some(bytes), Some(number)) = (&roadmap, &dir.number) {
        let progress = RoadmapProgress {
            plans: None,
            status: "Complete",
            section_plans: &format!("{counts} plans complete"),
            completed: Some(&today),
        };
        let edited = edit::set_progress(bytes, number, &progress);
        writer.replace(&context.planning("ROADMAP.md"), &edited)?;
        mark_requirements(context, &writer, bytes, number)?;
    }
    let state = context.load("STATE.md")?;
    if let Some(bytes) = &state {
        let target = next.as_ref().map(|next| NextPhase { number: &next.number, name: &next.name });
        let edited = transition::complete_phase(bytes, phase, target, &today);
        writer.replace(&context.planning("STATE.md"), &edited)?;
    }
    Ok(Output::json(json!({
        "completed_phase": phase,
        "phase_name": dir.label(),
        "plans_executed": counts,
        "next_phase": next.as_ref().map(|next| &next.shown),
        "next_phase_name": next.as_ref().and_then(|next| next.label.as_ref()),
        "is_last_phase": next.is_none(),
        "date": today,
        "roadmap_updated": roadmap.is_some(),
        "state_updated": state.is_some(),
    })))
}

/// Ticks the requirements that the roadmap section of the phase lists.
fn mark_requirements(
    context: &Context,
    writer: &Writer,
    roadmap: &[u8],
    number: &PhaseNumber,
) -> Result<(), Failure> {
    let PhaseLookup::Found(details) = roadmap::describe_phase(roadmap, number) else {
        return Ok(());
    };
    if details.requirements.is_empty() {
        return Ok(());
    }
    writer.update(&context.planning("REQUIREMENTS.md"), |old| {
        Ok::<_, Failure>(old.map(|old| requirements::mark_complete(old, &details.requirements).0))
    })?;
    Ok(())
}

fn find_next_phase(
    context: &Context,
    number: &PhaseNumber,
    roadmap: Option<&[u8]>,
) -> Option<FollowingPhase> {
    let dirs = PhaseDirs::load(&context.project.planning);
    let on_disk: Vec<_> = dirs.iter().filter_map(|dir| dir.number).collect();
    let roadmap = roadmap.unwrap_or_default();
    let number = roadmap::next_phase(roadmap, number, &on_disk)?;
    let dir = dirs.find(&number);
    let label = dir.and_then(|dir| dir.label()).map(str::to_owned);
    let parsed = || roadmap::parse(roadmap).entries.into_iter();
    let declared =
        parsed().find(|entry| entry.phase.number == number).map(|entry| entry.phase.name);
    let name = match (&label, declared) {
        (Some(label), _) => label.replace('-', " "),
        (None, declared) => declared.unwrap_or_default(),
    };
    Some(FollowingPhase {
        shown: dir
            .and_then(|dir| PhaseDir::written(dir))
            .map_or_else(|| number.padded(), str::to_owned),
        label: label.or_else(|| Some(slug(&name)).filter(|slug| !slug.is_empty())),
        name,
        number,
    })
}
