//! `mow mcp`: serves mow's tools to the agent that started it, on standard input and output.
//!
//! The environment names run, phase, attempt, role and job of the agent. Without a valid session it
//! serves nothing.

use std::io::{stdin, stdout};
use std::path::PathBuf;

use clap::Args as ClapArgs;
use mow_core::phase::PhaseNumber;
use mow_core::worker::Role;
use mow_engine::agent_tools::{ToolSession, serve};
use mow_engine::run_context::RunContext;
use mow_store::project::Project;

use crate::caller;
use crate::failure::Failure;
use crate::output::Output;

/// The arguments of `mcp`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The root of the project
    #[arg(long)]
    root: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<Output, Failure> {
    let no_session = || {
        Failure::refused("the caller is not an agent of a run")
            .hint("mow starts this command for agents that need it")
    };
    let variable = |name: &str| std::env::var(name).map_err(|_| no_session());
    let worker = caller::worker_from_env().ok_or_else(no_session)?;
    let (role, job) = (variable("MOW_ROLE_NAME")?, variable("MOW_JOB")?);
    let exe = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("mow"));
    let session = ToolSession {
        ctx: RunContext::new(&Project::find(&args.root)?, &worker.run, &exe)?,
        phase: PhaseNumber::parse(&worker.phase).ok_or_else(no_session)?,
        attempt: worker.attempt.parse().map_err(|_| no_session())?,
        role: Role::ALL
            .into_iter()
            .find(|candidate| candidate.name() == role)
            .ok_or_else(no_session)?,
        job,
    };
    if !session.is_valid() {
        return Err(no_session());
    }
    serve(&session, stdin().lock(), stdout().lock())
        .map_err(|error| Failure::refused(format!("cannot serve the agent any longer: {error}")))?;
    Ok(Output::Text(String::new()))
}
