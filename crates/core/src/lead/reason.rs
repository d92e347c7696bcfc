//! Why a phase has its status, and what a command did, as data.
//!
//! Stored in journals: the serialised names never change. Journals of the first format have
//! sentences instead; they are kept as [`Reason::Text`] and [`CommandEffect::Text`], and shown
//! unchanged. `text.rs` makes the sentences.

use serde::{Deserialize, Serialize};

use super::ConflictedFile;
use crate::phase::PhaseNumber;
use crate::stage::Stage;

/// The stored sentence of the first format about a phase that left the roadmap.
const LEFT_ROADMAP_V1: &str = "it left the roadmap";

/// Why a phase has its status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The phase was chosen for the run.
    Chosen,
    /// It has no dependencies and starts.
    NoDependencies,
    /// Its dependencies are merged.
    DependenciesMerged(Vec<PhaseNumber>),
    /// The worktree is ready.
    WorktreeReady,
    /// The worker is running.
    WorkerRunning,
    /// The worker died and is restarted.
    WorkerDied,
    /// The worker did not exit in time and is killed.
    WorkerOverdue,
    /// The worker hung, and a person decided what to do.
    WorkerHung {
        /// The answer.
        decision: String,
    },
    /// The worker hung, and a person restarted the phase.
    RestartedAfterHang,
    /// The worker hangs, and a person cancelled the phase.
    CancelledDuringHang,
    /// All plans are done and checked.
    PlansDone,
    /// The plans name a file that another phase changes, too; that phase is merged first.
    FileTaken {
        /// The file.
        path: String,
        /// The other phase.
        by: PhaseNumber,
    },
    /// The plans are written, and no other phase changes their files.
    FilesFree,
    /// It waits for an answer of a person.
    AwaitsAnswer,
    /// All questions of its worker are answered.
    Answered,
    /// It was made ready to start again, and waits for an answer of a person.
    RestartAwaitsAnswer(Box<Self>),
    /// A person paused it.
    Paused,
    /// A person cancelled it.
    Cancelled,
    /// A person resumed it.
    Resumed,
    /// A person wants another attempt.
    AttemptWanted,
    /// A person wants another merge attempt.
    MergeWanted,
    /// A person gave up the merge.
    MergeGivenUp,
    /// A person confirmed that the phase is done.
    ConfirmedDone,
    /// The roadmap marked the phase as done before it became part of the run.
    MarkedDone,
    /// The roadmap marks the phase as done, but the run did not do it.
    MarkedDoneDuringRun,
    /// The roadmap no longer marks the phase as done.
    MarkRemoved,
    /// The phase is no longer in the roadmap.
    LeftRoadmap,
    /// The phase is in the roadmap again.
    BackInRoadmap,
    /// The phase is complete and merged at once.
    MergedAtOnce,
    /// All phases of its wave are complete or over.
    WaveClosed(usize),
    /// Another phase that changes the same files waits for the merge.
    MergeAwaited,
    /// The work is merged into the target ref.
    Merged,
    /// The merge did not work.
    MergeFailed(MergeProblem),
    /// It looks ahead while its dependencies are not merged.
    LooksAhead {
        /// The last stage of the look-ahead.
        through: Stage,
        /// The dependencies that are not merged.
        open: Vec<PhaseNumber>,
    },
    /// The look-ahead is over.
    LookaheadOver,
    /// The look-ahead is done.
    DoneAhead(Stage),
    /// The look-ahead had no result.
    LookaheadFailed(String),
    /// The phase failed.
    Failed {
        /// The cause.
        cause: FailureCause,
        /// The phases that cannot start because of it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        blocks: Vec<PhaseNumber>,
        /// The phases that were running.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        running: Vec<PhaseNumber>,
    },
    /// A sentence of a journal of the first format.
    #[serde(untagged)]
    Text(String),
}

impl Reason {
    /// Returns whether the phase was cancelled because it left the roadmap.
    pub(super) fn is_left_roadmap(&self) -> bool {
        match self {
            Self::Text(sentence) => sentence == LEFT_ROADMAP_V1,
            reason => *reason == Self::LeftRoadmap,
        }
    }
}

/// Why a phase failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    /// The worker reported the failure.
    Reported(String),
    /// The attempt took longer than allowed.
    TimeLimit,
    /// The worker hung, and a person gave the phase up.
    Hung,
    /// The worker died too often without progress.
    Deaths(u32),
    /// The worktree could not be created.
    NoWorktree(String),
    /// The worker could not be started.
    NotStarted(String),
    /// The worker could not be killed.
    NotKilled(String),
    /// The commits do not confirm what the worker reported.
    Refuted(String),
}

/// Why a merge did not work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeProblem {
    /// Files conflict.
    Conflict {
        /// The conflicted files.
        files: Vec<ConflictedFile>,
        /// How a person can resolve the conflict.
        settle: String,
    },
    /// The merge failed.
    Failed(String),
    /// Git returned no result.
    NoResult,
}

/// What a command did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandEffect {
    /// There was nothing to do.
    Nothing,
    /// It changed these phases.
    Phases(Vec<PhaseNumber>),
    /// It answered a question.
    Answered {
        /// The number of the question.
        item: u32,
        /// The answer that counts.
        text: String,
    },
    /// There is no such question.
    NoQuestion(u32),
    /// The question was answered before.
    AnsweredBefore {
        /// The number of the question.
        item: u32,
        /// The answer that counts.
        text: String,
    },
    /// The answer is none of the choices, or empty.
    InvalidAnswer(String),
    /// The person saw another question than the one with this number.
    OtherQuestion(u32),
    /// An answer was taken back before the lead had read it.
    TakenBack(u32),
    /// The lead had read the answer already.
    TakenBackTooLate(u32),
    /// The most workers at a time changed.
    Workers {
        /// The number before.
        from: usize,
        /// The number now.
        to: usize,
    },
    /// A sentence of a journal of the first format.
    #[serde(untagged)]
    Text(String),
}
