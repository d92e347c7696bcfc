//! The parts of a worker's state, grouped by responsibility.
//!
//! Only `Worker::apply` changes them. Nothing here is stored: the journal of an attempt builds the
//! same values again.

use std::collections::{BTreeMap, BTreeSet};

use super::{Effect, Outcome, Role, Verdict};
use crate::inbox::{InboxQuestion, QuestionKey};
use crate::report::{HaltOrder, HaltReason, THROTTLED_MAX_MS};

/// How often in a row a model may be unavailable before the phase fails.
pub(super) const UNAVAILABLE_MAX: u32 = 10;
/// How long the first wait for a model is; each further one is twice as long.
const FIRST_WAIT_MS: u64 = 30_000;

/// The effects that were begun and have no known outcome.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunningEffects {
    /// These effects by number.
    pub running: BTreeMap<u64, Effect>,
    /// The number of the next effect.
    pub(super) next_id: u64,
    /// Effects that seem stuck, with the questions about them.
    pub(super) stuck: BTreeMap<u64, QuestionKey>,
    /// Effects that a person gave up and that are being interrupted.
    pub(super) given_up: BTreeSet<u64>,
}

impl RunningEffects {
    /// Returns whether nothing is running.
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Returns whether every running effect seems stuck.
    pub(super) fn are_all_stuck(&self) -> bool {
        self.running.keys().all(|id| self.stuck.contains_key(id))
    }

    /// Returns whether an effect of this plan is running.
    pub(super) fn has_plan(&self, plan: &str) -> bool {
        self.running.values().any(|effect| effect.plan() == Some(plan))
    }

    /// Adds an effect that is about to be released.
    pub(super) fn begin(&mut self, id: u64, effect: &Effect) {
        self.next_id = id + 1;
        self.running.insert(id, effect.clone());
    }

    /// Removes an effect whose outcome is known.
    pub(super) fn end(&mut self, id: u64) -> Option<Effect> {
        self.stuck.remove(&id);
        self.given_up.remove(&id);
        self.running.remove(&id)
    }

    /// Returns the outcome that counts: an interrupted effect that a person gave up has failed.
    pub(super) fn final_outcome(&self, id: u64, outcome: &Outcome) -> Outcome {
        if self.given_up.contains(&id) && *outcome == Outcome::Interrupted {
            let reason = "it was stuck, and a person gave it up".to_owned();
            return Outcome::Failed { reason };
        }
        outcome.clone()
    }
}

/// How far the plans of the phase are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanProgress {
    /// Whether the plans are frozen: their checks can no longer change.
    pub(super) is_frozen: bool,
    /// The plans that the last inspection found; `None` before the first.
    pub(super) known: Option<BTreeSet<String>>,
    /// Plans that are complete.
    pub done: BTreeSet<String>,
    /// Tasks that are done in plans that are not complete.
    pub tasks_done: BTreeMap<String, BTreeSet<usize>>,
    /// Plans that cannot continue without a decision: the task and the reason.
    pub blocked: BTreeMap<String, (usize, String)>,
    /// Plans that have begun and are not closed, with their start in milliseconds since 1970.
    pub started: BTreeMap<String, u64>,
    /// Plans with tasks that are committed and whose checks have not been run.
    pub(super) unchecked: BTreeSet<String>,
    /// How often each plan failed in a row, and the last reason.
    pub(super) failures: BTreeMap<String, (u32, String)>,
}

impl PlanProgress {
    /// Returns whether a task, counted from one, is done.
    pub(super) fn is_task_done(&self, plan: &str, task: usize) -> bool {
        self.tasks_done.get(plan).is_some_and(|done| done.contains(&task))
    }

    /// Marks a task as done.
    pub(super) fn finish_task(&mut self, plan: &str, task: usize) {
        self.tasks_done.entry(plan.to_owned()).or_default().insert(task);
    }

    /// Marks a task and all later ones of its plan as not done.
    pub(super) fn undo_from(&mut self, plan: &str, task: usize) {
        self.tasks_done.entry(plan.to_owned()).or_default().retain(|done| *done < task);
    }

