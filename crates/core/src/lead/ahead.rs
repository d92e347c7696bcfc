//! Looking ahead: what can be done of a phase while the phases before it are not merged.
//!
//! A look-ahead is an attempt like any other that ends before execute. It takes a slot only while no
//! phase that could start wants it, and what comes of it is brought to the main root. One that comes
//! to nothing is dropped: the phase does it itself when its turn comes.

use super::decide::Draft;
use super::schedule::list;
use super::{Effect, Event, Lead, Outcome, Status, Track};
use crate::phase::PhaseNumber;
use crate::report::{Halt, Report};
use crate::stage::{Lookahead, Stage};

/// How many phases that wait are looked at for one to take ahead.
const LOOKED_AT_MAX: usize = 64;

/// Returns whether a phase could be taken ahead, now or later.
pub(super) fn is_candidate(track: &Track) -> bool {
    let waits = track.status == Status::Waiting && track.unmet > 0 && track.halted_deps == 0;
    waits && !track.dropped && !track.spec.ahead.is_empty()
}

/// Returns whether a phase was taken ahead and waits for its turn.
pub(super) fn is_pending(track: &Track) -> bool {
    track.through.is_some() && track.unmet > 0 && !track.status.is_over()
}

/// Returns the next phase to take ahead, and how far.
pub(super) fn next(lead: &Lead) -> Option<(PhaseNumber, Stage)> {
    // What is done long before its time is out of date when it is needed.
    let is_full = lead.pending.len() >= 2 * lead.settings.max_workers.max(1);
    lead.candidates.iter().take(LOOKED_AT_MAX).find_map(|(_, number)| {
        let track = &lead.phases[number];
        let may_begin = !is_full || track.through.is_some();
        Some((*number, goal(lead, track).filter(|_| may_begin)?))
    })
}

fn goal(lead: &Lead, track: &Track) -> Option<Stage> {
    let has = |stage| track.spec.ahead.contains(&stage) && track.ahead < Some(stage);
    let wants_plan = lead.settings.lookahead == Lookahead::Plan && has(Stage::Plan);
    if wants_plan && track.spec.depends_on.iter().all(|number| is_planned(lead, *number)) {
        return Some(Stage::Plan);
    }
    let wants_research = lead.settings.lookahead != Lookahead::Off;
    (wants_research && (has(Stage::Discuss) || has(Stage::Research))).then_some(Stage::Research)
}

/// Returns whether the plans of a phase can be built on.
fn is_planned(lead: &Lead, number: PhaseNumber) -> bool {
    lead.phases.get(&number).is_none_or(|track| {
        track.status == Status::Merged
            || track.touches().is_some()
            || track.ahead >= Some(Stage::Plan)
    })
}

/// Returns whether a look-ahead that is over came to nothing.
pub(super) fn fell_through(track: &Track) -> bool {
    let is_answered = matches!(track.last, Some(Report::Parked)) && track.asked > 0;
    let came_to_something = matches!(track.last, Some(Report::Ahead { .. })) || is_answered;
    track.halt.is_none() && track.open_items == 0 && !came_to_something
}

impl Draft<'_> {
    /// Begins a look-ahead.
    pub(super) fn look_ahead(&mut self, phase: PhaseNumber, through: Stage) {
        let lead = self.lead;
        let track = &lead.phases[&phase];
        let attempt = track.attempt + 1;
        let is_open = |number: &&PhaseNumber| {
            lead.phases.get(number).is_some_and(|other| other.status != Status::Merged)
        };
        let open: Vec<_> = track.spec.depends_on.iter().filter(is_open).copied().collect();
        let why =
            format!("it looks ahead through {} and waits for {}", through.name(), list(&open));
        let (to, ahead) = (Status::Preparing, Some(through));
        self.events.push(Event::Moved { phase, attempt, to, why, ahead });
        self.intend(Effect::Prepare { phase, attempt, base: lead.tip.clone(), renew: false });
    }

    /// Brings what a look-ahead left to the main root, once its worker is gone.
    pub(super) fn gather(&mut self, track: &Track, goal: Stage) {
        let (phase, attempt) = (track.spec.number, track.attempt);
        // A stage that began means that those before it are complete.
        let through = match &track.last {
            Some(Report::Ahead { through }) => Some(*through),
            _ => track.stage.and_then(Stage::before).filter(|stage| *stage < goal),
        };
        self.move_to(phase, Status::Ending, "its look-ahead is over");
        self.intend(Effect::Gather { phase, attempt, through });
    }

    /// Lets a phase wait for its turn after a look-ahead.
    pub(super) fn gathered(&mut self, track: &Track, outcome: &Outcome) {
        let phase = track.spec.number;
        let later = |reason: &str| format!("nothing came of looking ahead: {reason}");
        let why = match (outcome, &track.last, track.halt) {
            (_, _, Some(how)) => {
                self.rest(phase, how);
                if how == Halt::Cancelled {
                    self.withdraw_items(phase);
                }
                return;
            }
            _ if track.open_items > 0 => {
                return self.move_to(phase, Status::Parked, "it waits for an answer");
            }
            (Outcome::Failed { reason }, ..) => later(reason),
            (_, Some(Report::Ahead { through }), _) => {
                format!("it is done ahead through {}", through.name())
            }
            _ if !fell_through(track) => "it was answered".to_owned(),
            (_, Some(Report::Failed { reason }), _) => later(reason),
            _ => later("its worker died"),
        };
        self.move_to(phase, Status::Waiting, &why);
    }

    /// Drops a look-ahead that could not even begin.
    pub(super) fn drop_ahead(&mut self, track: &Track, reason: &str) {
        match track.halt {
            Some(how) => self.rest(track.spec.number, how),
            None => {
                let why = format!("nothing came of looking ahead: {reason}");
                self.move_to(track.spec.number, Status::Waiting, &why);
            }
        }
    }
}
