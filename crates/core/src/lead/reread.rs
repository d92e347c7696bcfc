//! What it means for a run that the roadmap says something else than before.

use std::collections::BTreeSet;

use super::decide::Draft;
use super::{Event, Lead, PhaseSpec, Scope, Status, Track};
use crate::item::{Ask, Item, ItemKind};
use crate::phase::PhaseNumber;

/// Why a phase is cancelled that the roadmap does not name any more.
const LEFT: &str = "it left the roadmap";
/// The answers about a phase that the roadmap calls done: it is, and it is not.
pub(super) const DONE: &str = "done";
const NOT_DONE: &str = "not done";

impl Draft<'_> {
    /// Takes in the roadmap as it is now.
    pub(super) fn read_roadmap(&mut self, scope: Scope, phases: &[PhaseSpec]) {
        let lead = self.lead;
        let is_new = |spec: &&PhaseSpec| {
            lead.phases.get(&spec.number).is_none_or(|track| track.spec != **spec)
        };
        let new: Vec<_> = phases.iter().filter(is_new).collect();
        let is_known = |spec: &PhaseSpec| {
            lead.phases.get(&spec.number).is_some_and(|t| t.spec.is_same_in_roadmap(spec))
        };
        if lead.scope != scope || !new.iter().all(|spec| is_known(spec)) {
            self.events.push(Event::Planned { scope, phases: phases.to_vec() });
        } else if !new.is_empty() {
            self.events.push(Event::Observed { phases: new.into_iter().cloned().collect() });
        }
        for spec in phases {
            match lead.phases.get(&spec.number) {
                None if spec.done => self.leave_out(spec.number),
                Some(track) if spec.done => self.doubt(track),
                Some(track) => self.forget_doubt(track),
                None => {}
            }
        }
        let named: BTreeSet<_> = phases.iter().map(|spec| spec.number).collect();
        for track in lead.phases.values().filter(|track| !named.contains(&track.spec.number)) {
            if track.status == Status::Waiting || lead.is_doubted(track) {
                self.withdraw_if(track.spec.number, is_doubt);
                self.move_to(track.spec.number, Status::Cancelled, LEFT);
            }
        }
        let is_back = |track: &&Track| track.status == Status::Cancelled && track.why == LEFT;
        for track in phases.iter().filter_map(|spec| lead.phases.get(&spec.number)).filter(is_back)
        {
            self.move_to(track.spec.number, Status::Waiting, "it is back in the roadmap");
        }
    }

    /// Counts a phase as merged that was done before the run knew of it.
    fn leave_out(&mut self, phase: PhaseNumber) {
        let (to, why) = (Status::Merged, "the roadmap says that it is done".to_owned());
        self.events.push(Event::Moved { phase, attempt: 0, to, why, ahead: None });
    }

    /// Asks about a phase that was to be done when the run began and that the roadmap calls done now.
    ///
    /// People may write so, and so may an agent that reaches beyond its worktree. Others would be
    /// built on work that nobody did.
    pub(super) fn doubt(&mut self, track: &Track) {
        if track.status != Status::Waiting || !self.lead.is_unasked(track) {
            return;
        }
        let (phase, key) = (track.spec.number, doubt_key(track));
        self.move_to(
            phase,
            Status::Parked,
            "the roadmap says that it is done, and this run did not do it",
        );
        let question =
            format!("Phase {phase} was marked as done during this run, and not by it. Is it done?");
        let choices = vec![DONE.to_owned(), NOT_DONE.to_owned()];
        self.ask(Some(phase), Ask { key, kind: ItemKind::Ticked, question, choices });
    }

    /// Lets a phase go on that the roadmap does not call done any more.
    fn forget_doubt(&mut self, track: &Track) {
        if self.lead.is_doubted(track) {
            self.withdraw_if(track.spec.number, is_doubt);
            let why = "the roadmap does not call it done any more";
            self.move_to(track.spec.number, Status::Waiting, why);
        }
    }
}

impl Lead {
    /// Returns whether the roadmap calls a phase done that was not begun, and nobody was asked: it may
    /// have rested when that was written.
    pub(super) fn is_to_doubt(&self, track: &Track) -> bool {
        track.spec.done && self.is_unasked(track)
    }

    fn is_unasked(&self, track: &Track) -> bool {
        track.started.is_none() && !self.asked.contains_key(&doubt_key(track))
    }

    /// Returns whether a phase waits for a person to say whether it is done.
    pub fn is_doubted(&self, track: &Track) -> bool {
        let mut open = self.items_of(track.spec.number).filter(|item| item.answer.is_none());
        track.status == Status::Parked && open.any(is_doubt)
    }
}

fn doubt_key(track: &Track) -> String {
    format!("{}/ticked", track.spec.number)
}

fn is_doubt(item: &Item) -> bool {
    item.ask.kind == ItemKind::Ticked
}
