//! Reads and edits pipe tables; columns are addressed by header name.
//!
//! A table is a header row, a separator row, and all lines below that are rows. Cells are split at
//! pipes that are not escaped with a backslash. Empty cells count.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr2;

use super::field::same_name;
use super::splice::Splice;
use super::{Text, inline};

/// A table in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Row with the column names.
    pub header: TableRow,
    /// Index of the separator's line.
    pub separator: usize,
    /// Rows below the separator; empty if found by [`tables_without_rows`].
    pub rows: Vec<TableRow>,
}

/// One row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableRow {
    /// Index of the line.
    pub line: usize,
    /// Byte ranges between the pipes, including blanks.
    pub cells: Vec<Range<usize>>,
}

impl TableRow {
    /// Returns the trimmed, unescaped text of a cell; empty if the row is too short.
    pub fn cell(&self, text: &Text<'_>, column: usize) -> String {
        self.cell_text(text, column).into_owned()
    }

    /// Returns the same text as [`TableRow::cell`], without a copy if nothing is escaped.
    pub fn cell_text<'t>(&self, text: &'t Text<'_>, column: usize) -> Cow<'t, str> {
        let written = self.raw_cell(text, column);
        if memchr2(b'\\', b'&', written.as_bytes()).is_none() {
            return Cow::Borrowed(written);
        }
        Cow::Owned(inline::unescape_comment_start(written).replace("\\|", "|"))
    }

    /// Returns the trimmed text of a cell, still escaped.
    pub fn raw_cell<'t>(&self, text: &'t Text<'_>, column: usize) -> &'t str {
        self.cells.get(column).map_or("", |range| text.slice(range.clone())).trim()
    }

    /// Returns the edits that set some cells and keep the row's spacing. Cells that already have
    /// their value get no edit.
    pub fn set(&self, text: &Text<'_>, changes: &[(usize, &str)]) -> Vec<Splice> {
        let mut splices = Vec::new();
        let mut missing = Vec::new();
        for (column, value) in changes {
            match self.cells.get(*column) {
                Some(_) if self.cell(text, *column) == value.trim() => {}
                Some(range) => splices.push(set_cell(text, range, value)),
                None => missing.push((*column, *value)),
            }
        }
        if let Some(last) = missing.iter().map(|(column, _)| *column).max() {
            let value = |column| missing.iter().find(|(c, _)| *c == column).map_or("", |(_, v)| *v);
            let added: String = (self.cells.len()..=last)
                .map(|column| format!(" {} |", escape_cell(value(column))))
                .collect();
            let line = text.lines()[self.line];
            let end = line.start + text.line(self.line).trim_end().len();
            let closed = text.slice(line.start..end).ends_with('|');
            splices.push(Splice::insert(end, if closed { added } else { format!(" |{added}") }));
        }
        splices
    }
}

/// Returns the edit that replaces a cell's content and keeps the blanks around it.
fn set_cell(text: &Text<'_>, range: &Range<usize>, value: &str) -> Splice {
    let old = text.slice(range.clone());
    let value = escape_cell(value);
    let content = old.trim();
    if content.is_empty() {
        return Splice::replace(range.clone(), format!(" {value} "));
    }
    let start = range.start + old.len() - old.trim_start().len();
    // A backslash directly before the pipe would escape the pipe.
    let is_tight = start + content.len() == range.end;
    let blank = if is_tight && value.ends_with('\\') { " " } else { "" };
    Splice::replace(start..start + content.len(), value + blank)
}

/// Makes a value safe for a cell: escapes pipes and comment starts, and puts it on one line.
pub fn escape_cell(value: &str) -> String {
    inline::escape_comment_start(value.trim()).replace('|', "\\|").replace(['\n', '\r'], " ")
}

/// Renders a row from unescaped cell values.
pub fn render_row<S: AsRef<str>>(cells: &[S]) -> String {
    let cells: Vec<_> = cells.iter().map(|cell| escape_cell(cell.as_ref())).collect();
    format!("| {} |", cells.join(" | "))
}

