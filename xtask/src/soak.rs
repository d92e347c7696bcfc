//! `cargo xtask soak`: the tests that take a count, with counts for an afternoon.
//!
//! | tier | what | counts by |
//! |---|---|---|
//! | storm | processes that write are killed, over and over | `MOW_STORM_KILLS` |
//! | failpoints | processes die at every point, alone and in pairs | `MOW_FAILPOINTS` |
//! | simulation | seeds, and runs of full size | `MOW_SIM_SEEDS`, `MOW_SIM_LARGE` |
//! | inbox | questions, and deaths of those who ask and answer | `MOW_INBOX_ITEMS`, `MOW_INBOX_KILLS`, `MOW_INBOX_CRITERIA` |
//! | disk | what power failures leave on long walks | `MOW_DISK_WALKS` |
//! | scenarios | merges of random repositories | `MOW_MERGE_SCENARIOS` |
//! | properties | everything else that throws its input | `PROPTEST_CASES` |
//!
//! Only the simulation is built with optimisations. A step that fails prints the command that repeats
//! it, and the test in it how to repeat the one case alone; the others are run nevertheless.

use crate::steps::Steps;
use crate::{no_arguments, repo};
use anyhow::{Context, Result, ensure};
use std::process::Command;

const STORM_KILLS: u32 = 2000;
const SIMULATION_SEEDS: &str = "3000";
const SIMULATION_SEED_PHASES: &str = "200";
/// A run of full size has a tenth as many workers.
const SIMULATION_PHASES: &str = "10000";
const SIMULATION_RUNS: &str = "3";
const INBOX_ITEMS: &str = "30000";
const INBOX_KILLS: &str = "1000";
const INBOX_CRITERIA: &str = "700";
const DISK_WALKS: &str = "20000";
const MERGE_SCENARIOS: &str = "10000";
const PROPERTY_CASES: &str = "20000";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    no_arguments(arguments)?;
    let mut steps = Steps::default();
    let mut failed = Vec::new();
    let mut note = |outcome: Result<()>| {
        if let Err(error) = outcome {
            println!("{error:#}");
            failed.push(error);
        }
    };
    note(run_storms(&mut steps, STORM_KILLS));
    note(run_failpoints(&mut steps, "soak"));
    let mut seeds = simulation(&["--release"], "sim::every_seed");
    seeds.env("MOW_SIM_SEEDS", SIMULATION_SEEDS).env("MOW_SIM_PHASES", SIMULATION_SEED_PHASES);
    note(steps.command("simulation", "seeds", seeds));
    let mut large = simulation(&["--release"], "sim::a_large_run");
    large.env("MOW_SIM_LARGE", SIMULATION_PHASES).env("MOW_SIM_LARGE_SEEDS", SIMULATION_RUNS);
    note(steps.command("simulation", "full size", large));
    note(run_inbox(&mut steps));
    note(run_disk(&mut steps, DISK_WALKS));
    note(run_scenarios(&mut steps, MERGE_SCENARIOS));
    let mut properties = repo::cargo(["test", "--workspace", "--locked"]);
    properties.env("PROPTEST_CASES", PROPERTY_CASES);
    note(steps.command("properties", "random input", properties));
    println!("{}", steps.table());
    for error in &failed {
        println!("failed: {error:#}");
    }
    ensure!(failed.is_empty(), "{} steps failed", failed.len());
    println!("all green");
    Ok(())
}

/// Runs the simulated world with some more options of cargo.
pub(crate) fn simulation(options: &[&str], test: &str) -> Command {
    let mut command = repo::cargo(["test", "--locked", "--package", "mow-engine", "--test", "it"]);
    command.args(options).args([test, "--", "--nocapture"]);
    command
}

/// Lets people and leads die over many questions; `cargo xtask test` does it with fewer.
fn run_inbox(steps: &mut Steps) -> Result<()> {
    let mut many = repo::cargo(["test", "--locked", "--package", "mow-engine", "--test", "it"]);
    many.args(["inbox::", "--", "--nocapture"]);
    many.env("MOW_INBOX_ITEMS", INBOX_ITEMS).env("MOW_INBOX_KILLS", INBOX_KILLS);
    steps.command("inbox", "questions", many)?;
    let mut people = repo::cargo(["test", "--locked", "--package", "mow", "--test", "it"]);
    people.args(["run::inbox", "--", "--nocapture"]).env("MOW_INBOX_CRITERIA", INBOX_CRITERIA);
    steps.command("inbox", "mow answer", people)
}

/// Cuts this many long walks off from power, again and again.
pub(crate) fn run_disk(steps: &mut Steps, walks: &str) -> Result<()> {
    let mut disk = repo::cargo(["test", "--locked", "--package", "mow-store", "--test", "it"]);
    disk.args(["power::walk", "--", "--nocapture"]).env("MOW_DISK_WALKS", walks);
    steps.command("disk", "power failures", disk)
}

/// Does random things to this many random repositories, and dies over them.
pub(crate) fn run_scenarios(steps: &mut Steps, count: &str) -> Result<()> {
    let mut scenarios =
        repo::cargo(["test", "--package", "mow", "--locked", "--test", "it", "scenarios"]);
    scenarios.args(["--", "--nocapture"]);
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
