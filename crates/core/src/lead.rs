//! The lead of a run: which phase starts when, what is merged, who is asked.
//!
//! All of it is a fold over events, so that a journal read again gives the same state. The lead is
//! the only one who gives a phase to a worker: it counts the attempts, and what an older attempt
//! still says changes nothing. Start with [`Status`], then `decide.rs` (what an input means) and
//! `schedule.rs` (what may happen next).

mod ahead;
mod apply;
mod audit;
mod command;
mod decide;
mod event;
mod failure;
mod index;
mod overlap;
mod reread;
mod schedule;
#[cfg(test)]
mod tests;
pub(crate) mod words;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::item::{Item, ItemKind};
use crate::machine::{Decision, Machine};
use crate::money::{Budget, Money};
use crate::phase::PhaseNumber;
use crate::report::{Halt, Report};
use crate::stage::{Lookahead, Stage};
use crate::touch::Owners;

pub use event::{Clash, Command, Effect, Event, Hold, Input, Outcome, PhaseSpec, Scope};

/// A name of a commit.
pub type Commit = String;

/// What a run is told about how to go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The most workers at a time.
    pub max_workers: usize,
    /// How many failed phases stop the run; 0 for never.
    pub circuit_breaker: u32,
    /// Whether a phase is merged at once and not with its wave.
    pub merge_at_once: bool,
    /// How often a worker that died is started again without any progress.
    pub restarts_max: u32,
    /// The time between two starts.
    pub stagger_ms: u64,
    /// The most agents at a time, over all workers.
    #[serde(default = "max_agents")]
    pub max_agents: usize,
    /// Whether phases that change the same files may be at work at the same time.
    #[serde(default)]
    pub force: bool,
    /// What may be done of a phase that waits for others.
    #[serde(default)]
    pub lookahead: Lookahead,
    /// What it may cost.
    #[serde(default, skip_serializing_if = "Budget::is_none")]
    pub budget: Budget,
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
        }
    }
}

/// Where a phase stands in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun, or to be begun again: it waits for its dependencies or for a slot.
    Waiting,
    /// Its worktree is being made.
    Preparing,
    /// Its worker is being started.
    Starting,
    /// Its worker is at work.
    Running,
    /// Its worker is being ended.
    Ending,
    /// It waits for a person, without a worker.
    Parked,
    /// A person made it rest.
    Paused,
    /// Its worker is done; it waits for its merge.
    Complete,
    /// It is being merged.
    Merging,
    /// Its work is in the target.
    Merged,
    /// It could not be done.
    Failed,
    /// A person does not want it any more.
    Cancelled,
}

impl Status {
    /// Returns its name.
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

    /// Returns whether it takes one of the slots for workers.
    pub fn holds_slot(self) -> bool {
        matches!(self, Self::Preparing | Self::Starting | Self::Running | Self::Ending)
    }

    /// Returns whether nothing is left to do about it.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Merged | Self::Cancelled)
    }

    /// Returns whether it will not move without a person.
    pub fn is_halted(self) -> bool {
        matches!(self, Self::Parked | Self::Paused | Self::Failed | Self::Cancelled)
    }

    /// Returns whether a phase may go from this status to another.
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

