//! `mow roadmap …`.

mod analyze;
pub(super) mod dag;
mod forecast;
mod get_phase;
mod graph;
mod phases;
mod plan_progress;

use clap::Subcommand;
use mow_store::survey::{self, Survey};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// Commands on the roadmap.
#[derive(Debug, Subcommand)]
pub(crate) enum Roadmap {
    /// List every phase the roadmap declares
    Phases,
    /// Print the section of one phase
    GetPhase {
        /// The phase, such as 3 or 03
        phase: String,
    },
    /// Write a phase's plan counts into the roadmap
    UpdatePlanProgress {
        /// The phase, such as 3 or 03
        phase: String,
    },
    /// Lay the roadmap beside the phase directories
    Analyze,
    /// Work out waves, what is ready and what is blocked
    AnalyzeDag,
    /// Draw the dependencies
    Graph(graph::Args),
    /// Work out how long the open phases take, and what looking ahead saves
    Forecast(forecast::Args),
}

impl Roadmap {
    pub(super) fn is_of_contract(&self) -> bool {
        !matches!(self, Self::Phases | Self::Graph(_) | Self::Forecast(_))
    }

    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Phases => phases::run(context),
            Self::GetPhase { phase } => get_phase::run(context, phase),
            Self::UpdatePlanProgress { phase } => plan_progress::run(context, phase),
            Self::Analyze => analyze::run(context),
            Self::AnalyzeDag => dag::run(context),
            Self::Graph(args) => graph::run(context, args),
            Self::Forecast(args) => forecast::run(context, args),
        }
    }
}

fn load(context: &Context) -> Result<Option<Survey>, Failure> {
    Ok(survey::load(&context.project.planning)?)
}

pub(super) fn no_roadmap() -> Failure {
    Failure::refused("ROADMAP.md not found")
        .hint("run mow in a project with .planning/ROADMAP.md, or name one with --cwd DIR")
}