impl Table {
    /// Returns the index of the column with one of the names, ignoring markup and case.
    pub fn column(&self, text: &Text<'_>, names: &[&str]) -> Option<usize> {
        let columns = 0..self.header.cells.len();
        let header = |column: &usize| self.header.raw_cell(text, *column);
        names.iter().find_map(|name| {
            // Most headers have no markup, and stripping it is the expensive part.
            let as_written = columns.clone().find(|column| same_name(header(column), name));
            let is_named = |column: &usize| same_name(&inline::strip_markup(header(column)), name);
            as_written.or_else(|| columns.clone().find(is_named))
        })
    }

    /// Returns the table with the rows read from a range of lines.
    pub fn with_rows(self, text: &Text<'_>, lines: Range<usize>) -> Self {
        Self { rows: lines.filter_map(|line| row_at(text, line)).collect(), ..self }
    }

    /// Returns the index of the line after the table.
    pub fn end(&self) -> usize {
        self.rows.last().map_or(self.separator, |row| row.line) + 1
    }
}

/// Finds the tables in a range of lines.
pub fn tables(text: &Text<'_>, lines: Range<usize>) -> Vec<Table> {
    tables_without_rows(text, lines).map(|(table, rows)| table.with_rows(text, rows)).collect()
}

/// Finds the tables in a range of lines, each without its rows but with the rows' line range.
///
/// Reading thousands of rows is slow, and some callers need only one cell of each.
pub fn tables_without_rows(
    text: &Text<'_>,
    lines: Range<usize>,
) -> impl Iterator<Item = (Table, Range<usize>)> {
    let end = lines.end.min(text.lines().len());
    let mut line = lines.start;
    std::iter::from_fn(move || {
        while line + 1 < end {
            if let Some((table, rows)) = table_at(text, line, end) {
                line = rows.end;
                return Some((table, rows));
            }
            line += 1;
        }
        None
    })
}

fn table_at(text: &Text<'_>, line: usize, end: usize) -> Option<(Table, Range<usize>)> {
    if !is_separator(text.line(line + 1)) {
        return None;
    }
    // A lone pipe names no column; nothing could be written to such a table.
    let header = row_at(text, line).filter(|row| !row.cells.is_empty())?;
    // If the header begins with a pipe, a line that does not is prose even if it contains pipes.
    let piped = text.line(line).trim_start().starts_with('|');
    let is_row = |line: &usize| match text.line(*line) {
        row if piped => row.trim_start().starts_with('|'),
        row => row.contains('|'),
    };
    let rows = line + 2..line + 2 + (line + 2..end).take_while(is_row).count();
    Some((Table { header, separator: line + 1, rows: Vec::new() }, rows))
}

/// Returns whether a line consists of dashes, colons, pipes and blanks and has at least one dash and
/// one pipe.
fn is_separator(line: &str) -> bool {
    line.bytes().all(|byte| matches!(byte, b'-' | b'|' | b':' | b' ' | b'\t'))
        && line.contains('-')
        && line.contains('|')
}

/// Reads a line as a row of cells.
fn row_at(text: &Text<'_>, line: usize) -> Option<TableRow> {
    let content = text.line(line);
    if !content.contains('|') {
        return None;
    }
    // Reserve once: growing the vector is the main cost in a project with thousands of rows.
    let mut cells = Vec::with_capacity(8);
    cells.extend(cells_at(text, line));
    Some(TableRow { line, cells })
}

/// Returns the byte ranges of the cells of a row.
pub fn cells_at(text: &Text<'_>, line: usize) -> impl Iterator<Item = Range<usize>> + Clone {
    let span = text.lines()[line];
    let content = text.line(line);
    let body = content.trim_start();
    let mut start = span.start + content.len() - body.len();
    let end = start + body.trim_end().len();
    start += usize::from(body.starts_with('|'));
    let mut rest = text.slice(start..end);
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let width = unescaped_pipe(rest);
        let cell = start..start + width;
        rest = rest.get(width + 1..).unwrap_or("");
        start = cell.end + 1;
        Some(cell)
    })
}

/// Returns the offset of the first unescaped pipe, or the length of the text.
fn unescaped_pipe(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_escaped = |at: usize| at > 0 && bytes[at - 1] == b'\\';
    let mut pipes = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'|');
    pipes.find(|(at, _)| !is_escaped(*at)).map_or(bytes.len(), |(at, _)| at)
}
