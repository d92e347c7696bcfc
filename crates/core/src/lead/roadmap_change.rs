//! Reacts to a changed roadmap: new and removed phases, and phases that were marked as done.

use std::collections::BTreeSet;

use super::decide::DecisionBuilder;
use super::{Event, Lead, PhaseSpec, PhaseState, Reason, RunScope, Status};
use crate::inbox::{InboxItem, InboxQuestion, QuestionKey, QuestionKind, QuestionTopic};
use crate::phase::PhaseNumber;

/// The answers about a phase that somebody marked as done. Stored in journals.
pub(super) const DONE: &str = "done";
const NOT_DONE: &str = "not done";

impl DecisionBuilder<'_> {
    /// Compares the roadmap with the phases of the run.
    pub(super) fn read_roadmap(&mut self, scope: RunScope, phases: &[PhaseSpec]) {
        let lead = self.lead;
        let is_new = |spec: &&PhaseSpec| {
            lead.phases.get(&spec.number).is_none_or(|state| state.spec != **spec)
        };
        let new: Vec<_> = phases.iter().filter(is_new).collect();
        let is_unchanged = |spec: &PhaseSpec| {
            lead.phases.get(&spec.number).is_some_and(|t| t.spec.is_same_in_roadmap(spec))
        };
        if lead.scope != scope || !new.iter().all(|spec| is_unchanged(spec)) {
            self.events.push(Event::RoadmapRead { scope, phases: phases.to_vec() });
        } else if !new.is_empty() {
            self.events.push(Event::Observed { phases: new.into_iter().cloned().collect() });
        }
        for spec in phases {
            self.announce_hold(spec);
            match lead.phases.get(&spec.number) {
                None if spec.done => self.count_as_merged(spec.number),
                Some(state) if spec.done => self.ask_whether_done(state),
                Some(state) => self.withdraw_done_question(state),
                None => {}
            }
        }
        let named: BTreeSet<_> = phases.iter().map(|spec| spec.number).collect();
        for state in lead.phases.values().filter(|state| !named.contains(&state.spec.number)) {
            if state.status == Status::Waiting || lead.awaits_done_answer(state) {
                self.withdraw_if(state.spec.number, is_done_question);
                self.move_to(state.spec.number, Status::Cancelled, Reason::LeftRoadmap);
            }
        }
        let is_back =
            |state: &&PhaseState| state.status == Status::Cancelled && state.why.is_left_roadmap();
        for state in phases.iter().filter_map(|spec| lead.phases.get(&spec.number)).filter(is_back)
        {
            self.move_to(state.spec.number, Status::Waiting, Reason::BackInRoadmap);
        }
    }

    /// Tells people that an edit of the roadmap keeps a phase from starting.
    fn announce_hold(&mut self, spec: &PhaseSpec) {
        let Some(why) = spec.held.as_ref().filter(|_| !self.lead.phases.is_empty()) else { return };
        let known = self.lead.phases.get(&spec.number);
        if known.is_none_or(|state| state.spec.held.is_none()) {
            let text = format!("phase {} does not start: {why}", spec.number);
            self.events.push(Event::Announced { text });
        }
    }

    /// Counts a phase as merged that was done before it became part of the run.
    fn count_as_merged(&mut self, phase: PhaseNumber) {
        let (to, why) = (Status::Merged, Reason::MarkedDone);
        self.events.push(Event::StatusChanged { phase, attempt: 0, to, why, ahead: None });
    }

    /// Asks about a phase that was open when the run began and that the roadmap marks as done now.
    ///
    /// A person may have marked it, or an agent that writes outside its worktree. Without the question,
    /// other phases would build on work that nobody did.
    pub(super) fn ask_whether_done(&mut self, state: &PhaseState) {
        let is_waiting = state.status == Status::Waiting && !state.is_left_out();
        if !is_waiting || !self.lead.was_never_asked(state) {
            return;
        }
        let (phase, key) = (state.spec.number, done_question_key(state));
        self.move_to(phase, Status::Parked, Reason::MarkedDoneDuringRun);
        let question = format!(
            "Phase {phase} was marked as done during this run, but not by this run. Is it done?"
        );
        let ask = InboxQuestion::new(key, QuestionKind::MarkedDone, question);
        self.ask(Some(phase), ask.with_choices([DONE, NOT_DONE]));
    }

    /// Withdraws the question about a phase that the roadmap no longer marks as done.
    fn withdraw_done_question(&mut self, state: &PhaseState) {
        if self.lead.awaits_done_answer(state) {
            self.withdraw_if(state.spec.number, is_done_question);
            self.move_to(state.spec.number, Status::Waiting, Reason::MarkRemoved);
        }
    }
}

impl Lead {
    /// Returns whether the roadmap marks an unstarted phase as done and nobody was asked about it: the
    /// phase may have been paused when it was marked.
    pub(super) fn must_ask_whether_done(&self, state: &PhaseState) -> bool {
        state.spec.done && self.was_never_asked(state)
    }

    fn was_never_asked(&self, state: &PhaseState) -> bool {
        state.started.is_none() && !self.inbox.has_key(&done_question_key(state))
    }

    /// Returns whether a phase waits for the answer whether it is done.
    pub fn awaits_done_answer(&self, state: &PhaseState) -> bool {
        let mut open = self.questions_about(state.spec.number).filter(|item| item.answer.is_none());
        state.status == Status::Parked && open.any(is_done_question)
    }
}

fn done_question_key(state: &PhaseState) -> QuestionKey {
    QuestionTopic::MarkedDone.of_phase(state.spec.number)
}

fn is_done_question(item: &InboxItem) -> bool {
    item.ask.kind == QuestionKind::MarkedDone
}
