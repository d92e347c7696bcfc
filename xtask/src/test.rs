//! `cargo xtask check` and `cargo xtask test`: what must pass before a commit, and before a merge.
//!
//! Both run the same lints. `check` then runs the tests that finish in seconds, `test` runs all.

use crate::steps::Steps;
use crate::{agents, no_arguments, repo, tidy, tools};
use anyhow::Result;
use std::process::Command;

/// Runs the lints and the quick tests: under three minutes with a warm cache.
pub(crate) fn run_check(arguments: &[String]) -> Result<()> {
    no_arguments(arguments)?;
    let mut steps = Steps::default();
    run_lints(&mut steps)?;
    let mut tests = tools::nextest()?;
    tests.args(["--profile", "quick"]);
    steps.command("tests", "quick", tests)?;
    println!("{}\nall green", steps.table());
    Ok(())
}

/// Runs the lints and every test.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    no_arguments(arguments)?;
    let mut steps = Steps::default();
    run_lints(&mut steps)?;
    steps.call("tools", "agents", "cargo xtask agents", || agents::ensure_agents().map(|_| ()))?;
    let mut tests = tools::nextest()?;
    tests.env("MOW_AGENTS_BIN", agents::ensure_agents()?);
    steps.command("tests", "tests", tests)?;
    // Nextest runs no doc tests.
    steps.command(
        "tests",
        "doc tests",
        repo::cargo(["test", "--workspace", "--locked", "--doc"]),
    )?;
    steps.call("tools", "cargo-deny", "cargo xtask test", || {
        tools::ensure_cargo_deny().map(|_| ())
    })?;
    steps.command("lint", "dependencies", cargo_deny()?)?;
    println!("{}\nall green", steps.table());
    Ok(())
}

fn run_lints(steps: &mut Steps) -> Result<()> {
    steps.call("lint", "tidy", "cargo xtask tidy", || tidy::run(&[]))?;
    tools::ensure_components()?;
    steps.command("lint", "format", repo::cargo(["fmt", "--all", "--check"]))?;
    steps.command(
        "lint",
        "clippy",
        repo::cargo(["clippy", "--workspace", "--all-targets", "--locked", "--", "-Dwarnings"]),
    )
}

/// Advisories are left out: they need the network and change without a commit of ours.
fn cargo_deny() -> Result<Command> {
    let mut command = Command::new(tools::ensure_cargo_deny()?);
    command.args(["--locked", "check", "bans", "licenses", "sources"]).current_dir(repo::root());
    Ok(command)
}
