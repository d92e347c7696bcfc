//! `mow phase complete`: roadmap, requirements and state move on.

use mow_core::phase::PhaseNumber;
use mow_core::slug::slug;
use mow_store::disk::Writer;
use mow_store::phase_dirs::{Artifact, PhaseDir, PhaseDirs};
use mow_store::roadmap::edit::{self, Progress};
use mow_store::roadmap::{self, Lookup};
use mow_store::state::transition::{self, Target};
use mow_store::{phase_dirs, requirements};
use serde_json::json;

use super::writer;
use crate::context::{Context, today};
use crate::failure::Failure;
use crate::output::Output;

/// The phase that work moves on to.
struct Next {
    number: PhaseNumber,
    /// Its number as its directory has it.
    shown: String,
    /// Its name with hyphens, as directories have it.
    label: Option<String>,
    /// Its name for people.
    name: String,
}

pub(super) fn run(context: &Context, phase: &str) -> Result<Output, Failure> {
    let (writer, _) = writer(context)?;
    let dir = phase_dirs::find(&context.project.planning, phase)
        .filter(|dir| dir.archived.is_none())
        .ok_or_else(|| {
            Failure::refused(format!("Phase {phase} not found in .planning/phases/"))
                .hint("mow phases list shows the phases that have a directory")
        })?;
    let today = today();
    let roadmap = context.load("ROADMAP.md")?;
    let next = dir.number.and_then(|number| next(context, &number, roadmap.as_deref()));
    let counts = format!("{}/{}", dir.count(Artifact::Summary), dir.count(Artifact::Plan));
    if let (Some(bytes), Some(number)) = (&roadmap, &dir.number) {
        let progress = Progress {
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
        let target = next.as_ref().map(|next| Target { number: &next.number, name: &next.name });
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

/// Marks the requirements that the phase's own section names.
fn mark_requirements(
    context: &Context,
    writer: &Writer,
    roadmap: &[u8],
    number: &PhaseNumber,
) -> Result<(), Failure> {
    let Lookup::Found(details) = roadmap::details(roadmap, number) else { return Ok(()) };
    if details.requirements.is_empty() {
        return Ok(());
    }
    writer.update(&context.planning("REQUIREMENTS.md"), |old| {
        Ok::<_, Failure>(old.map(|old| requirements::mark_complete(old, &details.requirements).0))
    })?;
    Ok(())
}

fn next(context: &Context, number: &PhaseNumber, roadmap: Option<&[u8]>) -> Option<Next> {
    let dirs = PhaseDirs::load(&context.project.planning);
    let on_disk: Vec<_> = dirs.iter().filter_map(|dir| dir.number).collect();
    let roadmap = roadmap.unwrap_or_default();
    let number = roadmap::successor(roadmap, number, &on_disk)?;
    let dir = dirs.find(&number);
    let label = dir.and_then(|dir| dir.label()).map(str::to_owned);
    let parsed = || roadmap::parse(roadmap).entries.into_iter();
    let declared =
        parsed().find(|entry| entry.phase.number == number).map(|entry| entry.phase.name);
    let name = match (&label, declared) {
        (Some(label), _) => label.replace('-', " "),
        (None, declared) => declared.unwrap_or_default(),
    };
    Some(Next {
        shown: dir
            .and_then(|dir| PhaseDir::written(dir))
            .map_or_else(|| number.padded(), str::to_owned),
        label: label.or_else(|| Some(slug(&name)).filter(|slug| !slug.is_empty())),
        name,
        number,
    })
}
