//! Renders the parts of STATE.md that show a run: rows of phases, worktrees, team, metrics, session.
//!
//! Nothing here touches the disk. Bytes outside the edited rows and fields stay as they are, and
//! rendering the same state again changes nothing but times.

use std::collections::BTreeMap;

use mow_core::phase::PhaseNumber;
use mow_core::view::SessionView;
use mow_store::state::active_phases::{self, ActivePhaseChange};
use mow_store::state::assignments::{self, Assignment, NO_PLAN};
use mow_store::state::metrics::{self, PlanMeasure};
use mow_store::state::session::{self, RunStand};
use mow_store::state::team::{self, TeamMembers, TeammateChange};

use super::phase_row::{PhaseRow, WorkerText, is_worker_name};
use crate::EngineError;
use crate::clock::{now_text, time_text, today};
use crate::run_context::RunContext;

/// Sets the rows of phases in the table; creates the table if the document has none.
pub(super) fn set_rows(bytes: &[u8], rows: &[&PhaseRow]) -> Vec<u8> {
    if rows.is_empty() {
        return bytes.to_vec();
    }
    let now = now_text();
    let changes: Vec<_> = rows.iter().map(|row| (row.number, row_change(row, &now))).collect();
    let with_table = active_phases::ensure(bytes);
    active_phases::set_rows(&with_table, &changes).unwrap_or(with_table)
}

fn row_change<'a>(row: &'a PhaseRow, now: &'a str) -> ActivePhaseChange<'a> {
    ActivePhaseChange {
        status: Some(&row.text.status),
        worker: Some(&row.text.worker),
        plans: Some(&row.text.plans),
        name: Some(&row.name),
        last_update: now,
    }
}

/// Adds the completed plans of a phase to the metrics.
pub(super) fn record_plans(bytes: &[u8], row: &PhaseRow) -> Vec<u8> {
    let plans = row.finished_plans.iter().map(|plan| PlanMeasure {
        plan: plan.plan.rsplit('-').next().unwrap_or(&plan.plan),
        seconds: (plan.duration_ms + 500) / 1000,
        tasks: plan.tasks,
    });
    metrics::record_phase(bytes, &row.number, &plans.collect::<Vec<_>>())
}

/// Writes where the run stands.
pub(super) fn set_session(bytes: &[u8], view: &SessionView) -> Vec<u8> {
    let SessionView { stopped_at, command, is_live } = view;
    let now = now_text();
    session::record_run(bytes, RunStand { now: &now, stopped_at, command, has_stopped: !is_live })
}

/// A worker with its worktree.
pub(super) struct PlacedWorker<'a> {
    assignment: Assignment,
    worker: &'a WorkerText,
}

/// Finds the worktrees of workers.
pub(super) fn place_workers<'a>(
    ctx: &RunContext,
    workers: &'a BTreeMap<PhaseNumber, WorkerText>,
) -> Result<Vec<PlacedWorker<'a>>, EngineError> {
    let place = |(number, worker): (&PhaseNumber, &'a WorkerText)| {
        let worktree = ctx.worktree(number)?;
        let plan = if worker.plans.is_empty() { NO_PLAN } else { &worker.plans };
        let assignment = Assignment {
            worktree: worktree.path.display().to_string(),
            branch: worktree.branch,
            phase: number.to_string(),
            plan: plan.to_owned(),
            status: worker.status.clone(),
            started: time_text(worker.started),
            agent: worker.name.clone(),
        };
        Ok(PlacedWorker { assignment, worker })
    };
    workers.iter().map(place).collect()
}

/// Shows which worktree and which member of the team works on which phase, and nothing of workers
/// that have ended.
pub(super) fn set_workers(bytes: &[u8], team: &str, workers: &[PlacedWorker<'_>]) -> Vec<u8> {
    let rows: Vec<_> = workers.iter().map(|placed| placed.assignment.clone()).collect();
    let bytes = assignments::replace_own(bytes, &rows, |row| is_worker_name(&row.agent));
    let (now, today) = (now_text(), today());
    let live = workers.iter().filter_map(|placed| {
        let Assignment { worktree, phase, plan, status, agent, .. } = &placed.assignment;
        Some(TeammateChange {
            name: agent,
            worktree: Some(worktree),
            phase: Some(phase),
            task: Some(plan),
            status: Some(status),
            color: Some(placed.worker.color?),
            today: &now,
        })
    });
    let members = TeamMembers { team, members: &live.collect::<Vec<_>>(), today: &today };
    team::set_members(&bytes, members, is_worker_name)
}
