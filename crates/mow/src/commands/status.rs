//! `mow status …`.

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// Commands on STATUS.md.
#[derive(Debug, Subcommand)]
pub(crate) enum Status {
    /// x
    Init,
}

impl Status {
    pub(super) fn run(&self, _context: &Context) -> Result<Output, Failure> {
        Err(Failure::refused("x"))
    }
}
