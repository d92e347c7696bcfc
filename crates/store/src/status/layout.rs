//! Where things stand in a status file: fields at the top, the table of plans, the sections.
//!
//! Everything is found by name, so that older files with fewer columns or other headings read the
//! same. Nothing here changes a file.

use std::ops::Range;

use mow_core::phase::PhaseNumber;

use super::{PlanRow, PlanState, shown, shown_or_unset};
use crate::state::sections::add_after;
use crate::state::{Section, section};
use crate::text::field::{Field, find_field};
use crate::text::heading::heading_at;
use crate::text::splice::Splice;
use crate::text::table::{Row, Table, bare_tables, cells_at};
use crate::text::{Text, inline};

/// The sections of a status file, in the order they stand in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    PlanProgress,
    Aggregate,
    Blockers,
    Decisions,
    Context,
}

impl Part {
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

    /// Returns the headings in use, in lower case.
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

/// The columns of the table of plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Plan,
    Status,
    Started,
    Duration,
    Commit,
    Tasks,
}

impl Column {
    const ALL: [Self; 6] =
        [Self::Plan, Self::Status, Self::Started, Self::Duration, Self::Commit, Self::Tasks];

    /// Returns the headers in use, the one written today first.
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

/// A status file with its structure.
pub(super) struct Layout<'a> {
    pub(super) text: Text<'a>,
}

impl<'a> Layout<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { text: Text::new(bytes) }
    }

    /// Returns the lines above the first section, where the fields of the phase stand.
    pub(super) fn head(&self) -> Range<usize> {
        let names: Vec<_> = Part::ALL.iter().flat_map(|part| part.names()).copied().collect();
        let first = section(&self.text, &names);
        0..first.map_or(self.text.lines().len(), |section| section.heading.line)
    }

    pub(super) fn section(&self, part: Part) -> Option<Section> {
        section(&self.text, part.names())
    }

    pub(super) fn field(&self, lines: Range<usize>, name: &str) -> Option<Field> {
        find_field(&self.text, lines.clone(), name, true)
            .or_else(|| find_field(&self.text, lines, name, false))
    }

    pub(super) fn field_value(&self, name: &str) -> Option<String> {
        let field = self.field(self.head(), name)?;
        Some(shown_or_unset(self.text.slice(field.value)))
    }

    /// Reads the number out of `# Phase 03: Name -- Status`.
    pub(super) fn phase_in_title(&self) -> Option<String> {
        let title = (0..self.text.lines().len()).find_map(|line| heading_at(&self.text, line))?;
        let number = self.text.slice(title.text).strip_prefix("Phase ")?.trim_start();
        let (_, rest) = PhaseNumber::parse_prefix(number)?;
        Some(number[..number.len() - rest.len()].to_owned())
    }

    /// Returns the table of plans: the one of its section, else the first that names plans.
    pub(super) fn plan_table(&self) -> Option<Table> {
        let (table, rows) = self.bare_plan_table()?;
        Some(table.with_rows(&self.text, rows))
    }

    /// Returns the table of plans without its rows, and their lines.
    fn bare_plan_table(&self) -> Option<(Table, Range<usize>)> {
        let text = &self.text;
        let find = |lines| {
            bare_tables(text, lines).find(|(table, _)| Column::Plan.find(text, table).is_some())
        };
        let own = self.section(Part::PlanProgress).and_then(|section| find(section.lines));
        own.or_else(|| find(0..text.lines().len()))
    }

    /// Returns the plans and the indexes of their rows; rows without a word are none.
    pub(super) fn plan_rows(&self, table: &Table) -> Vec<(usize, PlanRow)> {
        let columns = Column::ALL.map(|column| column.find(&self.text, table));
        let rows = table.rows.iter().enumerate().filter(|(_, row)| self.is_plan(row));
        rows.map(|(index, row)| (index, self.plan_row(columns, row))).collect()
    }

    /// Reads a row, given where each of [`Column::ALL`] stands.
    fn plan_row(&self, columns: [Option<usize>; 6], row: &Row) -> PlanRow {
        let written = columns
            .map(|column| column.map(|column| row.cell(&self.text, column)).unwrap_or_default());
        let [plan, others @ ..] = written;
        let [status, started, duration, commit, tasks] = others.map(|cell| shown_or_unset(&cell));
        PlanRow { plan: shown(&inline::plain(&plan)), status, started, duration, commit, tasks }
    }

    pub(super) fn plans(&self) -> Vec<PlanRow> {
        let Some(table) = self.plan_table() else { return Vec::new() };
        self.plan_rows(&table).into_iter().map(|(_, row)| row).collect()
    }

    /// Returns the states of the plans and nothing else of them.
    pub(super) fn plan_states(&self) -> Vec<PlanState> {
        let Some((table, rows)) = self.bare_plan_table() else { return Vec::new() };
        let status = Column::Status.find(&self.text, &table);
        let state = |line| {
            let mut cells = cells_at(&self.text, line).map(|cell| self.text.slice(cell).trim());
            let is_plan = cells.clone().any(is_word);
            let written = status.and_then(|column| cells.nth(column)).unwrap_or("");
            is_plan.then(|| PlanState::parse(written))
        };
        rows.filter_map(state).collect()
    }

    /// Returns whether a row has a word in it.
    fn is_plan(&self, row: &Row) -> bool {
        (0..row.cells.len()).any(|cell| is_word(row.written(&self.text, cell)))
    }

    /// Returns the edit that puts new lines below a line.
    pub(super) fn insert_below(&self, line: usize, added: &str) -> Vec<Splice> {
        let ending = self.text.line_ending();
        add_after(&self.text, line, &added.replace('\n', ending), ending)
    }

    /// Returns where a line begins, a byte order mark left out.
    pub(super) fn start_of(&self, line: usize) -> usize {
        let start = self.text.lines().get(line).map_or(self.text.bytes().len(), |line| line.start);
        if start == 0 && self.text.bytes().starts_with("\u{feff}".as_bytes()) { 3 } else { start }
    }

    /// Returns the edit that adds a section which is not there yet, in its place among the others.
    pub(super) fn insert_section(&self, part: Part, body: &str) -> Splice {
        let ending = self.text.line_ending();
        let lines = self.text.lines();
        let later = Part::ALL.into_iter().filter(|other| *other > part);
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

/// Returns whether a cell says anything.
fn is_word(cell: &str) -> bool {
    !matches!(cell, "" | "-" | "--")
}
