//! `mow state …` and `mow state-snapshot`.

use clap::Subcommand;
use mow_store::disk;
use mow_store::state::active::{self, RowChange};
use mow_store::state::{sections, snapshot as reader};
use serde_json::json;

use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::Output;

/// Commands on STATE.md.
#[derive(Debug, Subcommand)]
pub(crate) enum State {
    /// List the rows of the Active Phases table
    ActivePhases,
    /// Change or add a phase's row in the Active Phases table
    UpdatePhaseRow(UpdatePhaseRow),
    /// Add a line to the blockers
    AddBlocker {
        /// What is in the way
        #[arg(allow_hyphen_values = true)]
        words: Option<String>,
        /// The same as a flag
        #[arg(long, allow_hyphen_values = true, value_name = "TEXT")]
        #[arg(num_args = 0..=1, default_missing_value = "")]
        text: Option<String>,
    },
}

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

const FILE: &str = "STATE.md";

impl State {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::ActivePhases => active_phases(context),
            Self::UpdatePhaseRow(args) => update_phase_row(context, args),
            Self::AddBlocker { words, text } => {
                add_blocker(context, text.as_ref().or(words.as_ref()))
            }
        }
    }
}

fn no_state() -> Failure {
    Failure::refused("STATE.md not found").hint("STATE.md lives in .planning/ of the project")
}

fn active_phases(context: &Context) -> Result<Output, Failure> {
    let Some(bytes) = context.load(FILE)? else { return Ok(Output::json(json!([]))) };
    Ok(Output::json(match active::parse(&bytes) {
        Some(rows) => json!(rows),
        None => json!({ "warning": "STATE.md has no Active Phases section", "rows": [] }),
    }))
}

fn update_phase_row(context: &Context, args: &UpdatePhaseRow) -> Result<Output, Failure> {
    let now = args.last_update.clone().unwrap_or_else(now);
    let change = RowChange {
        status: args.status.as_deref(),
        worker: args.worker.as_deref(),
        plans: args.plans.as_deref(),
        name: args.name.as_deref(),
        last_update: &now,
    };
    if context.load(FILE)?.is_none() {
        return Err(no_state());
    }
    let mut fields = Vec::new();
    disk::update(&context.project, &context.planning(FILE), |old| {
        let (bytes, changed) = active::update_row(old.ok_or_else(no_state)?, &args.phase, change)?;
        fields = changed;
        Ok::<_, Failure>(Some(bytes))
    })?;
    Ok(Output::json(json!({ "updated": true, "phase": args.phase, "fields_changed": fields })))
}

fn add_blocker(context: &Context, text: Option<&String>) -> Result<Output, Failure> {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return Ok(Output::json(json!({ "error": "text required" })));
    };
    if context.load(FILE)?.is_none() {
        return Ok(Output::json(json!({ "error": "STATE.md not found" })));
    }
    let mut added = false;
    disk::update(&context.project, &context.planning(FILE), |old| {
        let bytes = sections::add_blocker(old.unwrap_or_default(), text);
        added = bytes.is_some();
        Ok::<_, Failure>(bytes)
    })?;
    Ok(if added {
        Output::with_raw(json!({ "added": true, "blocker": text }), "true")
    } else {
        let reason = "Blockers section not found in STATE.md";
        Output::with_raw(json!({ "added": false, "reason": reason }), "false")
    })
}

/// `mow state-snapshot`.
pub(super) fn snapshot(context: &Context) -> Result<Output, Failure> {
    let Some(bytes) = context.load(FILE)? else {
        return Ok(Output::json(json!({ "error": "STATE.md not found" })));
    };
    Ok(Output::json(json!(reader::parse(&bytes))))
}
