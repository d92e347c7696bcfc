//! Look-ahead: runs the early stages of a phase while its dependencies are not merged.
//!
//! A look-ahead is an attempt that ends before execute. It gets a slot only while no phase is ready
//! to start. Its documents are copied to the main checkout. A failed look-ahead is dropped: the phase
//! repeats these stages when its turn comes.

use super::decide::DecisionBuilder;
use super::{Effect, Event, Lead, Outcome, PhaseState, Reason, Status};
use crate::phase::PhaseNumber;
use crate::report::{HaltReason, Report};
use crate::stage::{Lookahead, Stage};

/// The most waiting phases that are searched for the next look-ahead.
const LOOKED_AT_MAX: usize = 64;

/// Returns whether a phase could have a look-ahead, now or later.
pub(super) fn is_candidate(state: &PhaseState) -> bool {
    let waits = state.status == Status::Waiting
        && state.unmet_dependencies > 0
        && state.halted_dependencies == 0
        && !state.is_held();
    waits && !state.lookahead_dropped && !state.spec.ahead.is_empty()
}

/// Returns whether a phase had a look-ahead and waits for its dependencies.
pub(super) fn is_pending(state: &PhaseState) -> bool {
    state.through.is_some() && state.unmet_dependencies > 0 && !state.status.is_over()
}

/// Returns how many phases could have a look-ahead now, at most `max`.
pub(super) fn wanting(lead: &Lead, max: usize) -> usize {
    candidates(lead).take(max).count()
}

/// Returns the next phase for a look-ahead, and its last stage.
pub(super) fn next(lead: &Lead) -> Option<(PhaseNumber, Stage)> {
    candidates(lead).next()
}

fn candidates(lead: &Lead) -> impl Iterator<Item = (PhaseNumber, Stage)> {
    // Documents that are written long before they are needed would be out of date.
    let is_full = lead.index.lookahead_waiting.len() >= 2 * lead.settings.max_workers.max(1);
    lead.index.lookahead_candidates.iter().take(LOOKED_AT_MAX).filter_map(move |(_, number)| {
        let state = &lead.phases[number];
        let may_begin = !is_full || state.through.is_some();
        Some((*number, goal(lead, state).filter(|_| may_begin)?))
    })
}

fn goal(lead: &Lead, state: &PhaseState) -> Option<Stage> {
    let has = |stage| state.spec.ahead.contains(&stage) && state.ahead_through < Some(stage);
    let wants_plan = lead.settings.lookahead == Lookahead::Plan && has(Stage::Plan);
    if wants_plan && state.spec.depends_on.iter().all(|number| is_planned(lead, *number)) {
        return Some(Stage::Plan);
    }
    let wants_research = lead.settings.lookahead != Lookahead::Off;
    (wants_research && (has(Stage::Discuss) || has(Stage::Research))).then_some(Stage::Research)
}

/// Returns whether other plans can build on the plans of a phase.
fn is_planned(lead: &Lead, number: PhaseNumber) -> bool {
    lead.phases.get(&number).is_none_or(|state| {
        state.status == Status::Merged
            || state.files().is_some()
            || state.ahead_through >= Some(Stage::Plan)
    })
}

/// Returns whether a finished look-ahead had no result.
pub(super) fn lookahead_failed(state: &PhaseState) -> bool {
    let is_answered =
        matches!(state.last_report, Some(Report::Parked)) && state.questions_asked > 0;
    let has_result = matches!(state.last_report, Some(Report::LookaheadDone { .. })) || is_answered;
    state.halt.is_none() && state.open_questions == 0 && !has_result
}

impl DecisionBuilder<'_> {
    /// Starts a look-ahead.
    pub(super) fn look_ahead(&mut self, phase: PhaseNumber, through: Stage) {
        let lead = self.lead;
        let state = &lead.phases[&phase];
        let attempt = state.attempt + 1;
        let is_open = |number: &&PhaseNumber| {
            lead.phases.get(number).is_some_and(|other| other.status != Status::Merged)
        };
        let open: Vec<_> = state.spec.depends_on.iter().filter(is_open).copied().collect();
        let why = Reason::LooksAhead { through, open };
        let (to, ahead) = (Status::Preparing, Some(through));
        self.events.push(Event::StatusChanged { phase, attempt, to, why, ahead });
        self.intend(Effect::Prepare {
            phase,
            attempt,
            base: lead.target.tip.clone(),
            renew: false,
        });
    }

    /// Collects the documents of a look-ahead whose worker has exited.
    pub(super) fn collect_lookahead(&mut self, state: &PhaseState, goal: Stage) {
        let (phase, attempt) = (state.spec.number, state.attempt);
        // A stage begins only when the stages before it are complete.
        let through = match &state.last_report {
            Some(Report::LookaheadDone { through }) => Some(*through),
            _ => state.stage.and_then(Stage::before).filter(|stage| *stage < goal),
        };
        self.move_to(phase, Status::Ending, Reason::LookaheadOver);
        self.intend(Effect::CollectLookahead { phase, attempt, through });
    }

    /// Sets the status of a phase whose look-ahead is collected.
    pub(super) fn lookahead_collected(&mut self, state: &PhaseState, outcome: &Outcome) {
        let phase = state.spec.number;
        let failed = |reason: &str| Reason::LookaheadFailed(reason.to_owned());
        let why = match (outcome, &state.last_report, state.halt_reason()) {
            (_, _, Some(how)) => {
                self.stop_as_told(phase, how);
                if how == HaltReason::Cancelled {
                    self.withdraw_items(phase);
                }
                return;
            }
            _ if state.open_questions > 0 => {
                return self.move_to(phase, Status::Parked, Reason::AwaitsAnswer);
            }
            (Outcome::Failed { reason }, ..) => failed(reason),
            (_, Some(Report::LookaheadDone { through }), _) => Reason::DoneAhead(*through),
            _ if !lookahead_failed(state) => Reason::Answered,
            (_, Some(Report::Failed { reason }), _) => failed(reason),
            _ => failed("its worker died"),
        };
        self.move_to(phase, Status::Waiting, why);
    }

    /// Drops a look-ahead whose worktree or worker could not be started.
    pub(super) fn drop_lookahead(&mut self, state: &PhaseState, reason: &str) {
        match state.halt_reason() {
            Some(how) => self.stop_as_told(state.spec.number, how),
            None => {
                let why = Reason::LookaheadFailed(reason.to_owned());
                self.move_to(state.spec.number, Status::Waiting, why);
            }
        }
    }
}
