//! The scheduler of a run: decides which phase starts when, what is merged, and what people are asked.
//!
//! The state is a fold over events, so that replaying a journal gives the same state. Only the lead
//! assigns phases to workers. It numbers the attempts, and ignores reports of older attempts. Start
//! with [`Status`], then read `decide.rs` (reactions to inputs) and `schedule.rs` (what happens next).

mod agent_shares;
mod apply;
mod audit;
mod caller;
mod close;
mod command;
mod conflicted_file;
mod decide;
mod event;
mod failure;
mod index;
mod lookahead;
mod overlap;
mod queries;
mod queued_command;
mod reason;
mod roadmap_change;
mod schedule;
mod startable;
mod state;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::inbox::{InboxItem, QuestionKind};
use crate::machine::{Decision, Machine};
use crate::money::{Budget, Spending};
use crate::phase::PhaseNumber;
use crate::stage::Lookahead;

pub use caller::{Caller, Interface};
pub use conflicted_file::ConflictedFile;
pub use decide::CONTINUE;
pub use event::{Effect, Event, Hold, Input, Outcome, PhaseSpec, RunScope};
pub use queued_command::{Command, CommandOrigin, QueuedCommand, drop_taken_back};
pub use reason::{CommandEffect, FailureCause, MergeProblem, Reason};
pub use state::{EffectsInFlight, Inbox, PhaseIndex, PhaseState, PlanTime, RunTarget, StartGate};

/// A commit id in hexadecimal.
pub type Commit = String;

/// The limits and switches of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The most workers that run at a time.
    pub max_workers: usize,
    /// After how many failed phases no more are started; 0 for never.
    pub circuit_breaker: u32,
    /// Whether a phase is merged as soon as it is complete, and not together with its wave.
    pub merge_at_once: bool,
    /// How often a worker that died is restarted without progress in between.
    pub restarts_max: u32,
    /// The time between two starts, in milliseconds.
    pub stagger_ms: u64,
    /// The most agents that run at a time, over all workers.
    #[serde(default = "max_agents")]
    pub max_agents: usize,
    /// Whether phases that change the same files may run at the same time.
    #[serde(default)]
    pub force: bool,
    /// Which stages of a phase may run while its dependencies are not merged.
    #[serde(default)]
    pub lookahead: Lookahead,
    /// The most that the run may use.
    #[serde(default, skip_serializing_if = "Budget::is_none")]
    pub budget: Budget,
    /// Unfinished phases of the run that the person did not name this time: none of them is started
    /// or merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<PhaseNumber>,
}

fn max_agents() -> usize {
    4
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_workers: 3,
            circuit_breaker: 2,
            merge_at_once: false,
            restarts_max: 3,
            stagger_ms: 100,
            max_agents: max_agents(),
            force: false,
            lookahead: Lookahead::default(),
            budget: Budget::default(),
            left_out: Vec::new(),
        }
    }
}

/// The status of a phase in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The phase waits for its dependencies or for a slot, before the first or the next attempt.
    Waiting,
    /// The worktree is being created.
    Preparing,
    /// The worker is being started.
    Starting,
    /// The worker runs.
    Running,
    /// The worker is being killed, or the documents of its look-ahead are being collected.
    Ending,
    /// The phase waits for an answer, without a worker.
    Parked,
    /// A person paused the phase.
    Paused,
    /// The work is done; the phase waits for its merge.
    Complete,
    /// The phase is being merged.
    Merging,
    /// The target ref contains the work.
    Merged,
    /// The phase failed.
    Failed,
    /// A person cancelled the phase, or it left the roadmap.
    Cancelled,
}

impl Status {
    /// Returns the name that JSON output and messages use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Preparing => "preparing",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Ending => "ending",
            Self::Parked => "parked",
            Self::Paused => "paused",
            Self::Complete => "complete",
            Self::Merging => "merging",
            Self::Merged => "merged",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns whether the phase occupies one of the slots for workers.
    pub fn holds_slot(self) -> bool {
        matches!(self, Self::Preparing | Self::Starting | Self::Running | Self::Ending)
    }

    /// Returns whether nothing is left to do for the phase.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Merged | Self::Cancelled)
    }

    /// Returns whether only a person can move the phase on.
    pub fn is_halted(self) -> bool {
        matches!(self, Self::Parked | Self::Paused | Self::Failed | Self::Cancelled)
    }

    /// Returns whether a phase may change from this status to another.
    pub fn may_become(self, to: Self) -> bool {
        use Status::{
            Cancelled, Complete, Ending, Failed, Merged, Merging, Parked, Paused, Preparing,
            Running, Starting, Waiting,
        };
        match self {
            Waiting => matches!(to, Preparing | Parked | Paused | Cancelled | Merged),
            Preparing => matches!(to, Starting | Waiting | Paused | Failed | Cancelled),
            Starting => matches!(to, Running | Waiting | Paused | Failed | Cancelled),
            Running => {
                matches!(to, Ending | Parked | Paused | Complete | Failed | Cancelled | Waiting)
            }
            Ending => matches!(to, Waiting | Parked | Paused | Complete | Failed | Cancelled),
            Parked | Paused | Failed | Cancelled => {
                matches!(to, Waiting | Complete | Cancelled | Parked | Paused | Failed | Merged)
            }
            Complete => matches!(to, Merging | Cancelled | Paused),
            Merging => matches!(to, Merged | Parked | Complete | Failed),
            Merged => false,
        }
    }
}

