//! Writes the table of plans under Performance Metrics: duration and size of each plan.
//!
//! The table by phase in the same section has other columns; only a run writes it.

mod run_plans;
#[cfg(test)]
mod tests;

use crate::state::list_sections::{add_after, is_placeholder};
use crate::state::{MarkdownSection, section};
use crate::text::Text;
use crate::text::splice::{Splice, apply};
use crate::text::table::{Table, TableRow, render_row, tables};

pub use run_plans::{PlanMeasure, record_phase};

/// The measurements of one plan.
#[derive(Clone, Copy, Debug)]
pub struct Metric<'a> {
    /// Phase as the caller gave it.
    pub phase: &'a str,
    /// Plan as the caller gave it.
    pub plan: &'a str,
    /// Duration of the plan.
    pub duration: &'a str,
    /// Number of tasks; `None` is written as `-`.
    pub tasks: Option<&'a str>,
    /// Number of changed files; `None` is written as `-`.
    pub files: Option<&'a str>,
}

const HEADER: &str = "| Plan | Duration | Tasks | Files |";
const SEPARATOR: &str = "|------|----------|-------|-------|";

/// Adds a plan's row; `None` if the document has no suitable section.
///
/// A section without a table is text by people and stays unchanged, unless it is a placeholder.
pub fn record(bytes: &[u8], metric: Metric<'_>) -> Option<Vec<u8>> {
    let text = Text::new(bytes);
    let section = section(&text, &["performance metrics"])?;
    let tables = tables(&text, section.lines.clone());
    let has = |table: &Table, column| table.column(&text, &[column]).is_some();
    let own = tables.iter().find(|table| has(table, "Duration") && !has(table, "Plans"));
    let splices = match own {
        Some(table) => add_row(&text, table, &section, metric),
        None => new_table(&text, &section, !tables.is_empty(), metric)?,
    };
    Some(apply(bytes, splices))
}

fn add_row(
    text: &Text<'_>,
    table: &Table,
    section: &MarkdownSection,
    metric: Metric<'_>,
) -> Vec<Splice> {
    let line = render_row(&cells(text, table, metric));
    let is_placeholder_row = |row: &TableRow| is_placeholder(&row.cell(text, 0));
    if let [row] = table.rows.as_slice()
        && is_placeholder_row(row)
    {
        return vec![Splice::replace(text.lines()[row.line].range(), line)];
    }
    let mut below = (table.end()..section.lines.end).skip_while(|line| is_blank(text, *line));
    let below =
        below.next().filter(|line| table.rows.is_empty() && is_placeholder_line(text, *line));
    match below {
        // The row replaces the placeholder and becomes part of the table.
        Some(placeholder) => {
            let gap = text.lines()[table.separator].next..text.lines()[placeholder].end;
            vec![Splice::replace(gap, line)]
        }
        None => add_after(text, table.end() - 1, &line, text.line_ending()),
    }
}

/// Returns the cells of a row in the order of a table's columns.
fn cells(text: &Text<'_>, table: &Table, metric: Metric<'_>) -> Vec<String> {
    let Metric { phase, plan, duration, tasks, files } = metric;
    let column = |name| table.column(text, &[name]);
    let (tasks, files) = (tasks.unwrap_or("-"), files.unwrap_or("-"));
    let mut cells = vec!["-".to_owned(); table.header.cells.len()];
    let mut put = |column: Option<usize>, value: String| {
        if let Some(cell) = column.and_then(|column| cells.get_mut(column)) {
            *cell = value;
        }
    };
    put(column("Duration"), duration.to_owned());
    if column("Phase").is_some() && column("Plan").is_some() {
        put(column("Phase"), phase.to_owned());
        put(column("Plan"), plan.to_owned());
        put(column("Tasks"), tasks.to_owned());
        put(column("Files"), files.to_owned());
    } else {
        put(column("Plan").or(Some(0)), format!("Phase {phase} P{plan}"));
        put(column("Tasks"), format!("{tasks} tasks"));
        put(column("Files"), format!("{files} files"));
    }
    cells
}

/// Returns the edits that write a table with one row at the end of the section.
fn new_table(
    text: &Text<'_>,
    section: &MarkdownSection,
    has_tables: bool,
    metric: Metric<'_>,
) -> Option<Vec<Splice>> {
    let ending = text.line_ending();
    let placeholder = section.own.clone().find(|line| is_placeholder_line(text, *line));
    if placeholder.is_none() && !has_tables {
        return None;
    }
    let Metric { phase, plan, duration, tasks, files } = metric;
    let row = render_row(&[
        format!("Phase {phase} P{plan}"),
        duration.to_owned(),
        format!("{} tasks", tasks.unwrap_or("-")),
        format!("{} files", files.unwrap_or("-")),
    ]);
    let table = format!("{HEADER}{ending}{SEPARATOR}{ending}{row}");
    if let Some(line) = placeholder.filter(|_| !has_tables) {
        return Some(vec![Splice::replace(text.lines()[line].range(), table)]);
    }
    let last = section.own.clone().rev().find(|line| !is_blank(text, *line));
    let block = format!("{ending}**By Plan:**{ending}{ending}{table}");
    Some(add_after(text, last.unwrap_or(section.heading.line), &block, ending))
}

fn raw_line(text: &Text<'_>, line: usize) -> String {
    text.lines().get(line).map_or(String::new(), |span| text.raw(span.range()))
}

fn is_blank(text: &Text<'_>, line: usize) -> bool {
    raw_line(text, line).trim().is_empty()
}

fn is_placeholder_line(text: &Text<'_>, line: usize) -> bool {
    is_placeholder(&raw_line(text, line))
}
