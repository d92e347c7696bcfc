//! `cargo xtask soak`: the tests that take a count, with counts for an afternoon.
//!
//! Storm tests (their name contains `storm`) kill a process that writes, over and over; they read
//! `MOW_STORM_KILLS`. The failpoints read `MOW_FAILPOINTS`. Property tests read `PROPTEST_CASES`. The
//! simulation of the engine reads `MOW_SIM_SEEDS` and `MOW_SIM_LARGE`; it is the only one that is built
//! with optimisations. The random repositories of the merge tests read `MOW_MERGE_SCENARIOS`.

use crate::steps::Steps;
use crate::{no_arguments, repo};
use anyhow::{Context, Result, ensure};

const STORM_KILLS: u32 = 2000;
const SIMULATION_SEEDS: &str = "10000";
const SIMULATION_PHASES: &str = "10000";
const MERGE_SCENARIOS: &str = "10000";
const PROPERTY_CASES: &str = "20000";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    no_arguments(arguments)?;
    let mut steps = Steps::default();
    run_storms(&mut steps, STORM_KILLS)?;
    run_failpoints(&mut steps, "soak")?;
    let mut simulation =
        repo::cargo(["test", "--release", "--locked", "--package", "mow-engine", "sim::"]);
    simulation.env("MOW_SIM_SEEDS", SIMULATION_SEEDS).env("MOW_SIM_LARGE", SIMULATION_PHASES);
    steps.command("soak", "simulation", simulation)?;
    run_scenarios(&mut steps, MERGE_SCENARIOS)?;
    let mut properties = repo::cargo(["test", "--workspace", "--locked"]);
    properties.env("PROPTEST_CASES", PROPERTY_CASES);
    steps.command("soak", "properties", properties)?;
    println!("{}\nall green", steps.table());
    Ok(())
}

/// Does random things to this many random repositories, and dies over them.
pub(crate) fn run_scenarios(steps: &mut Steps, count: &str) -> Result<()> {
    let mut scenarios =
        repo::cargo(["test", "--package", "mow", "--locked", "--test", "it", "scenarios"]);
    scenarios.env("MOW_MERGE_SCENARIOS", count);
    steps.command("scenarios", "merges and deaths", scenarios)
}

/// Runs the storm tests with the given count, and says so when there are none.
pub(crate) fn run_storms(steps: &mut Steps, kills: u32) -> Result<()> {
    if count_tests("storm")? == 0 {
        println!("\n── storm: there is no storm test yet, nothing was run");
        return Ok(());
    }
    let mut storms = repo::cargo(["test", "--workspace", "--locked", "--tests", "storm"]);
    storms.env("MOW_STORM_KILLS", kills.to_string());
    steps.command("storm", "kill storms", storms)
}

/// Lets processes die at every failpoint; `all` or `soak` says in which of them and how often.
pub(crate) fn run_failpoints(steps: &mut Steps, which: &str) -> Result<()> {
    let mut failpoints = repo::cargo(["test", "--locked", "-p", "mow", "--test", "it"]);
    failpoints.args(["run::failpoints", "--", "--nocapture"]).env("MOW_FAILPOINTS", which);
    steps.command("failpoints", which, failpoints)
}

fn count_tests(pattern: &str) -> Result<usize> {
    let output = repo::cargo([
        "test",
        "--workspace",
        "--locked",
        "--quiet",
        "--tests",
        pattern,
        "--",
        "--list",
    ])
    .output()
    .context("cannot list the tests")?;
    ensure!(output.status.success(), "cannot list the tests: {}", output.status);
    let listing = String::from_utf8_lossy(&output.stdout);
    Ok(listing.lines().filter(|line| line.ends_with(": test")).count())
}
