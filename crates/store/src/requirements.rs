//! Parses REQUIREMENTS.md and marks requirements as complete.
//!
//! An id is literal text, never a pattern; case does not matter. Marking ticks checkboxes and
//! changes status cells; all other bytes stay. Start with [`parse`].

mod id;

#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::text::field::same_name;
use crate::text::heading::{self, Heading};
use crate::text::splice::{self, Splice};
use crate::text::table::{self, Table};
use crate::text::{Text, inline, list};

pub use id::parse_ids;

/// The content of a requirements file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// The requirements in file order.
    pub items: Vec<Requirement>,
    /// The rows of tables whose first cell is an id.
    pub rows: Vec<TraceRow>,
}

/// One requirement: a list item or heading that begins with an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The id as written.
    pub id: String,
    /// Whether its checkbox is ticked; `None` without a checkbox.
    pub ticked: Option<bool>,
    /// The text after the id, without Markdown.
    pub text: String,
    /// The heading above it; empty without one.
    pub category: String,
    /// The line number, counted from 1.
    pub line: usize,
}

/// A table row that names the phase of a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceRow {
    /// The id as written.
    pub id: String,
    /// The text of the phase column; empty without one.
    pub phase: String,
    /// The text of the status column; empty without one.
    pub status: String,
    /// The line number, counted from 1.
    pub line: usize,
}

/// The result of [`mark_complete`]: the ids in the caller's spelling.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkOutcome {
    /// Ids with a checkbox or row that was changed.
    pub marked: Vec<String>,
    /// Ids whose checkboxes and rows were complete already.
    pub already_complete: Vec<String>,
    /// Ids without a checkbox or row that could be marked.
    pub not_found: Vec<String>,
}

/// Parses a requirements file.
pub fn parse(bytes: &[u8]) -> Requirements {
    let text = Text::new(bytes);
    let mut items = Vec::new();
    let mut headings: Vec<Heading> = Vec::new();
    for line in 0..text.lines().len() {
        if let Some(found) = heading::heading_at(&text, line) {
            headings.retain(|open| open.level < found.level);
            items.extend(parse_heading(&text, &found, headings.last()));
            headings.push(found);
        } else if let Some(item) = list::item_at(&text, line) {
            let content = text.slice(item.text.clone());
            let Some((id, rest)) = id::split(content, item.checkbox.is_some()) else { continue };
            let category = headings.last().map_or(String::new(), |open| title(&text, open));
            let ticked = item.done();
            items.push(Requirement { id, ticked, text: rest, category, line: line + 1 });
        }
    }
    Requirements { items, rows: trace_rows(&text) }
}

/// Parses the heading `### ID: text`; `None` when it does not begin with an id.
fn parse_heading(
    text: &Text<'_>,
    found: &Heading,
    parent: Option<&Heading>,
) -> Option<Requirement> {
    let (id, rest) = id::split(text.slice(found.text.clone()), false)?;
    let category = parent.map_or(String::new(), |open| title(text, open));
    Some(Requirement { id, ticked: None, text: rest, category, line: found.line + 1 })
}

fn title(text: &Text<'_>, heading: &Heading) -> String {
    inline::strip_markup(text.slice(heading.text.clone())).into_owned()
}

fn trace_rows(text: &Text<'_>) -> Vec<TraceRow> {
    let mut rows = Vec::new();
    for table in table::tables(text, 0..text.lines().len()) {
        let phase = table.column(text, &["Phase", "Phases"]);
        let status = table.column(text, &["Status"]);
        if phase.is_none() && status.is_none() {
            continue;
        }
        for row in &table.rows {
            let cell = |column: Option<usize>| {
                column.map_or(String::new(), |column| {
                    inline::strip_markup(&row.cell(text, column)).into_owned()
                })
            };
            let id = cell(Some(0));
            if id::is_id(&id) {
                let (phase, status) = (cell(phase), cell(status));
                rows.push(TraceRow { id, phase, status, line: row.line + 1 });
            }
        }
    }
    rows
}

/// Ticks the checkboxes of some requirements and sets their rows to `Complete`.
///
/// A row changes only from `Pending` or `In Progress`. A person chose other words, such as
/// `Blocked`, so they stay.
pub fn mark_complete<S: AsRef<str>>(bytes: &[u8], ids: &[S]) -> (Vec<u8>, MarkOutcome) {
    let text = Text::new(bytes);
    let tables = table::tables(&text, 0..text.lines().len());
    let checkboxes = checkboxes(&text);
    let mut splices: Vec<Splice> = Vec::new();
    let mut outcome = MarkOutcome::default();
    for (index, id) in ids.iter().enumerate() {
        let id = id.as_ref().trim();
        let is_repeat = ids[..index].iter().any(|earlier| same_name(earlier.as_ref().trim(), id));
        if id.is_empty() || is_repeat {
            continue;
        }
        let mut matches = IdMatches::default();
        for candidate in checkboxes.iter().filter(|candidate| id::opens_with(&candidate.text, id)) {
            matches.complete |= candidate.done;
            if !candidate.done {
                matches.splices.push(Splice::replace(candidate.checkbox_range.clone(), "x"));
            }
        }
        for table in &tables {
            mark_rows(&text, table, id, &mut matches);
        }
        let list = match (matches.splices.is_empty(), matches.complete) {
            (false, _) => &mut outcome.marked,
            (true, true) => &mut outcome.already_complete,
            (true, false) => &mut outcome.not_found,
        };
        list.push(id.to_owned());
        splices.append(&mut matches.splices);
    }
    // Two ids may match the same text, such as `A-1` and `A-1.`.
    splices.sort_by_key(|splice| splice.range.start);
    splices.dedup();
    (splice::apply(bytes, splices), outcome)
}

/// The checkboxes and rows of one id.
#[derive(Default)]
struct IdMatches {
    /// The edits that complete them.
    splices: Vec<Splice>,
    /// Whether one of them is complete already.
    complete: bool,
}

/// A list item with a checkbox.
struct CheckboxItem {
    done: bool,
    checkbox_range: Range<usize>,
    /// The text without Markdown.
    text: String,
}

fn checkboxes(text: &Text<'_>) -> Vec<CheckboxItem> {
    let items = (0..text.lines().len()).filter_map(|line| list::item_at(text, line));
    let boxed = items.filter_map(|item| {
        let done = item.done()?;
        Some(CheckboxItem {
            done,
            text: inline::strip_markup(text.slice(item.text)).into_owned(),
            checkbox_range: item.checkbox_range,
        })
    });
    boxed.collect()
}

/// Adds the edits for the rows of one table.
fn mark_rows(text: &Text<'_>, table: &Table, id: &str, matches: &mut IdMatches) {
    let status = table.column(text, &["Status"]);
    for row in &table.rows {
        if !same_name(&inline::strip_markup(&row.cell(text, 0)), id) {
            continue;
        }
        // A table without a status column may have the word in any other column.
        let columns = status.map_or(1..row.cells.len(), |column| column..column + 1);
        for column in columns.filter(|column| *column > 0) {
            let cell = row.cell(text, column);
            let word = inline::strip_markup(&cell);
            if same_name(&word, "Pending") || same_name(&word, "In Progress") {
                matches.splices.extend(row.set(text, &[(column, "Complete")]));
            }
            matches.complete |= same_name(&word, "Complete");
        }
    }
}
