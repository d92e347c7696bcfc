//! The STATUS.md of a phase before its worker starts and after it has ended.
//!
//! While the worker lives, it alone writes the file. Afterwards the lead corrects it: the worker may
//! have died before it could write its last state, and the lead may have decided otherwise.

use mow_core::lead::Status;
use mow_core::message::BlockerMode;
use mow_core::phase::PhaseNumber;
use mow_core::report::Brief;
use mow_core::worker::{self, Worker};
use mow_store::journal::JournalReader;
use mow_store::phase_dirs;

use super::worktree::project_in;
use crate::EngineError;
use crate::link::WorkerKey;
use crate::run_context::{PhaseWorktree, RunContext};
use crate::status_file::StatusFile;

/// Creates STATUS.md for an attempt that is about to start, or shows in it that the attempt starts.
///
/// A look-ahead does not begin the phase, so it has no STATUS.md.
pub(super) fn begin(ctx: &RunContext, brief: &Brief) -> Result<(), EngineError> {
    if brief.through.is_some() {
        return Ok(());
    }
    let mode = ctx.config()?.lookup("worker.blocker_mode");
    let mode = mode.as_ref().and_then(|mode| mode.as_str()).and_then(BlockerMode::parse);
    file_of(ctx, &brief.phase, &brief.name)?.begin(mode)?;
    failpoint::reach("status.begun");
    Ok(())
}

/// Shows in STATUS.md how an attempt ended. Writes nothing if the file shows that already.
pub(super) fn settle(ctx: &RunContext, key: WorkerKey, status: Status) -> Result<(), EngineError> {
    if status == Status::Merged {
        // The file is committed and merged, and may be changed by people since.
        return Ok(());
    }
    let journal = ctx.run.worker_journal(&key.phase, key.attempt);
    let mut worker = Worker::default();
    for record in JournalReader::new(&journal).poll()? {
        if let Ok(event) = record.parse::<worker::Event>() {
            mow_core::machine::Machine::apply(&mut worker, &event, record.at);
        }
    }
    let name = worker.brief.as_ref().map_or("", |brief| brief.name.as_str());
    let file = file_of(ctx, &key.phase, name)?;
    if !file.exists() {
        return Ok(());
    }
    match worker.status_after_end(word(status)) {
        Some(shown) => file.show(None, &shown)?,
        None if worker.brief.is_none() => file.end_start(word(status).unwrap_or(worker::FAILED))?,
        None => return Ok(()),
    }
    failpoint::reach("status.settled");
    Ok(())
}

/// Returns the path of STATUS.md, relative to the worktree; `None` while there is no directory of
/// the phase.
pub(super) fn path_in_worktree(
    ctx: &RunContext,
    worktree: &PhaseWorktree,
    phase: &PhaseNumber,
) -> Option<String> {
    let planning = ctx.planning_in(&worktree.path);
    let dir = phase_dirs::find(&planning, &phase.to_string())?;
    let file = dir.path.join(StatusFile::file_name(phase));
    Some(file.strip_prefix(&worktree.path).ok()?.display().to_string())
}

fn file_of(ctx: &RunContext, phase: &PhaseNumber, name: &str) -> Result<StatusFile, EngineError> {
    let project = project_in(ctx, &ctx.worktree(phase)?)?;
    let dir = ctx.phase_dir_name(&project.planning, phase, name);
    Ok(StatusFile::new(ctx, project, &dir, (phase, name)))
}

/// Returns the word for a phase that the lead has ended; `None` where the worker's own end counts.
fn word(status: Status) -> Option<&'static str> {
    match status {
        Status::Failed => Some(worker::FAILED),
        Status::Paused => Some("paused"),
        Status::Cancelled => Some("cancelled"),
        Status::Parked => Some(worker::WAITING),
        _ => None,
    }
}
