//! Papers of a role that has not come to its end: they do not count yet.
//!
//! Whoever is killed may have written one plan of two. A mark says that somebody is at it; what was
//! written under a mark whose role is gone is kept under a rescue ref, and the role begins again.

use std::path::{Path, PathBuf};

use mow_core::worker::{Outcome, Role};
use mow_host::rescue;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::phase_dirs::{self, Artifact};

use super::desk::Desk;
use crate::EngineError;

impl Desk {
    /// Returns whether papers of this kind are not whole, since their role is still at them or died.
    pub(super) fn is_unfinished(&self, kind: Artifact) -> Result<bool, EngineError> {
        let Some(role) = Role::ALL.into_iter().find(|role| wrote(*role) == Some(kind)) else {
            return Ok(false);
        };
        let is_at_it = self.mark_of(role)?.exists() || self.is_revising(role)?;
        Ok(is_at_it && !self.are_of_root(kind)?)
    }

    /// Returns whether a planner waits for a person in the middle of revising its plans.
    ///
    /// Once one of them is carried out they stay, and it is asked for further ones.
    fn is_revising(&self, role: Role) -> Result<bool, EngineError> {
        let is_carried_out = || !self.papers_of(Artifact::Summary).is_empty();
        Ok(role == Role::Planner && self.waits(role)? && !is_carried_out())
    }

    /// Returns whether a paper is just as in the main worktree: then a person wrote it there.
    pub(super) fn is_of_root(&self, path: &Path) -> Result<bool, EngineError> {
        let root = self.site.project.planning.join("phases").join(&self.dir_name);
        let there = disk::read(&root.join(path.file_name().unwrap_or_default()))?;
        Ok(there.is_some() && there == disk::read(path)?)
    }

    fn are_of_root(&self, kind: Artifact) -> Result<bool, EngineError> {
        let papers = self.papers_of(kind);
        for path in &papers {
            if !self.is_of_root(path)? {
                return Ok(false);
            }
        }
        Ok(!papers.is_empty())
    }

    /// Marks that a role begins with papers that are not there yet; half of them is put aside.
    pub(super) fn begin_papers(&self, role: Role) -> Result<(), EngineError> {
        let Some(kind) = wrote(role) else { return Ok(()) };
        let mark = self.mark_of(role)?;
        if mark.exists() {
            // Who waits for a person goes on with what it wrote.
            let stays = self.waits(role)? || self.are_of_root(kind)?;
            return if stays { Ok(()) } else { self.put_aside(role, kind) };
        }
        if !self.papers_of(kind).is_empty() {
            return Ok(());
        }
        Ok(disk::put(&mark, b"")?)
    }

    /// Takes the mark away from papers that are whole, and the papers with it where they are not.
    pub(super) fn end_papers(&self, role: Role, outcome: &Outcome) -> Result<(), EngineError> {
        let mark = self.mark_of(role)?;
        let (Some(kind), true) = (wrote(role), mark.exists()) else { return Ok(()) };
        match outcome {
            Outcome::Done => {}
            Outcome::Asked { .. } if self.waits(role)? => return Ok(()),
            _ => self.put_aside(role, kind)?,
        }
        Ok(disk::remove(&mark)?)
    }

    fn waits(&self, role: Role) -> Result<bool, EngineError> {
        Ok(self.session(role.name())?.is_some_and(|kept| kept.parked))
    }

    fn put_aside(&self, role: Role, kind: Artifact) -> Result<(), EngineError> {
        let mut files = Vec::new();
        for path in self.papers_of(kind) {
            let bytes = disk::read(&path)?.unwrap_or_default();
            files.push((self.below_worktree(&path), bytes));
        }
        if files.is_empty() {
            return Ok(());
        }
        let name = self.rescue_name(&format!("unfinished-{}", role.name()));
        rescue::keep_files(&self.git(), &name, &files)
            .map_err(|error| EngineError::Host(error.into()))?;
        let writer = Writer::open(&self.project, WAIT_DEFAULT)?;
        for path in self.papers_of(kind) {
            writer.remove_file(&path)?;
        }
        let role = role.name();
        self.note(&format!("the {role} was cut off; what it wrote is kept: mow rescue list"));
        Ok(())
    }

    fn papers_of(&self, kind: Artifact) -> Vec<PathBuf> {
        let dir = phase_dirs::find(&self.project.planning, &self.brief.phase.to_string());
        dir.iter().flat_map(|dir| dir.of(kind).map(|file| dir.path.join(file))).collect()
    }

    /// Returns the file that says that a role is at it. It is as old as the worktree: another run
    /// finds both, or none of them.
    fn mark_of(&self, role: Role) -> Result<PathBuf, EngineError> {
        Ok(self.git().git_dir()?.join(format!("mow-{}.begun", role.name())))
    }
}

/// Returns what a role writes that counts as soon as it is there.
fn wrote(role: Role) -> Option<Artifact> {
    match role {
        Role::Discusser => Some(Artifact::Context),
        Role::Researcher => Some(Artifact::Research),
        Role::Planner => Some(Artifact::Plan),
        Role::PlanChecker | Role::Executor | Role::Verifier => None,
    }
}
