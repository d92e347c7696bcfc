//! The binary: arguments in, one answer out.
//!
//! Everything that talks to a person or a script is in this crate; what is true is decided in
//! `mow-core` and read by `mow-store`. Start with [`cli`] for what can be called, then
//! [`commands`].

mod caller;
mod cli;
mod commands;
mod context;
mod failure;
mod family;
mod help;
mod output;
mod runs;
mod teams;
mod terminal;

use std::process::ExitCode;

fn main() -> ExitCode {
    failure::install_panic_message();
    output::finish(cli::parse().and_then(cli::Request::run))
}
