//! Measures mow's own time per agent run, and its memory while an agent works.
//!
//! The agent is a script that reports success and exits at once, so the rest of the time is mow's.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mow_testkit::planned_project::{
    ALL, PhaseFixture, PlannedProject, ProjectOptions, memory_kb, phase, plan, task,
};
use mow_testkit::sandbox::make_executable;
use serde_json::json;

use super::MeasurementLine;

/// How many agent runs are measured, and how often.
const RUNS: u32 = 20;
const ROUNDS: usize = 3;

/// Measures agent runs beside the bare start of the same program, and the memory around one.
pub(super) fn agent_runs(mow: &str) -> Result<Vec<MeasurementLine>> {
    let (mut plans, mut runs, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let by_agent = each_plan(mow, true)?;
        let by_shell = each_plan(mow, false)?;
        let start = bare_start(mow)?;
        plans.push(by_agent.saturating_sub(start));
        runs.push(by_agent.saturating_sub(by_shell));
        bare.push(start);
    }
    let ms = |times: Vec<Duration>| format!("{:.1} ms", super::spread(times).0.as_secs_f64() * 1e3);
    let floor = format!("50 ms + {}", ms(bare));
    let (lead, worker) = memory(mow)?;
    Ok(vec![
        ("agent run, more than a shell's", ms(runs), floor),
        ("agent run with its plan and commits", ms(plans), String::new()),
        ("lead beside an agent, memory", format!("{lead} kB"), "30000 kB".to_owned()),
        ("worker of an agent, memory", format!("{worker} kB"), "30000 kB".to_owned()),
    ])
}

/// A phase whose plans come one after the other, since they change the same file.
fn plans_of(count: u32) -> PhaseFixture {
    (0..count).fold(phase("1", &[]), |phase, _| {
        phase.with(plan(vec![task("echo sown >> crop").unchecked()]).changes(&["crop"]))
    })
}

fn project_with_agent(mow: &str, plans: u32, agent: Option<&str>) -> PlannedProject {
    let project = PlannedProject::with_options(mow, &ProjectOptions::default(), &[plans_of(plans)]);
    let mut settings = json!({ "workflow": { "research": false, "verifier": false } });
    if let Some(text) = agent {
        let program = program(&project);
        project.write(".git/agent", format!("#!/bin/sh\n{}\n{text}\n", project.meet_function()));
        make_executable(&program);
        settings["roles"] = json!({ "executor": { "agent": "quick" } });
        settings["agents"] = json!({ "quick": { "command": program, "protocol": "claude" } });
    }
    project.write(".planning/config.json", settings.to_string());
    project.git(&["commit", "-q", "-a", "-m", "Settings"]);
    project
}

fn program(project: &PlannedProject) -> PathBuf {
    project.root().join(".git/agent")
}

/// The script of an agent that writes a file, reports success and exits.
fn instant_agent_script() -> String {
    let report = json!({ "status": "done", "summary": "sown" }).to_string();
    let result = json!({
        "type": "result", "subtype": "success", "is_error": false, "result": report,
        "usage": { "input_tokens": 1, "output_tokens": 1 }, "total_cost_usd": 0.01,
    });
    format!("echo sown >> crop\ncat <<'END'\n{result}\nEND")
}

/// Returns the additional time of a run per plan.
fn each_plan(mow: &str, by_agent: bool) -> Result<Duration> {
    let quick = instant_agent_script();
    let time = |plans| {
        let project = project_with_agent(mow, plans, by_agent.then_some(&quick));
        let start = Instant::now();
        project.run_all();
        let took = start.elapsed();
        let sown = project.text("crop").lines().count();
        ensure!(sown == usize::try_from(plans)?, "{sown} of {plans} plans were carried out");
        Ok(took)
    };
    let one = time(1)?;
    Ok(time(RUNS + 1)?.saturating_sub(one) / RUNS)
}

/// How long the agent's program takes when it is started by itself.
fn bare_start(mow: &str) -> Result<Duration> {
    let project = project_with_agent(mow, 1, Some(&instant_agent_script()));
    let start = Instant::now();
    for _ in 0..RUNS {
        let mut command = Command::new(program(&project));
        command.current_dir(project.root()).stdin(Stdio::null()).stdout(Stdio::piped());
        let output = command.output().context("cannot start the agent")?;
        ensure!(output.status.success(), "the agent failed");
    }
    Ok(start.elapsed() / RUNS)
}

/// The memory of lead and worker while an agent is at work.
fn memory(mow: &str) -> Result<(u64, u64)> {
    let project = project_with_agent(mow, 1, Some(&format!("meet 1\n{}", instant_agent_script())));
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    let lead_kb = memory_kb(lead.pid()).context("the lead is gone")?;
    let worker_kb = memory_kb(project.worker_pid("01", 1)).context("the worker is gone")?;
    project.release_point("1");
    lead.end();
    Ok((lead_kb, worker_kb))
}