/// A phase in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// What the roadmap says.
    pub spec: PhaseSpec,
    /// Where it stands.
    pub status: Status,
    /// Why it stands there.
    pub why: String,
    /// Since when, in milliseconds since 1970.
    pub since: u64,
    /// When its first worker started.
    pub started: Option<u64>,
    /// The last attempt that was begun; 0 before the first.
    pub attempt: u32,
    /// Attempts since the last progress whose worker died.
    pub deaths: u32,
    /// The stage that its worker is in.
    pub stage: Option<Stage>,
    /// Plans that are complete, and all.
    pub plans: (usize, usize),
    /// The plans that it is at, with their tasks: how many are done, and all.
    pub at: BTreeMap<String, (usize, usize)>,
    /// How many agents its worker may have; 0 before it is started.
    pub agents: usize,
    /// What its agents have used so far.
    pub spent: Money,
    /// The last word of the current attempt.
    pub last: Option<Report>,
    /// How its worker is to be ended.
    pub halt: Option<Halt>,
    /// The commit to merge, once complete.
    pub commit: Option<Commit>,
    /// The wave it belongs to, counted from one.
    pub wave: usize,
    /// The number of records of the current attempt that are read.
    pub read_through: Option<u64>,
    /// How many notes the current attempt was told.
    pub told: u32,
    /// How far the current attempt looks ahead; `None` of one that does all.
    pub through: Option<Stage>,
    /// The last stage that is done ahead.
    pub ahead: Option<Stage>,
    /// The files that its plans change, as its worker said.
    planned: Option<Vec<String>>,
    /// The files that are kept for it while its plans are not made.
    reserved: Vec<String>,
    /// Whether the attempt before this one ended with plans that were made and checked.
    checked: bool,
    /// Whether it has begun to execute.
    executed: bool,
    /// Whether it is not taken ahead any more.
    dropped: bool,
    /// Whether what its look-ahead left is being brought to the main root.
    gathering: bool,
    /// When its worker is ended by force if it has not ended by itself.
    due: Option<u64>,
    /// Dependencies that are not merged.
    unmet: usize,
    /// Dependencies that will not move without a person.
    halted_deps: usize,
    /// Questions about it, in the order they were put.
    items: Vec<u32>,
    /// Questions about it that are open.
    open_items: usize,
    /// Questions that the current attempt was the first to put.
    asked: usize,
}

impl Track {
    /// Returns whether it waits for a person because its merge did not work.
    pub fn awaits_merge(&self) -> bool {
        self.status == Status::Parked && self.commit.is_some()
    }
}

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub struct Lead {
    /// Its id; empty before it began.
    pub run: String,
    /// The branch that its work is for.
    pub target: String,
    /// The commit that phases start from: the target with all merges so far.
    pub tip: Commit,
    /// How it goes.
    pub settings: Settings,
    /// Which phases it takes in.
    pub scope: Scope,
    /// Its phases.
    pub phases: BTreeMap<PhaseNumber, Track>,
    /// Its questions.
    pub items: BTreeMap<u32, Item>,
    /// What the agents of all phases have used so far.
    pub spent: Money,
    /// Until when nothing is started, because a model does not answer.
    pub not_before: Option<u64>,
    /// What was begun and has no known end.
    pub open: BTreeMap<u64, Effect>,
    /// Whether nothing new is started.
    pub hold: Hold,
    /// Whether too many phases failed.
    pub breaker: bool,
    /// The commit that the target branch has followed to.
    pub followed: Option<Commit>,
    /// Where the target branch was seen last.
    pub stands_at: Commit,
    /// Why the target branch did not follow, and the command that makes it.
    pub follow_refused: Option<(String, String)>,
    /// Whether the last planning files are committed.
    pub closed: bool,
    /// Commands that are read.
    pub commands_through: Option<u64>,
    /// Failed phases since the breaker was last closed.
    failures: u32,
    /// When a worker was last started.
    last_start: Option<u64>,
    /// When the target branch was last let follow.
    last_follow: Option<u64>,
    next_effect: u64,
    /// Phases that hold a slot.
    live: BTreeSet<PhaseNumber>,
    /// The questions by their keys.
    asked: BTreeMap<String, u32>,
    /// Phases that may start, those that have executed before first.
    ready: BTreeSet<(bool, PhaseNumber)>,
    /// Phases that could be taken ahead, after their waves.
    candidates: BTreeSet<(usize, PhaseNumber)>,
    /// Phases that keep files for themselves.
    claims: Owners<PhaseNumber>,
    /// Phases that may start, with the files that they will change.
    wants: Owners<PhaseNumber>,
    /// Phases that were taken ahead and wait for their turn.
    pending: BTreeSet<PhaseNumber>,
    /// When the workers are ended by force that are at work and have such a time.
    dues: BTreeSet<(u64, PhaseNumber)>,
    /// Phases that wait for their merge, after their waves.
    to_merge: BTreeSet<(usize, PhaseNumber)>,
    /// Waves that are closed and have a phase that waits for its merge.
    closed_waves: BTreeSet<usize>,
    /// Which phases depend on a phase.
    dependents: BTreeMap<PhaseNumber, Vec<PhaseNumber>>,
    /// For each wave, how many of its phases can still move before it closes.
    unsettled: BTreeMap<usize, usize>,
    /// How many phases are merged, or not wanted any more.
    over: usize,
    /// The phase whose merge is under way.
    merging: Option<PhaseNumber>,
    /// Whether the target branch is being brought on.
    following: bool,
}

