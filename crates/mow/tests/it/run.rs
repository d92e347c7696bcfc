//! Tests `mow run` with the real program, real git and real processes, undisturbed and disturbed.
//!
//! The disturbances are kills, signals, damaged files, full disks, edits by people and lying
//! agents. A run that was disturbed and resumed must leave what an undisturbed run leaves: the same
//! code, each task and each plan committed once, a sound repository and no process.

mod bad_input;
mod checkout_states;
mod checkpoints;
mod failpoints;
mod failures;
mod file_overlap;
mod human_decisions;
mod inbox;
mod kills;
mod knowledge;
mod live_activity;
mod live_status;
mod look_ahead;
mod lying_agents;
mod merging;
mod messages;
mod multiple_projects;
mod notifications;
mod parallel_plans;
mod planning_edits;
mod scope;
mod signals;
mod state_index;
mod stuck;

use mow_testkit::planned_project::{
    PhaseFixture, PlannedProject, ProjectOptions, phase, plan, task,
};

/// The program under test.
const MOW: &str = env!("CARGO_BIN_EXE_mow");

fn project(phases: &[PhaseFixture]) -> PlannedProject {
    PlannedProject::new(MOW, phases)
}

fn project_with_config(config: &str, phases: &[PhaseFixture]) -> PlannedProject {
    PlannedProject::with_options(
        MOW,
        &ProjectOptions { config, ..ProjectOptions::default() },
        phases,
    )
}

/// Returns a phase with one plan of one task, which runs a script and then writes `crop-NUMBER`.
fn one_task_phase(number: &str, depends_on: &[&str], script: &str) -> PhaseFixture {
    let script = format!("{script}\necho {number} > crop-{number}");
    phase(number, depends_on).with(plan(vec![task(&script)]))
}

/// Answers all open questions, as a person would from another terminal.
fn answer_all(project: &PlannedProject, text: &str) {
    let events = project.events();
    let answered: Vec<_> =
        events.iter().filter(|e| e["event"] == "answered").map(|e| &e["item"]).collect();
    let asked = events.iter().filter(|e| e["event"] == "asked").map(|e| &e["item"]["id"]);
    for id in asked.filter(|id| !answered.contains(id)) {
        answer(project, id, text);
    }
}

fn answer(project: &PlannedProject, item: &serde_json::Value, text: &str) {
    project.exits_with(&["answer", &item.to_string(), text], 0);
}
