//! The commands on the Active Phases table.

use mow_store::state::active::{self, RowChange};
use serde_json::json;

use super::{FILE, change, no_state};
use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::Output;

/// The arguments of `state update-phase-row`.
#[derive(Debug, clap::Args)]
pub(crate) struct UpdatePhaseRow {
    /// The phase, such as 3 or 03
    phase: String,
    /// Its status, such as `executing` or `blocked (7,8)`
    #[arg(long, allow_hyphen_values = true)]
    status: Option<String>,
    /// Who works on it
    #[arg(long, allow_hyphen_values = true)]
    worker: Option<String>,
    /// Plans done and in all, such as 1/3
    #[arg(long, allow_hyphen_values = true)]
    plans: Option<String>,
    /// Its name; a new row needs one
    #[arg(long, allow_hyphen_values = true)]
    name: Option<String>,
    /// When it changed; now if not given
    #[arg(long, allow_hyphen_values = true, value_name = "TIME")]
    last_update: Option<String>,
}

pub(super) fn active_phases(context: &Context) -> Result<Output, Failure> {
    let Some(bytes) = context.load(FILE)? else { return Ok(Output::json(json!([]))) };
    Ok(Output::json(match active::parse(&bytes) {
        Some(rows) => json!(rows),
        None => json!({ "warning": "STATE.md has no Active Phases section", "rows": [] }),
    }))
}

pub(super) fn update_phase_row(
    context: &Context,
    args: &UpdatePhaseRow,
) -> Result<Output, Failure> {
    if args.phase.trim().is_empty() {
        return Err(Failure::refused("a phase number is required")
            .hint("mow state update-phase-row 3 --status executing"));
    }
    let now = args.last_update.clone().unwrap_or_else(now);
    let row = RowChange {
        status: args.status.as_deref(),
        worker: args.worker.as_deref(),
        plans: args.plans.as_deref(),
        name: args.name.as_deref(),
        last_update: &now,
    };
    let fields = change(context, |old| {
        let (bytes, fields) = active::update_row(old, &args.phase, row)?;
        Ok((Some(bytes), fields))
    })?;
    let fields = fields.ok_or_else(no_state)?;
    Ok(Output::json(json!({ "updated": true, "phase": args.phase, "fields_changed": fields })))
}

/// Prints the phase, what it waits for, and the line as STATE.md has it.
pub(super) fn next_unblockable(context: &Context) -> Result<Output, Failure> {
    let bytes = context.load(FILE)?.unwrap_or_default();
    let rows = active::parse(&bytes).unwrap_or_default();
    let next = active::find_unblockable(&rows);
    let text = active::next_unblockable(&rows);
    let value = json!({
        "phase": next.as_ref().map(|next| &next.row.phase),
        "name": next.as_ref().map(|next| &next.row.name),
        "waits_for": next.as_ref().map_or(&[][..], |next| &next.waits_for),
        "ready": next.as_ref().is_some_and(|next| next.waits_for.is_empty()),
        "text": text,
    });
    Ok(Output::with_raw(value, text))
}
