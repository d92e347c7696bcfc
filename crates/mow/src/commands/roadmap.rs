//! `mow roadmap phases`, `graph` and `forecast`: show the roadmap to people. Only reads.

pub(crate) mod forecast;
pub(crate) mod graph;
pub(crate) mod phases;

use mow_core::depends_on;
use mow_store::project_phases::{self, ProjectPhases};
use mow_store::roadmap::RoadmapEntry;

use crate::context::Context;
use crate::failure::Failure;
use crate::terminal::fit_line;

/// How many columns of a `Depends on` field are shown.
const DEPENDS_WIDTH: usize = 60;

pub(crate) fn load(context: &Context) -> Result<Option<ProjectPhases>, Failure> {
    Ok(project_phases::load(&context.project.planning)?)
}

pub(crate) fn no_roadmap() -> Failure {
    Failure::refused("ROADMAP.md not found")
        .hint("run mow in a project with .planning/ROADMAP.md, or name one with --cwd DIR")
}

/// Returns a message for each `Depends on` field that is not empty but names no phase.
pub(crate) fn unparsed_dependencies<'a>(
    entries: impl IntoIterator<Item = &'a RoadmapEntry>,
) -> Vec<String> {
    let unparsed = entries.into_iter().filter(|entry| entry.phase.depends_on.is_empty());
    unparsed
        .filter_map(|RoadmapEntry { phase, depends_text, .. }| {
            let text =
                depends_text.as_deref().filter(|text| !depends_on::states_no_dependency(text))?;
            // Phases of an archive are named, although the roadmap does not have them.
            if !depends_on::named_phases(text, &[]).is_empty() {
                return None;
            }
            let text = fit_line(text, DEPENDS_WIDTH);
            Some(format!("Phase {} depends on `{text}`, which names no phase", phase.written))
        })
        .collect()
}
