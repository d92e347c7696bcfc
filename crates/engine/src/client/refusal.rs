//! Why a request of a person is refused. Each interface words the reasons for its people.

use mow_core::lead::Status;
use mow_core::phase::PhaseNumber;
use thiserror::Error;

use super::{PhaseAction, UnfinishedReason};
use crate::EngineError;

/// Why a request was not carried out. Nothing was changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The caller runs inside an agent of a run.
    #[error("an agent of a run cannot decide about the run")]
    AgentCaller,
    /// The caller runs inside a worker of the project in which it wants to start a run.
    #[error("a worker cannot start a run of its own")]
    NestedRun {
        /// The phase of the worker, if it is known.
        phase: Option<String>,
    },
    /// The project has no run.
    #[error("there is no run")]
    NoRun,
    /// The project is not in a git repository.
    #[error("there is no git repository")]
    NoRepository,
    /// The run has no such phase.
    #[error("the run has no phase {phase}")]
    UnknownPhase {
        /// The number that was asked for.
        phase: PhaseNumber,
    },
    /// The command would affect no phase.
    #[error("there is nothing to {}", action.name())]
    NothingToDo {
        /// What was asked for.
        action: PhaseAction,
        /// The phase that was named, with its status.
        phase: Option<(PhaseNumber, Status)>,
    },
    /// The same command was queued last, and no lead has processed it.
    #[error("the same command is queued already: {}", action.name())]
    AlreadyQueued {
        /// What was asked for.
        action: PhaseAction,
    },
    /// The run has no such question.
    #[error("there is no question {item}")]
    UnknownQuestion {
        /// The number that was asked for.
        item: u32,
        /// The numbers of the open questions.
        open: Vec<u32>,
    },
    /// The question has an answer.
    #[error("question {item} is answered: {answer}")]
    AlreadyAnswered {
        /// The question.
        item: u32,
        /// The answer that counts.
        answer: String,
        /// Whether no lead has processed that answer yet.
        is_queued: bool,
    },
    /// The person saw another question than the one with this number.
    #[error("question {item} is another one than the person saw")]
    OtherQuestion {
        /// The question.
        item: u32,
    },
    /// No answer to the question waits for a lead.
    #[error("there is no queued answer to question {item}")]
    NothingToTakeBack {
        /// The question.
        item: u32,
        /// The answer that a lead has taken up.
        answer: Option<String>,
    },
    /// No lead runs, and the request is about a live run only.
    #[error("the run is stopped")]
    NoLead,
    /// The run is over.
    #[error("the run is over")]
    RunOver,
    /// The answer is not one of the choices, or empty.
    #[error("question {item}: {problem}")]
    InvalidChoice {
        /// The question.
        item: u32,
        /// What is wrong.
        problem: String,
        /// The choices; empty if any text is allowed.
        choices: Vec<String>,
    },
    /// The question has no choices that mean yes or no.
    #[error("question {item} has no choices to approve or deny")]
    NoVerdict {
        /// The question.
        item: u32,
        /// The first choice, if there are proposals.
        proposal: Option<String>,
    },
    /// A run is live and merges its phases itself.
    #[error("a run is live: {holder}")]
    LeadRunning {
        /// The process that leads the run.
        holder: String,
    },
    /// A phase that was named is not finished.
    #[error("phase {phase} is not finished")]
    Unfinished {
        /// The phase.
        phase: PhaseNumber,
        /// What is missing.
        reason: UnfinishedReason,
    },
    /// The manifest of worktrees cannot be read.
    #[error("{path}: {problem}")]
    BadManifest {
        /// The file.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There is no saved work of this name.
    #[error("there is no saved work named `{name}`")]
    UnknownRescue {
        /// The name that was asked for.
        name: String,
        /// The names of the saved work, the newest first.
        known: Vec<String>,
    },
    /// Saved work cannot be restored into a directory that exists and is not empty.
    #[error("{dir} already exists")]
    DirectoryExists {
        /// The directory.
        dir: String,
    },
    /// No agent can work before a person has acted, and has said so by an answer.
    #[error("no agent can work: {question}")]
    AgentsDenied {
        /// The number of the question that must be answered.
        item: u32,
        /// The question.
        question: String,
    },
    /// The circuit breaker is open, and nobody has decided to continue.
    #[error("the circuit breaker is open: {question}")]
    BreakerOpen {
        /// The number of the open question; `None` when it was answered with `stop`.
        item: Option<u32>,
        /// The question.
        question: String,
    },
    /// config.json is not what it should be.
    #[error(transparent)]
    Settings(#[from] mow_store::json_edit::JsonError),
    /// The setting for the directory of the worktrees is invalid.
    #[error(transparent)]
    WorktreeHome(#[from] mow_store::worktree_home::WorktreeHomeError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl From<mow_store::disk::DiskError> for Refusal {
    fn from(error: mow_store::disk::DiskError) -> Self {
        Self::Engine(error.into())
    }
}

impl From<mow_host::git::GitError> for Refusal {
    fn from(error: mow_host::git::GitError) -> Self {
        Self::Engine(error.into())
    }
}
