//! The inputs, events, effects and outcomes of a worker.
//!
//! Events, effects and outcomes are stored in journals: their serialised names never change, whatever
//! the Rust names are. `rename` keeps the stored name where the two differ.

use serde::{Deserialize, Serialize};

use super::role::Role;
use super::snapshot::PhaseSnapshot;
use super::task_knowledge::TaskKnowledge;
use crate::inbox::{InboxAnswer, InboxQuestion, QuestionKey};
use crate::report::{AgentSpending, Brief, HaltOrder, HaltOrigin, LeadMessage, Report};
use crate::stage::Stage;

/// A plan as it was when the execute stage began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrozenPlan {
    /// The id of the plan.
    pub id: String,
    /// The hash of the text.
    pub hash: String,
    /// The text of the plan. Checks are read from here and from nowhere else.
    pub text: String,
    /// Whether the plan was complete before this phase had a commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub older: bool,
}

/// The result of a check, and the code that it ran on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The commit that the check ran on.
    pub commit: String,
    /// The tree of that commit.
    pub tree: String,
    /// The hash of all files except planning files; code with the same hash is not checked twice.
    pub code: String,
    /// The shell command of the check.
    pub command: String,
    /// The exit code; `None` when the command did not finish.
    pub exit: Option<i32>,
    /// The hash of the output.
    pub output: String,
    /// When the check ended, in milliseconds since 1970.
    pub at: u64,
    /// Whether the check ran in a fresh checkout.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// The seal that proves that the worker wrote the evidence, and no agent.
    #[serde(default)]
    pub seal: String,
}

/// The verdict of a plan checker or verifier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing is missing.
    Passed,
    /// Something is missing.
    Gaps {
        /// What is missing, for people.
        text: String,
    },
    /// A person must review the result.
    HumanNeeded {
        /// What to review, for people.
        text: String,
    },
}

/// What a worker reacts to.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The attempt begins.
    Begin {
        /// The start message of the lead.
        brief: Brief,
        /// The process id of the worker.
        pid: u32,
    },
    /// The outcome of an effect is known.
    Finished {
        /// The number of the effect.
        id: u64,
        /// The outcome.
        outcome: Outcome,
    },
    /// A running effect seems stuck.
    Stuck {
        /// The number of the effect.
        id: u64,
        /// The measurements that show it, for people.
        signs: String,
    },
    /// An effect that seemed stuck is active again.
    ActiveAgain {
        /// The number of the effect.
        id: u64,
    },
    /// A message of the lead arrived.
    FromLead(LeadMessage),
    /// An agent used tokens.
    Spent(AgentSpending),
    /// The lead has not confirmed reports for too long.
    LeadSilent {
        /// The sentence for STATUS.md.
        text: String,
    },
    /// The lead has acknowledged the blocker that the worker waits for.
    BlockerAcknowledged,
    /// A check was run.
    CheckRan(Evidence),
    /// The agent of a task has ended with a report.
    TaskReported(TaskKnowledge),
    /// The engine noticed something that people should know.
    Noted {
        /// A sentence for people.
        text: String,
    },
}

/// What a worker records in the journal of its attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The brief arrived.
    Briefed {
        /// The start message of the lead.
        brief: Brief,
    },
    /// An effect is about to be released.
    Intended {
        /// The number of the effect.
        id: u64,
        /// The effect.
        effect: Effect,
    },
    /// The outcome of an effect is known.
    Finished {
        /// The number of the effect.
        id: u64,
        /// The outcome.
        outcome: Outcome,
    },
    /// The attempt must end early.
    Halted(HaltOrder),
    /// The lead has set how many agents may run at a time.
    AgentsSet {
        /// The number of agents.
        count: usize,
    },
    /// All running effects are interrupted.
    Interrupted,
    /// A running effect seems stuck.
    Stuck {
        /// The number of the effect.
        id: u64,
        /// The identity of the question about it.
        key: QuestionKey,
        /// What is stuck, with the measurements, for people.
        text: String,
    },
    /// An effect that seemed stuck is active again.
    #[serde(rename = "moving")]
    ActiveAgain {
        /// The number of the effect.
        id: u64,
    },
    /// A person decided what to do about a stuck effect.
    Decided {
        /// The number of the effect.
        id: u64,
        /// The chosen answer.
        choice: String,
    },
    /// The lead does not confirm reports.
    #[serde(rename = "unheard")]
    LeadSilent {
        /// The sentence in STATUS.md.
        text: String,
    },
    /// The lead has acknowledged the blocker that the worker waited for.
    BlockerAcknowledged,
    /// The lead did not acknowledge a blocker in time.
    BlockerUnanswered {
        /// The sentence in STATUS.md.
        text: String,
    },
    /// The seals of this attempt; always the first record.
    Sealed {
        /// The root of the seal chain for commits.
        root: String,
        /// The root of the seal chain for evidence.
        proofs: String,
    },
    /// A check was run.
    #[serde(rename = "proved")]
    CheckRan(Evidence),
    /// The agent of a task has ended with a report. Recorded before the task is committed.
    TaskReported(TaskKnowledge),
    /// A report to the lead.
    Reported(Report),
}

