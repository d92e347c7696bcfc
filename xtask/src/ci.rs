//! `cargo xtask ci`: the tiers that are too long for every commit. `.ci/run` runs `test` first.

use crate::steps::Steps;
use crate::{corpus, no_arguments, soak};
use anyhow::Result;

/// How often a storm test kills its victim here; `soak` does it far more often.
const STORM_KILLS: u32 = 200;

/// How many random repositories are merged and cleaned up here.
const MERGE_SCENARIOS: &str = "300";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    no_arguments(arguments)?;
    let mut steps = Steps::default();
    soak::run_storms(&mut steps, STORM_KILLS)?;
    soak::run_failpoints(&mut steps, "all")?;
    soak::run_scenarios(&mut steps, MERGE_SCENARIOS)?;
    if std::env::var_os("MOW_CORPUS").is_some() {
        steps.call("corpus", "roadmaps", "cargo xtask corpus", || corpus::run(&[]))?;
    } else {
        println!("\n── corpus: MOW_CORPUS is not set, nothing to score");
    }
    println!("{}\nall green", steps.table());
    Ok(())
}
