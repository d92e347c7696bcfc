//! Measures the reliability of runs: `trust MOW [ROUNDS]` prints one line per measurement.
//!
//! Kills leads and workers at random moments and compares the result with an undisturbed run, lets
//! roles claim false success, and compares phases without work with the same steps of plain git. A part of
//! `cargo xtask bench trust`; nothing here fails on a slow machine.

mod plain_git;
mod storm;

use std::env;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mow_testkit::planned_project::{ALL, PlannedProject, ProjectOptions, phase, plan, task};

/// How many phases without work are run.
const PHASES: usize = 100;
const ROUNDS: usize = 12;

fn main() -> Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let mow = words.first().context("usage: trust MOW [ROUNDS]")?;
    let rounds = words.get(1).map_or(Ok(ROUNDS), |text| text.parse())?;
    let mut out = io::stdout().lock();
    let mut print =
        |(name, value, limit): MeasurementLine| writeln!(out, "{name:44} {value:>16} {limit:>24}");
    storm::measure(mow, rounds)?.into_iter().try_for_each(&mut print)?;
    false_claims(mow)?.into_iter().try_for_each(&mut print)?;
    no_op(mow)?.into_iter().try_for_each(&mut print)?;
    Ok(())
}

/// The name of a measurement, its result, and its limit.
type MeasurementLine = (&'static str, String, String);

/// Runs roles that claim success falsely; no claim may reach the target.
fn false_claims(mow: &str) -> Result<Vec<MeasurementLine>> {
    let claims = [
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
    for (name, lie) in claims {
        let config = format!("\"roles\": {{\"executor\": {{\"command\": {lie:?}}}}}");
        let options = ProjectOptions { config: &config, ..ProjectOptions::default() };
        let honest = task("").check("grep -q right crop-1");
        let project = PlannedProject::with_options(
            mow,
            &options,
            &[phase("1", &[]).with(plan(vec![honest]))],
        );
        let ran = project.run(&ALL);
        if ran.status.success() || !project.trailers("Mow-Plan").is_empty() {
            accepted += 1;
            writeln!(io::stderr(), "accepted: {name}\n{}", ran.transcript())?;
        }
    }
    let value = format!("{accepted} of {}", claims.len());
    Ok(vec![("false done: lies accepted", value, "0".to_owned())])
}

/// Times phases without work, and the same steps by plain git.
fn no_op(mow: &str) -> Result<Vec<MeasurementLine>> {
    let script = |number: usize| format!("echo {number} > crop-{number}");
    let phases: Vec<_> = (1..=PHASES)
        .map(|n| phase(&n.to_string(), &[]).with(plan(vec![task(&script(n)).unchecked()])))
        .collect();
    let config = "\"multi_phase\": {\"max_workers\": 2, \"merge\": \"immediate\", \
                  \"stagger_ms\": 0}, \"workflow\": {\"research\": false, \"verifier\": false}";
    let options = ProjectOptions { config, ..ProjectOptions::default() };
    let (mut ours, mut theirs, mut leanest) = (Vec::new(), Vec::new(), Vec::new());
    let mut commits = 0;
    for _ in 0..3 {
        let project = PlannedProject::with_options(mow, &options, &phases);
        let start = Instant::now();
        project.run_all();
        ours.push(start.elapsed());
        let count = project.git(&["rev-list", "--count", "--no-merges", "main"]);
        commits = count.trim().parse::<usize>()? / PHASES;
        ensure!(commits > 0, "nothing was committed");
        let project = PlannedProject::with_options(mow, &options, &phases);
        theirs.push(plain_git::run(&project.repository_root(), PHASES, commits)?);
        let project = PlannedProject::with_options(mow, &options, &phases);
        leanest.push(plain_git::run(&project.repository_root(), PHASES, 1)?);
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
