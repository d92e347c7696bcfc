//! The parts of a run's state, grouped by responsibility.
//!
//! `apply.rs` and `index.rs` change them; everything else only reads. Nothing here is stored: a
//! journal that is read again builds the same values.

use std::collections::{BTreeMap, BTreeSet};

use super::startable::StartablePhases;
use super::{Commit, Effect, Hold, PhaseSpec, Reason, Status};
use crate::file_scope::FileOwners;
use crate::inbox::{InboxItem, QuestionKey};
use crate::money::Spending;
use crate::phase::PhaseNumber;
use crate::report::{HaltOrder, HaltReason, Report};
use crate::stage::Stage;

/// The state of one phase in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseState {
    /// The phase as roadmap and planning files describe it.
    pub spec: PhaseSpec,
    /// Whether the person did not name the phase when the lead was started.
    pub(super) left_out: bool,
    /// The current status.
    pub status: Status,
    /// The reason for the status.
    pub why: Reason,
    /// When the status was set, in milliseconds since 1970.
    pub since: u64,
    /// When the first full attempt began, in milliseconds since 1970; look-aheads do not count.
    pub started: Option<u64>,
    /// The last attempt that was begun; 0 before the first.
    pub attempt: u32,
    /// How many workers died since the last task or plan was finished.
    pub deaths: u32,
    /// The stage that a worker reported last.
    pub stage: Option<Stage>,
    /// The number of complete plans, and of all plans.
    pub plans: (usize, usize),
    /// The plans that are being carried out, each with its number of finished tasks and of all tasks.
    pub open_plans: BTreeMap<String, (usize, usize)>,
    /// What agents decided in complete plans, each text once.
    pub decisions: Vec<String>,
    /// When each plan started and ended, in this run.
    pub plan_times: BTreeMap<String, PlanTime>,
    /// The number of the worker among those that run, counted from one; `None` without a worker.
    pub worker_number: Option<usize>,
    /// How many agents the worker may run at a time; 0 before the worker is started.
    pub agents: usize,
    /// The number of agents that the worker was told and has not confirmed.
    pub(super) agents_told: Option<usize>,
    /// What the agents of the phase have used so far.
    pub spent: Spending,
    /// The report that ended the current attempt; `None` while it runs.
    pub last_report: Option<Report>,
    /// Why the worker must stop early; `None` when it need not.
    pub halt: Option<HaltOrder>,
    /// The commit to merge, once complete.
    pub commit: Option<Commit>,
    /// The wave of the phase, counted from one: one more than the latest wave of its dependencies.
    pub wave: usize,
    /// The number of the last record that was read from the journal of the current attempt.
    pub read_through: Option<u64>,
    /// How many messages were sent to the current attempt.
    pub messages_sent: u32,
    /// The last stage of a current attempt that only looks ahead; `None` for a full attempt.
    pub through: Option<Stage>,
    /// The last stage that look-aheads have completed.
    pub ahead_through: Option<Stage>,
    /// The files that the plans name, as a worker reported them.
    pub(super) planned_files: Option<Vec<String>>,
    /// The files that are reserved for the phase while it has no plans.
    pub(super) reserved_files: Vec<String>,
    /// Whether the attempt before the current one ended with written and checked plans.
    pub(super) plans_checked: bool,
    /// Whether an attempt has reached the execute stage.
    pub(super) has_executed: bool,
    /// Whether no further look-ahead is tried, because one failed.
    pub(super) lookahead_dropped: bool,
    /// Whether the documents of a look-ahead are being copied to the main checkout.
    pub(super) collecting_lookahead: bool,
    /// When the worker is killed if it has not exited, in milliseconds since 1970.
    pub(super) kill_at: Option<u64>,
    /// How many dependencies are not merged.
    pub(super) unmet_dependencies: usize,
    /// How many dependencies cannot continue without a person.
    pub(super) halted_dependencies: usize,
    /// The numbers of the questions about the phase, in the order in which they were put.
    pub(super) question_ids: Vec<u32>,
    /// How many questions about the phase are open.
    pub(super) open_questions: usize,
    /// How many questions were put during the current attempt.
    pub(super) questions_asked: usize,
}

/// When a plan was carried out, by the times at which the lead read the reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanTime {
    /// When the plan started, in milliseconds since 1970.
    pub started: u64,
    /// When the plan was complete; `None` before.
    pub ended: Option<u64>,
    /// The number of its tasks.
    pub tasks: usize,
}

impl PhaseState {
    /// Returns the reason why the worker must stop early; `None` when it need not.
    pub fn halt_reason(&self) -> Option<HaltReason> {
        self.halt.as_ref().map(|order| order.how)
    }

