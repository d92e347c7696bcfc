//! Checks the complete plans of a phase before an interrupted phase goes on.
//!
//! The checks of complete plans run once on the last commit. Code that has passed a check is not
//! checked again, so a phase whose branch has not changed since is not held up.

use mow_core::inbox::QuestionTopic;
use mow_core::report::Report;
use mow_core::worker::{Outcome, RETRY, Verdict};

use super::agent_sessions::{AgentSessions, executor_session};
use super::frozen_plans::FrozenPlans;
use super::leftovers::set_aside_changes;
use super::phase_survey::PhaseSurvey;
use super::phase_workspace::PhaseWorkspace;
use super::task_runner::{TaskJob, TaskRunner, task_environment};
use crate::EngineError;
use crate::sealed_commits::AttemptJournal;

/// Runs the checks of all complete plans, if the phase was interrupted before.
pub(super) fn check_complete_plans(workspace: &PhaseWorkspace) -> Result<Outcome, EngineError> {
    if !was_interrupted(workspace)? {
        return Ok(Outcome::Done);
    }
    let plans = PhaseSurvey::new(workspace).survey()?.plans;
    // A parked agent continues with its uncommitted work.
    let sessions = AgentSessions::new(workspace);
    let mut is_parked = false;
    for plan in plans.iter().filter(|plan| !plan.done) {
        is_parked |= sessions.is_parked(&executor_session(&plan.id))?;
    }
    if !is_parked {
        set_aside_changes(workspace, "resume", &[])?;
    }
    for plan in plans.iter().filter(|plan| plan.done) {
        if let Some(failure) = first_failure(workspace, &plan.id)? {
            if workspace.stop.is_stopped() {
                return Ok(Outcome::Interrupted);
            }
            let text = format!("plan {} is complete, but {failure}", plan.id);
            return Ok(Outcome::Verdict { verdict: Verdict::Gaps { text } });
        }
    }
    Ok(Outcome::Verdict { verdict: Verdict::Passed })
}

/// Runs the checks of a plan up to the first one that fails; returns which one, and why.
fn first_failure(workspace: &PhaseWorkspace, id: &str) -> Result<Option<String>, EngineError> {
    let plan = FrozenPlans::new(workspace).plan(id)?;
    for (task, number) in plan.tasks.iter().zip(1..) {
        let label = format!("{id}-t{number}-resume");
        let env = task_environment(workspace, id, number);
        let job = TaskJob { id: (id, number), task, label: &label, env: &env, files: &[] };
        let failure = TaskRunner::new(workspace).check(&job, None)?;
        if failure.is_some() || workspace.stop.is_stopped() {
            return Ok(failure.or_else(|| Some("its checks were interrupted".to_owned())));
        }
    }
    Ok(None)
}

/// Returns whether the work of the phase was interrupted: by a failure, a pause, a cancellation, the
/// time limit or a crash. An attempt that waits for an answer, or for files, is not interrupted.
fn was_interrupted(workspace: &PhaseWorkspace) -> Result<bool, EngineError> {
    let brief = &workspace.brief;
    let before = brief.attempt.saturating_sub(1);
    let key = QuestionTopic::CompletePlans { attempt: before }.of_phase(brief.phase);
    if brief.answers.iter().any(|answer| answer.key == key && answer.text == RETRY) {
        return Ok(true);
    }
    let last = match before {
        0 => None,
        before => Some(AttemptJournal::load(&workspace.ctx.run, &brief.phase, before)?.last),
    };
    Ok(match last {
        // An earlier run may have left a checkpoint or commits.
        None | Some(Some(Report::LookaheadDone { .. })) => {
            workspace.document("CHECKPOINT").exists()
                || !workspace.sealed_commits()?.commits.is_empty()
        }
        Some(last) => {
            matches!(last, None | Some(Report::Failed { .. } | Report::Stopped { .. }))
        }
    })
}
