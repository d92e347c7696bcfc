//! What shows no sign of life: a person is asked what to do about it, and it goes on meanwhile.
//!
//! Nothing is ended here without a person; only the time that a phase may take ends it.

use super::next::{FAIL, RETRY};
use super::{Effect, Event, Outcome, Worker};
use crate::item::{Answer, Ask, ItemKind, STUCK_CHOICES};
use crate::machine::Decision;
use crate::report::Report;

impl Worker {
    /// Notes that something is stuck, and asks a person, once until it moves again.
    pub(super) fn notice_stuck(
        &self,
        id: u64,
        signs: &str,
        decision: &mut Decision<Event, (u64, Effect)>,
    ) {
        let Some(effect) = self.busy.get(&id).filter(|_| !self.stuck.contains_key(&id)) else {
            return;
        };
        let (phase, attempt) = (self.phase(), self.brief.as_ref().map_or(0, |b| b.attempt));
        let stem = format!("{phase}/stuck/{attempt}.{id}#");
        let count = self.asked.iter().filter(|key| key.starts_with(&stem)).count();
        let key = format!("{stem}{}", count + 1);
        let text = format!("{} seems stuck: {signs}", subject(effect));
        let ask = Ask {
            key: key.clone(),
            kind: ItemKind::Stuck,
            question: format!("Phase {phase}, {text}. Wait, end it and try again, or give it up?"),
            choices: STUCK_CHOICES.iter().map(|word| (*word).to_owned()).collect(),
        };
        decision.events.push(Event::Stuck { id, key, text: text.clone() });
        decision.events.push(Event::Reported(Report::Asked { ask }));
        decision.effects.push((Self::UNNUMBERED, Effect::NoteStatus { text }));
    }

    /// Returns what the lead is told when something that was stuck is not any more.
    pub(super) fn settled(&self, id: u64) -> Option<Report> {
        self.stuck.get(&id).map(|key| Report::Settled { key: key.clone() })
    }

    /// Does what a person wants about something that is stuck.
    pub(super) fn obey(&self, answer: &Answer, decision: &mut Decision<Event, (u64, Effect)>) {
        let Some((id, _)) = self.stuck.iter().find(|(_, key)| **key == answer.key) else {
            return;
        };
        let choice = answer.text.clone();
        if [RETRY, FAIL].contains(&choice.as_str()) {
            decision.effects.push((Self::UNNUMBERED, Effect::Interrupt { of: Some(*id) }));
        }
        decision.events.push(Event::Decided { id: *id, choice });
    }

    pub(super) fn take_decision(&mut self, id: u64, choice: &str) {
        if choice == FAIL {
            self.given_up.insert(id);
        }
    }

    /// Returns what an outcome amounts to: what a person gave up has failed.
    pub(super) fn judged(&self, id: u64, outcome: &Outcome) -> Outcome {
        if self.given_up.contains(&id) && *outcome == Outcome::Interrupted {
            let reason = "it was stuck, and a person gave it up".to_owned();
            return Outcome::Failed { reason };
        }
        outcome.clone()
    }
}

/// Names what is being done.
fn subject(effect: &Effect) -> String {
    match effect {
        Effect::RunTask { plan, task, .. } => format!("plan {plan}, task {task}"),
        Effect::CheckPlan { plan } => format!("the check of plan {plan}"),
        Effect::RunRole { role, .. } => format!("the {}", role.name()),
        _ => "what it is doing".to_owned(),
    }
}
