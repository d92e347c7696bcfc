//! Saves agent sessions to files of the run, so that another process can resume a parked one.

use std::path::PathBuf;

use mow_store::disk;
use serde::{Deserialize, Serialize};

use super::phase_workspace::PhaseWorkspace;
use crate::EngineError;

/// A session of an agent, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedSession {
    /// The agent's name in the settings.
    pub(super) agent: String,
    /// The agent's own id of the session.
    pub(super) session: String,
    /// The last job of the session: a task number, or a round of a role.
    pub(super) job: String,
    /// Whether the session waits for a person. If not, it was cut off or its job is done.
    pub(super) parked: bool,
    /// Whether the job is done.
    pub(super) done: bool,
}

/// The saved agent sessions of a phase, by session name.
#[derive(Clone, Copy)]
pub(super) struct AgentSessions<'a> {
    workspace: &'a PhaseWorkspace,
}

impl<'a> AgentSessions<'a> {
    pub(super) fn new(workspace: &'a PhaseWorkspace) -> Self {
        Self { workspace }
    }

    fn file(&self, name: &str) -> PathBuf {
        let dir = self.workspace.ctx.run.path().join("sessions");
        dir.join(format!("{}-{name}.json", self.workspace.file_prefix()))
    }

    /// Loads a session. An unreadable file counts as no session.
    pub(super) fn load(&self, name: &str) -> Result<Option<SavedSession>, EngineError> {
        let bytes = disk::read(&self.file(name))?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    pub(super) fn save(&self, name: &str, session: &SavedSession) -> Result<(), EngineError> {
        let bytes = serde_json::to_vec(session).unwrap_or_default();
        disk::write_engine_file(&self.file(name), &bytes)?;
        failpoint::reach("session.kept");
        Ok(())
    }

    /// Removes a session. The next job under this name starts a new one.
    pub(super) fn forget(&self, name: &str) -> Result<(), EngineError> {
        disk::remove_engine_file(&self.file(name))?;
        failpoint::reach("session.forgotten");
        Ok(())
    }

    /// Returns whether the agent of a session waits for a person in any job.
    pub(super) fn is_parked(&self, name: &str) -> Result<bool, EngineError> {
        Ok(self.load(name)?.is_some_and(|session| session.parked))
    }

    /// Returns whether the agent is parked in the middle of this job, with uncommitted work.
    pub(super) fn is_parked_in(&self, name: &str, job: &str) -> Result<bool, EngineError> {
        Ok(self.load(name)?.is_some_and(|session| session.parked && session.job == job))
    }
}

/// Returns the name of the session that executes a plan.
pub(super) fn executor_session(plan: &str) -> String {
    format!("executor-{plan}")
}
