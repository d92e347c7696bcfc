//! `mow init …`: all that a workflow wants to know before it starts, in one answer.

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

/// What a workflow may start with.
#[derive(Debug, Subcommand)]
pub(crate) enum Init {
    /// For carrying out a phase
    ExecutePhase {
        /// The phase, such as 3 or 03
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        phase: String,
        /// Files to print with it: state, config, roadmap
        #[arg(long, allow_hyphen_values = true, value_name = "FILES")]
        include: Option<String>,
    },
    /// For planning a phase
    PlanPhase {
        /// The phase, such as 3 or 03
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        phase: String,
        /// Files to print with it: state, roadmap, requirements, context, research, verification,
        /// uat
        #[arg(long, allow_hyphen_values = true, value_name = "FILES")]
        include: Option<String>,
    },
    /// For a new project
    NewProject,
    /// For a new milestone
    NewMilestone,
    /// For a task outside of phases
    Quick {
        /// What to do
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        description: Vec<String>,
    },
    /// For going on where work was interrupted
    Resume,
    /// For trying out what a phase delivered
    VerifyWork {
        /// The phase, such as 3 or 03
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        phase: String,
    },
    /// For anything else about a phase
    PhaseOp {
        /// The phase, such as 3 or 03
        phase: Option<String>,
    },
    /// For the todos
    Todos {
        /// Only those of this area
        area: Option<String>,
    },
    /// For ending a milestone
    MilestoneOp,
    /// For mapping the code
    MapCodebase,
    /// For a report on where the project stands
    Progress {
        /// Files to print with it: state, roadmap, project, config
        #[arg(long, allow_hyphen_values = true, value_name = "FILES")]
        include: Option<String>,
    },
    /// For working through the milestone
    Auto,
}

impl Init {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        if !matches!(self, Self::Auto) {
            // MERGE: the worktree family's silent cleanup of claims goes here.
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

/// Returns the milestone that the roadmap is working on.
fn milestone(context: &Context) -> Result<CurrentMilestone, Failure> {
    Ok(current_milestone(&context.load("ROADMAP.md")?.unwrap_or_default()))
}

fn nudge_dismissed(config: &mow_store::config::Config) -> bool {
    config.value("agent_teams_nudge_dismissed").and_then(Value::as_bool).unwrap_or(false)
}

/// Returns the names in an `--include` list.
fn included(include: Option<&str>) -> impl Iterator<Item = &str> {
    include.unwrap_or("").split(',').map(str::trim)
}

/// Adds the texts of the planning files that were asked for; null stands for a missing one.
fn add_contents(
    answer: &mut Map<String, Value>,
    context: &Context,
    include: Option<&str>,
    known: &[(&str, &str)],
) -> Result<(), Failure> {
    for (name, file) in known {
        if included(include).any(|wanted| wanted == *name) {
            let text =
                context.load(file)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            answer.insert(format!("{name}_content"), json!(text));
        }
    }
    Ok(())
}

/// Turns an answer made by `json!` into the object it is.
fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
