//! The inputs, events, effects and outcomes of the lead.
//!
//! Events, effects and outcomes are stored in journals: their serialised names never change, whatever
//! the Rust names are. `rename` keeps the stored name where the two differ.

use serde::{Deserialize, Serialize};

use super::{
    Caller, Command, CommandEffect, CommandOrigin, Commit, ConflictedFile, Reason, Settings, Status,
};
use crate::inbox::InboxItem;
use crate::money::{AgentSpending, Spending};
use crate::phase::PhaseNumber;
use crate::report::{Brief, HaltOrder, LeadMessage, Report};
use crate::stage::Stage;

/// A phase as the roadmap and its planning files describe it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseSpec {
    /// The number that the roadmap gives the phase.
    pub number: PhaseNumber,
    /// The title in the roadmap.
    pub name: String,
    /// The phases of this run that must be merged before this one starts.
    pub depends_on: Vec<PhaseNumber>,
    /// Whether the roadmap marks the phase as done.
    pub done: bool,
    /// The normalised paths that the plans name; `None` while the phase has no plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touches: Option<Vec<String>>,
    /// Why the phase must not start, whatever it depends on, as a sentence; `None` if it may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// The stages before execute that still have work to do, and that a look-ahead could do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ahead: Vec<Stage>,
}

impl PhaseSpec {
    /// Returns whether the roadmap entries are equal; file scope and open stages are ignored.
    pub(super) fn is_same_in_roadmap(&self, other: &Self) -> bool {
        let roadmap_entry = |spec: &Self| Self { touches: None, ahead: Vec::new(), ..spec.clone() };
        roadmap_entry(self) == roadmap_entry(other)
    }
}

/// Which phases belong to a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunScope {
    /// The phases that were named at the start.
    #[default]
    Named,
    /// All phases of the roadmap, including those that are added later.
    All,
}

/// Whether the lead may start workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// Workers are started.
    #[default]
    None,
    /// No worker is started; running workers finish their phases.
    Draining,
    /// No worker is started; running workers stop after a checkpoint.
    Stopping,
}

/// What the lead reacts to.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A new run begins.
    Begin {
        /// The id of the run.
        run: String,
        /// The user's branch that the work is for.
        target: String,
        /// The commit of that branch.
        tip: Commit,
    },
    /// A lead process takes up the run, for the first time or again, and may start workers.
    LeadStarted {
        /// The settings that hold from now on.
        settings: Settings,
    },
    /// The roadmap was read.
    Roadmap {
        /// Which phases belong to the run.
        scope: RunScope,
        /// The phases of the run as the roadmap describes them now.
        phases: Vec<PhaseSpec>,
    },
    /// A report was read from a worker's journal.
    Report {
        /// The phase of the worker.
        phase: PhaseNumber,
        /// The attempt that wrote the report.
        attempt: u32,
        /// The number of the record in the worker's journal.
        seq: u64,
        /// The report.
        report: Report,
    },
    /// A worker and all its child processes have exited; all its reports have been read.
    WorkerExited {
        /// The phase of the worker.
        phase: PhaseNumber,
        /// The attempt of the worker; older attempts are ignored.
        attempt: u32,
    },
    /// A worker process is alive and shows no activity.
    WorkerHung {
        /// The phase of the worker.
        phase: PhaseNumber,
        /// The attempt of the worker; older attempts are ignored.
        attempt: u32,
        /// The measurements that show it, for people.
        signs: String,
    },
    /// A worker that seemed stuck is active again.
    WorkerActive {
        /// The phase of the worker.
        phase: PhaseNumber,
        /// The attempt of the worker; older attempts are ignored.
        attempt: u32,
    },
    /// The outcome of an effect is known.
    Finished {
        /// The number of the effect.
        id: u64,
        /// The outcome.
        outcome: Outcome,
    },
    /// A command was read.
    Command {
        /// The number of the command in the command file; each number counts once.
        seq: u64,
        /// The command.
        command: Command,
        /// Who gave the command, and what the person saw.
        origin: CommandOrigin,
    },
    /// Starts are forbidden or allowed.
    Hold(Hold),
    /// A person closes the run, even if some phases are not merged.
    Close {
        /// Who closes it.
        by: Caller,
    },
    /// The lead did something that people should know.
    Announced {
        /// A sentence for people.
        text: String,
    },
    /// People should know something about a phase before it is merged.
    Noted {
        /// The phase.
        phase: PhaseNumber,
        /// A sentence for people.
        text: String,
    },
    /// An agent that works for the lead, not for a worker, used tokens.
    Spent {
        /// The phase that is charged.
        phase: PhaseNumber,
        /// The tokens and dollars.
        spent: AgentSpending,
    },
}

