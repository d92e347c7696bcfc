//! Tables of STATE.md that commands keep: found by their heading, changed by the names of columns.
//!
//! A row is never rendered anew because another one changes, and the blank line before the next
//! heading stays.

use super::sections::add_after;
use super::{Section, section};
use crate::text::Text;
use crate::text::splice::{Splice, apply};
use crate::text::table::{Row, Table, render_row, tables};

/// A table that commands keep.
pub(super) struct Kept {
    /// Its heading with the signs.
    pub(super) heading: &'static str,
    /// The text of the heading in lower case.
    pub(super) title: &'static str,
    /// The names of its columns.
    pub(super) columns: &'static [&'static str],
}

/// A row with its cells in the order of [`Kept::columns`].
pub(super) struct Record {
    pub(super) row: Row,
    pub(super) cells: Vec<String>,
    /// Where each column stands in the file.
    places: Vec<Option<usize>>,
}

impl Record {
    /// Returns the edits that set some cells, named by their index in [`Kept::columns`].
    pub(super) fn set(&self, text: &Text<'_>, changes: &[(usize, &str)]) -> Vec<Splice> {
        let placed = changes.iter().filter_map(|(at, value)| Some((self.places[*at]?, *value)));
        self.row.set(text, &placed.collect::<Vec<_>>())
    }

    /// Returns the edit that takes the row out.
    pub(super) fn remove(&self, text: &Text<'_>) -> Splice {
        Splice::remove(text.lines()[self.row.line].whole())
    }
}

impl Kept {
    pub(super) fn section(&self, text: &Text<'_>) -> Option<Section> {
        section(text, &[self.title])
    }

    fn table(&self, text: &Text<'_>, section: &Section) -> Option<Table> {
        let first = self.columns[0];
        let found = tables(text, section.own.clone()).into_iter();
        found.into_iter().find(|table| table.column(text, &[first]).is_some())
    }

    fn places(&self, text: &Text<'_>, table: &Table) -> Vec<Option<usize>> {
        self.columns.iter().map(|name| table.column(text, &[name])).collect()
    }

    /// Reads the rows; none when there is no section or no table.
    pub(super) fn records(&self, text: &Text<'_>) -> Vec<Record> {
        let section = self.section(text);
        let Some(table) = section.and_then(|section| self.table(text, &section)) else {
            return Vec::new();
        };
        let places = self.places(text, &table);
        let read = |row: Row| {
            let cell = |place: &Option<usize>| place.map_or(String::new(), |at| row.cell(text, at));
            Record { cells: places.iter().map(cell).collect(), places: places.clone(), row }
        };
        table.rows.into_iter().map(read).collect()
    }

    /// Adds a row below the others; the section must be there.
    pub(super) fn add(&self, bytes: &[u8], cells: &[&str]) -> Vec<u8> {
        let text = Text::new(bytes);
        let ending = text.line_ending();
        let Some(section) = self.section(&text) else { return bytes.to_vec() };
        let Some(table) = self.table(&text, &section) else {
            let lines = [self.header(), self.separator(), render_row(cells)];
            let block = format!("{ending}{}", lines.join(ending));
            return apply(bytes, add_after(&text, section.heading.line, &block, ending));
        };
        let mut line = vec![""; table.header.cells.len()];
        for (place, cell) in self.places(&text, &table).into_iter().zip(cells) {
            if let Some(at) = place {
                line[at] = cell;
            }
        }
        apply(bytes, add_after(&text, table.end() - 1, &render_row(&line), ending))
    }

    /// Makes the section with an empty table before a line, or at the end of the file.
    pub(super) fn create(&self, bytes: &[u8], before: Option<usize>) -> Vec<u8> {
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

/// Returns the line of the heading that new sections stand before.
pub(super) fn session_line(text: &Text<'_>) -> Option<usize> {
    section(text, &["session continuity"]).map(|section| section.heading.line)
}
