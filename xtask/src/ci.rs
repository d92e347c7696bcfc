//! `cargo xtask ci`: the tiers that are too long for every commit. `.ci/run` runs `test` first.

use crate::steps::Steps;
use crate::{corpus, no_arguments, soak};
use anyhow::Result;

/// How often a storm test kills the writing process; `soak` does it far more often.
const STORM_KILLS: u32 = 200;

/// How many seeds the simulation runs, and the most phases of a seed.
const SIMULATION_SEEDS: &str = "200";
const SIMULATION_PHASES: &str = "200";

/// How many long sequences of file operations are interrupted by power failures.
const DISK_WALKS: &str = "1000";

/// How many random repositories are merged and cleaned up.
const MERGE_SCENARIOS: &str = "300";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    no_arguments(arguments)?;
    let mut steps = Steps::default();
    soak::run_storms(&mut steps, STORM_KILLS)?;
    soak::run_failpoints(&mut steps, "all")?;
    let mut simulation = soak::simulation(&[], "sim::every_seed")?;
    simulation.env("MOW_SIM_SEEDS", SIMULATION_SEEDS).env("MOW_SIM_PHASES", SIMULATION_PHASES);
    steps.command("simulation", "seeds", simulation)?;
    soak::run_disk(&mut steps, DISK_WALKS)?;
    soak::run_scenarios(&mut steps, MERGE_SCENARIOS)?;
    if std::env::var_os("MOW_CORPUS").is_some() {
        steps.call("corpus", "roadmaps", "cargo xtask corpus", || corpus::run(&[]))?;
    } else {
        println!("\n── corpus: MOW_CORPUS is not set, nothing to score");
    }
    println!("{}\nall green", steps.table());
    Ok(())
}