/// What the lead records in the run's journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run began.
    Begun {
        /// The id of the run.
        run: String,
        /// The user's branch that the work is for.
        target: String,
        /// The commit of that branch.
        tip: Commit,
    },
    /// A lead process took up the run.
    #[serde(rename = "taken_up")]
    LeadStarted {
        /// The settings that hold from now on.
        settings: Settings,
    },
    /// The roadmap was read and its phases or dependencies have changed.
    #[serde(rename = "planned")]
    RoadmapRead {
        /// Which phases belong to the run.
        scope: RunScope,
        /// All phases of the run.
        phases: Vec<PhaseSpec>,
    },
    /// The planning files of some phases have changed; the roadmap has not.
    Observed {
        /// The changed phases.
        phases: Vec<PhaseSpec>,
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
    /// A worker's report was read.
    Reported {
        /// The phase of the worker.
        phase: PhaseNumber,
        /// The attempt that wrote the report.
        attempt: u32,
        /// The number of the record in the worker's journal.
        seq: u64,
        /// The report.
        report: Report,
    },
    /// The status of a phase changed.
    #[serde(rename = "moved")]
    StatusChanged {
        /// The phase.
        phase: PhaseNumber,
        /// The attempt that is current from now on.
        attempt: u32,
        /// The new status.
        to: Status,
        /// The reason.
        why: Reason,
        /// The last stage of an attempt that only looks ahead; `None` for a full attempt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ahead: Option<Stage>,
    },
    /// A worker is to stop early.
    Halted {
        /// The phase of the worker.
        phase: PhaseNumber,
        /// When the worker stops, and why.
        #[serde(flatten)]
        order: HaltOrder,
    },
    /// A worker that was to stop may continue. If it stops nevertheless, another one is started.
    Unhalted {
        /// The phase of the worker.
        phase: PhaseNumber,
    },
    /// A worker exited without a last report.
    #[serde(rename = "died")]
    WorkerDied {
        /// The phase of the worker.
        phase: PhaseNumber,
    },
    /// The lead did something that people should know; the state does not change.
    #[serde(rename = "told")]
    Announced {
        /// A sentence for people.
        text: String,
    },
    /// People should know something about a phase; the state does not change.
    Noted {
        /// The phase.
        phase: PhaseNumber,
        /// A sentence for people.
        text: String,
    },
    /// An agent that works for the lead, not for a worker, used tokens.
    Spent {
        /// The phase that is charged.
        phase: PhaseNumber,
        /// The tokens and dollars.
        spent: AgentSpending,
    },
    /// A question was put into the inbox.
    Asked {
        /// The question.
        item: InboxItem,
    },
    /// A person answered a question, directly or by a command that implies the answer.
    Answered {
        /// The number of the question.
        item: u32,
        /// The answer.
        text: String,
    },
    /// A question no longer matters. It may be put again.
    Withdrawn {
        /// The number of the question.
        item: u32,
    },
    /// A command was read.
    Commanded {
        /// The number of the command in the command file.
        seq: u64,
        /// The command.
        command: Command,
        /// The result.
        effect: CommandEffect,
        /// Who gave the command; `None` in journals of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Caller>,
    },
    /// The most workers that run at a time changed.
    WorkersSet {
        /// The new number.
        max: usize,
    },
    /// The circuit breaker opened, or a person closed it.
    Breaker {
        /// Whether the breaker is open now.
        open: bool,
    },
    /// A person closed the run: nothing starts, merges or asks any more.
    #[serde(rename = "run_closed")]
    Closed {
        /// Who closed it.
        by: Caller,
        /// The phases that are neither merged nor cancelled.
        open: Vec<PhaseNumber>,
    },
    /// Starts were forbidden or allowed.
    Held {
        /// The new hold.
        hold: Hold,
    },
}

