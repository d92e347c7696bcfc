//! The errors that end a lead or a worker, or refuse a command.

use std::io;

use mow_host::agent::AgentError;
use mow_host::commit::CommitError;
use mow_host::git::GitError;
use mow_host::life_lock::LifeLockError;
use mow_host::merge::MergeError;
use mow_host::phase_worktree::WorktreeError;
use mow_host::process::ProcessError;
use mow_host::rescue::RescueError;
use mow_host::shell::ShellError;
use mow_store::disk::DiskError;
use mow_store::frontmatter::EditError;
use mow_store::journal::JournalError;
use mow_store::project::ProjectError;
use mow_store::run_files::RunNameError;
use mow_store::worktree_home::WorktreeHomeError;
use thiserror::Error;

/// Why the engine could not do what it was asked to do.
#[derive(Debug, Error)]
pub enum EngineError {
    /// A file could not be read or written.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A journal could not be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A git command failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The project could not be found.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// A shell command could not be run.
    #[error(transparent)]
    Shell(#[from] ShellError),
    /// An agent could not be run.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// A process could not be started, found or ended.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The life lock of a worker could not be taken.
    #[error(transparent)]
    LifeLock(#[from] LifeLockError),
    /// A worktree could not be created or removed.
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
    /// Work could not be kept under a rescue ref.
    #[error(transparent)]
    Rescue(#[from] RescueError),
    /// A commit could not be made.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// A merge could not be computed or committed.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// A planning document could not be rendered or edited.
    #[error(transparent)]
    Document(#[from] EditError),
    /// The setting for the directory of the worktrees is invalid.
    #[error(transparent)]
    WorktreeHome(#[from] WorktreeHomeError),
    /// The name of the run is invalid.
    #[error(transparent)]
    Name(#[from] RunNameError),
    /// A system call failed.
    #[error("cannot {action}")]
    Io {
        /// What was tried, as a verb phrase that follows "cannot".
        action: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// Another lead runs this project.
    #[error("another run has this project: {holder}")]
    LeadRunning {
        /// The process that holds the lock, or "another process".
        holder: String,
    },
    /// The request cannot be carried out for a reason that a person can remove.
    #[error("{message}")]
    Refused {
        /// What is wrong, for people.
        message: String,
        /// What to do about it, often a command.
        hint: String,
    },
}

impl EngineError {
    /// Returns a refusal with a message and a hint.
    pub fn refused(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), hint: hint.into() }
    }

    /// Returns a converter for `map_err` that names the failed action.
    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }

    /// Returns the error and its causes in one line.
    pub fn sentence(&self) -> String {
        let mut text = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        text
    }
}
