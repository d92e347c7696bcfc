//! `cargo xtask soak`: the tests that take a count, with counts that take hours.
//!
//! | tier | what | counts by |
//! |---|---|---|
//! | storm | writing processes are killed again and again | `MOW_STORM_KILLS` |
//! | failpoints | processes are killed at every failpoint, alone and in pairs | `MOW_FAILPOINTS` |
//! | simulation | seeds, seeds with a faulty link, and runs of full size | `MOW_SIM_SEEDS`, `MOW_SIM_LARGE` |
//! | inbox | many questions while lead and `mow answer` are killed | `MOW_INBOX_ITEMS`, `MOW_INBOX_KILLS`, `MOW_INBOX_CRITERIA` |
//! | disk | power failures during long sequences of file operations | `MOW_DISK_WALKS` |
//! | scenarios | merges of random repositories | `MOW_MERGE_SCENARIOS` |
//! | properties | all tests with random input | `PROPTEST_CASES` |
//!
//! Only the simulation is built with optimisations. A step that fails prints the command that repeats
//! it; the test prints how to repeat the one case. The other steps still run.

use crate::steps::Steps;
use crate::{no_arguments, tools};
use anyhow::{Result, ensure};
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
    let mut seeds = simulation(&["--release"], "sim::every_seed")?;
    seeds.env("MOW_SIM_SEEDS", SIMULATION_SEEDS).env("MOW_SIM_PHASES", SIMULATION_SEED_PHASES);
    note(steps.command("simulation", "seeds", seeds));
    let mut link = simulation(&["--release"], "sim::a_faulty_link")?;
    link.env("MOW_SIM_SEEDS", SIMULATION_SEEDS);
    note(steps.command("simulation", "faulty link", link));
    let mut large = simulation(&["--release"], "sim::a_large_run")?;
    large.env("MOW_SIM_LARGE", SIMULATION_PHASES).env("MOW_SIM_LARGE_SEEDS", SIMULATION_RUNS);
    note(steps.command("simulation", "full size", large));
    note(run_inbox(&mut steps));
    note(run_disk(&mut steps, DISK_WALKS));
    note(run_scenarios(&mut steps, MERGE_SCENARIOS));
    note(run_properties(&mut steps));
    println!("{}", steps.table());
    for error in &failed {
        println!("failed: {error:#}");
    }
    ensure!(failed.is_empty(), "{} steps failed", failed.len());
    println!("all green");
    Ok(())
}

/// Returns the command that runs the simulation. `options` are options of cargo, such as `--release`.
pub(crate) fn simulation(options: &[&str], test: &str) -> Result<Command> {
    let mut command = tests("mow-engine", test)?;
    command.args(options);
    Ok(command)
}

/// Kills the lead and `mow answer` while many questions are open. `cargo xtask test` runs fewer.
fn run_inbox(steps: &mut Steps) -> Result<()> {
    let mut questions = tests("mow-engine", "inbox::")?;
    questions.env("MOW_INBOX_ITEMS", INBOX_ITEMS).env("MOW_INBOX_KILLS", INBOX_KILLS);
    steps.command("inbox", "questions", questions)?;
    let mut answers = tests("mow", "run::inbox")?;
    answers.env("MOW_INBOX_CRITERIA", INBOX_CRITERIA);
    steps.command("inbox", "mow answer", answers)
}

/// Simulates power failures during this many long sequences of file operations.
pub(crate) fn run_disk(steps: &mut Steps, walks: &str) -> Result<()> {
    let mut disk = tests("mow-store", "power_failure::random_histories")?;
    disk.env("MOW_DISK_WALKS", walks);
    steps.command("disk", "power failures", disk)
}

/// Runs random commands on this many random repositories and kills processes meanwhile.
pub(crate) fn run_scenarios(steps: &mut Steps, count: &str) -> Result<()> {
    let mut scenarios = tests("mow", "scenarios")?;
    scenarios.env("MOW_MERGE_SCENARIOS", count);
    steps.command("scenarios", "merges and kills", scenarios)
}

/// Runs the storm tests: processes that write are killed this many times.
pub(crate) fn run_storms(steps: &mut Steps, kills: u32) -> Result<()> {
    let mut storms = tools::nextest()?;
    storms.args(["-E", "test(/storm/)"]).env("MOW_STORM_KILLS", kills.to_string());
    steps.command("storm", "kill storms", storms)
}

/// Kills processes at every failpoint. `which` is `all` or `soak`: how many combinations are tried.
pub(crate) fn run_failpoints(steps: &mut Steps, which: &str) -> Result<()> {
    let mut failpoints = tests("mow", "run::failpoints")?;
    failpoints.env("MOW_FAILPOINTS", which);
    steps.command("failpoints", which, failpoints)
}

fn run_properties(steps: &mut Steps) -> Result<()> {
    let mut properties = tools::nextest()?;
    properties.env("PROPTEST_CASES", PROPERTY_CASES);
    steps.command("properties", "random input", properties)
}

/// Returns the command that runs the integration tests of a package whose names contain `name`.
///
/// What they print is shown at the end: counts, and how to repeat a case.
fn tests(package: &str, name: &str) -> Result<Command> {
    let mut command = tools::nextest()?;
    let filter = format!("package({package}) & kind(test) & test({name})");
    command.args(["--success-output", "final", "-E", &filter]);
    Ok(command)
}