    /// Returns whether the phase stays as it is, because the person did not name it this time.
    pub fn is_left_out(&self) -> bool {
        self.left_out && !self.status.is_over()
    }

    /// Returns whether the phase itself cannot start before a person does something.
    pub(super) fn is_held(&self) -> bool {
        self.is_left_out() || (self.status == Status::Waiting && self.spec.held.is_some())
    }

    /// Returns whether the phase waits for a person because its merge failed.
    pub fn awaits_merge(&self) -> bool {
        self.status == Status::Parked && self.commit.is_some()
    }
}

/// The questions that a run has put to people.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inbox {
    /// All questions, open, answered and withdrawn, by the number that people answer by.
    pub items: BTreeMap<u32, InboxItem>,
    /// The questions that count, by key. A withdrawn question is missing and may be put again.
    pub(super) by_key: BTreeMap<QuestionKey, u32>,
    /// The numbers of the questions that nobody has answered.
    pub(super) open: BTreeSet<u32>,
}

impl Inbox {
    /// Returns the questions that nobody has answered.
    pub fn open(&self) -> impl Iterator<Item = &InboxItem> {
        self.open.iter().filter_map(|id| self.items.get(id))
    }

    /// Returns whether a question with this key was put and not withdrawn.
    pub(super) fn has_key(&self, key: &QuestionKey) -> bool {
        self.by_key.contains_key(key)
    }

    /// Returns whether a question, answered or not, was not withdrawn.
    pub(super) fn is_put(&self, item: &InboxItem) -> bool {
        self.by_key.get(&item.ask.key) == Some(&item.id)
    }

    /// Returns the number of the newest question; 0 before the first.
    pub(super) fn last_id(&self) -> u32 {
        self.items.last_key_value().map_or(0, |(id, _)| *id)
    }

    /// Adds a question.
    pub(super) fn put(&mut self, item: &InboxItem) {
        self.by_key.insert(item.ask.key.clone(), item.id);
        self.items.insert(item.id, item.clone());
        if item.answer.is_none() {
            self.open.insert(item.id);
        }
    }

    /// Closes a question; returns it if it was open.
    pub(super) fn answer(&mut self, id: u32, text: &str) -> Option<&InboxItem> {
        let item = self.items.get_mut(&id).filter(|item| item.answer.is_none())?;
        item.answer = Some(text.to_owned());
        self.open.remove(&id);
        Some(item)
    }

    /// Forgets the key of a question, so that the question can be put again.
    pub(super) fn forget_key(&mut self, id: u32) {
        if let Some(item) = self.items.get(&id) {
            self.by_key.remove(&item.ask.key);
        }
    }
}

/// The run's target ref, which merges move, and the user's branch, which is fast-forwarded to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTarget {
    /// The user's branch that the work of the run is for.
    pub branch: String,
    /// The commit that phases start from: the target ref with all merges so far.
    pub tip: Commit,
    /// The commit of the last fast-forward, whether the branch accepted it or not.
    pub last_attempt: Option<Commit>,
    /// When that fast-forward began, in milliseconds since 1970; `None` before the first.
    pub(super) last_attempt_at: Option<u64>,
    /// The commit at which the branch was last seen.
    pub branch_tip: Commit,
    /// Why the branch was not fast-forwarded, and the command that does it.
    pub refusal: Option<(String, String)>,
    /// Whether the last planning files are committed.
    pub is_closed: bool,
}

impl RunTarget {
    /// Takes note of a fast-forward that did not work: the reason, and the command that repeats it.
    pub(super) fn refuse(&mut self, commit: Commit, reason: &str, command: &str) {
        self.last_attempt = Some(commit);
        self.refusal = Some((reason.to_owned(), command.to_owned()));
    }

    /// Takes note that the branch stands at a commit.
    pub(super) fn accept(&mut self, commit: Commit) {
        self.branch_tip.clone_from(&commit);
        self.last_attempt = Some(commit);
        self.refusal = None;
    }

    /// Returns whether the target ref has moved since the last fast-forward.
    pub(super) fn is_ahead_of_branch(&self) -> bool {
        self.last_attempt.as_ref() != Some(&self.tip)
    }
}

/// What delays or forbids the start of workers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StartGate {
    /// Whether the person who runs mow has asked for an end of all starts.
    pub hold: Hold,
    /// Whether the circuit breaker is open: too many phases failed, or the budget is used up.
    pub breaker_open: bool,
    /// Phases that failed since the breaker was last closed.
    pub(super) failures: u32,
    /// Until when nothing is started because a model does not answer, in milliseconds since 1970.
    pub not_before: Option<u64>,
    /// When a worker was last started, in milliseconds since 1970.
    pub(super) last_at: Option<u64>,
    /// Whether a person raised the number of workers since the lead started.
    pub(super) workers_raised: bool,
}