/// The state of a run: the fold of all its events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lead {
    /// The id of the run; empty before the run began.
    pub run: String,
    /// Which phases belong to the run.
    pub scope: RunScope,
    /// The limits and switches of the run; each lead process that takes the run up sets them anew.
    pub settings: Settings,
    /// The phases of the run.
    pub phases: BTreeMap<PhaseNumber, PhaseState>,
    /// The questions to people.
    pub inbox: Inbox,
    /// The target ref of the run and the user's branch that is fast-forwarded to it.
    pub target: RunTarget,
    /// What delays or forbids the start of workers.
    pub starts: StartGate,
    /// The effects that were begun and have no known outcome.
    pub effects: EffectsInFlight,
    /// What the agents of all phases have used so far.
    pub spent: Spending,
    /// Whether a person closed the run: it is over, whatever its phases are.
    pub closed: bool,
    /// The number of the last command that was read.
    pub commands_through: Option<u64>,
    /// Lists derived from the phases, for the scheduler.
    index: PhaseIndex,
}

/// The status of a run as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Something runs or is about to begin.
    Moving,
    /// All phases are merged or cancelled, and the planning files are committed.
    Done,
    /// The run waits for a person.
    Waiting,
    /// At least one phase failed, or the breaker is open, and nothing else can continue.
    Failed,
}

impl Lead {
    /// Returns the phases that hold a slot.
    pub fn live(&self) -> impl Iterator<Item = &PhaseState> {
        self.index.live.iter().filter_map(|number| self.phases.get(number))
    }

    /// Returns whether the worker of a phase, or an effect of it, is stuck.
    pub fn is_stuck(&self, phase: PhaseNumber) -> bool {
        self.questions_about(phase).any(|item| item.answer.is_none() && item.ask.kind.may_settle())
    }

    /// Returns how many agents the workers may run now, including workers that are about to start.
    fn agents_taken(&self) -> usize {
        self.index.agents.given + self.index.agents.starting
    }

    /// Returns the questions about a phase.
    fn questions_about(&self, phase: PhaseNumber) -> impl Iterator<Item = &InboxItem> {
        let ids = self.phases.get(&phase).map_or(&[][..], |state| &state.question_ids);
        ids.iter().filter_map(|id| self.inbox.items.get(id))
    }

    /// Returns the phases that start once the running ones are merged, at most one for each slot.
    pub fn next_to_start(&self) -> Vec<PhaseNumber> {
        schedule::next_to_start(self)
    }

    /// Returns whether all phases are merged or cancelled.
    pub fn is_over(&self) -> bool {
        self.index.over_count == self.phases.len()
    }

    /// Returns the phases that hold a slot, without those that were left out this time.
    pub fn live_in_scope(&self) -> impl Iterator<Item = &PhaseState> {
        self.live().filter(|state| !state.is_left_out())
    }

    /// Returns whether all phases that the person named are merged or cancelled, while other phases
    /// of the run were left out.
    pub fn is_named_work_over(&self) -> bool {
        if self.settings.left_out.is_empty() {
            return false;
        }
        let mut named = self.phases.values().filter(|state| !state.is_left_out()).peekable();
        named.peek().is_some() && named.all(|state| state.status.is_over())
    }

    /// Compares the derived lists with lists that are computed anew. For tests.
    #[doc(hidden)]
    pub fn check_indices(&self) -> Result<(), String> {
        index::check_indices(self)
    }

    /// Returns the status of the run.
    pub fn status(&self) -> RunStatus {
        if self.closed {
            return RunStatus::Done;
        }
        // A person has to decide about a stuck worker, so it does not count as activity.
        let is_active = self.live_in_scope().any(|phase| !self.is_stuck(phase.spec.number));
        if is_active || !self.effects.open.is_empty() || schedule::has_next(self) {
            return RunStatus::Moving;
        }
        if self.is_over() {
            return RunStatus::Done;
        }
        let is_failure = |kind| matches!(kind, QuestionKind::Failed | QuestionKind::Breaker);
        let in_scope = |item: &&InboxItem| {
            let state = item.phase.and_then(|phase| self.phases.get(&phase));
            !state.is_some_and(PhaseState::is_left_out)
        };
        let asks = self.inbox.open().filter(in_scope).any(|item| !is_failure(item.ask.kind));
        let is_failed = |state: &PhaseState| state.status == Status::Failed && !state.is_left_out();
        let failed = self.phases.values().any(is_failed);
        if (failed || self.starts.breaker_open) && !asks {
            RunStatus::Failed
        } else {
            RunStatus::Waiting
        }
    }
}

impl Machine for Lead {
    type Input = Input;
    type Event = Event;
    type Effect = (u64, Effect);

    fn decide(&self, input: &Input, now: u64) -> Decision<Event, (u64, Effect)> {
        decide::decide(self, input, now)
    }

    fn follow_up(&self, now: u64) -> Decision<Event, (u64, Effect)> {
        schedule::follow_up(self, now)
    }

    fn apply(&mut self, event: &Event, at: u64) {
        apply::apply(self, event, at);
    }

    fn deadline(&self) -> Option<u64> {
        schedule::deadline(self)
    }
}
