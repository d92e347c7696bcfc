//! `mow status …` reads and changes the STATUS.md of a phase.

use std::path::Path;

use clap::Subcommand;
use mow_store::disk;
use mow_store::phase_dirs;
use mow_store::status::{self, PlanChange, StatusError};
use serde::Serialize;
use serde_json::json;

use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::Output;
use crate::phase_places::PhasePlaces;
use crate::status_file::{Place, find, init, place};

/// The subcommands of `mow status`.
#[derive(Debug, Subcommand)]
pub(crate) enum StatusCommand {
    /// Create STATUS.md from its template, with one row for each plan
    Init {
        /// The phase, such as 3 or 03
        phase: String,
    },
    /// Print STATUS.md as one JSON value
    Read {
        /// The phase, such as 3 or 03
        phase: String,
    },
    /// Change the row of a plan, or a field of the phase
    Write(StatusWriteArgs),
    /// Count the plans and update the counts
    Aggregate {
        /// The phase, such as 3 or 03
        phase: String,
    },
}

/// The arguments of `status write`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  mow status write 3 --plan 03-01 --status complete --commit 1a2b3c4\n  mow status write 3 --field worker --value w1"
)]
pub(crate) struct StatusWriteArgs {
    /// The phase, such as 3 or 03
    phase: String,
    /// The plan whose row to change, such as 03-01
    #[arg(long, allow_hyphen_values = true, conflicts_with = "field")]
    plan: Option<String>,
    /// The status of the plan: `not started`, `in progress`, `executing`, `complete` or `failed`
    #[arg(long, allow_hyphen_values = true)]
    status: Option<String>,
    /// The commit that completed the plan
    #[arg(long, allow_hyphen_values = true)]
    commit: Option<String>,
    /// The duration of the plan
    #[arg(long, allow_hyphen_values = true)]
    duration: Option<String>,
    /// The number of finished tasks and of all tasks, such as 2/3
    #[arg(long, allow_hyphen_values = true)]
    tasks: Option<String>,
    /// A field of the phase, instead of the row of a plan
    #[arg(long, requires = "value")]
    field: Option<String>,
    /// The new value of the field
    #[arg(long, allow_hyphen_values = true, requires = "field")]
    value: Option<String>,
}

impl StatusCommand {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Init { phase } => init(context, phase),
            Self::Read { phase } => read(context, phase),
            Self::Write(args) => write(context, args),
            Self::Aggregate { phase } => aggregate(context, phase),
        }
    }
}

/// Finds the file to read: that of the phase's worktree, unless the project's own is newer.
fn find_to_read(context: &Context, phase: &str) -> Result<Place, Failure> {
    let own = context.phase_dir(phase);
    let number = phase_dirs::parse_argument(phase);
    let newer = number.and_then(|number| {
        PhasePlaces::load(context).with_newer_status(&number, own.as_ref()).map(place)
    });
    newer.map_or_else(|| find(context, phase), Ok)
}

fn status_missing(context: &Context, phase: &str, path: &Path) -> Failure {
    Failure::refused(format!("{} not found", context.display_path(path)))
        .hint(format!("mow status init {phase}"))
}

#[derive(Serialize)]
struct StatusReadJson<'a> {
    phase: &'a str,
    status: &'a str,
    worker: &'a str,
    worktree: &'a str,
    started: &'a str,
    last_update: &'a str,
    blocker_mode: &'a str,
    plans: &'a [status::PlanRow],
    aggregate: status::Aggregate,
    commits: Vec<&'a str>,
    blockers: &'a [String],
    decisions: &'a [String],
    context: &'a [String],
}

fn read(context: &Context, phase: &str) -> Result<Output, Failure> {
    let place = find_to_read(context, phase)?;
    let bytes =
        disk::read(&place.path)?.ok_or_else(|| status_missing(context, phase, &place.path))?;
    let status = status::parse(&bytes);
    Ok(Output::json(StatusReadJson {
        phase: &status.phase,
        status: &status.status,
        worker: &status.worker,
        worktree: &status.worktree,
        started: &status.started,
        last_update: &status.last_update,
        blocker_mode: &status.blocker_mode,
        plans: &status.plans,
        aggregate: status.aggregate(),
        commits: status.commits(),
        blockers: &status.blockers,
        decisions: &status.decisions,
        context: &status.context,
    }))
}

/// Changes STATUS.md under the lock.
fn change(
    context: &Context,
    phase: &str,
    place: &Place,
    edit: impl Fn(&[u8]) -> Result<Vec<u8>, StatusError>,
) -> Result<(), Failure> {
    disk::update(&context.project, &place.path, |old| {
        let old = old.ok_or_else(|| status_missing(context, phase, &place.path))?;
        Ok::<_, Failure>(Some(edit(old)?))
    })?;
    Ok(())
}

fn write(context: &Context, args: &StatusWriteArgs) -> Result<Output, Failure> {
    let place = find(context, &args.phase)?;
    let now = now();
    if let (Some(field), Some(value)) = (&args.field, &args.value) {
        change(context, &args.phase, &place, |old| {
            status::set_field(&status::set_field(old, field, value)?, "last_update", &now)
        })?;
        return Ok(Output::json(json!({ "updated": true, "field": field, "value": value })));
    }
    let plan = args.plan.as_deref().ok_or_else(|| {
        Failure::refused("--plan is required (or --field with --value)")
            .hint(format!("mow status read {}", args.phase))
    })?;
    let row = PlanChange {
        plan,
        status: args.status.as_deref(),
        started: None,
        commit: args.commit.as_deref(),
        duration: args.duration.as_deref(),
        tasks: args.tasks.as_deref(),
        now_utc: &now,
    };
    change(context, &args.phase, &place, |old| status::update_plan(old, &row))?;
    let new_status = new_status(&place, args)?;
    Ok(Output::json(json!({ "updated": true, "plan": plan, "new_status": new_status })))
}

/// Returns the status of a plan after the change: the given one, or else the one in the file.
fn new_status(place: &Place, args: &StatusWriteArgs) -> Result<Option<String>, Failure> {
    if args.status.is_some() {
        return Ok(args.status.clone());
    }
    let bytes = disk::read(&place.path)?.unwrap_or_default();
    let rows = status::parse(&bytes).plans;
    let row = rows.into_iter().find(|row| Some(&row.plan) == args.plan.as_ref());
    Ok(row.map(|row| row.status))
}

fn aggregate(context: &Context, phase: &str) -> Result<Output, Failure> {
    let place = find(context, phase)?;
    change(context, phase, &place, |old| Ok(status::rewrite_aggregate(old)))?;
    let status = status::parse(&disk::read(&place.path)?.unwrap_or_default());
    let sums = status.aggregate();
    Ok(Output::json(json!({
        "complete": sums.complete,
        "in_progress": sums.in_progress,
        "not_started": sums.not_started,
        "failed": sums.failed,
        "commits": status.commits(),
    })))
}
