//! Who holds which phase: one file in the engine directory that all worktrees of a repository share.
//!
//! Only decides and renders; the caller reads and writes the file under the engine's lock, so that
//! of any number of claimants exactly one finds the phase free. Start with [`Claims::take`].

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::json_edit::JsonError;
use crate::project::Project;
use crate::state::assignments::Assignment;

/// One phase in the hands of one worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Where the project lies in its repository; empty at the top. Phases of two projects in one
    /// repository are different phases.
    #[serde(default)]
    pub project: String,
    /// The worktree, the phase, and since when.
    #[serde(flatten)]
    pub assignment: Assignment,
    /// The run that gave the phase to this worktree; `None` when a person or an agent claimed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Which attempt of the run works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<String>,
}

/// All claims of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The claims in the order they were made.
    #[serde(default)]
    pub claims: Vec<Claim>,
}

/// What came of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The phase was free and is now held.
    New,
    /// This worktree held it already.
    Own,
    /// Another worktree holds it.
    Held(Assignment),
}

/// Returns where the claims of a project's repository are kept.
pub fn path(project: &Project) -> PathBuf {
    project.engine_dir.join("claims.json")
}

/// Returns what tells the projects of one repository apart: the root below the top.
pub fn project_key(project: &Project) -> String {
    project.below_top().display().to_string()
}

impl Claims {
    /// Reads the file; an empty one holds no claims.
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

    /// Writes the file.
    pub fn render(&self) -> Vec<u8> {
        let text = serde_json::to_string_pretty(self).expect("claims are plain text");
        (text + "\n").into_bytes()
    }

    /// Returns the claim on a phase.
    pub fn holder(&self, project: &str, phase: &str) -> Option<&Claim> {
        let mut of_project = self.claims.iter().filter(|claim| claim.project == project);
        of_project.find(|claim| claim.assignment.is_for(phase))
    }

    /// Takes a phase for a worktree unless another one holds it.
    ///
    /// `rows` are those of STATE.md: one counts while the file knows nothing of the phase, since
    /// older tools kept claims only there.
    pub fn take(&mut self, claim: Claim, rows: &[Assignment]) -> Taken {
        let wanted = &claim.assignment;
        if let Some(held) = self.holder(&claim.project, &wanted.phase) {
            let is_own = held.assignment.worktree == wanted.worktree;
            return if is_own { Taken::Own } else { Taken::Held(held.assignment.clone()) };
        }
        let of_phase: Vec<_> = rows.iter().filter(|row| row.is_for(&wanted.phase)).collect();
        let own = of_phase.iter().find(|row| row.worktree == wanted.worktree);
        if own.is_none()
            && let Some(row) = of_phase.first()
        {
            return Taken::Held((*row).clone());
        }
        let taken = if own.is_some() { Taken::Own } else { Taken::New };
        let assignment = own.map_or(claim.assignment.clone(), |row| (*row).clone());
        self.claims.push(Claim { assignment, ..claim });
        taken
    }

    /// Gives up a worktree's claim on a phase; returns whether there was one.
    pub fn release(&mut self, project: &str, worktree: &str, phase: &str) -> bool {
        let count = self.claims.len();
        self.claims.retain(|claim| {
            let row = &claim.assignment;
            claim.project != project || row.worktree != worktree || !row.is_for(phase)
        });
        self.claims.len() < count
    }

    /// Takes out the claims of worktrees that are not there any more, and returns them.
    pub fn release_stale(&mut self, is_live: impl Fn(&str) -> bool) -> Vec<Assignment> {
        let (live, stale): (Vec<_>, Vec<_>) =
            self.claims.drain(..).partition(|claim| is_live(&claim.assignment.worktree));
        self.claims = live;
        stale.into_iter().map(|claim| claim.assignment).collect()
    }

    /// Notes the plan that a worktree is at; returns whether it holds the phase.
    pub fn set_plan(&mut self, project: &str, worktree: &str, phase: &str, plan: &str) -> bool {
        let mut claims = self.claims.iter_mut().filter(|claim| claim.project == project);
        let own = claims
            .find(|claim| claim.assignment.worktree == worktree && claim.assignment.is_for(phase));
        own.map(|claim| plan.clone_into(&mut claim.assignment.plan)).is_some()
    }

    /// Returns all assignments of a project: the rows of STATE.md as far as no claim says
    /// otherwise, then the claims that STATE.md does not show.
    pub fn with_rows(&self, project: &str, rows: Vec<Assignment>) -> Vec<Assignment> {
        let shown = |claim: &Claim, row: &Assignment| {
            row.is_for(&claim.assignment.phase) && row.worktree == claim.assignment.worktree
        };
        let of_project = || self.claims.iter().filter(|claim| claim.project == project);
        let mut all: Vec<_> = rows
            .into_iter()
            .filter(|row| self.holder(project, &row.phase).is_none_or(|claim| shown(claim, row)))
            .collect();
        let unseen: Vec<_> = of_project()
            .filter(|claim| !all.iter().any(|row| shown(claim, row)))
            .map(|claim| claim.assignment.clone())
            .collect();
        all.extend(unseen);
        all
    }

    /// Returns the claim that a run made for a worktree.
    pub fn of_run(&self, worktree: &str) -> Option<&Claim> {
        let mut given = self.claims.iter().filter(|claim| claim.run.is_some());
        given.find(|claim| claim.assignment.worktree == worktree)
    }
}

#[cfg(test)]
mod tests;
