//! Handles the failure of a phase and an exceeded budget: asks a person and opens the breaker.

use std::collections::BTreeSet;

use super::decide::{CONTINUE, DecisionBuilder, GIVE_UP, RETRY, STOP};
use super::schedule::list;
use super::{Event, PhaseState, Status};
use crate::inbox::{InboxItem, InboxQuestion, QuestionKind};
use crate::money::AgentSpending;
use crate::phase::PhaseNumber;

/// The start of the key of a question about the open breaker. Stored in journals.
const BREAKER: &str = "breaker#";

impl DecisionBuilder<'_> {
    pub(super) fn fail(&mut self, state: &PhaseState, reason: &str) {
        let phase = state.spec.number;
        self.move_to(
            phase,
            Status::Failed,
            &format!("{reason}{}", self.describe_consequences(phase)),
        );
        self.ask(
            Some(phase),
            InboxQuestion {
                key: format!("{phase}/failed#{}", state.attempt),
                kind: QuestionKind::Failed,
                question: format!("Phase {phase} ({}) failed: {reason}", state.spec.name),
                choices: vec![RETRY.to_owned(), GIVE_UP.to_owned()],
            },
        );
        let limit = self.lead.settings.circuit_breaker;
        if limit > 0 && self.lead.starts.failures + 1 >= limit && !self.lead.starts.breaker_open {
            let failures = self.lead.starts.failures + 1;
            let why = format!("{failures} phases failed, {phase} the last of them");
            self.open_breaker(BREAKER, &why, phase);
        }
    }

    /// Returns which phases a failure blocks and which continue: `; blocks 10, 11; 8 still running`.
    fn describe_consequences(&self, failed: PhaseNumber) -> String {
        let (mut blocked, mut queue) = (BTreeSet::new(), vec![failed]);
        while let Some(number) = queue.pop() {
            for dependent in self.lead.index.dependents.get(&number).into_iter().flatten() {
                if blocked.insert(*dependent) {
                    queue.push(*dependent);
                }
            }
        }
        let blocked: Vec<_> = blocked.into_iter().collect();
        let running: Vec<_> =
            self.lead.index.live.iter().filter(|number| **number != failed).copied().collect();
        let mut words = String::new();
        if !blocked.is_empty() {
            words += &format!("; blocks {}", list(&blocked));
        }
        if !running.is_empty() {
            words += &format!("; {} still running", list(&running));
        }
        words
    }

    /// Opens the breaker: starts no more phases, pauses the other running ones, and asks a person.
    pub(super) fn open_breaker(&mut self, stem: &str, why: &str, phase: PhaseNumber) {
        if self.lead.starts.breaker_open {
            return;
        }
        self.events.push(Event::Breaker { open: true });
        let is_breaker = |item: &&InboxItem| item.ask.kind == QuestionKind::Breaker;
        let earlier = self.lead.inbox.items.values().filter(is_breaker).count();
        self.ask(
            None,
            InboxQuestion {
                key: format!("{stem}{}", earlier + 1),
                kind: QuestionKind::Breaker,
                question: format!("{why}; nothing new is started"),
                choices: vec![CONTINUE.to_owned(), STOP.to_owned()],
            },
        );
        self.halt_running_except(Some(phase));
    }

    /// Records what an agent of the lead used, and checks the budget.
    pub(super) fn count_lead_spending(&mut self, phase: PhaseNumber, spent: &AgentSpending) {
        if self.lead.phases.contains_key(&phase) {
            self.events.push(Event::Spent { phase, spent: spent.clone() });
            self.exceeds_budget(spent, phase);
        }
    }

    /// Opens the breaker if this spending exceeds the budget of the run; returns whether it does.
    pub(super) fn exceeds_budget(&mut self, spent: &AgentSpending, phase: PhaseNumber) -> bool {
        let mut all = self.lead.spent;
        all += spent.money;
        let Some(words) = self.lead.settings.budget.exceeded(&all) else { return false };
        let why = format!("the run has used {words}; raise budget.run_usd or budget.run_tokens");
        self.open_breaker(BREAKER, &why, phase);
        true
    }
}
