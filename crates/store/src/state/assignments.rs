//! The table of worktrees and the phases they work on.
//!
//! It mirrors the claims for people to read; who really holds a phase is in [`crate::claims`].

use serde::{Deserialize, Serialize};

use super::active::same_phase;
use super::rows::{Kept, Record, session_line};
use crate::text::Text;
use crate::text::splice::apply;

/// What stands for a plan that is not known yet.
pub const NO_PLAN: &str = "—";

const TABLE: Kept = Kept {
    heading: "## Worktree Assignments",
    title: "worktree assignments",
    columns: &["Worktree", "Branch", "Phase", "Plan", "Status", "Started", "Agent"],
};
const PLAN: usize = 3;

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// The top directory of the worktree.
    pub worktree: String,
    /// The branch that is checked out there.
    pub branch: String,
    /// The phase, as it was given.
    pub phase: String,
    /// The plan, or [`NO_PLAN`].
    pub plan: String,
    /// What happens there, usually `executing`.
    pub status: String,
    /// When it began.
    pub started: String,
    /// Who works there.
    pub agent: String,
}

impl Assignment {
    /// Returns whether a row is about a phase; `3` and `03` are one.
    pub fn is_for(&self, phase: &str) -> bool {
        same_phase(&self.phase, phase)
    }
}

fn read(record: &Record) -> Assignment {
    let cell = |at: usize| record.cells[at].clone();
    Assignment {
        worktree: cell(0),
        branch: cell(1),
        phase: cell(2),
        plan: cell(PLAN),
        status: cell(4),
        started: cell(5),
        agent: cell(6),
    }
}

/// Reads the rows; none when there is no such section.
pub fn parse(bytes: &[u8]) -> Vec<Assignment> {
    TABLE.records(&Text::new(bytes)).iter().map(read).collect()
}

/// Makes the section if there is none, without rows.
pub fn ensure(bytes: &[u8]) -> Vec<u8> {
    let text = Text::new(bytes);
    match TABLE.section(&text) {
        Some(_) => bytes.to_vec(),
        None => TABLE.create(bytes, session_line(&text)),
    }
}

/// Adds a row; the section is made if there is none.
pub fn add(bytes: &[u8], row: &Assignment) -> Vec<u8> {
    let Assignment { worktree, branch, phase, plan, status, started, agent } = row;
    TABLE.add(&ensure(bytes), &[worktree, branch, phase, plan, status, started, agent])
}

/// Takes rows out; `None` when there was none to take.
pub fn remove(bytes: &[u8], goes: impl Fn(&Assignment) -> bool) -> Option<Vec<u8>> {
    let text = Text::new(bytes);
    let gone: Vec<_> = TABLE.records(&text).into_iter().filter(|row| goes(&read(row))).collect();
    (!gone.is_empty()).then(|| apply(bytes, gone.iter().map(|row| row.remove(&text)).collect()))
}

/// Writes the plan that a worktree is at; `None` when it has no row for the phase.
pub fn set_plan(bytes: &[u8], worktree: &str, phase: &str, plan: &str) -> Option<Vec<u8>> {
    let text = Text::new(bytes);
    let records = TABLE.records(&text);
    let is_own = |row: &Assignment| row.worktree == worktree && row.is_for(phase);
    let record = records.iter().find(|record| is_own(&read(record)))?;
    Some(apply(bytes, record.set(&text, &[(PLAN, plan)])))
}

/// Returns the line where the section ends, for what belongs below its table.
pub(super) fn end(text: &Text<'_>) -> Option<usize> {
    TABLE.section(text).map(|section| section.lines.end)
}

#[cfg(test)]
mod tests;
