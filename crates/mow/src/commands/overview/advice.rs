//! What to do next, as commands to paste.

use mow_store::phase_dirs::DiskStatus;
use mow_store::project::Project;
use mow_store::survey::{Survey, Surveyed};
use serde::Serialize;

use super::standing::{RunLine, Standing};
use crate::terminal::quoted;

/// How many phases get a command of their own.
const PHASES_MAX: usize = 2;

/// One thing to do.
#[derive(Debug, Serialize)]
pub(super) struct Step {
    pub(super) command: String,
    pub(super) why: String,
}

impl Step {
    fn new(command: impl Into<String>, why: impl Into<String>) -> Self {
        Self { command: command.into(), why: why.into() }
    }
}

/// What to do where no project is.
pub(super) fn outside(project: &Project) -> Vec<Step> {
    let mut steps = Vec::new();
    if project.repository.is_none() {
        steps.push(Step::new("git init", "agents work in git worktrees"));
    }
    steps.push(Step::new("mow init", "start a plan here; it asks for name, goal and phases"));
    steps.push(Step::new("mow doctor", "check git, agents and this directory"));
    steps.push(Step::new("mow help", "all commands"));
    steps
}

/// What to do in a project.
pub(super) fn inside(standing: &Standing, survey: Option<&Survey>) -> Vec<Step> {
    let Some(survey) = survey else {
        return vec![
            Step::new("mow init --missing", "write the planning files that are missing"),
            Step::new("mow doctor", "see what else is wrong"),
        ];
    };
    let mut steps = Vec::new();
    if let Some(run) = &standing.run {
        steps.extend(with_run(run));
    }
    if let Some(command) = &standing.to_finish {
        steps.push(Step::new(command, "bring the branch to what the last run did"));
    }
    if !standing.problems.is_empty() {
        steps.push(Step::new("mow doctor", "see what is wrong, and what to do about it"));
    }
    steps.extend(finished(survey).take(PHASES_MAX));
    let waiting: Vec<_> = survey.scheduled().into_iter().filter(|phase| !phase.is_done()).collect();
    if survey.phases.is_empty() {
        steps.push(Step::new("mow phase add \"First phase\"", "give the roadmap a phase"));
    } else if waiting.is_empty() && standing.to_finish.is_none() {
        let version = standing.milestone.as_deref().and_then(|name| name.split(' ').next());
        let command = format!("mow milestone complete {}", version.unwrap_or("v1.0"));
        steps.push(Step::new(command, "every phase is done: close the milestone"));
        steps.push(Step::new("mow phase add \"Next phase\"", "or go on with another phase"));
    }
    let is_ready = |phase: &&&Surveyed| {
        standing.ready.iter().any(|ready| ready.number == phase.entry.phase.written)
    };
    // What a run is about to begin, nobody else should.
    if standing.run.is_none() {
        steps.extend(waiting.iter().filter(is_ready).take(PHASES_MAX).map(|phase| begin(phase)));
    }
    if !survey.phases.is_empty() {
        steps.push(Step::new("mow roadmap graph", "see what waits for what"));
    }
    steps
}

/// What to do about a run that is live or unfinished.
fn with_run(run: &RunLine) -> Vec<Step> {
    let mut steps = Vec::new();
    if !run.asks.is_empty() {
        steps.push(Step::new("mow inbox", "the questions of the run, and how to answer them"));
    }
    match run.brief.lead {
        Some(_) => steps.push(Step::new("mow ps", "what the run is doing")),
        None => steps.push(Step::new(&run.brief.go_on, "go on with the run")),
    }
    steps
}

/// Phases whose plans are all done while the roadmap does not say so.
fn finished(survey: &Survey) -> impl Iterator<Item = Step> {
    let finished = survey.phases.iter().filter(|phase| {
        phase.disk_status() == DiskStatus::Complete && !phase.entry.phase.completion.done
    });
    finished.map(|surveyed| {
        let number = &surveyed.entry.phase.written;
        Step::new(
            format!("mow phase complete {number}"),
            format!("all plans of phase {number} have summaries: tick it off"),
        )
    })
}

/// How to go on with a phase that may run.
fn begin(surveyed: &Surveyed) -> Step {
    let phase = &surveyed.entry.phase;
    let number = &phase.written;
    match surveyed.disk_status() {
        DiskStatus::NoDirectory => Step::new(
            format!("mow scaffold phase-dir --phase {number} --name {}", quoted(&phase.name)),
            format!("make the directory of phase {number}"),
        ),
        DiskStatus::Empty | DiskStatus::Discussed | DiskStatus::Researched => Step::new(
            format!("mow template fill plan --phase {number}"),
            format!("write the first plan of phase {number}"),
        ),
        _ => Step::new(
            format!("mow phase-plan-index {number}"),
            format!("the plans of phase {number}, and which are open"),
        ),
    }
}