/// What a worker has done by the engine. Each effect is idempotent: repeating it after a crash is safe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Inspect the files and commits of the phase.
    #[serde(rename = "look")]
    Inspect,
    /// Write CONTEXT.md.
    WriteContext {
        /// The answers of people; empty when nobody was asked.
        answers: Vec<InboxAnswer>,
    },
    /// Run the agent or command of a role.
    RunRole {
        /// The role.
        role: Role,
        /// The round, counted from zero.
        round: u32,
    },
    /// Freeze the plans, so that nobody can change their checks.
    Freeze,
    /// Carry out a task, commit it and check it.
    RunTask {
        /// The plan.
        plan: String,
        /// The task, counted from one.
        task: usize,
        /// Whether the plan runs in parallel: only files in its scope are committed, and the checks
        /// run later.
        #[serde(default, rename = "beside", skip_serializing_if = "std::ops::Not::not")]
        parallel: bool,
    },
    /// Move uncommitted changes to a rescue ref before plans run in parallel.
    #[serde(rename = "clear")]
    PrepareParallel {
        /// The plans.
        plans: Vec<String>,
    },
    /// Look for changes of parallel plans outside their file scopes.
    #[serde(rename = "gather")]
    CheckFileScopes {
        /// The plans.
        plans: Vec<String>,
    },
    /// Run the checks of a plan that ran in parallel; undo tasks that do not pass.
    CheckPlan {
        /// The plan.
        plan: String,
    },
    /// Write a plan's summary and make its closing commit.
    ClosePlan {
        /// The plan.
        plan: String,
        /// When the plan began, in milliseconds since 1970.
        began: u64,
    },
    /// Run the checks of complete plans, if the phase was interrupted before.
    CheckCompletePlans,
    /// Make the last commit of the phase.
    ClosePhase,
    /// Keep uncommitted changes, and write a checkpoint with the place to continue.
    Checkpoint {
        /// `failed`, `paused`, `cancelled` or `timeout`.
        status: String,
        /// The reason, for people.
        reason: String,
        /// The current plan.
        plan: Option<String>,
        /// The current task, counted from one.
        task: Option<usize>,
        /// The current stage; `None` before the first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stage: Option<Stage>,
        /// Who or what stopped the phase; `None` after a failure and at the time limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<HaltOrigin>,
    },
    /// LeadMessage something in STATUS.md.
    NoteStatus {
        /// The sentence.
        text: String,
    },
    /// Interrupt running effects.
    Interrupt {
        /// The number of the effect; `None` for all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<u64>,
    },
}

impl Effect {
    /// Returns the plan that the effect works on; `None` for other effects.
    pub fn plan(&self) -> Option<&str> {
        match self {
            Self::RunTask { plan, .. }
            | Self::CheckPlan { plan }
            | Self::ClosePlan { plan, .. } => Some(plan),
            _ => None,
        }
    }

    /// Returns whether the effect runs commands or agents, which can be interrupted.
    pub fn is_long(&self) -> bool {
        matches!(
            self,
            Self::RunTask { .. }
                | Self::RunRole { .. }
                | Self::CheckPlan { .. }
                | Self::CheckCompletePlans
        )
    }
}

/// The outcome of an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The effect succeeded and has no result.
    Done,
    /// The phase was inspected.
    #[serde(rename = "found")]
    Inspected {
        /// The result of the inspection.
        found: PhaseSnapshot,
    },
    /// The plans are frozen.
    Frozen {
        /// All plans of the phase.
        plans: Vec<FrozenPlan>,
        /// The hash of git's configuration, which agents must not change.
        settings: String,
    },
    /// The work is committed.
    Committed {
        /// The commit; `None` when there was nothing to commit.
        commit: Option<String>,
    },
    /// A plan or the phase is closed.
    Closed {
        /// The closing commit; `None` when there was nothing to commit.
        commit: Option<String>,
        /// What agents decided in the plan or in the phase.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        decisions: Vec<String>,
    },
    /// A plan checker or verifier has decided.
    Verdict {
        /// The verdict.
        #[serde(flatten)]
        verdict: Verdict,
    },
    /// The task cannot continue without a decision.
    Blocked {
        /// The blocker, for people.
        text: String,
    },
    /// A check did not pass; the task and all later ones of the plan were undone.
    Undone {
        /// The first undone task, counted from one.
        task: usize,
        /// The reason, for people.
        reason: String,
    },
    /// An agent needs answers before it can continue.
    Asked {
        /// The questions.
        asks: Vec<InboxQuestion>,
    },
    /// The model is unavailable for a while.
    #[serde(rename = "later")]
    RetryLater {
        /// The reason, for people.
        reason: String,
        /// The wait that the model asked for, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait_ms: Option<u64>,
    },
    /// A permanent failure: a retry is useless before a person has acted.
    #[serde(rename = "hopeless")]
    PermanentFailure {
        /// What the person has to do.
        reason: String,
        /// Whether all phases are affected, for example by a missing login.
        #[serde(rename = "everybody")]
        affects_all_phases: bool,
    },
    /// The effect was interrupted.
    Interrupted,
    /// The effect failed.
    Failed {
        /// The reason, for people.
        reason: String,
    },
}
