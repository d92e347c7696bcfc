//! Why the engine cannot go on.

use std::io;

use mow_host::git::GitError;
use mow_store::disk::DiskError;
use mow_store::journal::JournalError;
use mow_store::project::ProjectError;
use mow_store::run_files::RunNameError;
use mow_store::worktree_home::HomeError;
use thiserror::Error;

/// Why a loop ended before its time.
#[derive(Debug, Error)]
pub enum EngineError {
    /// A file could not be read or written.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A journal could not be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Git refused.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The project is not where it should be.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// Something of the host failed.
    #[error(transparent)]
    Host(#[from] Box<dyn std::error::Error + Send + Sync>),
    /// The home of the worktrees is set to something impossible.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The run has an impossible name.
    #[error(transparent)]
    Name(#[from] RunNameError),
    /// The system refused.
    #[error("cannot {action}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Another lead has the project.
    #[error("another run has this project: {holder}")]
    Led {
        /// Who.
        holder: String,
    },
    /// It cannot be done, for a reason that a person can do something about.
    #[error("{message}")]
    Refused {
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: String,
    },
}

impl EngineError {
    /// Makes a refusal.
    pub fn refused(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), hint: hint.into() }
    }

    /// Makes the conversion for `map_err` after something that was tried.
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
