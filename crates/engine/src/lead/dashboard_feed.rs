//! Converts events of a run to entries of the dashboard's event file, in the format of older tools.

use mow_core::inbox::QuestionKind;
use mow_core::lead::{Event, Status};
use mow_core::phase::PhaseNumber;
use mow_core::report::Report;
use mow_store::dashboard;

use crate::clock::now_text;

/// Returns the dashboard's entry for an event; `None` if the dashboard does not show it.
///
/// With `lean`, only milestones are shown.
pub(super) fn entry(event: &Event, lean: bool) -> Option<dashboard::Event> {
    let (kind, phase, detail, is_milestone) = kind_and_detail(event)?;
    (is_milestone || !lean).then(|| dashboard::Event {
        kind: kind.to_owned(),
        phase: phase.map(|phase| phase.to_string()),
        detail,
        ts: now_text(),
    })
}

fn kind_and_detail(event: &Event) -> Option<(&'static str, Option<PhaseNumber>, String, bool)> {
    match event {
        Event::Reported { phase, report, .. } => {
            let (kind, detail, is_milestone) = report_kind_and_detail(report)?;
            Some((kind, Some(*phase), detail, is_milestone))
        }
        Event::StatusChanged { phase, to: Status::Failed, why, .. } => {
            Some(("error", Some(*phase), why.clone(), true))
        }
        Event::StatusChanged { phase, to: Status::Merged, attempt: 1.., .. } => {
            Some(("phase_complete", Some(*phase), "merged".to_owned(), true))
        }
        Event::Asked { item } => {
            Some(("input_needed", item.phase, question_type(item.ask.kind).to_owned(), true))
        }
        _ => None,
    }
}

fn report_kind_and_detail(report: &Report) -> Option<(&'static str, String, bool)> {
    let words = report.sentence().unwrap_or_default();
    Some(match report {
        Report::Stage { .. } => ("stage_transition", words, false),
        Report::PlanStarted { .. } => ("plan_started", words, false),
        Report::TaskDone { .. } => ("task_complete", words, false),
        Report::PlanDone { .. } => ("plan_complete", words, true),
        Report::Blocked { .. } => ("blocker", words, true),
        Report::Stopped { .. } => ("state_change", words, true),
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