/// How a run stands as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Something is under way or about to begin.
    Moving,
    /// All phases are merged, or not wanted any more, and all is written down.
    Done,
    /// Only a person can move it.
    Waiting,
    /// Phases failed, or too many did, and nothing else can move.
    Failed,
}

impl Default for Lead {
    fn default() -> Self {
        Self {
            run: String::new(),
            target: String::new(),
            tip: Commit::new(),
            settings: Settings::default(),
            scope: Scope::Named,
            phases: BTreeMap::new(),
            items: BTreeMap::new(),
            spent: Money::default(),
            not_before: None,
            open: BTreeMap::new(),
            hold: Hold::None,
            breaker: false,
            followed: None,
            stands_at: Commit::new(),
            follow_refused: None,
            closed: false,
            commands_through: None,
            failures: 0,
            last_start: None,
            last_follow: None,
            next_effect: 0,
            live: BTreeSet::new(),
            asked: BTreeMap::new(),
            ready: BTreeSet::new(),
            candidates: BTreeSet::new(),
            claims: Owners::default(),
            wants: Owners::default(),
            pending: BTreeSet::new(),
            dues: BTreeSet::new(),
            to_merge: BTreeSet::new(),
            closed_waves: BTreeSet::new(),
            dependents: BTreeMap::new(),
            unsettled: BTreeMap::new(),
            over: 0,
            merging: None,
            following: false,
        }
    }
}

impl Lead {
    /// Returns the phases that hold a slot, with their attempts.
    pub fn live(&self) -> impl Iterator<Item = &Track> {
        self.live.iter().filter_map(|number| self.phases.get(number))
    }

    /// Returns the questions that are open.
    pub fn open_items(&self) -> impl Iterator<Item = &Item> {
        self.items.values().filter(|item| item.answer.is_none())
    }

    /// Returns whether the worker of a phase, or what it runs, shows no sign of life.
    pub fn is_stuck(&self, phase: PhaseNumber) -> bool {
        self.items_of(phase).any(|item| item.answer.is_none() && item.ask.kind.may_settle())
    }

    /// Returns how many agents the workers may have at work now, those about to start included.
    fn agents_taken(&self) -> usize {
        self.live().map(|track| track.agents.max(1)).sum()
    }

    /// Returns the questions about a phase.
    fn items_of(&self, phase: PhaseNumber) -> impl Iterator<Item = &Item> {
        let ids = self.phases.get(&phase).map_or(&[][..], |track| &track.items);
        ids.iter().filter_map(|id| self.items.get(id))
    }

    /// Returns whether a question, answered or not, was not withdrawn.
    fn is_put(&self, item: &Item) -> bool {
        self.asked.get(&item.ask.key) == Some(&item.id)
    }

    /// Returns phases that will start once what is at work is merged, as many as there are slots.
    pub fn soon(&self) -> Vec<PhaseNumber> {
        schedule::soon(self)
    }

    /// Returns whether all phases are merged, or not wanted any more.
    pub fn is_over(&self) -> bool {
        self.over == self.phases.len()
    }

    /// Finds lists that are not what they would be if they were computed anew. For tests.
    #[doc(hidden)]
    pub fn check_indices(&self) -> Result<(), String> {
        index::check_indices(self)
    }

    /// Returns how the run stands.
    pub fn standing(&self) -> Standing {
        // What shows no sign of life is for a person to judge.
        let moves = self.live.iter().any(|phase| !self.is_stuck(*phase));
        if moves || !self.open.is_empty() || schedule::has_next(self) {
            return Standing::Moving;
        }
        if self.is_over() {
            return Standing::Done;
        }
        let is_failure = |kind| matches!(kind, ItemKind::Failed | ItemKind::Breaker);
        let asks = self.open_items().any(|item| !is_failure(item.ask.kind));
        let failed = self.phases.values().any(|track| track.status == Status::Failed);
        if (failed || self.breaker) && !asks { Standing::Failed } else { Standing::Waiting }
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
