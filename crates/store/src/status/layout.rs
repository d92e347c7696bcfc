//! Finds the parts of a status file: the fields at the top, the plan table and the sections.
//!
//! Everything is found by name, so that older files with fewer columns or other headings read the
//! same. This module only computes edits; it does not apply them.

use std::ops::Range;

use mow_core::phase::PhaseNumber;

use super::{PlanRow, PlanState, unescape_or_unset, unescape_value};
use crate::state::list_sections::add_after;
use crate::state::{MarkdownSection, section};
use crate::text::field::{Field, find_field};
use crate::text::heading::heading_at;
use crate::text::splice::Splice;
use crate::text::table::{Table, TableRow, cells_at, tables_without_rows};
use crate::text::{Text, inline};

/// The sections of a status file, in file order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StatusSection {
    PlanProgress,
    Aggregate,
    Blockers,
    Decisions,
    Context,
}

impl StatusSection {
    const ALL: [Self; 5] =
        [Self::PlanProgress, Self::Aggregate, Self::Blockers, Self::Decisions, Self::Context];

    fn title(self) -> &'static str {
        match self {
            Self::PlanProgress => "Plan Progress",
            Self::Aggregate => "Aggregate",
            Self::Blockers => "Blockers",
            Self::Decisions => "Decisions",
            Self::Context => "Context",
        }
    }

    /// Returns the headings that files use, in lower case.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::PlanProgress => &["plan progress", "plans", "progress"],
            Self::Aggregate => &["aggregate"],
            Self::Blockers => &["blockers", "blockers/concerns", "issues"],
            Self::Decisions => &["decisions", "decisions (phase-local)", "decisions made"],
            Self::Context => &["context"],
        }
    }
}

/// The columns of the plan table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlanColumn {
    Plan,
    Status,
    Started,
    Duration,
    Commit,
    Tasks,
}

impl PlanColumn {
    const ALL: [Self; 6] =
        [Self::Plan, Self::Status, Self::Started, Self::Duration, Self::Commit, Self::Tasks];

    /// Returns the column headers that files use; the first one is written today.
    pub(super) fn titles(self) -> &'static [&'static str] {
        match self {
            Self::Plan => &["Plan"],
            Self::Status => &["Status", "State"],
            Self::Started => &["Started"],
            Self::Duration => &["Duration"],
            Self::Commit => &["Commit", "Commits"],
            Self::Tasks => &["Tasks"],
        }
    }

    pub(super) fn find(self, text: &Text<'_>, table: &Table) -> Option<usize> {
        table.column(text, self.titles())
    }
}

/// A status file with its parsed structure.
pub(super) struct StatusLayout<'a> {
    pub(super) text: Text<'a>,
}

