//! `mow state …` and `mow state-snapshot`.

mod edit;
mod phases;

use clap::Subcommand;
use mow_store::config::Settings;
use mow_store::disk;
use mow_store::state::{fields, snapshot as reader};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::family::Family;
use crate::output::{Output, warn};

/// `mow state` alone is `mow state load`.
#[derive(Debug, clap::Args)]
pub(crate) struct State {
    #[command(subcommand)]
    command: Option<Family<StateCommand>>,
}

/// Commands on STATE.md.
#[derive(Debug, Subcommand)]
pub(crate) enum StateCommand {
    /// Print STATE.md, the settings, and which planning files there are
    Load,
    /// Print the whole file, a field or a section
    Get {
        /// A field or a heading
        #[arg(allow_hyphen_values = true)]
        name: Option<String>,
    },
    /// Give a field another value
    Update {
        /// The field's name, such as `Status`
        #[arg(allow_hyphen_values = true)]
        field: String,
        /// Its new value
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Give several fields other values
    #[command(after_help = "Example:\n  mow state patch --Status done --\"Current Plan\" 3")]
    Patch {
        /// Names and values in turn
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "--FIELD VALUE")]
        pairs: Vec<String>,
    },
    /// Move on to the next plan of the phase
    AdvancePlan,
    /// Add a plan's row to the performance metrics
    RecordMetric(edit::RecordMetric),
    /// Count plans and summaries and write how much is done
    UpdateProgress,
    /// Add a line to the decisions
    AddDecision(edit::AddDecision),
    /// Add a line to the blockers
    AddBlocker(edit::Blocker),
    /// Remove the lines of the blockers that contain a text
    ResolveBlocker(edit::Blocker),
    /// Write when and where a session stopped
    RecordSession(edit::RecordSession),
    /// List the rows of the Active Phases table
    ActivePhases,
    /// Change or add a phase's row in the Active Phases table
    UpdatePhaseRow(phases::UpdatePhaseRow),
    /// Name the blocked phase that waits for the fewest others
    NextUnblockable,
    /// Anything else is answered like `load`, as callers of old rely on it
    #[command(external_subcommand)]
    Unknown(Vec<String>),
}

const FILE: &str = "STATE.md";

impl State {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        use StateCommand as C;
        match self.command.as_deref().unwrap_or(&C::Load) {
            C::Load => Ok(load(context)),
            C::Get { name } => get(context, name.as_deref().filter(|name| !name.is_empty())),
            C::Update { field, value } => edit::update(context, field, value),
            C::Patch { pairs } => edit::patch(context, pairs),
            C::AdvancePlan => edit::advance_plan(context),
            C::RecordMetric(args) => edit::record_metric(context, args),
            C::UpdateProgress => edit::update_progress(context),
            C::AddDecision(args) => edit::add_decision(context, args),
            C::AddBlocker(args) => edit::add_blocker(context, args),
            C::ResolveBlocker(args) => edit::resolve_blocker(context, args),
            C::RecordSession(args) => edit::record_session(context, args),
            C::ActivePhases => phases::active_phases(context),
            C::UpdatePhaseRow(args) => phases::update_phase_row(context, args),
            C::NextUnblockable => phases::next_unblockable(context),
            C::Unknown(words) => {
                let word = words.first().map_or("", String::as_str);
                warn(&format!("unknown state subcommand `{word}`, answering `state load`"));
                Ok(load(context))
            }
        }
    }
}

pub(super) fn no_state() -> Failure {
    Failure::refused("STATE.md not found").hint("STATE.md lives in .planning/ of the project")
}

/// Changes STATE.md under the lock; `None` when there is none.
///
/// `change` returns the new bytes, if any, and what the command has to say. Nothing is made on
/// disk, not even the lock, where there is no file to change.
pub(super) fn change<T>(
    context: &Context,
    mut change: impl FnMut(&[u8]) -> Result<(Option<Vec<u8>>, T), Failure>,
) -> Result<Option<T>, Failure> {
    let path = context.planning(FILE);
    if !path.exists() {
        return Ok(None);
    }
    let mut said = None;
    disk::update(&context.project, &path, |old| {
        let Some(old) = old else { return Ok(None) };
        let (bytes, answer) = change(old)?;
        said = Some(answer);
        Ok::<_, Failure>(bytes)
    })?;
    Ok(said)
}

#[derive(Serialize)]
struct LoadJson {
    config: Settings,
    state_raw: String,
    state_exists: bool,
    roadmap_exists: bool,
    config_exists: bool,
}

/// Answers whatever is there: a file that cannot be read counts as missing.
fn load(context: &Context) -> Output {
    let state = context.load(FILE).ok().flatten().unwrap_or_default();
    let is_there = |file: &str| context.planning(file).exists();
    let json = LoadJson {
        config: context.config().unwrap_or_default().settings(),
        state_exists: !state.is_empty(),
        state_raw: String::from_utf8_lossy(&state).into_owned(),
        roadmap_exists: is_there("ROADMAP.md"),
        config_exists: is_there("config.json"),
    };
    let c = &json.config;
    let lines = [
        format!("model_profile={}", c.model_profile),
        format!("commit_docs={}", c.commit_docs),
        format!("branching_strategy={}", c.branching_strategy),
        format!("phase_branch_template={}", c.phase_branch_template),
        format!("milestone_branch_template={}", c.milestone_branch_template),
        format!("parallelization={}", c.parallelization),
        format!("research={}", c.research),
        format!("plan_checker={}", c.plan_checker),
        format!("verifier={}", c.verifier),
        format!("config_exists={}", json.config_exists),
        format!("roadmap_exists={}", json.roadmap_exists),
        format!("state_exists={}", json.state_exists),
    ];
    let raw = lines.join("\n");
    Output::with_raw(json, raw)
}

fn get(context: &Context, name: Option<&str>) -> Result<Output, Failure> {
    let bytes = context.load(FILE)?.ok_or_else(no_state)?;
    let Some(name) = name else {
        let content = String::from_utf8_lossy(&bytes).into_owned();
        return Ok(Output::with_raw(json!({ "content": content }), content));
    };
    Ok(match fields::lookup(&bytes, name) {
        Some(value) => {
            let found = Map::from_iter([(name.to_owned(), Value::String(value.clone()))]);
            Output::with_raw(found, value)
        }
        None => {
            let error = format!("Section or field \"{name}\" not found");
            Output::with_raw(json!({ "error": error }), "")
        }
    })
}

/// `mow state-snapshot`.
pub(super) fn snapshot(context: &Context) -> Result<Output, Failure> {
    let Some(bytes) = context.load(FILE)? else {
        return Ok(Output::json(json!({ "error": "STATE.md not found" })));
    };
    Ok(Output::json(json!(reader::parse(&bytes))))
}
