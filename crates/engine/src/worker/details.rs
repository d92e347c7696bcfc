//! Writes into STATUS.md what a message to the lead is too short for: blockers, and long texts.

use mow_core::worker::{Effect, Outcome, Verdict};

use super::phase_documents::PhaseDocuments;
use crate::EngineError;

/// The longest text that surely fits into a message, in bytes.
const SHORT_MAX: usize = 400;

/// Notes the blocker or the long text in an outcome. Doing it again changes nothing for a blocker.
pub(super) fn note_in_status(
    documents: &PhaseDocuments<'_>,
    effect: &Effect,
    outcome: &Outcome,
) -> Result<(), EngineError> {
    if let (Effect::RunTask { plan, task, .. }, Outcome::Blocked { text }) = (effect, outcome) {
        return documents.add_blocker(&format!("Plan {plan}, task {task}: {text}")).map(drop);
    }
    for text in texts(effect, outcome).into_iter().filter(|text| text.len() > SHORT_MAX) {
        documents.add_status_note(text)?;
    }
    Ok(())
}

/// Returns the texts of an outcome that the lead is told.
fn texts<'a>(effect: &'a Effect, outcome: &'a Outcome) -> Vec<&'a str> {
    match (effect, outcome) {
        (Effect::Checkpoint { status, reason, .. }, _) if status == "failed" => vec![reason],
        (_, Outcome::Asked { asks }) => asks.iter().map(|ask| ask.question.as_str()).collect(),
        (
            _,
            Outcome::Verdict { verdict: Verdict::Gaps { text } | Verdict::HumanNeeded { text } }
            | Outcome::Undone { reason: text, .. },
        ) => vec![text],
        _ => Vec::new(),
    }
}
