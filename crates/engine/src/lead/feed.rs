//! What a run adds to the dashboard's events: the messages of workers, as older tools know them.

use mow_core::item::ItemKind;
use mow_core::lead::{Event, Status};
use mow_core::phase::PhaseNumber;
use mow_core::report::Report;
use mow_store::dashboard;

use crate::clock::now_text;

/// Returns the dashboard's event for something that happened; `None` where it shows nothing.
///
/// Transitions are left out where only milestones are wanted.
pub(super) fn entry(event: &Event, lean: bool) -> Option<dashboard::Event> {
    let (kind, phase, detail, is_milestone) = told(event)?;
    (is_milestone || !lean).then(|| dashboard::Event {
        kind: kind.to_owned(),
        phase: phase.map(|phase| phase.to_string()),
        detail,
        ts: now_text(),
    })
}

fn told(event: &Event) -> Option<(&'static str, Option<PhaseNumber>, String, bool)> {
    match event {
        Event::Reported { phase, report, .. } => {
            let (kind, detail, is_milestone) = reported(report)?;
            Some((kind, Some(*phase), detail, is_milestone))
        }
        Event::Moved { phase, to: Status::Failed, why, .. } => {
            Some(("error", Some(*phase), why.clone(), true))
        }
        Event::Moved { phase, to: Status::Merged, attempt: 1.., .. } => {
            Some(("phase_complete", Some(*phase), "merged".to_owned(), true))
        }
        Event::Asked { item } => {
            Some(("input_needed", item.phase, input_type(item.ask.kind).to_owned(), true))
        }
        _ => None,
    }
}

fn reported(report: &Report) -> Option<(&'static str, String, bool)> {
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

/// Returns the sort of input that a question asks for, in the words of the messages.
fn input_type(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Discuss | ItemKind::Question => "discussion_prompt",
        ItemKind::Permission => "permission_prompt",
        ItemKind::Gate => "stage_gate",
        ItemKind::Plans => "planning_approval",
        ItemKind::Gaps | ItemKind::Checkpoint | ItemKind::Ticked => "verification_question",
        ItemKind::Failed | ItemKind::Breaker => "worker_failed",
        ItemKind::Blocker | ItemKind::Conflict | ItemKind::Stuck | ItemKind::Hung => {
            "error_resolution"
        }
    }
}
