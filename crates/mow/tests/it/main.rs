//! The binary as its callers see it: arguments and files in, output, exit code and files out.
//!
//! Every call is a real process in a project of its own, with nothing of the machine's settings
//! around it. [`table`] holds the form most tests are written in.

mod frontmatter;
mod milestone;
mod phase;
mod phase_remove;
mod phases;
mod place;
mod roadmap;
mod roadmap_dag;
mod roadmap_phase;
mod snapshot;
mod state;
mod status;
mod storm;
mod streams;
mod table;
mod usage;
mod validate;

use mow_testkit::sandbox::Sandbox;

/// An empty project to call `mow` in.
fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_mow"))
}

/// The date in UTC, as commands write it.
fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}