impl StartGate {
    /// Returns whether hold and breaker allow starts.
    pub(super) fn is_open(&self) -> bool {
        self.hold == Hold::None && !self.breaker_open
    }

    /// Returns the earliest time of the next start; `None` for at once.
    pub(super) fn earliest(&self, stagger_ms: u64) -> Option<u64> {
        let after_last = self.last_at.map(|last| last + stagger_ms);
        // While a model does not answer one worker, it would not answer another.
        after_last.max(self.not_before)
    }

    /// Opens or closes the breaker; failures are counted from here.
    pub(super) fn set_breaker(&mut self, is_open: bool) {
        self.breaker_open = is_open;
        self.failures = 0;
    }
}

/// The effects that were begun and have no known outcome.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EffectsInFlight {
    /// These effects by number.
    pub open: BTreeMap<u64, Effect>,
    /// The number of the next effect.
    pub(super) next_id: u64,
    /// The phase whose merge is under way.
    pub(super) merging: Option<PhaseNumber>,
    /// Whether the user's branch is being fast-forwarded.
    pub(super) fast_forwarding: bool,
}

impl EffectsInFlight {
    /// Adds an effect that is about to be released.
    pub(super) fn begin(&mut self, id: u64, effect: &Effect) {
        self.next_id = id + 1;
        self.open.insert(id, effect.clone());
        match effect {
            Effect::Merge { phase, .. } => self.merging = Some(*phase),
            Effect::FastForward { .. } => self.fast_forwarding = true,
            _ => {}
        }
    }

    /// Removes an effect whose outcome is known.
    pub(super) fn end(&mut self, id: u64) -> Option<Effect> {
        let effect = self.open.remove(&id);
        match &effect {
            Some(Effect::Merge { .. }) => self.merging = None,
            Some(Effect::FastForward { .. }) => self.fast_forwarding = false,
            _ => {}
        }
        effect
    }
}

/// Lists derived from the phases, so that the cost of an event does not grow with their number.
///
/// `index.rs` keeps them up to date; the tests compare them with lists that are computed anew.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseIndex {
    /// Phases that hold a slot.
    pub(super) live: BTreeSet<PhaseNumber>,
    /// The agents of these phases.
    pub(super) agents: AgentShares,
    /// Phases that are not over and whose dependencies are all merged.
    pub(super) unblocked: BTreeSet<PhaseNumber>,
    /// Phases that may start. Those that have executed before come first.
    pub(super) ready: BTreeSet<(bool, PhaseNumber)>,
    /// The same phases, by whether another phase claims their files.
    pub(super) startable: StartablePhases,
    /// Phases that a look-ahead could begin, ordered by wave.
    pub(super) lookahead_candidates: BTreeSet<(usize, PhaseNumber)>,
    /// Phases whose looked-ahead work waits for their turn.
    pub(super) lookahead_waiting: BTreeSet<PhaseNumber>,
    /// Phases that have begun, with the files that no other phase may change until they are merged.
    pub(super) claimed_files: FileOwners<PhaseNumber>,
    /// Phases that may start, with the files that they will change.
    pub(super) wanted_files: FileOwners<PhaseNumber>,
    /// When running workers are killed that should have ended by themselves.
    pub(super) kill_times: BTreeSet<(u64, PhaseNumber)>,
    /// Phases that wait for their merge, ordered by wave.
    pub(super) to_merge: BTreeSet<(usize, PhaseNumber)>,
    /// Waves in which nothing can move any more and at least one phase waits for its merge.
    pub(super) closed_waves: BTreeSet<usize>,
    /// For each wave, how many of its phases can still move before the wave closes.
    pub(super) open_phases_by_wave: BTreeMap<usize, usize>,
    /// For each phase, the phases that depend on it.
    pub(super) dependents: BTreeMap<PhaseNumber, Vec<PhaseNumber>>,
    /// How many phases are merged or cancelled.
    pub(super) over_count: usize,
}

/// How many agents the workers of all phases that hold a slot may run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AgentShares {
    by_phase: BTreeMap<PhaseNumber, usize>,
    /// The sum of all shares.
    pub(super) given: usize,
    /// How many phases have no share yet, because their workers are about to start.
    pub(super) starting: usize,
}

impl AgentShares {
    /// Sets the share of a phase; `None` for a phase that holds no slot.
    pub(super) fn set(&mut self, phase: PhaseNumber, share: Option<usize>) {
        let old = match share {
            Some(share) => self.by_phase.insert(phase, share),
            None => self.by_phase.remove(&phase),
        };
        self.given = self.given + share.unwrap_or(0) - old.unwrap_or(0);
        self.starting += usize::from(share == Some(0));
        self.starting -= usize::from(old == Some(0));
    }
}
