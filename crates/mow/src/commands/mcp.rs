//! `mow mcp`: serves the tools of mow to an agent that started it, on its standard streams.
//!
//! Its environment says whose agent that is, so that it serves nobody else's.

use std::io::{stdin, stdout};
use std::path::PathBuf;

use clap::Args as ClapArgs;
use mow_core::phase::PhaseNumber;
use mow_core::worker::Role;
use mow_engine::site::Site;
use mow_engine::tools::{Scope, serve};
use mow_store::project::Project;

use crate::caller;
use crate::failure::Failure;
use crate::output::Output;

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The root of the project
    #[arg(long)]
    root: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<Output, Failure> {
    let alone = || {
        Failure::refused("no agent of a run is calling")
            .hint("mow starts this by itself for agents that need it")
    };
    let set = |name: &str| std::env::var(name).map_err(|_| alone());
    let worker = caller::named_worker().ok_or_else(alone)?;
    let (role, job) = (set("MOW_ROLE_NAME")?, set("MOW_JOB")?);
    let exe = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("mow"));
    let scope = Scope {
        site: Site::new(&Project::find(&args.root)?, &worker.run, &exe)?,
        phase: PhaseNumber::parse(&worker.phase).ok_or_else(alone)?,
        attempt: worker.attempt.parse().map_err(|_| alone())?,
        role: Role::ALL.into_iter().find(|known| known.name() == role).ok_or_else(alone)?,
        job,
    };
    if !scope.is_sound() {
        return Err(alone());
    }
    serve(&scope, stdin().lock(), stdout().lock())
        .map_err(|error| Failure::refused(format!("the agent is not served any more: {error}")))?;
    Ok(Output::Text(String::new()))
}
