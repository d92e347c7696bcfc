//! Handles the failure of a phase and an exceeded budget: asks a person and opens the breaker.

use std::collections::BTreeSet;

use super::decide::{CONTINUE, DecisionBuilder, GIVE_UP, RETRY, STOP};
use super::{Event, FailureCause, PhaseState, Reason, Status};
use crate::inbox::{InboxItem, InboxQuestion, QuestionKind, QuestionTopic};
use crate::money::AgentSpending;
use crate::phase::PhaseNumber;
use crate::report::HaltOrigin;

impl DecisionBuilder<'_> {
    pub(super) fn fail(&mut self, state: &PhaseState, cause: FailureCause) {
        let phase = state.spec.number;
        let question = format!("Phase {phase} ({}) failed: {cause}", state.spec.name);
        let (blocks, running) = (self.blocked_by(phase), self.running_besides(phase));
        self.move_to(phase, Status::Failed, Reason::Failed { cause, blocks, running });
        let key = QuestionTopic::Failed { attempt: state.attempt }.of_phase(phase);
        let ask = InboxQuestion::new(key, QuestionKind::Failed, question);
        self.ask(Some(phase), ask.with_choices([RETRY, GIVE_UP]));
        let limit = self.lead.settings.circuit_breaker;
        if limit > 0 && self.lead.starts.failures + 1 >= limit && !self.lead.starts.breaker_open {
            let failures = self.lead.starts.failures + 1;
            let why = format!("{failures} phases failed, {phase} the last of them");
            self.open_breaker(|time| QuestionTopic::Breaker { time }, &why, phase);
        }
    }

    /// Returns the phases that cannot start because a phase failed.
    fn blocked_by(&self, failed: PhaseNumber) -> Vec<PhaseNumber> {
        let (mut blocked, mut queue) = (BTreeSet::new(), vec![failed]);
        while let Some(number) = queue.pop() {
            for dependent in self.lead.index.dependents.get(&number).into_iter().flatten() {
                if blocked.insert(*dependent) {
                    queue.push(*dependent);
                }
            }
        }
        blocked.into_iter().collect()
    }

    /// Returns the other phases that hold a slot.
    fn running_besides(&self, phase: PhaseNumber) -> Vec<PhaseNumber> {
        self.lead.index.live.iter().filter(|number| **number != phase).copied().collect()
    }

    /// Opens the breaker: starts no more phases, pauses the other running ones, and asks a person.
    ///
    /// `topic` gets the number of the question about the breaker, counted from one.
    pub(super) fn open_breaker(
        &mut self,
        topic: impl Fn(usize) -> QuestionTopic,
        why: &str,
        phase: PhaseNumber,
    ) {
        if self.lead.starts.breaker_open {
            return;
        }
        self.events.push(Event::Breaker { open: true });
        let is_breaker = |item: &&InboxItem| item.ask.kind == QuestionKind::Breaker;
        let earlier = self.lead.inbox.items.values().filter(is_breaker).count();
        let (key, question) =
            (topic(earlier + 1).of_run(), format!("{why}; nothing new is started"));
        let ask = InboxQuestion::new(key, QuestionKind::Breaker, question);
        self.ask(None, ask.with_choices([CONTINUE, STOP]));
        self.halt_running_except(Some(phase), HaltOrigin::Breaker { why: why.to_owned() });
    }

    /// Records what an agent of the lead used, and checks the budget.
    pub(super) fn count_lead_spending(&mut self, phase: PhaseNumber, spent: &AgentSpending) {
        if self.lead.phases.contains_key(&phase) {
            self.events.push(Event::Spent { phase, spent: spent.clone() });
            self.exceeds_budget(spent, phase);
        }
    }

    /// Opens the breaker if this spending exceeds the budget of the run; returns the reason then.
    pub(super) fn exceeds_budget(
        &mut self,
        spent: &AgentSpending,
        phase: PhaseNumber,
    ) -> Option<String> {
        let mut all = self.lead.spent;
        all += spent.money;
        let words = self.lead.settings.budget.exceeded(&all)?;
        let why = format!("the run has used {words}; raise budget.run_usd or budget.run_tokens");
        self.open_breaker(|time| QuestionTopic::Breaker { time }, &why, phase);
        Some(why)
    }
}
