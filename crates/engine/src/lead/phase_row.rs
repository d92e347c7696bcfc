//! What the planning files show of one phase: a copy of its view that a write needs.

use mow_core::lead::Status;
use mow_core::phase::PhaseNumber;
use mow_core::stage::Stage;
use mow_core::view::{FinishedPlanView, PhaseView};

/// The cells of a phase in the table of STATE.md.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowText {
    pub(super) status: String,
    pub(super) worker: String,
    pub(super) plans: String,
}

/// The worker of a phase, or the work in its worktree that waits for its merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WorkerText {
    /// The name of the worker, and of the member of the team.
    pub(super) name: String,
    /// The plans that are carried out; empty if none is.
    pub(super) plans: String,
    pub(super) status: String,
    /// When the work on the phase began, in milliseconds since 1970.
    pub(super) started: u64,
    /// The colour of the worker in the team; `None` when the worker has ended.
    pub(super) color: Option<&'static str>,
}

/// A copy of the state of a phase that is needed to write it, so that the run can go on meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PhaseRow {
    pub(super) number: PhaseNumber,
    pub(super) name: String,
    pub(super) status: Status,
    /// When the status was set, in milliseconds since 1970.
    pub(super) since: u64,
    pub(super) attempt: u32,
    pub(super) plans: (usize, usize),
    pub(super) text: RowText,
    pub(super) worker: Option<WorkerText>,
    pub(super) finished_plans: Vec<FinishedPlanView>,
    /// What agents decided in complete plans.
    pub(super) decisions: Vec<String>,
}

impl PhaseRow {
    /// Returns the row of a phase.
    pub(super) fn of(phase: &PhaseView) -> Self {
        let text = row_text(phase);
        Self {
            number: phase.number,
            name: phase.name.clone(),
            status: phase.status,
            since: phase.since,
            attempt: phase.attempt,
            plans: (phase.plans_done, phase.plans),
            worker: worker_text(phase, &text.status),
            text,
            finished_plans: phase.finished_plans.clone(),
            decisions: phase.decisions.clone(),
        }
    }

    /// Returns whether the phase was merged by an attempt of this run.
    pub(super) fn is_merged_here(&self) -> bool {
        self.status == Status::Merged && self.attempt > 0
    }
}

/// Returns the texts of a row, in the words that older tools know.
fn row_text(phase: &PhaseView) -> RowText {
    let worker =
        if phase.status.holds_slot() { worker_name(phase.number) } else { "--".to_owned() };
    let plans = format!("{}/{}", phase.plans_done, phase.plans);
    RowText { status: status_text(phase), worker, plans }
}

fn status_text(phase: &PhaseView) -> String {
    match phase.status {
        Status::Waiting => {
            let mut open: Vec<_> = phase.open_dependencies().map(|n| n.to_string()).collect();
            if phase.waits_for_left_out > 0 {
                open.push(format!("{} more", phase.waits_for_left_out));
            }
            if open.is_empty() {
                "not started".to_owned()
            } else {
                format!("blocked ({})", open.join(","))
            }
        }
        Status::Preparing | Status::Starting => "starting".to_owned(),
        Status::Running | Status::Ending => match phase.stage {
            Some(Stage::Discuss) => "discussing",
            Some(Stage::Research) => "researching",
            Some(Stage::Plan) => "planning",
            Some(Stage::Refine) => "refining",
            Some(Stage::Execute) | None => "executing",
        }
        .to_owned(),
        Status::Parked => "waiting for input".to_owned(),
        // Until its wave is merged, the work of a complete phase is only on its branch.
        Status::Complete | Status::Merged => "complete".to_owned(),
        status => status.name().to_owned(),
    }
}

fn worker_text(phase: &PhaseView, status: &str) -> Option<WorkerText> {
    let is_shown =
        phase.status.holds_slot() || matches!(phase.status, Status::Complete | Status::Merging);
    let plans: Vec<_> = phase.open_plans.iter().map(|plan| plan.plan.as_str()).collect();
    is_shown.then(|| WorkerText {
        name: worker_name(phase.number),
        plans: plans.join(", "),
        status: status.to_owned(),
        started: phase.started.unwrap_or(phase.since),
        color: phase.team_color().map(|color| color.name),
    })
}

fn worker_name(phase: PhaseNumber) -> String {
    format!("phase-{}-worker", phase.padded())
}

/// Returns whether a name is that of a worker.
pub(super) fn is_worker_name(name: &str) -> bool {
    let phase = name.strip_prefix("phase-").and_then(|rest| rest.strip_suffix("-worker"));
    phase.is_some_and(|phase| PhaseNumber::parse(phase).is_some())
}

#[cfg(test)]
mod tests;
