//! What people want of a run: pause, resume, cancel, answers.

use super::decide::{CONTINUE, Draft, RETRY};
use super::reread::DONE;
use super::schedule::list;
use super::{Command, Event, Status, Track};
use crate::item::{Answer, Item, ItemKind, STUCK_CHOICES};
use crate::phase::PhaseNumber;
use crate::report::{Halt, Note};

const FAIL: &str = STUCK_CHOICES[2];

impl Draft<'_> {
    /// Does what a command wants, once.
    pub(super) fn obey(&mut self, seq: u64, command: &Command) {
        if self.lead.commands_through.is_some_and(|through| seq <= through) {
            return;
        }
        let at = self.events.len();
        let effect = match command {
            Command::Pause { phase } => self.each(*phase, Self::pause),
            Command::Resume { phase } => {
                if phase.is_none() && self.lead.breaker {
                    self.close_breaker();
                }
                let is_meant = |draft: &Self, track: &Track| phase.is_some() || draft.rests(track);
                self.each(*phase, |draft, track| is_meant(draft, track) && draft.resume(track))
            }
            Command::Cancel { phase } => self.each(*phase, Self::cancel),
            Command::Answer { item, text } => self.take_answer(*item, text),
        };
        self.events.insert(at, Event::Commanded { seq, command: command.clone(), effect });
    }

    /// Does something to a phase or to all; returns what became of it in words.
    fn each(
        &mut self,
        phase: Option<PhaseNumber>,
        act: impl Fn(&mut Self, &Track) -> bool,
    ) -> String {
        let lead = self.lead;
        let chosen: Vec<_> =
            lead.phases.values().filter(|t| phase.is_none_or(|p| p == t.spec.number)).collect();
        let done = chosen.into_iter().filter(|track| act(self, track));
        let done: Vec<_> = done.map(|track| track.spec.number).collect();
        match done.as_slice() {
            [] => "nothing to do".to_owned(),
            some => format!("phase {}", list(some)),
        }
    }

    /// Returns whether a phase rests or will, because it was told to.
    fn rests(&self, track: &Track) -> bool {
        let will_rest = track.status.holds_slot() && track.halt == Some(Halt::Paused);
        track.status == Status::Paused || will_rest
    }

    fn pause(&mut self, track: &Track) -> bool {
        let phase = track.spec.number;
        match track.status {
            Status::Waiting | Status::Complete => {
                self.move_to(phase, Status::Paused, "it was paused");
            }
            status if status.holds_slot() => self.halt(phase, Halt::Paused),
            _ => return false,
        }
        true
    }

    fn resume(&mut self, track: &Track) -> bool {
        let phase = track.spec.number;
        if track.status == Status::Running
            && let Some(item) = self.hung(phase)
        {
            self.answer(item.id, RETRY);
            self.events.extend(track.halt.map(|_| Event::Unhalted { phase }));
            self.end(phase, "its worker hung, and a person wants it begun again");
            return true;
        }
        if track.status.holds_slot() && track.halt.is_some() {
            self.events.push(Event::Unhalted { phase });
            return true;
        }
        if track.awaits_merge() {
            // Somebody settled the conflict, or mended what kept the merge back.
            self.close_items(phase, RETRY, |kind| kind == ItemKind::Conflict);
            self.move_to(phase, Status::Complete, "a person wants it merged again");
            return true;
        }
        if !matches!(track.status, Status::Paused | Status::Failed | Status::Cancelled) {
            return false;
        }
        self.close_items(phase, RETRY, |kind| kind == ItemKind::Failed);
        self.take_back_refusals(phase);
        if track.commit.is_some() && track.status == Status::Paused {
            self.move_to(phase, Status::Complete, "it was resumed");
        } else {
            self.go_on_or_wait(phase, "it was resumed");
        }
        true
    }

    /// Lets a phase be started again, unless what its worker asked is still open: it would go on
    /// without the answers.
    pub(super) fn go_on_or_wait(&mut self, phase: PhaseNumber, why: &str) {
        let is_of_worker = |kind: ItemKind| match kind {
            ItemKind::Failed | ItemKind::Conflict | ItemKind::Breaker | ItemKind::Ticked => false,
            kind => !kind.may_settle(),
        };
        let mut own = self.lead.items_of(phase);
        if own.any(|item| item.answer.is_none() && is_of_worker(item.ask.kind)) {
            self.move_to(phase, Status::Parked, &format!("{why}, and waits for an answer"));
        } else {
            self.move_to(phase, Status::Waiting, why);
        }
    }

    fn cancel(&mut self, track: &Track) -> bool {
        let phase = track.spec.number;
        if matches!(track.status, Status::Merged | Status::Merging | Status::Cancelled) {
            return false;
        }
        if track.status.holds_slot() {
            self.halt(phase, Halt::Cancelled);
            if track.status == Status::Running && self.hung(phase).is_some() {
                self.end(phase, "its worker hangs, and it was cancelled");
            }
        } else {
            self.move_to(phase, Status::Cancelled, "it was cancelled");
        }
        self.withdraw_items(phase);
        true
    }

    /// Takes back the questions of a phase that is not wanted any more. They are not answered: if
    /// the phase is wanted again after all, nobody has said yes to anything.
    pub(super) fn withdraw_items(&mut self, phase: PhaseNumber) {
        self.withdraw_if(phase, |_| true);
    }

    /// Takes back the open questions of a phase that are of no interest any more.
    pub(super) fn withdraw_if(&mut self, phase: PhaseNumber, is_meant: impl Fn(&Item) -> bool) {
        let open = self.lead.items_of(phase).filter(|item| item.answer.is_none());
        let meant = open.filter(|item| is_meant(item));
        self.events.extend(meant.map(|item| Event::Withdrawn { item: item.id }));
    }

    /// Takes back the answers that ended a phase, so that they are asked for once more. Otherwise
    /// the phase would come to the same end however often it is tried.
    fn take_back_refusals(&mut self, phase: PhaseNumber) {
        let lead = self.lead;
        let own = lead.items_of(phase).filter(|item| lead.is_put(item));
        let refused = own.filter(|item| item.is_refused());
        self.events.extend(refused.map(|item| Event::Withdrawn { item: item.id }));
    }

    /// Answers the open questions of a phase that nobody needs to answer any more.
    fn close_items(&mut self, phase: PhaseNumber, text: &str, of: impl Fn(ItemKind) -> bool) {
        let lead = self.lead;
        let open = lead.items_of(phase).filter(|item| item.answer.is_none());
        for item in open.filter(|item| of(item.ask.kind)) {
            self.answer(item.id, text);
        }
    }

    fn close_breaker(&mut self) {
        self.events.push(Event::Breaker { open: false });
        let lead = self.lead;
        for item in lead.open_items().filter(|item| item.ask.kind == ItemKind::Breaker) {
            self.answer(item.id, CONTINUE);
        }
    }

    fn take_answer(&mut self, id: u32, text: &str) -> String {
        let lead = self.lead;
        let Some(item) = lead.items.get(&id) else { return format!("there is no question {id}") };
        if let Some(answer) = &item.answer {
            return format!("question {id} was answered before: {answer}");
        }
        let text = match item.ask.accept(text) {
            Ok(text) => text,
            Err(problem) => return problem,
        };
        if item.ask.kind == ItemKind::Breaker && text == CONTINUE {
            self.close_breaker();
            return self.each(None, |draft, track| draft.rests(track) && draft.resume(track));
        }
        self.answer(id, &text);
        let track = item.phase.and_then(|phase| lead.phases.get(&phase));
        if let Some(track) = track {
            self.go_on(track, item, &text);
        }
        format!("question {id}: {text}")
    }

    /// Moves a phase whose question was answered.
    fn go_on(&mut self, track: &Track, item: &Item, text: &str) {
        let phase = track.spec.number;
        match (item.ask.kind, text) {
            (ItemKind::Stuck, _) if track.status == Status::Running => {
                let (key, question) = (item.ask.key.clone(), item.ask.question.clone());
                let answer = Answer { key, question, text: text.to_owned() };
                self.tell(track, Note::Answer(answer));
            }
            (ItemKind::Hung, RETRY | FAIL) if track.status == Status::Running => {
                self.end(phase, &format!("its worker hung, and a person decided: {text}"));
            }
            (ItemKind::Failed, RETRY) => {
                self.take_back_refusals(phase);
                self.go_on_or_wait(phase, "a person wants it tried again");
            }
            (ItemKind::Conflict, RETRY) => {
                self.move_to(phase, Status::Complete, "a person wants it merged again");
            }
            (ItemKind::Conflict, _) => {
                self.move_to(phase, Status::Failed, "a person gave its merge up");
            }
            (ItemKind::Ticked, DONE) => {
                self.move_to(phase, Status::Merged, "a person says that it is done");
            }
            (ItemKind::Failed | ItemKind::Breaker | ItemKind::Stuck | ItemKind::Hung, _) => {}
            _ if track.status == Status::Parked && track.open_items <= 1 => {
                self.move_to(phase, Status::Waiting, "it was answered");
            }
            _ => {}
        }
    }
}
