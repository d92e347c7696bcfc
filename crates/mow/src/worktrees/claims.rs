//! Changes and releases claims: which worktree works on which phase.
//!
//! The shared claims file is authoritative, and STATE.md is written after it. A crash between the
//! two leaves the phase claimed, and the next call updates the table in STATE.md.

use mow_store::claims::{self, Claims};
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::state::assignments::{self, Assignment};
use serde_json::json;

use super::locations::{ExistingWorktrees, notice_released, phase_number, worktree_top};
use crate::caller;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, warn};

/// The planning file with the table of assignments.
pub(crate) const FILE: &str = "STATE.md";

/// The failure for a project without STATE.md.
fn no_state() -> Failure {
    Failure::refused("STATE.md not found").hint("STATE.md lives in .planning/ of the project")
}

pub(crate) fn load_state(context: &Context) -> Result<Vec<u8>, Failure> {
    context.load(FILE)?.ok_or_else(no_state)
}

/// Changes the shared claims under the engine's lock.
pub(crate) fn change_claims<T>(
    context: &Context,
    mut change: impl FnMut(&mut Claims) -> T,
) -> Result<T, Failure> {
    let writer = Writer::open_engine(&context.project, WAIT_DEFAULT)?;
    let mut result = None;
    writer.update(&claims::path(&context.project), |old| {
        let before = parse(context, old.unwrap_or_default())?;
        let mut claims = before.clone();
        result = Some(change(&mut claims));
        Ok::<_, Failure>((claims != before).then(|| claims.render()))
    })?;
    Ok(result.expect("an update that succeeds has run the change"))
}

fn parse(context: &Context, bytes: &[u8]) -> Result<Claims, Failure> {
    Claims::parse(bytes).map_err(|error| {
        let path = claims::path(&context.project);
        Failure::refused(format!("{}: {error}", path.display()))
            .hint(format!("rm {} deletes all claims", path.display()))
    })
}

pub(crate) fn load_claims(context: &Context) -> Result<Claims, Failure> {
    let bytes = disk::read(&claims::path(&context.project))?;
    parse(context, &bytes.unwrap_or_default())
}

/// Returns which worktree works on which phase: the rows of STATE.md and the claims.
pub(crate) fn load_assignments(context: &Context) -> Result<Vec<Assignment>, Failure> {
    let rows = context.load(FILE)?.map_or_else(Vec::new, |bytes| assignments::parse(&bytes));
    // The table can still be shown when the shared file cannot be read.
    let claims = load_claims(context).unwrap_or_else(|failure| {
        warn(&failure.message);
        Claims::default()
    });
    Ok(claims.with_rows(&claims::project_key(&context.project), rows))
}

/// Changes STATE.md; it stays unchanged when the change returns `None`.
pub(crate) fn change_state(
    context: &Context,
    mut change: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> Result<(), Failure> {
    disk::update(&context.project, &context.planning(FILE), |old| {
        Ok::<_, Failure>(change(old.ok_or_else(no_state)?))
    })?;
    Ok(())
}

/// Releases the claim of the current worktree on a phase.
///
/// A worker sends the release to its lead instead.
pub(crate) fn release(context: &Context, phase: &str) -> Result<Output, Failure> {
    let number = phase_number(phase)?;
    load_state(context)?;
    let worktree = worktree_top(context).display().to_string();
    let answer = |released: bool| {
        Output::json(json!({ "released": released, "worktree": worktree, "phase": phase }))
    };
    if let Some(worker) = caller::calling_worker(context)? {
        worker.require_own_phase(&number)?;
        worker.send_message(&context.project, &json!({ "type": "release", "phase": phase }))?;
        return Ok(answer(true));
    }
    let project = claims::project_key(&context.project);
    let mut released = change_claims(context, |claims| claims.release(&project, &worktree, phase))?;
    change_state(context, |old| {
        let removed = assignments::remove(old, |row| row.is_for(phase) && row.worktree == worktree);
        released |= removed.is_some();
        removed
    })?;
    Ok(answer(released))
}

/// Releases stale claims as `worktree clean` does, but only warns on failure.
pub(crate) fn release_stale_quietly(context: &Context) {
    // Only the lead writes the shared files during a run.
    if matches!(caller::calling_worker(context), Ok(Some(_))) {
        return;
    }
    if let Err(failure) = release_stale(context) {
        warn(&format!("cannot release stale claims: {}", failure.message));
    }
}

/// The result of releasing stale claims.
pub(crate) enum StaleClaims {
    /// The worktrees whose claims were released.
    Released(Vec<String>),
    /// Git could not list the worktrees, for this reason; nothing was released.
    Unknown(String),
}

/// Releases the claims of worktrees that no longer exist.
pub(crate) fn release_stale(context: &Context) -> Result<StaleClaims, Failure> {
    let rows = context.load(FILE)?.map_or_else(Vec::new, |bytes| assignments::parse(&bytes));
    let claims = load_claims(context)?.claims;
    if rows.is_empty() && claims.is_empty() {
        return Ok(StaleClaims::Released(Vec::new()));
    }
    let existing = ExistingWorktrees::list(context);
    if let ExistingWorktrees::Unknown(error) = existing {
        return Ok(StaleClaims::Unknown(error));
    }
    let mut gone: Vec<_> =
        rows.into_iter().filter(|row| !existing.contains(&row.worktree)).collect();
    if claims.iter().any(|claim| !existing.contains(&claim.assignment.worktree)) {
        let stale = change_claims(context, |claims| {
            claims.release_stale(|worktree| existing.contains(worktree))
        })?;
        let is_new = |claim: &Assignment| {
            !gone.iter().any(|row| row.worktree == claim.worktree && row.is_for(&claim.phase))
        };
        let new: Vec<_> = stale.into_iter().filter(is_new).collect();
        gone.extend(new);
    }
    if !gone.is_empty() && context.load(FILE)?.is_some() {
        change_state(context, |old| {
            assignments::remove(old, |row| !existing.contains(&row.worktree))
        })?;
    }
    for row in &gone {
        notice_released(&row.phase, &row.worktree);
    }
    Ok(StaleClaims::Released(gone.into_iter().map(|row| row.worktree).collect()))
}
