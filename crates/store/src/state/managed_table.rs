//! Edits tables of STATE.md that commands maintain, found by heading and column names.
//!
//! A change of one row never rewrites another, and the blank line before the next heading stays.

use super::list_sections::add_after;
use super::{MarkdownSection, section};
use crate::text::Text;
use crate::text::splice::{Splice, apply};
use crate::text::table::{Table, TableRow, render_row, tables};

/// The definition of a table that commands maintain.
pub(crate) struct ManagedTable {
    /// Heading line with its `#` characters.
    pub(crate) heading: &'static str,
    /// Title in lower case.
    pub(crate) title: &'static str,
    /// Column names.
    pub(crate) columns: &'static [&'static str],
}

/// A row with its cells in the order of [`ManagedTable::columns`].
pub(crate) struct ManagedRow {
    pub(crate) row: TableRow,
    pub(crate) cells: Vec<String>,
    /// For each of [`ManagedTable::columns`], its index in the file's table.
    column_indexes: Vec<Option<usize>>,
}

impl ManagedRow {
    /// Returns the edits that set some cells, given by their index in [`ManagedTable::columns`].
    pub(crate) fn set(&self, text: &Text<'_>, changes: &[(usize, &str)]) -> Vec<Splice> {
        let placed =
            changes.iter().filter_map(|(at, value)| Some((self.column_indexes[*at]?, *value)));
        self.row.set(text, &placed.collect::<Vec<_>>())
    }

    /// Returns the edit that removes the row.
    pub(crate) fn remove(&self, text: &Text<'_>) -> Splice {
        Splice::remove(text.lines()[self.row.line].range_with_ending())
    }
}

impl ManagedTable {
    pub(crate) fn section(&self, text: &Text<'_>) -> Option<MarkdownSection> {
        section(text, &[self.title])
    }

    fn table(&self, text: &Text<'_>, section: &MarkdownSection) -> Option<Table> {
        let first = self.columns[0];
        let found = tables(text, section.own.clone()).into_iter();
        found.into_iter().find(|table| table.column(text, &[first]).is_some())
    }

    fn column_indexes(&self, text: &Text<'_>, table: &Table) -> Vec<Option<usize>> {
        self.columns.iter().map(|name| table.column(text, &[name])).collect()
    }

    /// Reads the rows; empty if there is no section or no table.
    pub(crate) fn records(&self, text: &Text<'_>) -> Vec<ManagedRow> {
        let section = self.section(text);
        let Some(table) = section.and_then(|section| self.table(text, &section)) else {
            return Vec::new();
        };
        let column_indexes = self.column_indexes(text, &table);
        let read = |row: TableRow| {
            let cell = |index: &Option<usize>| index.map_or(String::new(), |at| row.cell(text, at));
            ManagedRow {
                cells: column_indexes.iter().map(cell).collect(),
                column_indexes: column_indexes.clone(),
                row,
            }
        };
        table.rows.into_iter().map(read).collect()
    }

    /// Adds a row below the others. Does nothing if the section does not exist.
    pub(crate) fn add(&self, bytes: &[u8], cells: &[&str]) -> Vec<u8> {
        let text = Text::new(bytes);
        let ending = text.line_ending();
        let Some(section) = self.section(&text) else { return bytes.to_vec() };
        let Some(table) = self.table(&text, &section) else {
            let lines = [self.header(), self.separator(), render_row(cells)];
            let block = format!("{ending}{}", lines.join(ending));
            return apply(bytes, add_after(&text, section.heading.line, &block, ending));
        };
        let mut line = vec![""; table.header.cells.len()];
        for (index, cell) in self.column_indexes(&text, &table).into_iter().zip(cells) {
            if let Some(at) = index {
                line[at] = cell;
            }
        }
        apply(bytes, add_after(&text, table.end() - 1, &render_row(&line), ending))
    }

    /// Creates the section with an empty table before a line, or at the end of the file.
    pub(crate) fn create(&self, bytes: &[u8], before: Option<usize>) -> Vec<u8> {
        let text = Text::new(bytes);
        let ending = text.line_ending();
        let lines = [self.heading, "", &self.header(), &self.separator()].join(ending);
        let count = text.lines().len();
        let line = before.unwrap_or(count).min(count);
        let is_blank = line == 0 || text.raw(text.lines()[line - 1].range()).trim().is_empty();
        let lead = if is_blank { "" } else { ending };
        if let Some(next) = text.lines().get(line) {
            let block = format!("{lead}{lines}{ending}{ending}");
            return apply(bytes, vec![Splice::insert(next.start, block)]);
        }
        let is_ended = bytes.is_empty() || bytes.ends_with(b"\n");
        let close = if is_ended { "" } else { ending };
        let block = format!("{close}{lead}{lines}{ending}");
        apply(bytes, vec![Splice::insert(bytes.len(), block)])
    }

    fn header(&self) -> String {
        render_row(self.columns)
    }

    fn separator(&self) -> String {
        let dashes = self.columns.iter().map(|name| "-".repeat(name.len() + 2));
        format!("|{}|", dashes.collect::<Vec<_>>().join("|"))
    }
}

/// Returns the line of the Session Continuity heading, before which new sections are inserted.
pub(crate) fn session_line(text: &Text<'_>) -> Option<usize> {
    section(text, &["session continuity"]).map(|section| section.heading.line)
}
