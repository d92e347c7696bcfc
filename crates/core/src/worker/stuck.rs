//! Asks people about stuck effects, which keep running meanwhile.
//!
//! A stuck effect is never interrupted without a person; only the time limit of the phase does that.

use super::next_step::{FAIL, RETRY};
use super::{Effect, Event, Worker};
use crate::inbox::{InboxAnswer, InboxQuestion, QuestionKind, QuestionTopic, STUCK_CHOICES};
use crate::machine::Decision;
use crate::report::Report;

impl Worker {
    /// Records that an effect is stuck and asks a person, once until it is active again.
    pub(super) fn effect_stuck(
        &self,
        id: u64,
        signs: &str,
        decision: &mut Decision<Event, (u64, Effect)>,
    ) {
        let Some(effect) =
            self.effects.running.get(&id).filter(|_| !self.effects.stuck.contains_key(&id))
        else {
            return;
        };
        let (phase, attempt) = (self.phase(), self.brief.as_ref().map_or(0, |b| b.attempt));
        let is_same = |topic: &QuestionTopic| match topic {
            QuestionTopic::Stuck { attempt: of, effect, .. } => *of == attempt && *effect == id,
            _ => false,
        };
        let time = self.questions.asked.iter().filter(|key| is_same(key.topic())).count() + 1;
        let key = QuestionTopic::Stuck { attempt, effect: id, time }.of_phase(phase);
        let text = format!("{} seems stuck: {signs}", subject(effect));
        let question = format!("Phase {phase}, {text}. Wait, stop it and retry, or give up?");
        let ask = InboxQuestion::new(key.clone(), QuestionKind::Stuck, question)
            .with_choices(STUCK_CHOICES);
        decision.events.push(Event::Stuck { id, key, text: text.clone() });
        decision.events.push(Event::Reported(Report::Asked { ask }));
        decision.effects.push((Self::UNNUMBERED, Effect::NoteStatus { text }));
    }

    /// Returns the report that withdraws the question about an effect that is no longer stuck.
    pub(super) fn question_obsolete(&self, id: u64) -> Option<Report> {
        self.effects.stuck.get(&id).map(|key| Report::QuestionObsolete { key: key.clone() })
    }

    /// Carries out the answer of a person about a stuck effect.
    pub(super) fn on_stuck_answer(
        &self,
        answer: &InboxAnswer,
        decision: &mut Decision<Event, (u64, Effect)>,
    ) {
        let Some((id, _)) = self.effects.stuck.iter().find(|(_, key)| **key == answer.key) else {
            return;
        };
        let choice = answer.text.clone();
        if [RETRY, FAIL].contains(&choice.as_str()) {
            decision.effects.push((Self::UNNUMBERED, Effect::Interrupt { of: Some(*id) }));
        }
        decision.events.push(Event::Decided { id: *id, choice });
    }

    pub(super) fn on_stuck_decision(&mut self, id: u64, choice: &str) {
        if choice == FAIL {
            self.effects.given_up.insert(id);
        }
    }
}

/// Names an effect for people.
fn subject(effect: &Effect) -> String {
    match effect {
        Effect::RunTask { plan, task, .. } => format!("plan {plan}, task {task}"),
        Effect::CheckPlan { plan } => format!("the check of plan {plan}"),
        Effect::CheckCompletePlans => "a check of the complete plans".to_owned(),
        Effect::RunRole { role, .. } => format!("the {}", role.name()),
        _ => "the running work".to_owned(),
    }
}
