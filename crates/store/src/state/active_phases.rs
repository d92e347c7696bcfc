//! Reads and edits the Active Phases table and the line below it that names the next unblockable
//! phase.

mod rows;
#[cfg(test)]
mod tests;
mod unblockable;

use mow_core::phase::PhaseNumber;
use serde::Serialize;

use super::list_sections::add_after;
use super::{MarkdownSection, section};
use crate::text::Text;
use crate::text::inline::strip_markup;
use crate::text::splice::{Splice, apply};
use crate::text::table::{Table, TableRow, render_row, tables};

pub use rows::{ensure, set_rows};
pub(super) use unblockable::refresh_next_unblockable;
pub use unblockable::{NextUnblockable, find_unblockable, next_unblockable};

/// A row of the table; the field names are those of the command line's JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ActivePhase {
    /// Phase number as written.
    pub phase: String,
    /// Phase name.
    pub name: String,
    /// Status, such as `executing` or `blocked (7,8)`.
    pub status: String,
    /// Worker of the phase, or `--`.
    pub worker: String,
    /// Completed and total plans, such as `1/3`.
    pub plans: String,
    /// Time of the last change.
    pub last_update: String,
}

/// The change of a row; `None` keeps a cell.
#[derive(Clone, Copy, Debug, Default)]
pub struct ActivePhaseChange<'a> {
    /// New status.
    pub status: Option<&'a str>,
    /// New worker.
    pub worker: Option<&'a str>,
    /// New plan counts.
    pub plans: Option<&'a str>,
    /// New name.
    pub name: Option<&'a str>,
    /// Time of the change.
    pub last_update: &'a str,
}

/// Why a row cannot be changed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActivePhaseError {
    /// The document has no Active Phases section.
    #[error("STATE.md has no \"## Active Phases\" section")]
    NoSection,
    /// The table has no row for the phase, and the caller gave no name or no status for a new one.
    #[error("phase {0} is not in the Active Phases table: a new row needs --name and --status")]
    NewRowIncomplete(String),
}

/// Reads the table; `None` if the document has no Active Phases section.
pub fn parse(bytes: &[u8]) -> Option<Vec<ActivePhase>> {
    let text = Text::new(bytes);
    let section = active_section(&text)?;
    let Some(table) = table(&text, &section) else { return Some(Vec::new()) };
    let columns = ActivePhaseColumns::new(&text, &table);
    Some(table.rows.iter().map(|row| columns.read(&text, row)).collect())
}

fn active_section(text: &Text<'_>) -> Option<MarkdownSection> {
    section(text, &["active phases"])
}

fn table(text: &Text<'_>, section: &MarkdownSection) -> Option<Table> {
    tables(text, section.own.clone()).into_iter().next()
}

/// Changes or adds the row of a phase and refreshes the next-unblockable line.
///
/// Returns the new document and the names of the cells that were set.
pub fn update_row(
    bytes: &[u8],
    phase: &str,
    change: ActivePhaseChange<'_>,
) -> Result<(Vec<u8>, Vec<&'static str>), ActivePhaseError> {
    let text = Text::new(bytes);
    let section = active_section(&text).ok_or(ActivePhaseError::NoSection)?;
    let (rows_changed, fields) = match table(&text, &section) {
        Some(table) => change_table(&text, &table, phase, change)?,
        None => new_table(&text, &section, phase, change)?,
    };
    Ok((refresh_next_unblockable(&apply(bytes, rows_changed)), fields))
}

