//! NN-STATUS.md: how far a phase is, plan by plan, written by the one worker that owns it.
//!
//! Bytes in, values or new bytes out; no file is touched here, and whether a state may follow
//! another is not decided here. [`parse`] reads every dialect by the names of fields, columns and
//! sections. [`update_plan`], [`set_field`], [`rewrite_aggregate`] and the `add_` functions change
//! what they name and leave all other bytes as they are. [`render`] makes the first file of a phase.

mod edit;
mod entry;
mod layout;
mod template;

use serde::Serialize;

use crate::text::inline;
use layout::{Layout, Part};

pub use edit::{FIELDS, PlanChange, rewrite_aggregate, set_field, update_plan};
pub use entry::{add_blocker, add_context, add_decision};
pub use template::{NewStatus, render, render_with};

/// What stands where nothing is known yet.
pub const UNSET: &str = "--";

/// A status file as read; what it does not say reads as [`UNSET`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The phase number as written, usually padded.
    pub phase: String,
    /// The state of the phase: a plan state or the name of a stage.
    pub status: String,
    /// Who works on the phase.
    pub worker: String,
    /// Where the work happens.
    pub worktree: String,
    /// When the phase began.
    pub started: String,
    /// When the file was last written.
    pub last_update: String,
    /// What the worker does when it is blocked.
    pub blocker_mode: String,
    /// How many plans a caller said are complete; the rows decide, see [`Status::aggregate`].
    pub plans_completed: String,
    /// The commit at which the phase passed verification.
    pub verified: String,
    /// The plans, in the order of their rows.
    pub plans: Vec<PlanRow>,
    /// What holds the phase up.
    pub blockers: Vec<String>,
    /// What was decided within the phase.
    pub decisions: Vec<String>,
    /// What whoever comes next should know.
    pub context: Vec<String>,
}

/// One plan's row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanRow {
    /// The id of the plan, `03-01`; empty for a bare `PLAN.md`.
    pub plan: String,
    /// The state as written; see [`PlanRow::state`].
    pub status: String,
    /// The time of day it began, UTC.
    pub started: String,
    /// How long it took.
    pub duration: String,
    /// The commit that completed it.
    pub commit: String,
    /// Tasks done and in all, `2/5`.
    pub tasks: String,
}

impl PlanRow {
    /// Returns what the written state means.
    pub fn state(&self) -> PlanState {
        PlanState::parse(&self.status)
    }
}

/// What a plan's state comes down to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanState {
    /// Nothing was done yet; `pending` and every unknown word read as this.
    NotStarted,
    /// Somebody works on it.
    InProgress,
    /// It is done.
    Complete,
    /// It was tried and did not succeed.
    Failed,
}

impl PlanState {
    /// Reads a state in any of its spellings; remarks after it are allowed.
    pub fn parse(written: &str) -> Self {
        match written {
            // The words we write ourselves need no closer look.
            "not started" => return Self::NotStarted,
            "in progress" | "executing" => return Self::InProgress,
            "complete" => return Self::Complete,
            "failed" => return Self::Failed,
            _ => {}
        }
        let plain = inline::plain(written).to_lowercase().replace(['-', '_'], " ");
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

/// How many plans are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Aggregate {
    /// Plans that are done.
    pub complete: usize,
    /// Plans somebody works on.
    pub in_progress: usize,
    /// Plans nobody touched.
    pub not_started: usize,
    /// Plans that did not succeed.
    pub failed: usize,
}

impl Status {
    /// Counts the plans by state, from the rows and not from the Aggregate section.
    pub fn aggregate(&self) -> Aggregate {
        let count = |state| self.plans.iter().filter(|row| row.state() == state).count();
        Aggregate {
            complete: count(PlanState::Complete),
            in_progress: count(PlanState::InProgress),
            not_started: count(PlanState::NotStarted),
            failed: count(PlanState::Failed),
        }
    }

    /// Returns the commits of the plans, in the order of the rows.
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
        /// The id that was asked for.
        plan: String,
        /// The ids there are.
        known: Vec<String>,
    },
    /// No field of a phase has this name.
    #[error("unknown field {name}; known fields: {}", FIELDS.join(", "))]
    UnknownField {
        /// The name that was asked for.
        name: String,
    },
    /// A bullet without words.
    #[error("nothing to add: the text is empty")]
    EmptyEntry,
}

fn listed(known: &[String]) -> String {
    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
}

/// Reads a status file.
pub fn parse(bytes: &[u8]) -> Status {
    let layout = Layout::new(bytes);
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
        blockers: entry::entries(&layout, Part::Blockers),
        decisions: entry::entries(&layout, Part::Decisions),
        context: entry::entries(&layout, Part::Context),
    }
}

/// Counts the plans that are done and all plans, without reading the rest of the file.
pub fn plan_counts(bytes: &[u8]) -> (usize, usize) {
    let states = Layout::new(bytes).plan_states();
    (states.iter().filter(|state| **state == PlanState::Complete).count(), states.len())
}

/// Makes a value one line that cannot open a comment and so hide what follows it.
fn one_line(value: &str) -> String {
    let lines: Vec<_> = value.split(['\n', '\r']).map(str::trim).collect();
    let words: Vec<_> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    inline::guard(&words.join(" ")).into_owned()
}

/// Reads back what [`one_line`] wrote.
fn shown(written: &str) -> String {
    inline::unguard(written.trim()).into_owned()
}

/// Makes a value fit for a field or a cell, where nothing is written as [`UNSET`].
fn one_line_or_unset(value: &str) -> String {
    let value = one_line(value);
    if value.is_empty() { UNSET.to_owned() } else { value }
}

/// Reads a field or a cell, where nothing and the usual dashes mean [`UNSET`].
fn shown_or_unset(written: &str) -> String {
    let value = shown(written);
    if matches!(value.as_str(), "" | "-" | "–" | "—") { UNSET.to_owned() } else { value }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
