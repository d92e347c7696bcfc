//! `mow roadmap …`.

mod analyze;
mod dag;
mod graph;
mod phases;

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
    /// Lay the roadmap beside the phase directories
    Analyze,
    /// Work out waves, what is ready and what is blocked
    AnalyzeDag,
    /// Draw the dependencies
    Graph(graph::Args),
}

impl Roadmap {
    pub(super) fn is_of_contract(&self) -> bool {
        !matches!(self, Self::Phases | Self::Graph(_))
    }

    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Phases => phases::run(context),
            Self::Analyze => analyze::run(context),
            Self::AnalyzeDag => dag::run(context),
            Self::Graph(args) => graph::run(context, args),
        }
    }
}

fn load(context: &Context) -> Result<Option<Survey>, Failure> {
    Ok(survey::load(&context.project.planning)?)
}

fn no_roadmap() -> Failure {
    Failure::refused("ROADMAP.md not found")
        .hint("run mow in a project with .planning/ROADMAP.md, or name one with --cwd DIR")
}