type TableEdit = (Vec<Splice>, Vec<&'static str>);

fn change_table(
    text: &Text<'_>,
    table: &Table,
    phase: &str,
    change: ActivePhaseChange<'_>,
) -> Result<TableEdit, ActivePhaseError> {
    let columns = ActivePhaseColumns::new(text, table);
    let found = table.rows.iter().find(|row| same_phase(&columns.read(text, row).phase, phase));
    let Some(row) = found else {
        let line = render_row(&columns.fill(table.header.cells.len(), &new_row(phase, change)?));
        return Ok((insert_sorted(text, table, &columns, phase, &line), NEW_ROW_FIELDS.to_vec()));
    };
    let wanted = columns.wanted(change);
    let given = wanted.iter().filter(|(_, _, value)| value.is_some());
    Ok((columns.set(text, row, change), given.map(|(field, _, _)| *field).collect()))
}

const NEW_ROW_FIELDS: &[&str] = &["name", "status", "worker", "plans", "last_update"];

fn new_row(phase: &str, change: ActivePhaseChange<'_>) -> Result<ActivePhase, ActivePhaseError> {
    let (Some(name), Some(status)) = (change.name, change.status) else {
        return Err(ActivePhaseError::NewRowIncomplete(phase.to_owned()));
    };
    Ok(ActivePhase {
        phase: phase.to_owned(),
        name: name.to_owned(),
        status: status.to_owned(),
        worker: change.worker.unwrap_or("--").to_owned(),
        plans: change.plans.unwrap_or("0/0").to_owned(),
        last_update: change.last_update.to_owned(),
    })
}

/// Inserts a line among the rows and sorts them by number; each row keeps its bytes.
fn insert_sorted(
    text: &Text<'_>,
    table: &Table,
    columns: &ActivePhaseColumns,
    phase: &str,
    line: &str,
) -> Vec<Splice> {
    let ending = text.line_ending();
    let key = |row: &TableRow| PhaseNumber::parse(&columns.read(text, row).phase);
    let number = PhaseNumber::parse(phase);
    let is_sorted = table.rows.is_sorted_by_key(key);
    let before = table.rows.iter().take_while(|row| key(row) <= number).last();
    if is_sorted {
        return add_after(text, before.map_or(table.separator, |row| row.line), line, ending);
    }
    let bytes = |row: &TableRow| &text.bytes()[text.lines()[row.line].range()];
    let mut lines: Vec<_> = table
        .rows
        .iter()
        .map(|row| (key(row), bytes(row)))
        .chain([(number, line.as_bytes())])
        .collect();
    lines.sort_by_key(|a| a.0);
    let joined: Vec<_> = lines.into_iter().map(|(_, line)| line).collect();
    let start = text.lines()[table.separator + 1].start;
    let end = text.lines()[table.end() - 1].end;
    vec![Splice { range: start..end, replacement: joined.join(ending.as_bytes()) }]
}

const HEADER: &str = "| Phase | Name | Status | Worker | Plans | Last Update |";
const SEPARATOR: &str = "|-------|------|--------|--------|-------|-------------|";

/// Returns the edit that writes a table with one row below a heading without a table.
fn new_table(
    text: &Text<'_>,
    section: &MarkdownSection,
    phase: &str,
    change: ActivePhaseChange<'_>,
) -> Result<TableEdit, ActivePhaseError> {
    let row = new_row(phase, change)?;
    let cells = [&row.phase, &row.name, &row.status, &row.worker, &row.plans, &row.last_update];
    let ending = text.line_ending();
    // Lines with pipes below the heading that are not a table must not become rows of the new
    // table.
    let gap = if text.line(section.heading.line + 1).trim().is_empty() { "" } else { ending };
    let row = render_row(&cells);
    let lines = format!("{ending}{HEADER}{ending}{SEPARATOR}{ending}{row}{gap}");
    Ok((add_after(text, section.heading.line, &lines, ending), NEW_ROW_FIELDS.to_vec()))
}

/// The name of a field, its column, and its new value.
type WantedCell<'a> = (&'static str, Option<usize>, Option<&'a str>);

/// The column indexes of the table. Older tables lack some columns and name others differently.
struct ActivePhaseColumns {
    phase: usize,
    name: Option<usize>,
    status: Option<usize>,
    worker: Option<usize>,
    plans: Option<usize>,
    last_update: Option<usize>,
}

impl ActivePhaseColumns {
    fn new(text: &Text<'_>, table: &Table) -> Self {
        let column = |names: &[&str]| table.column(text, names);
        Self {
            phase: column(&["Phase"]).unwrap_or(0),
            name: column(&["Name"]),
            status: column(&["Status", "State"]),
            worker: column(&["Worker", "Worktree", "Teammate"]),
            plans: column(&["Plans", "Plan Progress", "Progress"]),
            last_update: column(&["Last Update", "Updated", "Last Updated"]),
        }
    }

    fn read(&self, text: &Text<'_>, row: &TableRow) -> ActivePhase {
        let cell =
            |column: Option<usize>| column.map_or(String::new(), |column| row.cell(text, column));
        let (phase, title) = split_phase(&row.cell(text, self.phase));
        ActivePhase {
            phase,
            name: if self.name.is_some() { cell(self.name) } else { title },
            status: cell(self.status),
            worker: cell(self.worker),
            plans: cell(self.plans),
            last_update: cell(self.last_update),
        }
    }

    /// Returns the fields of a change, each with its column and its new value.
    fn wanted<'a>(&self, change: ActivePhaseChange<'a>) -> [WantedCell<'a>; 5] {
        [
            ("status", self.status, change.status),
            ("worker", self.worker, change.worker),
            ("plans", self.plans, change.plans),
            ("name", self.name, change.name),
            ("last_update", self.last_update, Some(change.last_update)),
        ]
    }

    /// Returns the edits that change a row.
    fn set(&self, text: &Text<'_>, row: &TableRow, change: ActivePhaseChange<'_>) -> Vec<Splice> {
        let wanted = self.wanted(change);
        let cells = wanted.iter().filter_map(|(_, column, value)| Some(((*column)?, (*value)?)));
        row.set(text, &cells.collect::<Vec<_>>())
    }

    /// Returns the cells of a new row in the order of this table.
    fn fill(&self, width: usize, row: &ActivePhase) -> Vec<String> {
        let mut cells = vec!["--".to_owned(); width];
        let phase = match self.name {
            Some(_) => row.phase.clone(),
            None => format!("{}. {}", row.phase, row.name),
        };
        let named = [
            (self.name, &row.name),
            (self.status, &row.status),
            (self.worker, &row.worker),
            (self.plans, &row.plans),
            (self.last_update, &row.last_update),
            // Set the phase last: in a table without a phase column it replaces another cell.
            (Some(self.phase), &phase),
        ];
        for (column, value) in named {
            if let Some(cell) = column.and_then(|column| cells.get_mut(column)) {
                cell.clone_from(value);
            }
        }
        cells
    }
}

/// Splits `7. Feature X`, as tables without a name column write it.
fn split_phase(cell: &str) -> (String, String) {
    let text = strip_markup(cell);
    let bare = text.strip_prefix("Phase ").unwrap_or(&text);
    match PhaseNumber::parse_prefix(bare) {
        Some((_, rest)) => {
            let number = bare[..bare.len() - rest.len()].to_owned();
            (number, rest.trim_start_matches(['.', ':', ' ']).to_owned())
        }
        None => (text.into_owned(), String::new()),
    }
}

/// Compares phases as numbers: `3` equals `03`.
pub(crate) fn same_phase(a: &str, b: &str) -> bool {
    match (PhaseNumber::parse(a.trim()), PhaseNumber::parse(b.trim())) {
        (Some(a), Some(b)) => a == b,
        _ => a.trim().eq_ignore_ascii_case(b.trim()),
    }
}
