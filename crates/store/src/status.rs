//! Reads and edits NN-STATUS.md, the progress of one phase plan by plan.
//!
//! Only the worker that owns the phase writes its file. [`parse`] reads every dialect by the names
//! of fields, columns and sections. [`update_plan`], [`show_progress`], [`set_field`],
//! [`rewrite_aggregate`] and the `add_` functions change what they name and leave all other bytes
//! unchanged. [`render`] makes the
//! first file of a phase. This module touches no files, and it does not decide whether one state
//! may follow another.

mod bullets;
mod edit;
mod layout;
mod progress;
mod template;

use serde::Serialize;

use crate::text::inline;
use layout::{StatusLayout, StatusSection};

pub use bullets::{add_blocker, add_blocker_once, add_context, add_decision};
pub use edit::{FIELDS, PlanChange, rewrite_aggregate, set_field, update_plan};
pub use progress::{ProgressChange, show_progress};
pub use template::{NewStatus, render, render_with};

/// Text of a field or cell without a value.
pub const UNSET: &str = "--";

/// The contents of a status file; a missing value is [`UNSET`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Phase number as written, usually padded.
    pub phase: String,
    /// State of the phase: a plan state or the name of a stage.
    pub status: String,
    /// Worker of the phase.
    pub worker: String,
    /// Worktree of the phase.
    pub worktree: String,
    /// Start time of the phase.
    pub started: String,
    /// Time of the last write.
    pub last_update: String,
    /// What the worker does when it is blocked.
    pub blocker_mode: String,
    /// Number of complete plans as a caller reported it. The rows are authoritative, see
    /// [`Status::aggregate`].
    pub plans_completed: String,
    /// Commit at which the phase passed verification.
    pub verified: String,
    /// Plans in row order.
    pub plans: Vec<PlanRow>,
    /// Blockers of the phase.
    pub blockers: Vec<String>,
    /// Decisions made within the phase.
    pub decisions: Vec<String>,
    /// Notes for the next worker.
    pub context: Vec<String>,
}

/// The row of one plan. Field names are JSON keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanRow {
    /// Plan id, such as `03-01`; empty for a bare `PLAN.md`.
    pub plan: String,
    /// State as written; see [`PlanRow::state`].
    pub status: String,
    /// Start time of day in UTC.
    pub started: String,
    /// Duration of the plan.
    pub duration: String,
    /// Commit that completed the plan.
    pub commit: String,
    /// Completed and total tasks, such as `2/5`.
    pub tasks: String,
}

impl PlanRow {
    /// Returns the state that the written text means.
    pub fn state(&self) -> PlanState {
        PlanState::parse(&self.status)
    }
}

/// The state of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanState {
    /// Nothing was done yet. `pending` and every unknown word mean this.
    NotStarted,
    /// A worker is executing it.
    InProgress,
    /// All its tasks are done.
    Complete,
    /// It was attempted and failed.
    Failed,
}

impl PlanState {
    /// Parses a state in any spelling; remarks after it are ignored.
    pub fn parse(written: &str) -> Self {
        match written {
            // The words that mow writes need no normalisation.
            "not started" => return Self::NotStarted,
            "in progress" | "executing" => return Self::InProgress,
            "complete" => return Self::Complete,
            "failed" => return Self::Failed,
            _ => {}
        }
        let plain = inline::strip_markup(written).to_lowercase().replace(['-', '_'], " ");
        let word = plain.trim_start_matches(|c: char| !c.is_alphabetic());
        let is = |names: &[&str]| names.iter().any(|name| word.starts_with(name));
        if is(&["complete", "done"]) {
            Self::Complete
        } else if is(&["in progress", "executing", "running"]) {
            Self::InProgress
        } else if is(&["failed"]) {
            Self::Failed
        } else {
            Self::NotStarted
        }
    }
}

/// The number of plans in each state. Field names are JSON keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Aggregate {
    /// Complete plans.
    pub complete: usize,
    /// Plans in progress.
    pub in_progress: usize,
    /// Plans that were not started.
    pub not_started: usize,
    /// Failed plans.
    pub failed: usize,
}

impl Status {
    /// Counts the plans by state from the rows; the Aggregate section is ignored.
    pub fn aggregate(&self) -> Aggregate {
        let count = |state| self.plans.iter().filter(|row| row.state() == state).count();
        Aggregate {
            complete: count(PlanState::Complete),
            in_progress: count(PlanState::InProgress),
            not_started: count(PlanState::NotStarted),
            failed: count(PlanState::Failed),
        }
    }

    /// Returns the commits of the plans in row order.
    pub fn commits(&self) -> Vec<&str> {
        let commits = self.plans.iter().map(|row| row.commit.as_str());
        commits.filter(|commit| *commit != UNSET).collect()
    }
}

/// Why a status file was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatusError {
    /// No row has this plan.
    #[error("plan {plan} not found; known plans: {}", listed(known))]
    UnknownPlan {
        /// The requested id.
        plan: String,
        /// The ids in the table.
        known: Vec<String>,
    },
    /// No field has this name.
    #[error("unknown field {name}; known fields: {}", FIELDS.join(", "))]
    UnknownField {
        /// The requested name.
        name: String,
    },
    /// The text of a new bullet is empty.
    #[error("nothing to add: the text is empty")]
    EmptyEntry,
}

fn listed(known: &[String]) -> String {
    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
}

/// Reads the bytes of a status file.
pub fn parse(bytes: &[u8]) -> Status {
    let layout = StatusLayout::new(bytes);
    let field = |name| layout.field_value(name).unwrap_or_else(|| UNSET.to_owned());
    let phase = layout.field_value("Phase").or_else(|| layout.phase_in_title());
    Status {
        phase: phase.unwrap_or_else(|| UNSET.to_owned()),
        status: field("Status"),
        worker: field("Worker"),
        worktree: field("Worktree"),
        started: field("Started"),
        last_update: field("Last update"),
        blocker_mode: field("Blocker mode"),
        plans_completed: field("Plans completed"),
        verified: field("Verified"),
        plans: layout.plans(),
        blockers: bullets::read_bullets(&layout, StatusSection::Blockers),
        decisions: bullets::read_bullets(&layout, StatusSection::Decisions),
        context: bullets::read_bullets(&layout, StatusSection::Context),
    }
}

/// Returns the number of complete plans and of all plans, without reading the rest of the file.
pub fn plan_counts(bytes: &[u8]) -> (usize, usize) {
    let states = StatusLayout::new(bytes).plan_states();
    (states.iter().filter(|state| **state == PlanState::Complete).count(), states.len())
}

/// Puts a value on one line and escapes comment starts, which would hide the text after them.
fn one_line(value: &str) -> String {
    let lines: Vec<_> = value.split(['\n', '\r']).map(str::trim).collect();
    let words: Vec<_> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    inline::escape_comment_start(&words.join(" ")).into_owned()
}

/// Reverses [`one_line`], except for the line breaks.
fn unescape_value(written: &str) -> String {
    inline::unescape_comment_start(written.trim()).into_owned()
}

/// Prepares a value for a field or cell; an empty value becomes [`UNSET`].
fn one_line_or_unset(value: &str) -> String {
    let value = one_line(value);
    if value.is_empty() { UNSET.to_owned() } else { value }
}

/// Reads a field or cell; an empty value and the usual dashes mean [`UNSET`].
fn unescape_or_unset(written: &str) -> String {
    let value = unescape_value(written);
    if matches!(value.as_str(), "" | "-" | "–" | "—") { UNSET.to_owned() } else { value }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
