//! The `mow` program: parses the command line, runs one command and prints its result.
//!
//! Only this crate talks to people and scripts. `mow-core` makes the decisions, `mow-store` reads
//! and writes files, `mow-engine` runs phases. Start with [`cli`] for the arguments, then read
//! [`commands`].

mod caller;
mod cli;
mod commands;
mod compat;
mod context;
mod failure;
mod help;
mod lazy_subcommands;
mod output;
mod phase_places;
mod planning_commit;
mod refusal;
mod runs;
mod status_file;
mod terminal;
mod wire;
mod worktrees;

use std::process::ExitCode;

fn main() -> ExitCode {
    failure::install_panic_message();
    output::finish(cli::parse().and_then(cli::ParsedCommandLine::run))
}
