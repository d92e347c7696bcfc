//! `claims.json`: which worktree works on which phase, for all worktrees of a repository.
//!
//! This module only parses, decides and renders. The caller reads and writes the file under the
//! engine's lock, so that exactly one of several claimants gets the phase. Start with
//! [`Claims::take`].

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::json_edit::JsonError;
use crate::project::Project;
use crate::state::assignments::Assignment;

/// The claim of one worktree on one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The project's path in its repository; empty at the top. Phases of two projects in one
    /// repository are different phases.
    #[serde(default)]
    pub project: String,
    /// The worktree, the phase and the start time.
    #[serde(flatten)]
    pub assignment: Assignment,
    /// The run that made the claim; `None` when a person or an agent made it with a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The attempt of the run that works on the phase; `None` without a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<String>,
}

/// All claims of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The claims in the order in which they were made.
    #[serde(default)]
    pub claims: Vec<Claim>,
}

/// The result of [`Claims::take`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// The phase was free; this worktree holds it now.
    Claimed,
    /// This worktree held the phase already.
    AlreadyOwn,
    /// Another worktree holds the phase: its assignment.
    HeldByOther(Assignment),
}

/// Returns the path of the claims file of a project's repository.
pub fn path(project: &Project) -> PathBuf {
    project.engine_dir.join("claims.json")
}

/// Returns the value of [`Claim::project`] for a project: its root's path in the repository.
pub fn project_key(project: &Project) -> String {
    project.below_top().display().to_string()
}

impl Claims {
    /// Parses the file; an empty file has no claims.
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonError> {
        if bytes.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        serde_json::from_slice(bytes).map_err(|error| JsonError::Syntax {
            line: error.line(),
            column: error.column(),
            message: error.to_string(),
        })
    }

    /// Returns the bytes of the file.
    pub fn render(&self) -> Vec<u8> {
        let text = serde_json::to_string_pretty(self).expect("claims are plain text");
        (text + "\n").into_bytes()
    }

    /// Returns the claim on a phase.
    pub fn holder(&self, project: &str, phase: &str) -> Option<&Claim> {
        let mut of_project = self.claims.iter().filter(|claim| claim.project == project);
        of_project.find(|claim| claim.assignment.is_for(phase))
    }

    /// Claims a phase for a worktree, unless another worktree holds it.
    ///
    /// `rows` are the assignments in STATE.md. A row counts only while no claim names the phase:
    /// older tools kept claims in STATE.md alone.
    pub fn take(&mut self, claim: Claim, rows: &[Assignment]) -> ClaimOutcome {
        let wanted = &claim.assignment;
        if let Some(held) = self.holder(&claim.project, &wanted.phase) {
            let is_own = held.assignment.worktree == wanted.worktree;
            return if is_own {
                ClaimOutcome::AlreadyOwn
            } else {
                ClaimOutcome::HeldByOther(held.assignment.clone())
            };
        }
        let of_phase: Vec<_> = rows.iter().filter(|row| row.is_for(&wanted.phase)).collect();
        let own = of_phase.iter().find(|row| row.worktree == wanted.worktree);
        if own.is_none()
            && let Some(row) = of_phase.first()
        {
            return ClaimOutcome::HeldByOther((*row).clone());
        }
        let outcome = if own.is_some() { ClaimOutcome::AlreadyOwn } else { ClaimOutcome::Claimed };
        let assignment = own.map_or(claim.assignment.clone(), |row| (*row).clone());
        self.claims.push(Claim { assignment, ..claim });
        outcome
    }

    /// Removes a worktree's claim on a phase; returns whether it had one.
    pub fn release(&mut self, project: &str, worktree: &str, phase: &str) -> bool {
        let count = self.claims.len();
        self.claims.retain(|claim| {
            let row = &claim.assignment;
            claim.project != project || row.worktree != worktree || !row.is_for(phase)
        });
        self.claims.len() < count
    }

    /// Removes the claims of worktrees that no longer exist, and returns their assignments.
    pub fn release_stale(&mut self, is_live: impl Fn(&str) -> bool) -> Vec<Assignment> {
        self.release_if(|claim| !is_live(&claim.assignment.worktree))
    }

    /// Removes some claims, and returns their assignments.
    pub fn release_if(&mut self, is_released: impl Fn(&Claim) -> bool) -> Vec<Assignment> {
        let (released, kept): (Vec<_>, Vec<_>) = self.claims.drain(..).partition(is_released);
        self.claims = kept;
        released.into_iter().map(|claim| claim.assignment).collect()
    }

    /// Sets the plan that a worktree works on; returns whether the worktree holds the phase.
    pub fn set_plan(&mut self, project: &str, worktree: &str, phase: &str, plan: &str) -> bool {
        let mut claims = self.claims.iter_mut().filter(|claim| claim.project == project);
        let own = claims
            .find(|claim| claim.assignment.worktree == worktree && claim.assignment.is_for(phase));
        own.map(|claim| plan.clone_into(&mut claim.assignment.plan)).is_some()
    }

    /// Returns all assignments of a project: first the rows of STATE.md that no claim contradicts,
    /// then the claims that STATE.md does not show.
    pub fn with_rows(&self, project: &str, rows: Vec<Assignment>) -> Vec<Assignment> {
        let is_same = |claim: &Claim, row: &Assignment| {
            row.is_for(&claim.assignment.phase) && row.worktree == claim.assignment.worktree
        };
        let of_project = || self.claims.iter().filter(|claim| claim.project == project);
        let mut all: Vec<_> = rows
            .into_iter()
            .filter(|row| self.holder(project, &row.phase).is_none_or(|claim| is_same(claim, row)))
            .collect();
        let not_shown: Vec<_> = of_project()
            .filter(|claim| !all.iter().any(|row| is_same(claim, row)))
            .map(|claim| claim.assignment.clone())
            .collect();
        all.extend(not_shown);
        all
    }

    /// Returns the claim that a run made for a worktree; `None` when no run did.
    pub fn of_run_worktree(&self, worktree: &str) -> Option<&Claim> {
        let mut made_by_run = self.claims.iter().filter(|claim| claim.run.is_some());
        made_by_run.find(|claim| claim.assignment.worktree == worktree)
    }
}

#[cfg(test)]
mod tests;
