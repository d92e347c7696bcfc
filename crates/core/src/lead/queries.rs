//! Questions about the state that `core::view` asks.

use super::Lead;
use crate::phase::PhaseNumber;

impl Lead {
    /// Returns the phases that depend directly on a phase.
    pub fn dependents(&self, phase: PhaseNumber) -> &[PhaseNumber] {
        self.index.dependents.get(&phase).map_or(&[], Vec::as_slice)
    }

    /// Returns the numbers of the open questions about a phase.
    pub(crate) fn open_questions_about(&self, phase: PhaseNumber) -> impl Iterator<Item = u32> {
        // Most phases have no open question; their answered ones need not be looked at.
        let has_open = self.phases.get(&phase).is_some_and(|state| state.open_questions > 0);
        let questions = has_open.then(|| self.questions_about(phase)).into_iter().flatten();
        questions.filter(|item| item.answer.is_none()).map(|item| item.id)
    }
}
