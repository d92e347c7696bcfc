//! What a screen shows of a run: plain data, bounded, a pure function of the lead's state and a time.
//!
//! Every screen, the JSON outputs and the projection to STATE.md draw these types and never look into
//! [`Lead`]. So two screens cannot disagree, and a screen can be tested without a clock. Facts that
//! the journal does not hold, such as process ids, are passed in as [`RunFacts`]. Start with
//! [`RunView::of`]; [`PhaseView::of`] makes one row, [`EventView`] one line of the log.

mod bounded;
mod cost;
mod event;
mod message;
mod phase;
mod question;
mod session;
mod state_text;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::lead::{Hold, Lead, RunScope, RunStatus, Status};
use crate::phase::PhaseNumber;

pub use cost::{AgentRunView, CostReport, CostView, UsageSum};
pub use event::{EventFold, EventKind, EventView};
pub use message::{ContractMessage, MessageFold};
pub use phase::{FinishedPlanView, PhaseView, PlanView, WaitView, WorkerFacts};
pub use question::{ChoiceView, QuestionState, QuestionView, all_questions};
pub use session::SessionView;
pub use state_text::{PhaseSign, Tone};

/// The facts about a run that its state does not hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFacts {
    /// The number of the last journal record that the state is folded from.
    pub seq: u64,
    /// The time of the view, in milliseconds since 1970.
    pub now: u64,
    /// The process id of the lead, 0 if unknown; `None` when no lead runs.
    pub lead: Option<u32>,
    /// The workers that were looked for, by phase.
    pub workers: BTreeMap<PhaseNumber, WorkerFacts>,
    /// When each question was put, in milliseconds since 1970.
    pub asked_at: BTreeMap<u32, u64>,
    /// The answers that no lead has processed yet, by question.
    pub queued_answers: BTreeMap<u32, String>,
    /// The number of commands that no lead has processed yet.
    pub queued_commands: usize,
}

/// The most phases and questions of a view. A view says how many it left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewLimits {
    /// The most phases.
    pub phases: usize,
    /// The most open questions.
    pub questions: usize,
}

impl Default for ViewLimits {
    fn default() -> Self {
        Self { phases: 50_000, questions: 1_000 }
    }
}

/// A run as every screen shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunView {
    /// The id of the run; empty before the run began.
    pub run: String,
    /// The number of the journal record that the view stands on.
    pub seq: u64,
    /// The time of the view, in milliseconds since 1970.
    pub now: u64,
    /// The process id of the lead, 0 if unknown; `None` when no lead runs.
    pub lead: Option<u32>,
    /// The user's branch that the work of the run is for.
    pub target: String,
    /// Why the branch was not fast-forwarded.
    pub refusal: Option<FastForwardRefusal>,
    /// Which phases belong to the run.
    pub scope: RunScope,
    /// The status of the run.
    pub status: RunStatus,
    /// Whether the run is done; a run that has not read the roadmap yet is not.
    pub is_over: bool,
    /// Whether a person closed the run; its phases need not be merged.
    pub is_closed: bool,
    /// How many phases there are, by status.
    pub counts: RunCounts,
    /// What the agents of the run have used, and the budget.
    pub cost: CostView,
    /// Whether the lead may start workers.
    pub hold: Hold,
    /// Whether the circuit breaker is open.
    pub breaker_open: bool,
    /// Until when nothing is started because a model does not answer, in milliseconds since 1970.
    pub not_before: Option<u64>,
    /// The phases in roadmap order.
    pub phases: Vec<PhaseView>,
    /// How many phases are not in the list.
    pub phases_left_out: usize,
    /// The open questions; those that hold up the most phases come first.
    pub questions: Vec<QuestionView>,
    /// How many open questions are not in the list.
    pub questions_left_out: usize,
    /// The number of commands that no lead has processed yet.
    pub queued_commands: usize,
}

/// Why the user's branch was not fast-forwarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FastForwardRefusal {
    /// The reason, for people.
    pub reason: String,
    /// The command that does it.
    pub command: String,
}

/// How many phases of a run there are, by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// All phases.
    pub phases: usize,
    /// Phases whose work is in the target.
    pub merged: usize,
    /// Phases that hold a slot.
    pub running: usize,
    /// The most phases that may hold a slot.
    pub max_workers: usize,
    /// Phases that wait for their dependencies or for a slot.
    pub waiting: usize,
    /// Phases that wait for an answer.
    pub parked: usize,
    /// Paused phases.
    pub paused: usize,
    /// Failed phases.
    pub failed: usize,
    /// Cancelled phases.
    pub cancelled: usize,
    /// Open questions.
    pub questions: usize,
}

impl RunView {
    /// Returns the view of a run with the usual limits.
    pub fn of(lead: &Lead, facts: &RunFacts) -> Self {
        Self::limited(lead, facts, ViewLimits::default())
    }

    /// Returns the view of a run with other limits, for a screen that shows only some rows.
    pub fn limited(lead: &Lead, facts: &RunFacts, limits: ViewLimits) -> Self {
        let status = lead.status();
        let phases: Vec<_> = lead
            .phases
            .values()
            .take(limits.phases)
            .map(|state| PhaseView::of_state(lead, state, facts))
            .collect();
        let (questions, questions_left_out) =
            question::open_questions(lead, facts, limits.questions);
        let counts = RunCounts::of(lead, questions.len() + questions_left_out);
        Self {
            run: lead.run.clone(),
            seq: facts.seq,
            now: facts.now,
            lead: facts.lead,
            target: lead.target.branch.clone(),
            refusal: lead.target.refusal.clone().map(|(reason, command)| FastForwardRefusal {
                reason: bounded::text(&reason, bounded::TEXT_MAX),
                command,
            }),
            scope: lead.scope,
            status,
            is_over: lead.closed || !lead.phases.is_empty() && status == RunStatus::Done,
            is_closed: lead.closed,
            counts,
            cost: CostView { spent: lead.spent, budget: lead.settings.budget },
            hold: lead.starts.hold,
            breaker_open: lead.starts.breaker_open,
            not_before: lead.starts.not_before,
            phases_left_out: lead.phases.len() - phases.len(),
            phases,
            questions,
            questions_left_out,
            queued_commands: facts.queued_commands,
        }
    }

    /// Returns a phase by its number.
    pub fn phase(&self, number: PhaseNumber) -> Option<&PhaseView> {
        let at = self.phases.binary_search_by_key(&number, |phase| phase.number).ok()?;
        self.phases.get(at)
    }
}

impl RunCounts {
    fn of(lead: &Lead, questions: usize) -> Self {
        let mut counts = Self {
            phases: lead.phases.len(),
            running: lead.live().count(),
            max_workers: lead.settings.max_workers,
            questions,
            ..Self::default()
        };
        for state in lead.phases.values() {
            match state.status {
                Status::Merged => counts.merged += 1,
                Status::Waiting => counts.waiting += 1,
                Status::Parked => counts.parked += 1,
                Status::Paused => counts.paused += 1,
                Status::Failed => counts.failed += 1,
                Status::Cancelled => counts.cancelled += 1,
                _ => {}
            }
        }
        counts
    }
}
