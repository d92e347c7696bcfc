//! `mow phases list`, `mow find-phase` and `mow phase-plan-index` read the phase directories.

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Subcommand;
use mow_store::phase_dirs::{self, PhaseDir, PhaseDirs, PhaseFileKind};
use mow_store::{disk, plan};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// The subcommands of `mow phases`.
#[derive(Debug, Subcommand)]
pub(crate) enum PhasesCommand {
    /// List the phase directories, or the files in them
    List(PhasesListArgs),
}

/// The arguments of `phases list`.
#[derive(Debug, clap::Args)]
pub(crate) struct PhasesListArgs {
    /// List files: `plans`, `summaries`, or any other word for all of them
    #[arg(long = "type", allow_hyphen_values = true)]
    kind: Option<String>,
    /// List only this phase
    #[arg(long, allow_hyphen_values = true)]
    phase: Option<String>,
    /// List archived phases too
    #[arg(long)]
    include_archived: bool,
}

impl PhasesCommand {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let Self::List(args) = self;
        Ok(list(context, args))
    }
}

fn list(context: &Context, args: &PhasesListArgs) -> Output {
    let planning = &context.project.planning;
    let mut dirs: Vec<Arc<PhaseDir>> = PhaseDirs::load(planning).iter().cloned().collect();
    if args.include_archived {
        dirs.extend(PhaseDirs::load_archived(planning));
        dirs.sort_by_key(|dir| (dir.number.is_none(), dir.number));
    }
    if let Some(phase) = args.phase.as_deref().filter(|_| !dirs.is_empty()) {
        dirs = find_dir(&dirs, phase).into_iter().collect();
        if dirs.is_empty() {
            let error = "Phase not found";
            let value = json!({ "files": [], "count": 0, "phase_dir": null, "error": error });
            return Output::with_raw(value, "");
        }
    }
    let Some(kind) = &args.kind else {
        let names: Vec<_> = dirs.iter().map(|dir| display_name(dir)).collect();
        let value = json!({ "directories": names, "count": names.len() });
        return Output::with_raw(value, names.join("\n"));
    };
    let files: Vec<&str> = dirs.iter().flat_map(|dir| files_of_type(dir, kind)).collect();
    let named = args.phase.as_ref().and(dirs.first());
    let value = json!({
        "files": files,
        "count": files.len(),
        "phase_dir": named.map(|dir| dir.label().unwrap_or("")),
    });
    Output::with_raw(value, files.join("\n"))
}

/// Finds the directory of a phase; prefers a current directory to an archived one.
fn find_dir(dirs: &[Arc<PhaseDir>], phase: &str) -> Option<Arc<PhaseDir>> {
    let number = phase_dirs::parse_argument(phase);
    let matches = |dir: &&Arc<PhaseDir>| match number {
        Some(number) => dir.number == Some(number),
        None => !phase.is_empty() && dir.name.starts_with(phase),
    };
    dirs.iter().filter(matches).min_by_key(|dir| dir.archived.is_some()).cloned()
}

fn display_name(dir: &PhaseDir) -> String {
    match &dir.archived {
        Some(version) => format!("{} [{version}]", dir.name),
        None => dir.name.clone(),
    }
}

fn files_of_type<'a>(dir: &'a PhaseDir, kind: &str) -> Vec<&'a str> {
    match kind {
        "plans" => dir.files_of(PhaseFileKind::Plan).collect(),
        "summaries" => dir.files_of(PhaseFileKind::Summary).collect(),
        _ => dir.files().collect(),
    }
}

fn require_phase(phase: &str) -> Result<&str, Failure> {
    let is_given = !phase.trim().is_empty();
    is_given.then_some(phase).ok_or_else(|| Failure::refused("phase required"))
}

/// Runs `mow find-phase`.
pub(crate) fn find_phase(context: &Context, phase: &str) -> Result<Output, Failure> {
    let Some(dir) = context.phase_dir(require_phase(phase)?) else {
        let value = json!({
            "found": false, "directory": null, "phase_number": null, "phase_name": null,
            "plans": [], "summaries": [],
        });
        return Ok(Output::with_raw(value, ""));
    };
    let directory = context.display_path(&dir.path);
    let mut value = json!({
        "found": true,
        "directory": directory,
        "phase_number": dir.written(),
        "phase_name": dir.label(),
        "plans": dir.files_of(PhaseFileKind::Plan).collect::<Vec<_>>(),
        "summaries": dir.files_of(PhaseFileKind::Summary).collect::<Vec<_>>(),
    });
    if let Some(version) = &dir.archived {
        value["archived"] = json!(version);
    }
    Ok(Output::with_raw(value, directory))
}

#[derive(Serialize)]
struct PlanJson<'a> {
    id: &'a str,
    wave: u32,
    autonomous: bool,
    objective: Option<String>,
    files_modified: Vec<String>,
    task_count: usize,
    has_summary: bool,
    depends_on: Vec<String>,
    gap_closure: bool,
}

/// Runs `mow phase-plan-index`: lists the plans of a phase with their waves.
pub(crate) fn plan_index(context: &Context, phase: &str) -> Result<Output, Failure> {
    let number = phase_dirs::parse_argument(require_phase(phase)?);
    let padded = number.map_or_else(|| phase.to_owned(), |number| number.padded());
    let Some(dir) = context.phase_dir(phase) else {
        return Ok(Output::json(json!({
            "phase": padded, "error": "Phase not found", "plans": [], "waves": {},
            "incomplete": [], "has_checkpoints": false,
        })));
    };
    let mut plans = Vec::new();
    for file in dir.files_of(PhaseFileKind::Plan) {
        plans.push(plan_json(&dir, file)?);
    }
    let mut waves: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for plan in &plans {
        waves.entry(plan.wave).or_default().push(plan.id);
    }
    let waves: Map<String, Value> =
        waves.into_iter().map(|(wave, ids)| (wave.to_string(), json!(ids))).collect();
    let incomplete: Vec<_> =
        plans.iter().filter(|plan| !plan.has_summary).map(|plan| plan.id).collect();
    let padded = dir.number.map_or(padded, |number| number.padded());
    Ok(Output::json(json!({
        "phase": padded,
        "plans": plans,
        "waves": waves,
        "incomplete": incomplete,
        "has_checkpoints": plans.iter().any(|plan| !plan.autonomous),
    })))
}

fn plan_json<'a>(dir: &PhaseDir, file: &'a str) -> Result<PlanJson<'a>, Failure> {
    let plan = plan::parse(&disk::read(&dir.path.join(file))?.unwrap_or_default());
    let id = PhaseFileKind::Plan.id(file).unwrap_or(file);
    let has_summary = dir
        .files_of(PhaseFileKind::Summary)
        .any(|summary| PhaseFileKind::Summary.id(summary) == Some(id));
    Ok(PlanJson {
        id,
        wave: plan.wave,
        autonomous: plan.autonomous,
        objective: plan.objective,
        files_modified: plan.files_modified,
        task_count: plan.tasks.len(),
        has_summary,
        depends_on: plan.depends_on.into_iter().map(|plan| plan.text).collect(),
        gap_closure: plan.gap_closure,
    })
}