/// What the lead has done by the engine. Each effect is idempotent: repeating it after a crash is safe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Create the worktree of a phase, and claim the phase.
    Prepare {
        /// The phase.
        phase: PhaseNumber,
        /// The attempt that will work there.
        attempt: u32,
        /// The commit to start from.
        base: Commit,
        /// Whether existing work in the worktree is rebased onto that commit.
        #[serde(default)]
        renew: bool,
    },
    /// Start a worker.
    Start {
        /// The start message of the worker.
        brief: Brief,
    },
    /// Send a message to a worker.
    #[serde(rename = "tell")]
    SendMessage {
        /// The phase of the worker.
        phase: PhaseNumber,
        /// The attempt of the worker; older attempts are ignored.
        attempt: u32,
        /// The number of the message within the attempt, counted from one.
        n: u32,
        /// The message.
        note: LeadMessage,
    },
    /// Kill a worker and all its child processes.
    #[serde(rename = "end")]
    KillWorker {
        /// The phase of the worker.
        phase: PhaseNumber,
        /// The attempt of the worker; older attempts are ignored.
        attempt: u32,
    },
    /// Copy the documents of a look-ahead to the main checkout, and reset the worktree to its commit.
    #[serde(rename = "gather")]
    CollectLookahead {
        /// The phase.
        phase: PhaseNumber,
        /// The attempt.
        attempt: u32,
        /// The last complete stage. Output of later stages is moved to a rescue ref.
        through: Option<Stage>,
    },
    /// Merge a complete phase into the target ref.
    Merge {
        /// The phase.
        phase: PhaseNumber,
        /// The attempt.
        attempt: u32,
        /// The last commit of the phase.
        commit: Commit,
        /// The commit of the target ref.
        onto: Commit,
        /// What the phase has used so far, because an agent may have to resolve conflicts.
        #[serde(default, skip_serializing_if = "Spending::is_none")]
        spent: Spending,
        /// Whether no agent may do that, because the breaker is open.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        alone: bool,
    },
    /// Fast-forward the user's branch to the target ref.
    #[serde(rename = "follow")]
    FastForward {
        /// The user's branch.
        target: String,
        /// The commit to fast-forward to.
        commit: Commit,
        /// The commit at which the branch was last seen.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        from: Commit,
    },
    /// Write and commit the planning files at the end of the run.
    #[serde(rename = "close")]
    CommitPlanningFiles {
        /// The user's branch.
        target: String,
        /// The commit to build on.
        commit: Commit,
    },
}

impl Effect {
    /// Returns the phase that the effect is about; `None` for the whole run.
    pub fn phase(&self) -> Option<PhaseNumber> {
        match self {
            Self::Prepare { phase, .. }
            | Self::SendMessage { phase, .. }
            | Self::KillWorker { phase, .. }
            | Self::CollectLookahead { phase, .. }
            | Self::Merge { phase, .. } => Some(*phase),
            Self::Start { brief } => Some(brief.phase),
            Self::FastForward { .. } | Self::CommitPlanningFiles { .. } => None,
        }
    }
}

/// The outcome of an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The effect succeeded and has no result.
    Done,
    /// The worktree exists.
    Prepared {
        /// The commit that it is based on.
        base: Commit,
    },
    /// The target ref contains the work.
    Merged {
        /// The new commit of the target ref.
        commit: Commit,
        /// A remark for people; usually empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
    /// The merge would conflict.
    Conflict {
        /// The conflicted files.
        files: Vec<ConflictedFile>,
        /// How a person can resolve the conflict.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        settle: String,
    },
    /// The commits do not confirm what the worker reported.
    Refuted {
        /// The reason, for people.
        reason: String,
    },
    /// The user's branch could not be fast-forwarded.
    Refused {
        /// The reason, for people.
        reason: String,
        /// The command that a person can run.
        command: String,
    },
    /// The effect failed.
    Failed {
        /// The reason, for people.
        reason: String,
    },
}
