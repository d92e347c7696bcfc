//! Suggests what to do next, as commands to paste.

use mow_core::view::RunView;
use mow_store::phase_dirs::DiskStatus;
use mow_store::project::Project;
use mow_store::project_phases::{ProjectPhase, ProjectPhases};

use super::project_overview::ProjectOverview;
use crate::runs::resume_command;
use crate::terminal::shell_quote;
use crate::wire::overview::StepJson;

/// How many phases get a command of their own.
const PHASES_MAX: usize = 2;

/// Suggests what to do outside of a project.
pub(super) fn outside_project(project: &Project) -> Vec<StepJson> {
    let mut steps = Vec::new();
    if project.repository.is_none() {
        steps.push(StepJson::new("git init", "agents work in git worktrees"));
    }
    steps.push(StepJson::new("mow init", "start a plan here; asks for name, goal and phases"));
    steps.push(StepJson::new("mow doctor", "check git, agents and this directory"));
    steps.push(StepJson::new("mow help", "list all commands"));
    steps
}

/// Suggests what to do in a project; `all_phases` is `None` if there is no roadmap.
pub(super) fn inside_project(
    overview: &ProjectOverview,
    all_phases: Option<&ProjectPhases>,
) -> Vec<StepJson> {
    let Some(all_phases) = all_phases else {
        return vec![
            StepJson::new("mow init --missing", "write the planning files that are missing"),
            StepJson::new("mow doctor", "check everything else"),
        ];
    };
    let mut steps = Vec::new();
    if let Some(run) = &overview.run {
        steps.extend(steps_for_run(run));
    }
    if let Some(command) = &overview.pending_fast_forward {
        steps.push(StepJson::new(command, "update the branch with the work of the last run"));
    }
    if !overview.problems.is_empty() {
        steps.push(StepJson::new("mow doctor", "show the problems and how to fix them"));
    }
    steps.extend(unmarked_phases(all_phases).take(PHASES_MAX));
    let open: Vec<_> =
        all_phases.scheduled().into_iter().filter(|phase| !phase.is_done()).collect();
    if all_phases.phases.is_empty() {
        steps.push(StepJson::new("mow phase add \"First phase\"", "add a phase to the roadmap"));
    } else if open.is_empty() && overview.pending_fast_forward.is_none() {
        let version = overview.milestone.as_deref().and_then(|name| name.split(' ').next());
        let command = format!("mow milestone complete {}", version.unwrap_or("v1.0"));
        steps.push(StepJson::new(command, "every phase is done: close the milestone"));
        steps.push(StepJson::new("mow phase add \"Next phase\"", "or add another phase"));
    }
    let is_ready = |phase: &&&ProjectPhase| {
        overview.ready.iter().any(|ready| ready.number == phase.entry.phase.written)
    };
    // An unfinished run starts its phases itself.
    if overview.run.is_none() {
        steps.extend(
            open.iter().filter(is_ready).take(PHASES_MAX).map(|phase| continue_phase(phase)),
        );
    }
    if !all_phases.phases.is_empty() {
        steps.push(StepJson::new("mow roadmap graph", "show the dependencies of the phases"));
    }
    steps
}

/// Suggests what to do about a run that is not finished.
fn steps_for_run(run: &RunView) -> Vec<StepJson> {
    let mut steps = Vec::new();
    if run.counts.questions > 0 {
        steps.push(StepJson::new(
            "mow inbox",
            "show the questions of the run and how to answer them",
        ));
    }
    match run.lead {
        Some(_) => steps.push(StepJson::new("mow ps", "show what the run is doing")),
        None => steps.push(StepJson::new(resume_command(run), "continue the run")),
    }
    steps
}

/// Suggests to complete phases whose plans are all done but that the roadmap does not mark as done.
fn unmarked_phases(all_phases: &ProjectPhases) -> impl Iterator<Item = StepJson> {
    let phases = all_phases.phases.iter().filter(|phase| {
        phase.disk_status() == DiskStatus::Complete && !phase.entry.phase.completion.done
    });
    phases.map(|project_phase| {
        let number = &project_phase.entry.phase.written;
        StepJson::new(
            format!("mow phase complete {number}"),
            format!("mark phase {number} as done: all its plans have summaries"),
        )
    })
}

/// Suggests the next step for a phase that is ready.
fn continue_phase(project_phase: &ProjectPhase) -> StepJson {
    let phase = &project_phase.entry.phase;
    let number = &phase.written;
    match project_phase.disk_status() {
        DiskStatus::NoDirectory => StepJson::new(
            format!("mow scaffold phase-dir --phase {number} --name {}", shell_quote(&phase.name)),
            format!("create the directory of phase {number}"),
        ),
        DiskStatus::Empty | DiskStatus::Discussed | DiskStatus::Researched => StepJson::new(
            format!("mow template fill plan --phase {number}"),
            format!("write the first plan of phase {number}"),
        ),
        _ => StepJson::new(
            format!("mow phase-plan-index {number}"),
            format!("list the plans of phase {number} and which are open"),
        ),
    }
}
