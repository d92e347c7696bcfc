//! Carries out commands of people: pause, resume, cancel, answer, take back, set workers.

use super::decide::{CONTINUE, DecisionBuilder, RETRY};
use super::roadmap_change::DONE;
use super::{Command, CommandEffect, CommandOrigin, Event, PhaseState, Reason, Status};
use crate::inbox::{InboxAnswer, InboxItem, QuestionKind, STUCK_CHOICES};
use crate::phase::PhaseNumber;
use crate::report::{HaltOrder, HaltOrigin, HaltReason, LeadMessage};

const FAIL: &str = STUCK_CHOICES[2];

/// Returns the order that a command of a person gives: its name, the phase, and whether it does not
/// wait.
fn person_order(
    how: HaltReason,
    (name, phase, now): (&str, Option<PhaseNumber>, bool),
    origin: &CommandOrigin,
) -> HaltOrder {
    let phase = phase.map_or_else(String::new, |phase| format!(" {phase}"));
    let command = format!("mow {name}{phase}{}", if now { " --now" } else { "" });
    let name = origin.by.as_ref().and_then(|caller| caller.person.clone());
    HaltOrder { now, ..HaltOrder::new(how, HaltOrigin::Person { name, command }) }
}

impl DecisionBuilder<'_> {
    /// Carries out a command, once for each command number.
    pub(super) fn on_command(&mut self, seq: u64, command: &Command, origin: &CommandOrigin) {
        if self.lead.commands_through.is_some_and(|through| seq <= through) {
            return;
        }
        let at = self.events.len();
        let effect = match command {
            Command::Pause { phase } => {
                let order = person_order(HaltReason::Paused, ("pause", *phase, false), origin);
                self.each(*phase, |builder, state| builder.pause(state, &order))
            }
            Command::Resume { phase } => {
                if phase.is_none() && self.lead.starts.breaker_open {
                    self.close_breaker();
                }
                let is_meant = |builder: &Self, state: &PhaseState| {
                    phase.is_some() || builder.is_paused_or_pausing(state)
                };
                self.each(*phase, |builder, state| {
                    is_meant(builder, state) && builder.resume(state)
                })
            }
            Command::Cancel { phase, now } => {
                let order = person_order(HaltReason::Cancelled, ("cancel", *phase, *now), origin);
                self.each(*phase, |builder, state| builder.cancel(state, &order))
            }
            Command::Answer { item, text } => self.on_answer(*item, text, origin.seen.as_deref()),
            Command::TakeBack { item } => match self.lead.inbox.items.get(item) {
                None => CommandEffect::NoQuestion(*item),
                Some(question) if question.answer.is_some() => {
                    CommandEffect::TakenBackTooLate(*item)
                }
                Some(_) => CommandEffect::TakenBack(*item),
            },
            Command::SetWorkers { max } => self.set_workers(*max),
        };
        let (command, by) = (command.clone(), origin.by.clone());
        self.events.insert(at, Event::Commanded { seq, command, effect, by });
    }

    fn set_workers(&mut self, max: usize) -> CommandEffect {
        let from = self.lead.settings.max_workers;
        if max == 0 || max == from {
            return CommandEffect::Nothing;
        }
        self.events.push(Event::WorkersSet { max });
        CommandEffect::Workers { from, to: max }
    }

    /// Applies an action to one phase or to all; returns the phases that it changed.
    fn each(
        &mut self,
        phase: Option<PhaseNumber>,
        act: impl Fn(&mut Self, &PhaseState) -> bool,
    ) -> CommandEffect {
        let lead = self.lead;
        let chosen: Vec<_> =
            lead.phases.values().filter(|t| phase.is_none_or(|p| p == t.spec.number)).collect();
        let done = chosen.into_iter().filter(|state| act(self, state));
        let done: Vec<_> = done.map(|state| state.spec.number).collect();
        if done.is_empty() { CommandEffect::Nothing } else { CommandEffect::Phases(done) }
    }

    /// Returns whether a phase is paused or about to pause.
    fn is_paused_or_pausing(&self, state: &PhaseState) -> bool {
        let will_rest =
            state.status.holds_slot() && state.halt_reason() == Some(HaltReason::Paused);
        state.status == Status::Paused || will_rest
    }

    fn pause(&mut self, state: &PhaseState, order: &HaltOrder) -> bool {
        let phase = state.spec.number;
        match state.status {
            Status::Waiting | Status::Complete => {
                self.move_to(phase, Status::Paused, Reason::Paused);
            }
            status if status.holds_slot() => self.halt(phase, order),
            _ => return false,
        }
        true
    }

    fn resume(&mut self, state: &PhaseState) -> bool {
        let phase = state.spec.number;
        if state.status == Status::Running
            && let Some(item) = self.open_hung_question(phase)
        {
            self.answer(item.id, RETRY);
            self.events.extend(state.halt.as_ref().map(|_| Event::Unhalted { phase }));
            self.end(phase, Reason::RestartedAfterHang);
            return true;
        }
        if state.status.holds_slot() && state.halt.is_some() {
            self.events.push(Event::Unhalted { phase });
            return true;
        }
        if state.awaits_merge() {
            // The person has resolved the conflict, or removed what prevented the merge.
            self.close_items(phase, RETRY, |kind| kind == QuestionKind::Conflict);
            self.move_to(phase, Status::Complete, Reason::MergeWanted);
            return true;
        }
        if !matches!(state.status, Status::Paused | Status::Failed | Status::Cancelled) {
            return false;
        }
        self.close_items(phase, RETRY, |kind| kind == QuestionKind::Failed);
        self.withdraw_refusals(phase);
        if state.commit.is_some() && state.status == Status::Paused {
            self.move_to(phase, Status::Complete, Reason::Resumed);
        } else {
            self.restart_or_park(phase, Reason::Resumed);
        }
        true
    }

    /// Makes a phase ready to start again. It is parked instead while questions of its worker are open,
    /// because the worker would continue without the answers.
    pub(super) fn restart_or_park(&mut self, phase: PhaseNumber, why: Reason) {
        let is_of_worker = |kind: QuestionKind| match kind {
            QuestionKind::Failed
            | QuestionKind::Conflict
            | QuestionKind::Breaker
            | QuestionKind::MarkedDone => false,
            kind => !kind.may_settle(),
        };
        let mut own = self.lead.questions_about(phase);
        if own.any(|item| item.answer.is_none() && is_of_worker(item.ask.kind)) {
            self.move_to(phase, Status::Parked, Reason::RestartAwaitsAnswer(Box::new(why)));
        } else {
            self.move_to(phase, Status::Waiting, why);
        }
    }

    fn cancel(&mut self, state: &PhaseState, order: &HaltOrder) -> bool {
        let phase = state.spec.number;
        if matches!(state.status, Status::Merged | Status::Merging | Status::Cancelled) {
            return false;
        }
        if state.status.holds_slot() {
            self.halt(phase, order);
            if state.status == Status::Running && self.open_hung_question(phase).is_some() {
                self.end(phase, Reason::CancelledDuringHang);
            }
        } else {
            self.move_to(phase, Status::Cancelled, Reason::Cancelled);
        }
        self.withdraw_items(phase);
        true
    }

    /// Withdraws the questions of a cancelled phase. They are not answered: if the phase is resumed
    /// later, nobody has agreed to anything.
    pub(super) fn withdraw_items(&mut self, phase: PhaseNumber) {
        self.withdraw_if(phase, |_| true);
    }

    /// Withdraws the open questions of a phase that satisfy a condition.
    pub(super) fn withdraw_if(
        &mut self,
        phase: PhaseNumber,
        is_meant: impl Fn(&InboxItem) -> bool,
    ) {
        let open = self.lead.questions_about(phase).filter(|item| item.answer.is_none());
        let meant = open.filter(|item| is_meant(item));
        self.events.extend(meant.map(|item| Event::Withdrawn { item: item.id }));
    }

    /// Withdraws the questions whose answers ended the phase, so that they are asked again. Otherwise
    /// every further attempt would fail in the same way.
    fn withdraw_refusals(&mut self, phase: PhaseNumber) {
        let lead = self.lead;
        let own = lead.questions_about(phase).filter(|item| lead.inbox.is_put(item));
        let refused = own.filter(|item| item.is_refused());
        self.events.extend(refused.map(|item| Event::Withdrawn { item: item.id }));
    }

    /// Answers the open questions of a phase that a command has answered implicitly.
    fn close_items(&mut self, phase: PhaseNumber, text: &str, of: impl Fn(QuestionKind) -> bool) {
        let lead = self.lead;
        let open = lead.questions_about(phase).filter(|item| item.answer.is_none());
        for item in open.filter(|item| of(item.ask.kind)) {
            self.answer(item.id, text);
        }
    }

    fn close_breaker(&mut self) {
        self.events.push(Event::Breaker { open: false });
        let lead = self.lead;
        for item in lead.inbox.open().filter(|item| item.ask.kind == QuestionKind::Breaker) {
            self.answer(item.id, CONTINUE);
        }
    }

    fn on_answer(&mut self, id: u32, text: &str, seen: Option<&str>) -> CommandEffect {
        let lead = self.lead;
        let Some(item) = lead.inbox.items.get(&id) else {
            return CommandEffect::NoQuestion(id);
        };
        if let Some(answer) = &item.answer {
            return CommandEffect::AnsweredBefore { item: id, text: answer.clone() };
        }
        if seen.is_some_and(|seen| seen != item.ask.digest()) {
            return CommandEffect::OtherQuestion(id);
        }
        let text = match item.ask.accept(text) {
            Ok(text) => text,
            Err(problem) => return CommandEffect::InvalidAnswer(problem),
        };
        if item.ask.kind == QuestionKind::Breaker && text == CONTINUE {
            self.close_breaker();
            return self.each(None, |builder, state| {
                builder.is_paused_or_pausing(state) && builder.resume(state)
            });
        }
        self.answer(id, &text);
        let state = item.phase.and_then(|phase| lead.phases.get(&phase));
        if let Some(state) = state {
            self.apply_answer(state, item, &text);
        }
        CommandEffect::Answered { item: id, text }
    }

    /// Applies the answer to a question to the phase.
    fn apply_answer(&mut self, state: &PhaseState, item: &InboxItem, text: &str) {
        let phase = state.spec.number;
        match (item.ask.kind, text) {
            (QuestionKind::Stuck, _) if state.status == Status::Running => {
                let (key, question) = (item.ask.key.clone(), item.ask.question.clone());
                let answer = InboxAnswer { key, question, text: text.to_owned() };
                self.send_message(state, LeadMessage::Answer(answer));
            }
            (QuestionKind::Hung, RETRY | FAIL) if state.status == Status::Running => {
                self.end(phase, Reason::WorkerHung { decision: text.to_owned() });
            }
            (QuestionKind::Failed, RETRY) => {
                self.withdraw_refusals(phase);
                self.restart_or_park(phase, Reason::AttemptWanted);
            }
            (QuestionKind::Conflict, RETRY) => {
                self.move_to(phase, Status::Complete, Reason::MergeWanted);
            }
            (QuestionKind::Conflict, _) => {
                self.move_to(phase, Status::Failed, Reason::MergeGivenUp);
            }
            (QuestionKind::MarkedDone, DONE) => {
                self.move_to(phase, Status::Merged, Reason::ConfirmedDone);
            }
            (
                QuestionKind::Failed
                | QuestionKind::Breaker
                | QuestionKind::Stuck
                | QuestionKind::Hung,
                _,
            ) => {}
            _ if state.status == Status::Parked && state.open_questions <= 1 => {
                self.move_to(phase, Status::Waiting, Reason::Answered);
            }
            _ => {}
        }
    }
}
