//! `cargo xtask test`: everything that must hold before a commit.

use crate::steps::Steps;
use crate::{agents, no_arguments, repo, tidy, tools};
use anyhow::Result;
use std::process::Command;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    no_arguments(arguments)?;
    let mut steps = Steps::default();
    run_steps(&mut steps)?;
    println!("{}\nall green", steps.table());
    Ok(())
}

fn run_steps(steps: &mut Steps) -> Result<()> {
    steps.call("lint", "tidy", "cargo xtask tidy", || tidy::run(&[]))?;
    tools::ensure_components()?;
    steps.command("lint", "format", repo::cargo(["fmt", "--all", "--check"]))?;
    steps.command(
        "lint",
        "clippy",
        repo::cargo(["clippy", "--workspace", "--all-targets", "--locked", "--", "-Dwarnings"]),
    )?;
    // The README's first command: cargo must know which program is meant.
    steps.command(
        "tests",
        "cargo run",
        repo::cargo(["run", "--locked", "--quiet", "--", "--version"]),
    )?;
    steps.call("tools", "agents", "cargo xtask agents", || agents::ensure_agents().map(|_| ()))?;
    // `cargo test` also runs the doc tests of every library.
    let mut tests = repo::cargo(["test", "--workspace", "--locked"]);
    tests.env("MOW_AGENTS_BIN", agents::ensure_agents()?);
    steps.command("tests", "tests", tests)?;
    steps.call("tools", "cargo-deny", "cargo xtask test", || {
        tools::ensure_cargo_deny().map(|_| ())
    })?;
    steps.command("lint", "dependencies", cargo_deny()?)
}

/// Advisories are left out: they need the network and change without a commit of ours.
fn cargo_deny() -> Result<Command> {
    let mut command = Command::new(tools::ensure_cargo_deny()?);
    command.args(["--locked", "check", "bans", "licenses", "sources"]).current_dir(repo::root());
    Ok(command)
}
