//! `mow state …` and `mow state-snapshot` read and change STATE.md.

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
use crate::lazy_subcommands::LazySubcommands;
use crate::output::{Output, warn};

/// The arguments of `mow state`; without a subcommand it is `mow state load`.
#[derive(Debug, clap::Args)]
pub(crate) struct StateArgs {
    #[command(subcommand)]
    command: Option<LazySubcommands<StateCommand>>,
}

/// The subcommands of `mow state`.
#[derive(Debug, Subcommand)]
pub(crate) enum StateCommand {
    /// Print STATE.md, the settings, and which planning files exist
    Load,
    /// Print the whole file, a field or a section
    Get {
        /// The name of a field or a section heading
        #[arg(allow_hyphen_values = true)]
        name: Option<String>,
    },
    /// Set a field
    Update {
        /// The name of the field, such as `Status`
        #[arg(allow_hyphen_values = true)]
        field: String,
        /// The new value of the field
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Set several fields
    #[command(after_help = "Example:\n  mow state patch --Status done --\"Current Plan\" 3")]
    Patch {
        /// Field names, each followed by its value
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "--FIELD VALUE")]
        pairs: Vec<String>,
    },
    /// Make the next plan of the phase the current one
    AdvancePlan,
    /// Add a row for a plan to the performance metrics
    RecordMetric(edit::RecordMetricArgs),
    /// Count the plans and summaries and update the progress bar
    UpdateProgress,
    /// Add a line to the decisions
    AddDecision(edit::AddDecisionArgs),
    /// Add a line to the blockers
    AddBlocker(edit::BlockerArgs),
    /// Remove the blockers that contain a text
    ResolveBlocker(edit::BlockerArgs),
    /// Record when and where a session stopped
    RecordSession(edit::RecordSessionArgs),
    /// List the rows of the Active Phases table
    ActivePhases,
    /// Change or add the row of a phase in the Active Phases table
    UpdatePhaseRow(phases::UpdatePhaseRowArgs),
    /// Print the blocked phase that waits for the fewest other phases
    NextUnblockable,
    /// Any other word: answered like `load`, because existing callers rely on it
    #[command(external_subcommand)]
    Unknown(Vec<String>),
}

const FILE: &str = "STATE.md";

impl StateArgs {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
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

pub(crate) fn state_missing() -> Failure {
    Failure::refused("STATE.md not found").hint("STATE.md lives in .planning/ of the project")
}

/// Changes STATE.md under the lock; returns `None` when the file does not exist.
///
/// `change` returns the new bytes, if any, and the answer of the command. Without a STATE.md
/// nothing is created on disk, not even the lock file.
pub(crate) fn change_state<T>(
    context: &Context,
    mut change: impl FnMut(&[u8]) -> Result<(Option<Vec<u8>>, T), Failure>,
) -> Result<Option<T>, Failure> {
    let path = context.planning(FILE);
    if !path.exists() {
        return Ok(None);
    }
    let mut answer = None;
    disk::update(&context.project, &path, |old| {
        let Some(old) = old else { return Ok(None) };
        let (bytes, new_answer) = change(old)?;
        answer = Some(new_answer);
        Ok::<_, Failure>(bytes)
    })?;
    Ok(answer)
}

#[derive(Serialize)]
struct StateLoadJson {
    config: Settings,
    state_raw: String,
    state_exists: bool,
    roadmap_exists: bool,
    config_exists: bool,
}

/// Never fails: a file that cannot be read counts as missing.
fn load(context: &Context) -> Output {
    let state = context.load(FILE).ok().flatten().unwrap_or_default();
    let exists = |file: &str| context.planning(file).exists();
    let json = StateLoadJson {
        config: context.config().unwrap_or_default().settings(),
        state_exists: !state.is_empty(),
        state_raw: String::from_utf8_lossy(&state).into_owned(),
        roadmap_exists: exists("ROADMAP.md"),
        config_exists: exists("config.json"),
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
    let bytes = context.load(FILE)?.ok_or_else(state_missing)?;
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

/// Runs `mow state-snapshot`: prints all of STATE.md as one JSON value.
pub(crate) fn snapshot(context: &Context) -> Result<Output, Failure> {
    let Some(bytes) = context.load(FILE)? else {
        return Ok(Output::json(json!({ "error": "STATE.md not found" })));
    };
    Ok(Output::json(json!(reader::parse(&bytes))))
}
