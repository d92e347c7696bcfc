//! `mow validate …` checks that the planning files are complete and consistent.

mod consistency;
mod health;
mod repair;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// The subcommands of `mow validate`.
#[derive(Debug, Subcommand)]
pub(crate) enum ValidateCommand {
    /// Compare the roadmap with the phase directories
    Consistency,
    /// Check that all planning files exist and can be read
    Health {
        /// Make a backup, then repair the issues that are marked repairable
        #[arg(long)]
        repair: bool,
    },
}

impl ValidateCommand {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Consistency => consistency::run(context),
            Self::Health { repair } => health::run(context, *repair),
        }
    }
}
