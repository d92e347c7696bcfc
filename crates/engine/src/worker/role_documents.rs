//! Tracks whether the documents of a role are complete.
//!
//! A role that is killed may have written one plan of two. A marker file says that the role has
//! begun. Documents whose marker was left by a dead role move to a rescue ref, and the role begins
//! again.

use std::path::{Path, PathBuf};

use mow_core::worker::{Outcome, Role};
use mow_host::rescue;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::phase_dirs::{self, PhaseFileKind};

use super::agent_sessions::AgentSessions;
use super::phase_workspace::PhaseWorkspace;
use crate::EngineError;

/// The documents that roles write into the phase's directory.
#[derive(Clone, Copy)]
pub(super) struct RoleDocuments<'a> {
    workspace: &'a PhaseWorkspace,
    sessions: AgentSessions<'a>,
}

impl<'a> RoleDocuments<'a> {
    pub(super) fn new(workspace: &'a PhaseWorkspace) -> Self {
        Self { workspace, sessions: AgentSessions::new(workspace) }
    }

    /// Returns whether documents of this kind are incomplete: their role still runs, or it died.
    pub(super) fn are_incomplete(&self, kind: PhaseFileKind) -> Result<bool, EngineError> {
        let Some(role) = Role::ALL.into_iter().find(|role| artifact_of(*role) == Some(kind)) else {
            return Ok(false);
        };
        let has_begun = self.marker_file(role)?.exists() || self.is_revising(role)?;
        Ok(has_begun && !self.all_match_main_worktree(kind)?)
    }

    /// Returns whether a planner waits for a person in the middle of revising its plans.
    ///
    /// Once one plan is executed the plans stay, and the planner is asked for further ones.
    fn is_revising(&self, role: Role) -> Result<bool, EngineError> {
        let is_executed = || !self.files(PhaseFileKind::Summary).is_empty();
        Ok(role == Role::Planner && self.is_parked(role)? && !is_executed())
    }

    /// Returns whether a document equals the one in the main worktree. If so, a person wrote it.
    pub(super) fn matches_main_worktree(&self, path: &Path) -> Result<bool, EngineError> {
        let workspace = self.workspace;
        let main_dir = workspace.ctx.project.planning.join("phases").join(&workspace.dir_name);
        let in_main = disk::read(&main_dir.join(path.file_name().unwrap_or_default()))?;
        Ok(in_main.is_some() && in_main == disk::read(path)?)
    }

    fn all_match_main_worktree(&self, kind: PhaseFileKind) -> Result<bool, EngineError> {
        let files = self.files(kind);
        for path in &files {
            if !self.matches_main_worktree(path)? {
                return Ok(false);
            }
        }
        Ok(!files.is_empty())
    }

    /// Marks that a role begins to write documents which do not exist yet. Incomplete documents of
    /// an earlier try move to a rescue ref.
    pub(super) fn begin(&self, role: Role) -> Result<(), EngineError> {
        let Some(kind) = artifact_of(role) else { return Ok(()) };
        let marker = self.marker_file(role)?;
        if marker.exists() {
            // A role that waited for a person continues with its documents.
            let stays = self.is_parked(role)? || self.all_match_main_worktree(kind)?;
            return if stays { Ok(()) } else { self.move_to_rescue(role, kind) };
        }
        if !self.files(kind).is_empty() {
            return Ok(());
        }
        Ok(disk::write_engine_file(&marker, b"")?)
    }

    /// Removes the marker when a role ends. If the role did not succeed, its documents move to a
    /// rescue ref first.
    pub(super) fn end(&self, role: Role, outcome: &Outcome) -> Result<(), EngineError> {
        let marker = self.marker_file(role)?;
        let (Some(kind), true) = (artifact_of(role), marker.exists()) else { return Ok(()) };
        match outcome {
            Outcome::Done => {}
            Outcome::Asked { .. } if self.is_parked(role)? => return Ok(()),
            _ => self.move_to_rescue(role, kind)?,
        }
        Ok(disk::remove_engine_file(&marker)?)
    }

    fn is_parked(&self, role: Role) -> Result<bool, EngineError> {
        self.sessions.is_parked(role.name())
    }

    fn move_to_rescue(&self, role: Role, kind: PhaseFileKind) -> Result<(), EngineError> {
        let workspace = self.workspace;
        let mut files = Vec::new();
        for path in self.files(kind) {
            let bytes = disk::read(&path)?.unwrap_or_default();
            files.push((workspace.below_worktree(&path), bytes));
        }
        if files.is_empty() {
            return Ok(());
        }
        let name = workspace.rescue_name(&format!("unfinished-{}", role.name()));
        rescue::keep_files(&workspace.git(), &name, &files)?;
        let writer = Writer::open(&workspace.project, WAIT_DEFAULT)?;
        for path in self.files(kind) {
            writer.remove_file(&path)?;
        }
        let role = role.name();
        let kept = "its documents are kept (see `mow rescue list`)";
        workspace.note(&format!("the {role} was cut off; {kept}"));
        Ok(())
    }

    fn files(&self, kind: PhaseFileKind) -> Vec<PathBuf> {
        let number = self.workspace.brief.phase.to_string();
        let dir = phase_dirs::find(&self.workspace.project.planning, &number);
        dir.iter().flat_map(|dir| dir.files_of(kind).map(|file| dir.path.join(file))).collect()
    }

    /// Returns the marker file. It is in the worktree's git directory, so it lives exactly as long
    /// as the worktree: another run finds both or neither.
    fn marker_file(&self, role: Role) -> Result<PathBuf, EngineError> {
        Ok(self.workspace.git().git_dir()?.join(format!("mow-{}.begun", role.name())))
    }
}

/// Returns the kind of documents that a role writes and whose existence ends its stage.
fn artifact_of(role: Role) -> Option<PhaseFileKind> {
    match role {
        Role::Discusser => Some(PhaseFileKind::Context),
        Role::Researcher => Some(PhaseFileKind::Research),
        Role::Planner => Some(PhaseFileKind::Plan),
        Role::PlanChecker | Role::Executor | Role::Verifier => None,
    }
}
