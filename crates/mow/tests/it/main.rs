//! The binary as its callers see it: arguments and files in, output, exit code and files out.
//!
//! Every call is a real process in a project of its own, with nothing of the machine's settings
//! around it. [`table`] holds the form most tests are written in.

mod agents;
mod chat_log;
mod close_shop;
mod commit;
mod corpus;
mod cost;
mod dashboard;
mod demo;
mod doctor;
mod format;
mod frontmatter;
mod hook;
mod identity;
mod init;
mod install;
mod manual;
mod message;
mod milestone;
mod overview;
mod people;
mod people_live;
mod phase;
mod phase_remove;
mod phases;
mod place;
mod rescue;
mod roadmap;
mod roadmap_dag;
mod roadmap_forecast;
mod roadmap_phase;
mod run;
mod run_fixture;
mod scenarios;
mod snapshot;
mod start;
mod state;
mod state_fields;
mod state_lists;
mod status;
mod storm;
mod storm_families;
mod streams;
mod summary;
mod table;
mod team;
mod template;
mod usage;
mod utility;
mod validate;
mod verify;
mod worktree;
mod worktree_claims;
mod worktree_life;
mod worktree_merge;
mod worktree_worker;

use mow_testkit::sandbox::Sandbox;

/// An empty project to call `mow` in.
fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_mow"))
}

/// The date in UTC, as commands write it.
fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}
