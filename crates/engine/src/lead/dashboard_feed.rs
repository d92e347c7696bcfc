//! Converts events of a run to entries of the dashboard's event file, in the format of older tools.

use mow_core::inbox::QuestionKind;
use mow_core::lead::Status;
use mow_core::view::{EventKind, EventView};
use mow_store::dashboard;

use crate::clock::now_text;

/// Returns the dashboard's entry for an event; `None` if the dashboard does not show it.
///
/// With `lean`, only milestones are shown.
pub(super) fn entry(event: &EventView, lean: bool) -> Option<dashboard::Event> {
    let (kind, is_milestone) = kind(event)?;
    let detail = match (event.question_kind, kind) {
        (Some(kind), _) => question_type(kind).to_owned(),
        (None, "phase_complete") => "merged".to_owned(),
        (None, _) => event.detail.clone().unwrap_or_default(),
    };
    (is_milestone || !lean).then(|| dashboard::Event {
        kind: kind.to_owned(),
        phase: event.phase.map(|phase| phase.to_string()),
        detail,
        ts: now_text(),
    })
}

/// Returns the message type of an event, and whether it is a milestone.
fn kind(event: &EventView) -> Option<(&'static str, bool)> {
    Some(match (event.kind, event.status) {
        (EventKind::Stage, _) => ("stage_transition", false),
        (EventKind::PlanStarted, _) => ("plan_started", false),
        (EventKind::TaskDone, _) => ("task_complete", false),
        (EventKind::PlanDone, _) => ("plan_complete", true),
        (EventKind::PlanBlocked, _) => ("blocker", true),
        (EventKind::WorkerStopped, _) => ("state_change", true),
        (EventKind::QuestionAsked, _) => ("input_needed", true),
        (EventKind::StatusChanged, Some(Status::Failed)) => ("error", true),
        // A phase that was done before the run has no attempt.
        (EventKind::StatusChanged, Some(Status::Merged)) if event.attempt > Some(0) => {
            ("phase_complete", true)
        }
        _ => return None,
    })
}

/// Returns the name that the dashboard uses for a kind of question.
fn question_type(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Discuss | QuestionKind::Question => "discussion_prompt",
        QuestionKind::Permission => "permission_prompt",
        QuestionKind::Gate => "stage_gate",
        QuestionKind::Plans => "planning_approval",
        QuestionKind::Gaps | QuestionKind::Checkpoint | QuestionKind::MarkedDone => {
            "verification_question"
        }
        QuestionKind::Failed | QuestionKind::Breaker => "worker_failed",
        QuestionKind::Blocker
        | QuestionKind::Conflict
        | QuestionKind::Stuck
        | QuestionKind::Hung => "error_resolution",
    }
}
