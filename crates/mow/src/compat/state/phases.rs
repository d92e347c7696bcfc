//! The `mow state` commands that read and change the Active Phases table.

use mow_store::state::active_phases::{self, ActivePhaseChange};
use serde_json::json;

use super::{FILE, change_state, state_missing};
use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::Output;

/// The arguments of `state update-phase-row`.
#[derive(Debug, clap::Args)]
pub(crate) struct UpdatePhaseRowArgs {
    /// The phase, such as 3 or 03
    phase: String,
    /// The status, such as `executing` or `blocked (7,8)`
    #[arg(long, allow_hyphen_values = true)]
    status: Option<String>,
    /// The worker of the phase
    #[arg(long, allow_hyphen_values = true)]
    worker: Option<String>,
    /// The number of finished plans and of all plans, such as 1/3
    #[arg(long, allow_hyphen_values = true)]
    plans: Option<String>,
    /// The name of the phase; required for a new row
    #[arg(long, allow_hyphen_values = true)]
    name: Option<String>,
    /// The time of the change; by default now
    #[arg(long, allow_hyphen_values = true, value_name = "TIME")]
    last_update: Option<String>,
}

pub(super) fn active_phases(context: &Context) -> Result<Output, Failure> {
    let Some(bytes) = context.load(FILE)? else { return Ok(Output::json(json!([]))) };
    Ok(Output::json(match active_phases::parse(&bytes) {
        Some(rows) => json!(rows),
        None => json!({ "warning": "STATE.md has no Active Phases section", "rows": [] }),
    }))
}

pub(super) fn update_phase_row(
    context: &Context,
    args: &UpdatePhaseRowArgs,
) -> Result<Output, Failure> {
    if args.phase.trim().is_empty() {
        return Err(Failure::refused("a phase number is required")
            .hint("mow state update-phase-row 3 --status executing"));
    }
    let now = args.last_update.clone().unwrap_or_else(now);
    let row = ActivePhaseChange {
        status: args.status.as_deref(),
        worker: args.worker.as_deref(),
        plans: args.plans.as_deref(),
        name: args.name.as_deref(),
        last_update: &now,
    };
    let fields = change_state(context, |old| {
        let (bytes, fields) = active_phases::update_row(old, &args.phase, row)?;
        Ok((Some(bytes), fields))
    })?;
    let fields = fields.ok_or_else(state_missing)?;
    Ok(Output::json(json!({ "updated": true, "phase": args.phase, "fields_changed": fields })))
}

/// Prints the phase, the phases it waits for, and the line as STATE.md has it.
pub(super) fn next_unblockable(context: &Context) -> Result<Output, Failure> {
    let bytes = context.load(FILE)?.unwrap_or_default();
    let rows = active_phases::parse(&bytes).unwrap_or_default();
    let next = active_phases::find_unblockable(&rows);
    let text = active_phases::next_unblockable(&rows);
    let value = json!({
        "phase": next.as_ref().map(|next| &next.row.phase),
        "name": next.as_ref().map(|next| &next.row.name),
        "waits_for": next.as_ref().map_or(&[][..], |next| &next.waits_for),
        "ready": next.as_ref().is_some_and(|next| next.waits_for.is_empty()),
        "text": text,
    });
    Ok(Output::with_raw(value, text))
}