    /// Counts a failure of a plan.
    pub(super) fn count_failure(&mut self, plan: &str, reason: &str) {
        let failure = self.failures.entry(plan.to_owned()).or_default();
        *failure = (failure.0 + 1, reason.to_owned());
    }
}

/// The plans that run in parallel in one worktree.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum ParallelGroup {
    /// Plans run one after the other.
    #[default]
    None,
    /// These plans run in parallel, or have stopped and wait for the others.
    Running(BTreeSet<String>),
    /// All have stopped and stayed within their file scopes; these plans are checked and closed.
    Closing(BTreeSet<String>),
}

impl ParallelGroup {
    /// Returns the group that runs these plans in parallel.
    pub(super) fn running(plans: BTreeSet<String>) -> Self {
        if plans.is_empty() { Self::None } else { Self::Running(plans) }
    }

    /// Returns the group that closes these plans.
    fn closing(plans: BTreeSet<String>) -> Self {
        if plans.is_empty() { Self::None } else { Self::Closing(plans) }
    }

    /// Returns the plans of the group.
    pub(super) fn plans(&self) -> impl Iterator<Item = &String> {
        let plans = match self {
            Self::None => None,
            Self::Running(plans) | Self::Closing(plans) => Some(plans),
        };
        plans.into_iter().flatten()
    }

    /// Returns whether a plan belongs to the group.
    pub(super) fn contains(&self, plan: &str) -> bool {
        match self {
            Self::None => false,
            Self::Running(plans) | Self::Closing(plans) => plans.contains(plan),
        }
    }
}

/// The state of parallel execution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParallelPlans {
    /// The plans that run in parallel now.
    pub(super) group: ParallelGroup,
    /// Plans that must not run in parallel any more.
    pub(super) excluded: BTreeSet<String>,
    /// Why the result of parallel plans cannot be used.
    pub(super) failure: Option<String>,
    /// How many agents may run at a time.
    pub(super) agents_max: usize,
    /// Whether the lead does not know yet that the worker keeps to this number.
    agents_unconfirmed: bool,
}

impl ParallelPlans {
    /// Sets how many agents may run at a time.
    pub(super) fn set_agents(&mut self, count: usize) {
        (self.agents_max, self.agents_unconfirmed) = (count, true);
    }

    /// Takes note that the lead was told of the number.
    pub(super) fn agents_confirmed(&mut self) {
        self.agents_unconfirmed = false;
    }

    /// Returns the number of agents that has to be confirmed while this many are running.
    pub(super) fn agents_to_confirm(&self, running: usize) -> Option<usize> {
        (self.agents_unconfirmed && running <= self.agents_max).then_some(self.agents_max)
    }

    /// Moves on to closing the plans of the group that are still open.
    pub(super) fn begin_closing(&mut self, is_open: impl Fn(&str) -> bool) {
        let open = self.group.plans().filter(|plan| is_open(plan)).cloned().collect();
        self.group = ParallelGroup::closing(open);
    }

    /// Takes note that a plan has stopped. While the group runs, the plan stays a member, because
    /// its changes are compared with its file scope when all members have stopped.
    pub(super) fn stop_plan(&mut self, plan: &str) {
        if let ParallelGroup::Closing(plans) = &mut self.group {
            plans.remove(plan);
            if plans.is_empty() {
                self.group = ParallelGroup::None;
            }
        }
    }
}

/// How far an attempt is on its way to its end. Steps are only ever taken forwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EndingStep {
    /// The attempt works.
    #[default]
    Working,
    /// Running effects were interrupted, because of a cancellation or a timeout.
    Interrupted,
    /// The checkpoint is written.
    Checkpointed,
    /// The last report is written.
    Ended,
}

/// The checks of the plans that were complete when an attempt began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum CompletePlansCheck {
    /// They have not run.
    #[default]
    Open,
    /// They passed, or need not run.
    Passed,
    /// One failed, for this reason.
    Failed(String),
}

