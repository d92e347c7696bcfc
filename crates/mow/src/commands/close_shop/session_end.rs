//! Writes the end of the session to STATE.md, and removes the chat logs of a complete milestone.

use mow_core::view::{RunView, SessionView};
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::project_phases::{self, ProjectPhase};
use mow_store::roadmap::milestone::phases_in_progress;
use mow_store::state::session::{self, RunStand};

use crate::context::{Context, now};
use crate::failure::Failure;

/// Writes the end of the session, unless STATE.md has it already.
pub(super) fn write_session(context: &Context, run: &RunView) -> Result<(), Failure> {
    let now = now();
    let SessionView { stopped_at, command, .. } = SessionView::of_closed(run);
    let stand =
        RunStand { now: &now, stopped_at: &stopped_at, command: &command, has_stopped: true };
    disk::update(&context.project, &context.planning("STATE.md"), |old| {
        Ok::<_, Failure>(old.map(|old| session::record_end(old, stand)))
    })?;
    Ok(())
}

/// Removes the chat logs if all phases of the milestone are done; returns how many there were.
pub(super) fn prune_chat_logs(context: &Context) -> Result<usize, Failure> {
    if !milestone_is_done(context)? {
        return Ok(0);
    }
    let logs = std::fs::read_dir(context.planning("chat-logs")).into_iter().flatten().flatten();
    let logs = logs.map(|entry| entry.path());
    let logs: Vec<_> =
        logs.filter(|path| path.extension().is_some_and(|e| e == "ndjson")).collect();
    if logs.is_empty() {
        return Ok(0);
    }
    let writer = Writer::open(&context.project, WAIT_DEFAULT)?;
    for log in &logs {
        writer.remove_file(log)?;
    }
    Ok(logs.len())
}

/// Returns whether the current milestone has phases and all of them are done.
///
/// A roadmap without a milestone in progress counts as one milestone.
fn milestone_is_done(context: &Context) -> Result<bool, Failure> {
    let Some(roadmap) = disk::read(&context.planning("ROADMAP.md"))? else { return Ok(false) };
    let Some(phases) = project_phases::load(&context.project.planning)? else { return Ok(false) };
    let is_done = |number| phases.by_number(number).is_none_or(ProjectPhase::is_done);
    let listed = phases_in_progress(&roadmap).unwrap_or_default();
    if !listed.is_empty() {
        return Ok(listed.iter().all(|phase| phase.done || is_done(&phase.number)));
    }
    let mut all = phases.phases.iter().map(|phase| &phase.entry.phase.number);
    Ok(!phases.phases.is_empty() && all.all(|number| number.is_backlog() || is_done(number)))
}
