//! Kills lead and workers at random moments, reruns the same command, and counts lost or repeated work.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use mow_testkit::planned_project::{
    ALL, PhaseFixture, PlannedProject, kill, phase, plan, processes_of_run, task,
};
use mow_testkit::seeded_rng::SeededRng;

use crate::MeasurementLine;

/// More kills than this in one round would only show that nothing can be done in no time.
const KILLS_MAX: usize = 8;
const TASKS: usize = 12;

/// A diamond of phases, each with two plans of one or two tasks.
fn diamond() -> Vec<PhaseFixture> {
    let write = |number: &str, word: &str| task(&format!("echo {word} >> crop-{number}"));
    let one = |number: &str, depends_on: &[&str]| {
        phase(number, depends_on)
            .with(plan(vec![write(number, "one"), write(number, "two")]))
            .with(plan(vec![write(number, "three")]).wave(2))
    };
    vec![one("1", &[]), one("2", &["1"]), one("3", &["1"]), one("4", &["2", "3"])]
}

pub(crate) fn measure(mow: &str, rounds: usize) -> Result<Vec<MeasurementLine>> {
    let quiet = PlannedProject::new(mow, &diamond());
    let start = Instant::now();
    quiet.run_all();
    let usual = start.elapsed();
    let (mut kills, mut lost, mut twice, mut recovered) = (0, 0, 0, 0);
    let mut resumed = Vec::new();
    for round in 0..rounds {
        let project = PlannedProject::new(mow, &diamond());
        let mut rng = SeededRng::new(round as u64 + 1);
        kills += run_with_kills(&project, &mut rng, usual, &mut resumed)?;
        let tasks = project.trailers("Mow-Task");
        lost += TASKS.saturating_sub(tasks.len());
        twice += tasks.values().filter(|count| **count > 1).count();
        recovered += usize::from(project.target_files() == quiet.target_files());
    }
    resumed.sort();
    let middle = resumed.get(resumed.len() / 2).copied().unwrap_or_default();
    Ok(vec![
        ("kill -9 of lead or worker", kills.to_string(), format!("in {rounds} rounds")),
        ("lost work: tasks", lost.to_string(), "0".to_owned()),
        ("done twice: tasks", twice.to_string(), "0".to_owned()),
        ("recovery: rounds that end as undisturbed", format!("{recovered}/{rounds}"), "all".into()),
        ("resume time, median", format!("{:.0} ms", middle.as_secs_f64() * 1e3), String::new()),
    ])
}

/// Runs all phases and kills processes meanwhile; returns the number of kills.
fn run_with_kills(
    project: &PlannedProject,
    rng: &mut SeededRng,
    usual: Duration,
    resumed: &mut Vec<Duration>,
) -> Result<usize> {
    let span = u64::try_from(usual.as_millis()).unwrap_or(u64::MAX).max(2);
    for kills in 0..KILLS_MAX {
        let started = Instant::now();
        let resumes_before = resume_count(project);
        let mut lead = project.start(&ALL);
        let wait = Duration::from_millis(rng.below(span / 2) + span / 10);
        while started.elapsed() < wait && !lead.has_ended() {
            if kills > 0 && resume_count(project) > resumes_before && resumed.len() <= kills {
                resumed.push(started.elapsed());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if lead.has_ended() {
            let (status, output) = lead.end();
            match status.success() {
                true => return Ok(kills),
                false => bail!("the run failed: {output}"),
            }
        }
        let others: Vec<u32> = match project.run_dir() {
            Some(_) => {
                let is_worker = |pid: &u32| *pid != lead.pid() && is_mow(*pid);
                processes_of_run(&project.run_id()).into_iter().filter(is_worker).collect()
            }
            None => Vec::new(),
        };
        match others.get(rng.below(3) as usize) {
            Some(worker) => kill(*worker),
            None => drop(lead),
        }
        // Killing a worker leaves the lead to go on; a later round may kill it.
    }
    project.run_all();
    Ok(KILLS_MAX)
}

/// Returns whether a process is mow itself. A killed command of a task would count as failed.
fn is_mow(pid: u32) -> bool {
    std::fs::read(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with(b"mow"))
}

/// Counts how often a lead has resumed the run.
fn resume_count(project: &PlannedProject) -> usize {
    project.events().iter().filter(|event| event["event"] == "taken_up").count()
}
