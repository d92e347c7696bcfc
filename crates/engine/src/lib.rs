//! Runs the lead and the workers: reads inputs, records decisions in journals, starts effects.
//!
//! `mow-core` decides, `mow-host` runs processes and git, and `mow-store` reads and writes files.
//! This crate connects them; only this crate uses the clock, threads and signals. Start with
//! [`drive`], then [`lead`] and [`worker`].

pub mod activity;
pub mod agent_config;
mod agent_job;
pub mod agent_tools;
pub mod client;
pub mod clock;
pub mod contract_messages;
pub mod drive;
mod error;
mod git_integrity;
pub mod lead;
pub mod link;
mod look_ahead_mark;
pub mod peer_messages;
mod permission;
mod repository_lock;
pub mod run_context;
mod sealed_commits;
mod status_file;
pub mod watch;
pub mod worker;

pub use error::EngineError;
