//! `mow status …`: the STATUS.md of one phase.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use mow_store::phase_dirs::{self, Artifact, PhaseDir};
use mow_store::status::{self, NewStatus, PlanChange, StatusError};
use mow_store::{disk, plan};
use serde::Serialize;
use serde_json::json;

use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::Active;

/// Commands on STATUS.md.
#[derive(Debug, Subcommand)]
pub(crate) enum Status {
    /// Write the file anew from its template, one row for each plan
    Init {
        /// The phase, such as 3 or 03
        phase: String,
    },
    /// Print the file as one value
    Read {
        /// The phase, such as 3 or 03
        phase: String,
    },
    /// Change a plan's row, or a field of the phase
    Write(Write),
    /// Count the plans again and write the counts
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
pub(crate) struct Write {
    /// The phase, such as 3 or 03
    phase: String,
    /// The plan whose row changes, such as 03-01
    #[arg(long, allow_hyphen_values = true, conflicts_with = "field")]
    plan: Option<String>,
    /// `not started`, `in progress`, `executing`, `complete` or `failed`
    #[arg(long, allow_hyphen_values = true)]
    status: Option<String>,
    /// The commit that closed the plan
    #[arg(long, allow_hyphen_values = true)]
    commit: Option<String>,
    /// How long it took
    #[arg(long, allow_hyphen_values = true)]
    duration: Option<String>,
    /// Tasks done and in all, such as 2/3
    #[arg(long, allow_hyphen_values = true)]
    tasks: Option<String>,
    /// A field of the phase instead of a plan's row
    #[arg(long, requires = "value")]
    field: Option<String>,
    /// The field's new value
    #[arg(long, allow_hyphen_values = true, requires = "field")]
    value: Option<String>,
}

impl Status {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Init { phase } => init(context, phase),
            Self::Read { phase } => read(context, phase),
            Self::Write(args) => write(context, args),
            Self::Aggregate { phase } => aggregate(context, phase),
        }
    }
}

/// A phase's directory and the STATUS.md in it.
struct Place {
    dir: PhaseDir,
    /// The number in the form of file names: `03`.
    padded: String,
    path: PathBuf,
}

fn find(context: &Context, phase: &str) -> Result<Place, Failure> {
    let dir = context.phase_dir(phase).ok_or_else(|| {
        Failure::refused(format!("Phase {phase} not found in .planning/phases/"))
            .hint("mow roadmap phases lists what the roadmap declares")
    })?;
    Ok(place(dir))
}

fn place(dir: PhaseDir) -> Place {
    let padded = dir.number.map_or_else(|| dir.name.clone(), |number| number.padded());
    let name = format!("{padded}-STATUS.md");
    let path = dir.path.join(dir.status_file().unwrap_or(&name));
    Place { dir, padded, path }
}

/// Finds the file to read: that of the worktree while a live run works on the phase.
fn find_to_read(context: &Context, phase: &str) -> Result<Place, Failure> {
    let number = phase_dirs::parse_argument(phase);
    let there = number.and_then(|number| Active::load(context).dir(&number)).map(place);
    match there.filter(|place| place.path.is_file()) {
        Some(place) => Ok(place),
        None => find(context, phase),
    }
}

fn missing(context: &Context, phase: &str, path: &Path) -> Failure {
    Failure::refused(format!("{} not found", context.shown(path)))
        .hint(format!("mow status init {phase}"))
}

/// Writes the file anew; `worktree create` does so in the worktree it made.
pub(super) fn init(context: &Context, phase: &str) -> Result<Output, Failure> {
    let place = find(context, phase)?;
    let mut plans = Vec::new();
    for file in place.dir.of(Artifact::Plan) {
        let bytes = disk::read(&place.dir.path.join(file))?.unwrap_or_default();
        let id = Artifact::Plan.id(file).unwrap_or(file).to_owned();
        plans.push((id, plan::parse(&bytes).tasks.len()));
    }
    let name = place.dir.label().map_or_else(|| "Unnamed".to_owned(), capitalised);
    let new = NewStatus { phase: &place.padded, name: &name, plans: &plans };
    let text = match context.template("status.md")? {
        Some(template) => status::render_with(&template, &new),
        None => status::render(&new),
    };
    disk::update(&context.project, &place.path, |_| {
        Ok::<_, Failure>(Some(text.clone().into_bytes()))
    })?;
    let shown = context.shown(&place.path);
    let value = json!({ "created": true, "path": shown, "plans": plans.len() });
    Ok(Output::with_raw(value, shown))
}

/// Makes `user-auth` into `User Auth`.
fn capitalised(label: &str) -> String {
    let words = label.split('-').filter(|word| !word.is_empty()).map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_uppercase().to_string());
        first.unwrap_or_default() + letters.as_str()
    });
    words.collect::<Vec<_>>().join(" ")
}

#[derive(Serialize)]
struct ReadJson<'a> {
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
    let bytes = disk::read(&place.path)?.ok_or_else(|| missing(context, phase, &place.path))?;
    let status = status::parse(&bytes);
    Ok(Output::json(ReadJson {
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

/// Changes the file under the lock.
fn change(
    context: &Context,
    phase: &str,
    place: &Place,
    edit: impl Fn(&[u8]) -> Result<Vec<u8>, StatusError>,
) -> Result<(), Failure> {
    disk::update(&context.project, &place.path, |old| {
        let old = old.ok_or_else(|| missing(context, phase, &place.path))?;
        Ok::<_, Failure>(Some(edit(old)?))
    })?;
    Ok(())
}

fn write(context: &Context, args: &Write) -> Result<Output, Failure> {
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
        commit: args.commit.as_deref(),
        duration: args.duration.as_deref(),
        tasks: args.tasks.as_deref(),
        now_utc: &now,
    };
    change(context, &args.phase, &place, |old| status::update_plan(old, &row))?;
    let new_status = new_status(&place, args)?;
    Ok(Output::json(json!({ "updated": true, "plan": plan, "new_status": new_status })))
}

/// Returns what a plan's row says after a change: the status given, or the one that stood there.
fn new_status(place: &Place, args: &Write) -> Result<Option<String>, Failure> {
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
