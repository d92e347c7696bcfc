//! Renders the first status file of a phase.

use super::layout::{PlanColumn, StatusLayout, StatusSection};
use super::{UNSET, one_line, rewrite_aggregate};
use crate::text::Text;
use crate::text::splice::{Splice, apply};
use crate::text::table::{Table, render_row};

const TEMPLATE: &str = "\
# Phase {phase_number}: {phase_name} -- Status

**Phase:** {phase_number}
**Status:** not started
**Worker:** --
**Worktree:** --
**Started:** --
**Last update:** --
**Blocker mode:** --

## Plan Progress

| Plan | Status | Started | Duration | Commit | Tasks |
|------|--------|---------|----------|--------|-------|

## Aggregate

**Plans:** 0 complete, 0 in progress, 0 not started, 0 failed
**Commits:** --

## Blockers

None.

## Decisions

None.

## Context

None.
";

/// The plan table for a project template that has none.
const PLAN_TABLE: &str = "\
| Plan | Status | Started | Duration | Commit | Tasks |
|------|--------|---------|----------|--------|-------|";

/// The values of a new status file.
#[derive(Clone, Copy, Debug)]
pub struct NewStatus<'a> {
    /// Phase number, padded.
    pub phase: &'a str,
    /// Phase name.
    pub name: &'a str,
    /// Plan ids, each with its number of tasks.
    pub plans: &'a [(String, usize)],
}

/// Renders the file from the built-in template.
pub fn render(new: &NewStatus<'_>) -> String {
    render_with(TEMPLATE, new)
}

/// Renders the file from another template, which may contain `{phase_number}` and `{phase_name}`.
///
/// Rows in the template's plan table are examples and are removed.
pub fn render_with(template: &str, new: &NewStatus<'_>) -> String {
    let filled = fill(template, new);
    let filled = with_table(filled.as_bytes());
    let layout = StatusLayout::new(&filled);
    let bytes = match layout.plan_table() {
        Some(table) => apply(&filled, rows(&layout, &table, new.plans)),
        None => filled.clone(),
    };
    let bytes = rewrite_aggregate(&bytes);
    String::from_utf8(bytes).expect("text spliced into text is text")
}

/// Fills the placeholders in one pass, so that a name that looks like a placeholder stays.
fn fill(template: &str, new: &NewStatus<'_>) -> String {
    let values = [("{phase_number}", one_line(new.phase)), ("{phase_name}", one_line(new.name))];
    let mut result = String::with_capacity(template.len() + 64);
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let (before, here) = rest.split_at(at);
        result.push_str(before);
        let found = values.iter().find(|(placeholder, _)| here.starts_with(placeholder));
        let (value, taken) = found.map_or(("{", 1), |(key, value)| (value.as_str(), key.len()));
        result.push_str(value);
        rest = &here[taken..];
    }
    result.push_str(rest);
    result
}

/// Adds the plan table to a file that has none.
pub(super) fn with_table(filled: &[u8]) -> Vec<u8> {
    let layout = StatusLayout::new(filled);
    if layout.plan_table().is_some() {
        return filled.to_vec();
    }
    let splices = match layout.section(StatusSection::PlanProgress) {
        Some(section) => layout.insert_below(section.heading.line, &format!("\n{PLAN_TABLE}\n")),
        None => vec![layout.insert_section(StatusSection::PlanProgress, PLAN_TABLE)],
    };
    apply(filled, splices)
}

/// Returns the edits that replace the template's example rows by one row per plan.
fn rows(layout: &StatusLayout<'_>, table: &Table, plans: &[(String, usize)]) -> Vec<Splice> {
    let text = &layout.text;
    let mut splices: Vec<_> = table
        .rows
        .iter()
        .map(|row| Splice::remove(text.lines()[row.line].range_with_ending()))
        .collect();
    let rows: Vec<_> = plans.iter().map(|plan| row(text, table, plan)).collect();
    if !rows.is_empty() {
        splices.extend(layout.insert_below(table.separator, &rows.join("\n")));
    }
    splices
}

/// Renders the row of a plan that has not begun.
pub(super) fn row(text: &Text<'_>, table: &Table, (plan, tasks): &(String, usize)) -> String {
    let mut cells = vec![UNSET.to_owned(); table.header.cells.len()];
    let values = [
        (PlanColumn::Plan, one_line(plan)),
        (PlanColumn::Status, "not started".to_owned()),
        (PlanColumn::Tasks, format!("0/{tasks}")),
    ];
    for (column, value) in values {
        if let Some(at) = column.find(text, table) {
            cells[at] = value;
        }
    }
    render_row(&cells)
}