impl<'a> StatusLayout<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { text: Text::new(bytes) }
    }

    /// Returns the lines above the first section, which hold the fields of the phase.
    pub(super) fn head(&self) -> Range<usize> {
        let names: Vec<_> =
            StatusSection::ALL.iter().flat_map(|part| part.names()).copied().collect();
        let first = section(&self.text, &names);
        0..first.map_or(self.text.lines().len(), |section| section.heading.line)
    }

    pub(super) fn section(&self, part: StatusSection) -> Option<MarkdownSection> {
        section(&self.text, part.names())
    }

    pub(super) fn field(&self, lines: Range<usize>, name: &str) -> Option<Field> {
        find_field(&self.text, lines.clone(), name, true)
            .or_else(|| find_field(&self.text, lines, name, false))
    }

    pub(super) fn field_value(&self, name: &str) -> Option<String> {
        let field = self.field(self.head(), name)?;
        Some(unescape_or_unset(self.text.slice(field.value)))
    }

    /// Reads the phase number from `# Phase 03: Name -- Status`.
    pub(super) fn phase_in_title(&self) -> Option<String> {
        let title = (0..self.text.lines().len()).find_map(|line| heading_at(&self.text, line))?;
        let number = self.text.slice(title.text).strip_prefix("Phase ")?.trim_start();
        let (_, rest) = PhaseNumber::parse_prefix(number)?;
        Some(number[..number.len() - rest.len()].to_owned())
    }

    /// Returns the plan table: the one in its section, or else the first table with a Plan column.
    pub(super) fn plan_table(&self) -> Option<Table> {
        let (table, rows) = self.plan_table_without_rows()?;
        Some(table.with_rows(&self.text, rows))
    }

    /// Returns the plan table without its rows, and the lines of the rows.
    fn plan_table_without_rows(&self) -> Option<(Table, Range<usize>)> {
        let text = &self.text;
        let find = |lines| {
            tables_without_rows(text, lines)
                .find(|(table, _)| PlanColumn::Plan.find(text, table).is_some())
        };
        let own = self.section(StatusSection::PlanProgress).and_then(|section| find(section.lines));
        own.or_else(|| find(0..text.lines().len()))
    }

    /// Returns the plans with their row indexes; rows without a value are skipped.
    pub(super) fn plan_rows(&self, table: &Table) -> Vec<(usize, PlanRow)> {
        let columns = PlanColumn::ALL.map(|column| column.find(&self.text, table));
        let rows = table.rows.iter().enumerate().filter(|(_, row)| self.is_plan_row(row));
        rows.map(|(index, row)| (index, self.plan_row(columns, row))).collect()
    }

    /// Reads a row, given the index of each of [`PlanColumn::ALL`].
    fn plan_row(&self, columns: [Option<usize>; 6], row: &TableRow) -> PlanRow {
        let written = columns
            .map(|column| column.map(|column| row.cell(&self.text, column)).unwrap_or_default());
        let [plan, others @ ..] = written;
        let [status, started, duration, commit, tasks] =
            others.map(|cell| unescape_or_unset(&cell));
        PlanRow {
            plan: unescape_value(&inline::strip_markup(&plan)),
            status,
            started,
            duration,
            commit,
            tasks,
        }
    }

    pub(super) fn plans(&self) -> Vec<PlanRow> {
        let Some(table) = self.plan_table() else { return Vec::new() };
        self.plan_rows(&table).into_iter().map(|(_, row)| row).collect()
    }

    /// Returns the states of the plans without reading the other cells.
    pub(super) fn plan_states(&self) -> Vec<PlanState> {
        let Some((table, rows)) = self.plan_table_without_rows() else { return Vec::new() };
        let status = PlanColumn::Status.find(&self.text, &table);
        let state = |line| {
            let mut cells = cells_at(&self.text, line).map(|cell| self.text.slice(cell).trim());
            let is_plan = cells.clone().any(has_value);
            let written = status.and_then(|column| cells.nth(column)).unwrap_or("");
            is_plan.then(|| PlanState::parse(written))
        };
        rows.filter_map(state).collect()
    }

    /// Returns whether a row has a value in any cell.
    fn is_plan_row(&self, row: &TableRow) -> bool {
        (0..row.cells.len()).any(|cell| has_value(row.raw_cell(&self.text, cell)))
    }

    /// Returns the edit that inserts lines below a line.
    pub(super) fn insert_below(&self, line: usize, added: &str) -> Vec<Splice> {
        let ending = self.text.line_ending();
        add_after(&self.text, line, &added.replace('\n', ending), ending)
    }

    /// Returns the offset of a line's start, after a byte order mark.
    pub(super) fn start_of(&self, line: usize) -> usize {
        let start = self.text.lines().get(line).map_or(self.text.bytes().len(), |line| line.start);
        if start == 0 && self.text.bytes().starts_with("\u{feff}".as_bytes()) { 3 } else { start }
    }

    /// Returns the edit that adds a missing section in its order among the others.
    pub(super) fn insert_section(&self, part: StatusSection, body: &str) -> Splice {
        let ending = self.text.line_ending();
        let lines = self.text.lines();
        let later = StatusSection::ALL.into_iter().filter(|other| *other > part);
        let below = later.filter_map(|other| self.section(other)).map(|found| found.heading.line);
        let line = below.min().unwrap_or(lines.len());
        let gap = match line.checked_sub(1).map(|above| lines[above]) {
            Some(above) if above.next == above.end => 2,
            Some(above) => usize::from(!self.text.bytes()[above.range()].trim_ascii().is_empty()),
            None => 0,
        };
        let whole = format!("{}## {}\n\n{body}\n", "\n".repeat(gap), part.title());
        let whole = whole.replace('\n', ending);
        let after = if line < lines.len() { ending } else { "" };
        Splice::insert(self.start_of(line), whole + after)
    }
}

/// Returns whether a cell has a value.
fn has_value(cell: &str) -> bool {
    !matches!(cell, "" | "-" | "--")
}
