//! Performs one effect of the worker: passes it to the type that is responsible for it.

use mow_core::worker::{Effect, Outcome};

use super::checkpoint;
use super::details;
use super::document_guard::DocumentGuard;
use super::frozen_plans::FrozenPlans;
use super::parallel_plans::ParallelPlanRunner;
use super::phase_closer::PhaseCloser;
use super::phase_documents::PhaseDocuments;
use super::phase_survey::PhaseSurvey;
use super::phase_workspace::PhaseWorkspace;
use super::resume_check;
use super::role_runner::RoleRunner;
use super::task_runner::TaskRunner;

/// Performs the effect with this number. Every error becomes [`Outcome::Failed`].
pub(super) fn perform(workspace: &PhaseWorkspace, id: u64, effect: &Effect) -> Outcome {
    let parallel_plans = ParallelPlanRunner::new(workspace);
    let documents = PhaseDocuments::new(workspace);
    let outcome = match effect {
        Effect::Inspect => DocumentGuard::new(workspace)
            .recover_after_crash()
            .and_then(|()| PhaseSurvey::new(workspace).survey())
            .map(|found| Outcome::Inspected { found }),
        Effect::WriteContext { answers } => documents.write_context(answers),
        Effect::RunRole { role, round } => RoleRunner::new(workspace).run(*role, *round),
        Effect::Freeze => FrozenPlans::new(workspace).freeze(),
        Effect::RunTask { plan, task, parallel: false } => {
            TaskRunner::new(workspace).run(plan, *task, id)
        }
        Effect::RunTask { plan, task, parallel: true } => parallel_plans.run_task(plan, *task, id),
        Effect::PrepareParallel { plans } => parallel_plans.begin_group(plans),
        Effect::CheckFileScopes { plans } => parallel_plans.end_group(plans),
        Effect::CheckPlan { plan } => parallel_plans.check_plan(plan, id),
        Effect::ClosePlan { plan, began } => {
            PhaseCloser::new(workspace).close_plan(plan, *began, id)
        }
        Effect::ClosePhase => PhaseCloser::new(workspace).close_phase(id),
        Effect::CheckCompletePlans => resume_check::check_complete_plans(workspace),
        Effect::Checkpoint { .. } => checkpoint::write_checkpoint(workspace, effect),
        Effect::NoteStatus { text } => documents.add_status_note(text),
        Effect::Interrupt { .. } => Ok(Outcome::Done),
    };
    let outcome = outcome.and_then(|outcome| {
        details::note_in_status(&documents, effect, &outcome)?;
        Ok(outcome)
    });
    outcome.unwrap_or_else(|error| Outcome::Failed { reason: error.sentence() })
}
