//! Writes the plans that a run has completed into Performance Metrics: a row for each plan, the row
//! of the phase, and the velocity.
//!
//! Only tables and fields that the document has are written. Writing the same plans again changes
//! nothing: what is new follows from the rows.

use mow_core::duration::{format_seconds, parse_seconds};
use mow_core::phase::PhaseNumber;

use super::{Metric, is_placeholder_line, record};
use crate::state::list_sections::{add_after, is_placeholder};
use crate::state::section;
use crate::text::Text;
use crate::text::field::find_field;
use crate::text::splice::{Splice, apply};
use crate::text::table::{Table, TableRow, render_row, tables};

/// A plan that a run has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanMeasure<'a> {
    /// The number of the plan in its phase, such as `02`.
    pub plan: &'a str,
    /// Its duration.
    pub seconds: u64,
    /// The number of its tasks; 0 if unknown.
    pub tasks: usize,
}

/// How much the plans that were not in the document before add to the velocity.
#[derive(Clone, Copy, Debug, Default)]
struct Added {
    plans: u64,
    seconds: u64,
}

/// Records the completed plans of a phase in Performance Metrics.
pub fn record_phase(bytes: &[u8], phase: &PhaseNumber, plans: &[PlanMeasure<'_>]) -> Vec<u8> {
    if plans.is_empty() {
        return bytes.to_vec();
    }
    let mut bytes = bytes.to_vec();
    let mut added = Added::default();
    for plan in plans {
        if let Some(edited) = add_plan(&bytes, phase, plan) {
            bytes = edited;
            added.plans += 1;
            added.seconds += plan.seconds;
        }
    }
    if let Some((edited, by_phase)) = set_phase(&bytes, phase, plans) {
        bytes = edited;
        added = by_phase;
    }
    if added.plans > 0 { set_velocity(&bytes, added) } else { bytes }
}

/// Adds the row of a plan; `None` if it is there, or if the document has no place for it.
fn add_plan(bytes: &[u8], phase: &PhaseNumber, plan: &PlanMeasure<'_>) -> Option<Vec<u8>> {
    let text = Text::new(bytes);
    let section = section(&text, &["performance metrics"])?;
    let all = tables(&text, section.lines.clone());
    let is_by_plan = |table: &&Table| {
        let has = |column| table.column(&text, &[column]).is_some();
        has("Duration") && !has("Plans")
    };
    let has_place = match all.iter().find(is_by_plan) {
        Some(table) => !table.rows.iter().any(|row| is_plan_row(&text, table, row, (phase, plan))),
        // A document with another table has its own idea of metrics.
        None => all.is_empty() && section.own.clone().any(|line| is_placeholder_line(&text, line)),
    };
    if !has_place {
        return None;
    }
    let (phase, duration) = (phase.to_string(), format_seconds(plan.seconds));
    let tasks = (plan.tasks > 0).then(|| plan.tasks.to_string());
    let (phase, tasks) = (phase.as_str(), tasks.as_deref());
    record(bytes, Metric { phase, plan: plan.plan, duration: &duration, tasks, files: None })
}

/// Returns whether a row is about a plan: `Phase 3 P02`, or `3` and `02` in two columns.
fn is_plan_row(
    text: &Text<'_>,
    table: &Table,
    row: &TableRow,
    (phase, plan): (&PhaseNumber, &PlanMeasure<'_>),
) -> bool {
    let columns = (table.column(text, &["Phase"]), table.column(text, &["Plan"]));
    let name = match columns {
        (Some(phase), Some(plan)) => {
            format!("{} P{}", row.cell(text, phase), row.cell(text, plan))
        }
        (_, plan) => row.cell(text, plan.unwrap_or(0)),
    };
    let Some((shown, rest)) = leading_phase(&name) else { return false };
    let rest = rest.trim_start().strip_prefix(['P', 'p']).unwrap_or(rest);
    let last =
        |id: &str| id.rsplit('-').next().unwrap_or("").trim().trim_start_matches('0').to_owned();
    shown == *phase && last(rest) == last(plan.plan)
}

/// Parses the phase at the start of a cell: `3`, `Phase 03`, `3. Name`, `03-name`.
fn leading_phase(cell: &str) -> Option<(PhaseNumber, &str)> {
    let cell = cell.trim();
    PhaseNumber::parse_prefix(cell.strip_prefix("Phase ").unwrap_or(cell))
}

/// Sets the row of a phase in the table by phase; `None` if the document has no such table.
///
/// A row that counts more plans than the run has completed stays: it has older plans, too.
fn set_phase(
    bytes: &[u8],
    phase: &PhaseNumber,
    plans: &[PlanMeasure<'_>],
) -> Option<(Vec<u8>, Added)> {
    let text = Text::new(bytes);
    let section = section(&text, &["performance metrics"])?;
    let all = tables(&text, section.lines);
    let has = |table: &Table, names: &[&str]| table.column(&text, names);
    let table = all
        .iter()
        .find(|table| has(table, &["Phase"]).is_some() && has(table, &["Plans"]).is_some())?;
    let seconds: u64 = plans.iter().map(|plan| plan.seconds).sum();
    let count = plans.len() as u64;
    let total = format_seconds(seconds);
    let average = format_seconds(seconds / count.max(1));
    let (number, plan_count) = (phase.to_string(), count.to_string());
    let columns = [
        (has(table, &["Plans"]), plan_count.as_str()),
        (has(table, &["Total"]), &total),
        (has(table, &["Avg/Plan", "Average"]), &average),
    ];
    let cells: Vec<_> =
        columns.iter().filter_map(|(column, value)| Some(((*column)?, *value))).collect();
    let first = has(table, &["Phase"]).unwrap_or(0);
    let is_own = |row: &&TableRow| {
        leading_phase(&row.cell(&text, first)).is_some_and(|(shown, _)| shown == *phase)
    };
    let Some(row) = table.rows.iter().find(is_own) else {
        let mut line = vec!["-"; table.header.cells.len()];
        for (column, value) in cells.into_iter().chain([(first, number.as_str())]) {
            line[column] = value;
        }
        let edits = add_phase_row(&text, table, &render_row(&line));
        return Some((apply(bytes, edits), Added { plans: count, seconds }));
    };
    let cell = |column: Option<usize>| column.map_or(String::new(), |at| row.cell(&text, at));
    let before = Added {
        plans: cell(columns[0].0).parse().unwrap_or(0),
        seconds: parse_seconds(&cell(columns[1].0)).unwrap_or(0),
    };
    if before.plans >= count {
        return Some((bytes.to_vec(), Added::default()));
    }
    let added =
        Added { plans: count - before.plans, seconds: seconds.saturating_sub(before.seconds) };
    Some((apply(bytes, row.set(&text, &cells)), added))
}

/// Adds a row below the others; a row of dashes is replaced.
fn add_phase_row(text: &Text<'_>, table: &Table, line: &str) -> Vec<Splice> {
    let is_blank = |row: &TableRow| {
        let cells = (0..row.cells.len()).map(|column| row.cell(text, column));
        cells
            .into_iter()
            .all(|cell| matches!(&*cell, "" | "-" | "--" | "—") || is_placeholder(&cell))
    };
    if let [row] = table.rows.as_slice()
        && is_blank(row)
    {
        return vec![Splice::replace(text.lines()[row.line].range(), line)];
    }
    add_after(text, table.end() - 1, line, text.line_ending())
}

/// Adds to the velocity: the number of plans, their total time and their average.
///
/// A value that is not a number and no placeholder belongs to people and stays.
fn set_velocity(bytes: &[u8], added: Added) -> Vec<u8> {
    let text = Text::new(bytes);
    let Some(section) = section(&text, &["performance metrics"]) else { return bytes.to_vec() };
    let find = |name| {
        let find = |bold| find_field(&text, section.own.clone(), name, bold);
        find(false).or_else(|| find(true))
    };
    let (plans, total) = (find("Total plans completed"), find("Total execution time"));
    let value = |field: &Option<_>, parse: fn(&str) -> Option<u64>| {
        let field: &crate::text::field::Field = field.as_ref()?;
        let value = text.slice(field.value.clone()).trim();
        if value.starts_with(|c: char| c.is_ascii_digit()) { parse(value) } else { Some(0) }
    };
    let (count, seconds) = (value(&plans, |text| text.parse().ok()), value(&total, parse_seconds));
    let count = count.map(|count| count + added.plans);
    let seconds = seconds.map(|seconds| seconds + added.seconds);
    let mut splices = Vec::new();
    let mut set = |field: Option<_>, value: Option<String>| {
        let field: Option<crate::text::field::Field> = field;
        splices.extend(field.zip(value).map(|(field, value)| field.set(&text, &value)));
    };
    let average = seconds.zip(count).map(|(seconds, count)| format_seconds(seconds / count.max(1)));
    set(find("Average duration"), average);
    set(plans, count.map(|count| count.to_string()));
    set(total, seconds.map(format_seconds));
    apply(bytes, splices)
}