/// Start and end of the attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lifecycle {
    /// When the attempt began, in milliseconds since 1970.
    pub(super) began: u64,
    /// Why the attempt must end early.
    pub halt: Option<HaltOrder>,
    /// How far the attempt is on its way to its end.
    pub(super) step: EndingStep,
    /// How the attempt ended, in the words of STATUS.md.
    pub(super) end: Option<&'static str>,
    /// Whether this attempt has inspected the phase.
    pub(super) has_inspected: bool,
    /// The checks of the plans that were complete when the attempt began.
    pub(super) complete_plans: CompletePlansCheck,
    /// The last commit of the phase, once it is made.
    pub(super) final_commit: Option<String>,
}

impl Lifecycle {
    /// Returns whether the phase is cancelled.
    pub(super) fn is_cancelled(&self) -> bool {
        self.halt.as_ref().is_some_and(|order| order.how == HaltReason::Cancelled)
    }

    /// Moves on to a step, unless a later one is reached already.
    pub(super) fn reach(&mut self, step: EndingStep) {
        self.step = self.step.max(step);
    }
}

/// Failures that belong to no plan, and waits for unavailable models.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Retries {
    /// How often the current step failed in a row.
    pub(super) tries: u32,
    /// Why it failed the last time.
    pub(super) problem: Option<String>,
    /// How often inspecting the phase failed.
    pub(super) failed_inspections: u32,
    /// When to continue after a model was unavailable, in milliseconds since 1970.
    pub(super) retry_at: Option<u64>,
    /// How often in a row a model was unavailable.
    pub(super) unavailable: u32,
    /// Why another try is of no use.
    pub(super) permanent_failure: Option<String>,
}

impl Retries {
    /// Counts a failure of the current step.
    pub(super) fn count_failure(&mut self, reason: &str) {
        self.tries += 1;
        self.problem = Some(reason.to_owned());
    }

    /// Forgets the failures of a step that has succeeded, or of the stage before.
    pub(super) fn reset(&mut self) {
        (self.tries, self.problem) = (0, None);
    }

    /// Returns why the current step failed the last time; empty when it has not.
    pub(super) fn last_problem(&self) -> String {
        self.problem.clone().unwrap_or_default()
    }

    /// Returns when to try again after a model was unavailable; `None` when it was so too often.
    ///
    /// `asked_ms` is the wait that the model asked for, `first_ms` the first wait that is set.
    pub(super) fn next_try(
        &self,
        asked_ms: Option<u64>,
        first_ms: Option<u64>,
        now: u64,
    ) -> Option<u64> {
        let first = first_ms.unwrap_or(FIRST_WAIT_MS);
        let own = first.saturating_mul(1 << self.unavailable.min(UNAVAILABLE_MAX));
        let wait = asked_ms.unwrap_or(0).max(own).min(THROTTLED_MAX_MS);
        (self.unavailable < UNAVAILABLE_MAX).then_some(now + wait)
    }
}

/// Questions to people.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Questions {
    /// The keys of the questions that this attempt has put.
    pub(super) asked: BTreeSet<QuestionKey>,
    /// The questions of an agent that waits for the answers.
    pub(super) pending: Vec<InboxQuestion>,
}

/// What the roles of the current stage have done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoleProgress {
    /// The role that finished its job in this stage; `None` again after the checker refused.
    pub(super) finished: Option<Role>,
    /// How often the plan checker has refused the plans.
    pub(super) rounds: u32,
    /// Whether the plans passed the check, in this attempt or in the one just before.
    pub(super) plans_checked: bool,
}

/// How far the gaps are closed that a person wants closed. Steps are only ever taken forwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GapClosing {
    /// No plans were written for them.
    #[default]
    NotPlanned,
    /// The planner has written plans for them.
    Planned,
    /// The worker went back to the execute stage to carry out these plans.
    Executing,
}

/// The state of the refine stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Refinement {
    /// What the verifier of this attempt found.
    pub(super) verdict: Option<Verdict>,
    /// How far the gaps are closed.
    pub(super) gap_closing: GapClosing,
}

impl Refinement {
    /// Moves on to a step, unless a later one is reached already.
    pub(super) fn reach(&mut self, step: GapClosing) {
        self.gap_closing = self.gap_closing.max(step);
    }
}
