//! `mow validate …`: do the planning files fit together?

mod consistency;
mod health;
mod repair;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

pub(super) use self::consistency::unread_dependencies;

/// Checks of the planning files.
#[derive(Debug, Subcommand)]
pub(crate) enum Validate {
    /// Compare the roadmap with the phase directories
    Consistency,
    /// Check that all files are there and readable
    Health {
        /// Repair what can be repaired, after a backup
        #[arg(long)]
        repair: bool,
    },
}

impl Validate {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Consistency => consistency::run(context),
            Self::Health { repair } => health::run(context, *repair),
        }
    }
}
