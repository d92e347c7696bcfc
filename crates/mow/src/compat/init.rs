//! `mow init …` prints, in one JSON answer, the facts that a workflow needs before it starts.

mod overview;
mod phase;
mod project;

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;
use mow_store::roadmap::milestone::{CurrentMilestone, current_milestone};
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// The workflows that have an answer of their own.
#[derive(Debug, Subcommand)]
pub(crate) enum InitCommand {
    /// Print the facts for executing a phase
    ExecutePhase {
        /// The phase, such as 3 or 03
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        phase: String,
        /// Planning files whose text is printed too: state, config, roadmap
        #[arg(long, allow_hyphen_values = true, value_name = "FILES")]
        include: Option<String>,
    },
    /// Print the facts for planning a phase
    PlanPhase {
        /// The phase, such as 3 or 03
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        phase: String,
        /// Planning files whose text is printed too: state, roadmap, requirements,
        /// context, research, verification, uat
        #[arg(long, allow_hyphen_values = true, value_name = "FILES")]
        include: Option<String>,
    },
    /// Print the facts for a new project
    NewProject,
    /// Print the facts for a new milestone
    NewMilestone,
    /// Print the facts for a quick task outside of the phases
    Quick {
        /// A description of the task
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        description: Vec<String>,
    },
    /// Print the facts for resuming interrupted work
    Resume,
    /// Print the facts for testing the result of a phase
    VerifyWork {
        /// The phase, such as 3 or 03
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        phase: String,
    },
    /// Print the facts for any other work on a phase
    PhaseOp {
        /// The phase, such as 3 or 03
        phase: Option<String>,
    },
    /// Print the facts for working on todos
    Todos {
        /// List only the todos of this area
        area: Option<String>,
    },
    /// Print the facts for completing a milestone
    MilestoneOp,
    /// Print the facts for mapping the codebase
    MapCodebase,
    /// Print the facts for a progress report
    Progress {
        /// Planning files whose text is printed too: state, roadmap, project, config
        #[arg(long, allow_hyphen_values = true, value_name = "FILES")]
        include: Option<String>,
    },
    /// Print the facts for running the phases of the milestone
    Auto,
}

impl InitCommand {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        if !matches!(self, Self::Auto) {
            crate::worktrees::release_stale_quietly(context);
        }
        let starts_work = matches!(
            self,
            Self::ExecutePhase { .. }
                | Self::PlanPhase { .. }
                | Self::NewProject
                | Self::NewMilestone
                | Self::Resume
        );
        if starts_work {
            super::worktree::notice_legacy_home(context);
        }
        match self {
            Self::ExecutePhase { phase, include } => {
                phase::execute(context, phase, include.as_deref())
            }
            Self::PlanPhase { phase, include } => phase::plan(context, phase, include.as_deref()),
            Self::VerifyWork { phase } => phase::verify_work(context, phase),
            Self::PhaseOp { phase } => phase::op(context, phase.as_deref()),
            Self::NewProject => project::new_project(context),
            Self::NewMilestone => project::new_milestone(context),
            Self::Quick { description } => project::quick(context, &description.join(" ")),
            Self::Resume => project::resume(context),
            Self::Todos { area } => project::todos(context, area.as_deref()),
            Self::MapCodebase => project::map_codebase(context),
            Self::MilestoneOp => overview::milestone_op(context),
            Self::Progress { include } => overview::progress(context, include.as_deref()),
            Self::Auto => overview::auto(context),
        }
    }
}

fn exists(context: &Context, file: &str) -> bool {
    context.planning(file).exists()
}

/// Returns the current milestone of the roadmap.
fn load_current_milestone(context: &Context) -> Result<CurrentMilestone, Failure> {
    Ok(current_milestone(&context.load("ROADMAP.md")?.unwrap_or_default()))
}

fn is_nudge_dismissed(config: &mow_store::config::Config) -> bool {
    config.value("agent_teams_nudge_dismissed").and_then(Value::as_bool).unwrap_or(false)
}

/// Returns the names in an `--include` list.
fn included_names(include: Option<&str>) -> impl Iterator<Item = &str> {
    include.unwrap_or("").split(',').map(str::trim)
}

/// Adds the texts of the planning files named by `--include`; a missing file is null.
fn add_contents(
    answer: &mut Map<String, Value>,
    context: &Context,
    include: Option<&str>,
    files: &[(&str, &str)],
) -> Result<(), Failure> {
    for (name, file) in files {
        if included_names(include).any(|wanted| wanted == *name) {
            let text =
                context.load(file)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            answer.insert(format!("{name}_content"), json!(text));
        }
    }
    Ok(())
}

/// Unwraps the object in a value made by `json!`.
fn into_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
