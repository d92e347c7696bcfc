//! Shows the progress of a phase: its status, its blocker mode and the rows of its plans.
//!
//! Only what differs is written. Fields, rows and sections that the change does not name stay, and
//! so does the text that people and agents have added.

use super::edit::{find_plan, set_or_add_field, write_row};
use super::layout::StatusLayout;
use super::template::{row, with_table};
use super::{PlanChange, PlanState, rewrite_aggregate};
use crate::text::splice::{Splice, apply};

/// What a status file shows from now on; `None` keeps a value.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProgressChange<'a> {
    /// State of the phase.
    pub status: Option<&'a str>,
    /// Blocker mode.
    pub blocker_mode: Option<&'a str>,
    /// Rows that change. A missing row is added.
    pub plans: &'a [PlanChange<'a>],
    /// All plans of the phase. Rows of other plans that were not started are removed.
    pub all_plans: Option<&'a [&'a str]>,
    /// Time of the change, such as `2026-01-01T10:00:00.000Z`.
    pub now_utc: &'a str,
}

/// Shows the progress of a phase. `Last update` changes only if something else does.
pub fn show_progress(bytes: &[u8], change: &ProgressChange<'_>) -> Vec<u8> {
    let mut new = bytes.to_vec();
    if let Some(all) = change.all_plans {
        new = without_other_rows(&new, all);
    }
    for plan in change.plans {
        new = with_row(&new, plan.plan);
        new = write_row(&new, plan).unwrap_or(new);
    }
    for (name, value) in [("Status", change.status), ("Blocker mode", change.blocker_mode)] {
        if let Some(value) = value {
            new = set_or_add_field(&new, name, value);
        }
    }
    if change.all_plans.is_some() || !change.plans.is_empty() {
        new = rewrite_aggregate(&new);
    }
    if new == bytes {
        return new;
    }
    set_or_add_field(&new, "Last update", change.now_utc)
}

/// Adds the row of a plan that the table lacks.
fn with_row(bytes: &[u8], plan: &str) -> Vec<u8> {
    let bytes = with_table(bytes);
    let layout = StatusLayout::new(&bytes);
    let Some(table) = layout.plan_table() else { return bytes };
    if find_plan(&layout.plan_rows(&table), plan).is_some() {
        return bytes;
    }
    let last = table.rows.last().map_or(table.separator, |row| row.line);
    let added = row(&layout.text, &table, &(plan.to_owned(), 0));
    apply(&bytes, layout.insert_below(last, &added))
}

/// Removes the rows of plans that do not exist and were not started.
fn without_other_rows(bytes: &[u8], all: &[&str]) -> Vec<u8> {
    let layout = StatusLayout::new(bytes);
    let Some(table) = layout.plan_table() else { return bytes.to_vec() };
    let rows = layout.plan_rows(&table);
    let known: Vec<_> = all.iter().filter_map(|plan| find_plan(&rows, plan)).collect();
    let is_other = |at: usize| !known.contains(&at) && rows[at].1.state() == PlanState::NotStarted;
    let others = (0..rows.len()).filter(|at| is_other(*at));
    let line = |at: usize| layout.text.lines()[table.rows[rows[at].0].line];
    apply(bytes, others.map(|at| Splice::remove(line(at).range_with_ending())).collect())
}
