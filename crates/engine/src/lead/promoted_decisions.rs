//! Promotes what agents decided to STATE.md, each decision once.
//!
//! A decision that a person removes from the file stays removed while the lead runs.

use std::collections::BTreeSet;

use mow_core::phase::PhaseNumber;
use mow_store::state::list_sections::add_new_decisions;

/// The decisions that STATE.md has or had.
#[derive(Debug, Default)]
pub(super) struct PromotedDecisions {
    written: BTreeSet<(PhaseNumber, String)>,
}

impl PromotedDecisions {
    /// Remembers that the decisions of a phase are written.
    pub(super) fn remember(&mut self, phase: PhaseNumber, decisions: &[String]) {
        self.written.extend(decisions.iter().map(|decision| (phase, decision.clone())));
    }

    /// Returns STATE.md with the decisions of a phase that were not written before.
    pub(super) fn add_new(
        &self,
        state: &[u8],
        phase: PhaseNumber,
        decisions: &[String],
    ) -> Vec<u8> {
        let is_new = |decision: &&String| !self.written.contains(&(phase, (*decision).clone()));
        let new: Vec<_> = decisions.iter().filter(is_new).cloned().collect();
        add_new_decisions(state, &phase.to_string(), &new)
    }
}
