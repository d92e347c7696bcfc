//! The binary as its callers see it: arguments and files in, output, exit code and files out.
//!
//! Every call is a real process in a project of its own, with nothing of the machine's settings
//! around it. [`table`] holds the form most tests are written in.

mod chat_log;
mod dashboard;
mod format;
mod frontmatter;
mod message;
mod place;
mod roadmap;
mod roadmap_dag;
mod snapshot;
mod state;
mod status;
mod storm;
mod streams;
mod table;
mod usage;

use mow_testkit::sandbox::Sandbox;

/// An empty project to call `mow` in.
fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_mow"))
}
