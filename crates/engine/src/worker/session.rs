//! Remembers the sessions of agents, so that one that was parked goes on in another process.

use std::path::PathBuf;

use mow_store::disk;
use serde::{Deserialize, Serialize};

use super::desk::Desk;
use crate::EngineError;

/// A session of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The agent, by its name in the settings.
    pub(super) agent: String,
    /// The agent's own name of the session.
    pub(super) session: String,
    /// What it was told to do last.
    pub(super) job: String,
    /// Whether it waits for a person. Otherwise it was cut off, or its job is done.
    pub(super) parked: bool,
    /// Whether that job is done.
    pub(super) done: bool,
}

impl Desk {
    /// Returns the file about the session for a piece of work.
    fn session_file(&self, work: &str) -> PathBuf {
        let dir = self.site.run.path().join("sessions");
        dir.join(format!("{}-{work}.json", self.padded()))
    }

    /// Returns the session for a piece of work; what cannot be read is none.
    pub(super) fn session(&self, work: &str) -> Result<Option<Kept>, EngineError> {
        let bytes = disk::read(&self.session_file(work))?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Remembers a session.
    pub(super) fn keep_session(&self, work: &str, kept: &Kept) -> Result<(), EngineError> {
        let bytes = serde_json::to_vec(kept).unwrap_or_default();
        disk::put(&self.session_file(work), &bytes)?;
        failpoint::reach("session.kept");
        Ok(())
    }

    /// Forgets a session: the next job begins a new one.
    pub(super) fn forget_session(&self, work: &str) -> Result<(), EngineError> {
        disk::remove(&self.session_file(work))?;
        failpoint::reach("session.forgotten");
        Ok(())
    }

    /// Returns whether an agent is parked in the middle of a job, its work uncommitted.
    pub(super) fn is_parked(&self, work: &str, job: &str) -> Result<bool, EngineError> {
        Ok(self.session(work)?.is_some_and(|kept| kept.parked && kept.job == job))
    }
}
