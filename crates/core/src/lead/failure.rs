//! What follows from the failure of a phase: a question, what it holds back, the breaker.

use std::collections::BTreeSet;

use super::decide::{CONTINUE, Draft, GIVE_UP, RETRY, STOP};
use super::schedule::list;
use super::{Event, Status, Track};
use crate::item::{Ask, Item, ItemKind};
use crate::money::Spent;
use crate::phase::PhaseNumber;

impl Draft<'_> {
    pub(super) fn fail(&mut self, track: &Track, reason: &str) {
        let phase = track.spec.number;
        self.move_to(phase, Status::Failed, &format!("{reason}{}", self.cascade(phase)));
        self.ask(
            Some(phase),
            Ask {
                key: format!("{phase}/failed#{}", track.attempt),
                kind: ItemKind::Failed,
                question: format!("Phase {phase} ({}) failed: {reason}", track.spec.name),
                choices: vec![RETRY.to_owned(), GIVE_UP.to_owned()],
            },
        );
        let limit = self.lead.settings.circuit_breaker;
        if limit > 0 && self.lead.failures + 1 >= limit && !self.lead.breaker {
            let failures = self.lead.failures + 1;
            let why = format!("{failures} phases failed, {phase} the last of them");
            self.stop_starts(&why, phase);
        }
    }

    /// Says what a failure holds back and what goes on: `; blocks 10, 11; 8 still running`.
    fn cascade(&self, failed: PhaseNumber) -> String {
        let (mut behind, mut queue) = (BTreeSet::new(), vec![failed]);
        while let Some(number) = queue.pop() {
            for dependent in self.lead.dependents.get(&number).into_iter().flatten() {
                if behind.insert(*dependent) {
                    queue.push(*dependent);
                }
            }
        }
        let behind: Vec<_> = behind.into_iter().collect();
        let running: Vec<_> =
            self.lead.live.iter().filter(|number| **number != failed).copied().collect();
        let mut words = String::new();
        if !behind.is_empty() {
            words += &format!("; blocks {}", list(&behind));
        }
        if !running.is_empty() {
            words += &format!("; {} still running", list(&running));
        }
        words
    }

    /// Starts nothing more, lets what is at work come to rest, and asks a person.
    pub(super) fn stop_starts(&mut self, why: &str, phase: PhaseNumber) {
        if self.lead.breaker {
            return;
        }
        self.events.push(Event::Breaker { open: true });
        let is_breaker = |item: &&Item| item.ask.kind == ItemKind::Breaker;
        let earlier = self.lead.items.values().filter(is_breaker).count();
        self.ask(
            None,
            Ask {
                key: format!("breaker#{}", earlier + 1),
                kind: ItemKind::Breaker,
                question: format!("{why}; nothing new is started"),
                choices: vec![CONTINUE.to_owned(), STOP.to_owned()],
            },
        );
        self.halt_live(Some(phase));
    }

    /// Counts what an agent of the lead itself used.
    pub(super) fn pay(&mut self, phase: PhaseNumber, spent: &Spent) {
        if self.lead.phases.contains_key(&phase) {
            self.events.push(Event::Spent { phase, spent: spent.clone() });
            self.count(spent, phase);
        }
    }

    /// Counts what an agent used, and stops when that is more than a run may cost.
    ///
    /// Returns whether it is.
    pub(super) fn count(&mut self, spent: &Spent, phase: PhaseNumber) -> bool {
        let mut all = self.lead.spent;
        all += spent.money;
        let Some(words) = self.lead.settings.budget.exceeded(&all) else { return false };
        let why = format!("the run has used {words}; raise budget.run_usd or budget.run_tokens");
        self.stop_starts(&why, phase);
        true
    }
}
