//! `mow roadmap …` reads the roadmap and updates plan counts in it.
//!
//! `get-phase`, `update-plan-progress`, `analyze` and `analyze-dag` are commands of the contract.
//! `phases`, `graph` and `forecast` belong to the product and run from
//! [`crate::commands::roadmap`].

mod analyze;
pub(crate) mod dag;
mod get_phase;
mod plan_progress;

use clap::Subcommand;

use crate::commands::roadmap::{forecast, graph, phases};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// The subcommands of `mow roadmap`.
#[derive(Debug, Subcommand)]
pub(crate) enum RoadmapCommand {
    /// List every phase in the roadmap
    Phases,
    /// Print the roadmap section of a phase
    GetPhase {
        /// The phase, such as 3 or 03
        phase: String,
    },
    /// Update the plan counts of a phase in the roadmap
    UpdatePlanProgress {
        /// The phase, such as 3 or 03
        phase: String,
    },
    /// Compare the roadmap with the phase directories
    Analyze,
    /// Print the waves, and the phases that are ready or blocked
    AnalyzeDag,
    /// Draw the dependency graph of the phases
    Graph(graph::Args),
    /// Estimate how long the open phases take, and how much time look-ahead saves
    Forecast(forecast::Args),
}

impl RoadmapCommand {
    pub(crate) fn is_contract_command(&self) -> bool {
        !matches!(self, Self::Phases | Self::Graph(_) | Self::Forecast(_))
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
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
