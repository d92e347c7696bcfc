//! Reads and edits the table of worktrees and the phases assigned to them.
//!
//! The table shows the claims to people. The claims themselves are in [`crate::claims`].

use serde::{Deserialize, Serialize};

use super::active_phases::same_phase;
use super::managed_table::{ManagedRow, ManagedTable, session_line};
use crate::text::Text;
use crate::text::splice::apply;

/// Cell text for a plan that is not known yet.
pub const NO_PLAN: &str = "—";

const TABLE: ManagedTable = ManagedTable {
    heading: "## Worktree Assignments",
    title: "worktree assignments",
    columns: &["Worktree", "Branch", "Phase", "Plan", "Status", "Started", "Agent"],
};
const PLAN: usize = 3;

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// Top directory of the worktree.
    pub worktree: String,
    /// Branch that is checked out in the worktree.
    pub branch: String,
    /// Phase as the caller gave it.
    pub phase: String,
    /// Plan, or [`NO_PLAN`].
    pub plan: String,
    /// Status, usually `executing`.
    pub status: String,
    /// Start time.
    pub started: String,
    /// Agent that works in the worktree.
    pub agent: String,
}

impl Assignment {
    /// Returns whether the row is for a phase; `3` equals `03`.
    pub fn is_for(&self, phase: &str) -> bool {
        same_phase(&self.phase, phase)
    }
}

fn read_row(record: &ManagedRow) -> Assignment {
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

/// Reads the rows; empty if there is no such section.
pub fn parse(bytes: &[u8]) -> Vec<Assignment> {
    TABLE.records(&Text::new(bytes)).iter().map(read_row).collect()
}

/// Creates the section with an empty table if it does not exist.
pub fn ensure(bytes: &[u8]) -> Vec<u8> {
    let text = Text::new(bytes);
    match TABLE.section(&text) {
        Some(_) => bytes.to_vec(),
        None => TABLE.create(bytes, session_line(&text)),
    }
}

/// Adds a row and creates the section if it does not exist.
pub fn add(bytes: &[u8], row: &Assignment) -> Vec<u8> {
    let Assignment { worktree, branch, phase, plan, status, started, agent } = row;
    TABLE.add(&ensure(bytes), &[worktree, branch, phase, plan, status, started, agent])
}

/// Removes the rows that `is_removed` accepts; `None` if it accepts none.
pub fn remove(bytes: &[u8], is_removed: impl Fn(&Assignment) -> bool) -> Option<Vec<u8>> {
    let text = Text::new(bytes);
    let rows: Vec<_> =
        TABLE.records(&text).into_iter().filter(|row| is_removed(&read_row(row))).collect();
    (!rows.is_empty()).then(|| apply(bytes, rows.iter().map(|row| row.remove(&text)).collect()))
}

/// Makes the rows that `is_own` accepts equal to some assignments; all other rows stay.
///
/// A row of the same worktree and phase is changed in its place. The section is created only for a
/// first row, and stays when the last one is removed.
pub fn replace_own(
    bytes: &[u8],
    own: &[Assignment],
    is_own: impl Fn(&Assignment) -> bool,
) -> Vec<u8> {
    let text = Text::new(bytes);
    let (mut splices, mut shown) = (Vec::new(), Vec::new());
    for record in TABLE.records(&text) {
        let row = read_row(&record);
        let is_same = |new: &&Assignment| new.worktree == row.worktree && new.is_for(&row.phase);
        match own.iter().find(is_same).filter(|_| is_own(&row)) {
            Some(new) if !shown.contains(&new) => {
                splices.extend(record.set(&text, &cells(new).map(|(at, value)| (at, &**value))));
                shown.push(new);
            }
            _ if is_own(&row) => splices.push(record.remove(&text)),
            _ => {}
        }
    }
    let rest = own.iter().filter(|new| !shown.contains(new));
    rest.fold(apply(bytes, splices), |bytes, new| add(&bytes, new))
}

/// Returns the cells of a row by their index in the table's columns.
fn cells(row: &Assignment) -> [(usize, &String); 7] {
    let Assignment { worktree, branch, phase, plan, status, started, agent } = row;
    let cells = [worktree, branch, phase, plan, status, started, agent];
    std::array::from_fn(|at| (at, cells[at]))
}

/// Sets the current plan of a worktree; `None` if the worktree has no row for the phase.
pub fn set_plan(bytes: &[u8], worktree: &str, phase: &str, plan: &str) -> Option<Vec<u8>> {
    let text = Text::new(bytes);
    let records = TABLE.records(&text);
    let is_own = |row: &Assignment| row.worktree == worktree && row.is_for(phase);
    let record = records.iter().find(|record| is_own(&read_row(record)))?;
    Some(apply(bytes, record.set(&text, &[(PLAN, plan)])))
}

/// Returns the line at which the section ends, for text that belongs below its table.
pub(crate) fn end(text: &Text<'_>) -> Option<usize> {
    TABLE.section(text).map(|section| section.lines.end)
}

#[cfg(test)]
mod tests;
