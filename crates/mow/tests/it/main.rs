//! Tests the program from the outside: arguments and files in, output, exit code and files out.
//!
//! Every call is a real process in its own project, without the settings of the machine. Most tests
//! are written as tables of cases, see [`table`].

mod agent_commands;
mod agents;
mod callers;
mod close_shop;
mod compat;
mod corpus;
mod demo;
mod doctor;
mod help_snapshots;
mod hook;
mod install;
mod live_run_commands;
mod manual;
mod noop_edits;
mod overview;
mod project_init;
mod project_location;
mod rescue;
mod roadmap_forecast;
mod run;
mod run_commands;
mod run_fixture;
mod scenarios;
mod screens;
mod storm;
mod storm_families;
mod streams;
mod table;
mod usage;
mod wire;
mod worktree_fixture;

use mow_testkit::sandbox::Sandbox;

/// Makes an empty directory to call `mow` in.
fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_mow"))
}

/// Returns the date in UTC, as commands write it.
fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}
