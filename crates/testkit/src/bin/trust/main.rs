//! How far a run can be trusted, in numbers: `trust MOW [ROUNDS]` prints a line for each.
//!
//! Kills leads and workers at random moments and compares what is left with an undisturbed run,
//! tells lies, waits, and runs phases without work beside the same steps of plain git. A part of
//! `cargo xtask bench trust`; nothing here fails on a slow machine.

mod bare;
mod storm;

use std::env;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mow_testkit::field::{ALL, Field, Soil, phase, plan, task};

/// How many phases without work are run.
const PHASES: usize = 100;
const ROUNDS: usize = 12;

fn main() -> Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let mow = words.first().context("usage: trust MOW [ROUNDS]")?;
    let rounds = words.get(1).map_or(Ok(ROUNDS), |text| text.parse())?;
    let mut out = io::stdout().lock();
    let mut print = |(name, value, limit): Line| writeln!(out, "{name:44} {value:>16} {limit:>24}");
    storm::measure(mow, rounds)?.into_iter().try_for_each(&mut print)?;
    lies(mow)?.into_iter().try_for_each(&mut print)?;
    no_op(mow)?.into_iter().try_for_each(&mut print)?;
    Ok(())
}

/// What was measured, the result, and the limit that it should keep.
type Line = (&'static str, String, String);

/// Roles that claim success; none of it may reach the target.
fn lies(mow: &str) -> Result<Vec<Line>> {
    let told = [
        ("nothing is done", "true"),
        ("work that fails its check", "echo wrong > crop-1"),
        ("a check that was changed", "sed -i s/grep/true/ \"$MOW_PLAN_FILE\"; echo wrong > crop-1"),
        (
            "a forged commit",
            "git commit -q --allow-empty -m x -m 'Mow-Task: 01-01/1' -m 'Mow-Plan: 01-01'",
        ),
        ("a summary without work", "echo done > \"$MOW_PHASE_DIR/01-01-SUMMARY.md\""),
    ];
    let mut accepted = 0;
    for (name, lie) in told {
        let config = format!("\"roles\": {{\"executor\": {{\"command\": {lie:?}}}}}");
        let soil = Soil { config: &config, ..Soil::default() };
        let honest = task("").check("grep -q right crop-1");
        let field = Field::on(mow, &soil, &[phase("1", &[]).with(plan(vec![honest]))]);
        let ran = field.run(&ALL);
        if ran.status.success() || !field.trailers("Mow-Plan").is_empty() {
            accepted += 1;
            writeln!(io::stderr(), "accepted: {name}\n{}", ran.transcript())?;
        }
    }
    let value = format!("{accepted} of {}", told.len());
    Ok(vec![("false done: lies accepted", value, "0".to_owned())])
}

/// Phases without work, beside the same steps of plain git.
fn no_op(mow: &str) -> Result<Vec<Line>> {
    let script = |number: usize| format!("echo {number} > crop-{number}");
    let phases: Vec<_> = (1..=PHASES)
        .map(|n| phase(&n.to_string(), &[]).with(plan(vec![task(&script(n)).unchecked()])))
        .collect();
    let config = "\"multi_phase\": {\"max_workers\": 2, \"merge\": \"immediate\", \
                  \"stagger_ms\": 0}, \"workflow\": {\"research\": false, \"verifier\": false}";
    let soil = Soil { config, ..Soil::default() };
    let (mut ours, mut theirs, mut leanest) = (Vec::new(), Vec::new(), Vec::new());
    let mut commits = 0;
    for _ in 0..3 {
        let field = Field::on(mow, &soil, &phases);
        let start = Instant::now();
        field.run_all();
        ours.push(start.elapsed());
        let count = field.git(&["rev-list", "--count", "--no-merges", "main"]);
        commits = count.trim().parse::<usize>()? / PHASES;
        ensure!(commits > 0, "nothing was committed");
        let field = Field::on(mow, &soil, &phases);
        theirs.push(bare::run(&field.top(), PHASES, commits)?);
        let field = Field::on(mow, &soil, &phases);
        leanest.push(bare::run(&field.top(), PHASES, 1)?);
    }
    let each = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1e3 / PHASES as f64
    };
    let (ours, theirs, leanest) = (each(&mut ours), each(&mut theirs), each(&mut leanest));
    let ratio = ours / theirs;
    let floor = format!("git alone {theirs:.1} ms");
    let lean = format!("with one commit {leanest:.1} ms");
    Ok(vec![
        ("phase without work", format!("{ours:.1} ms"), floor),
        ("its commits", commits.to_string(), lean),
        ("phase without work, to the same git steps", format!("{ratio:.2}"), "1.3".to_owned()),
        (
            "phase without work, to git with one commit",
            format!("{:.2}", ours / leanest),
            "1.3".to_owned(),
        ),
    ])
}
