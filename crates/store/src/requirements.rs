//! REQUIREMENTS.md: what was promised, and what of it is done.
//!
//! Ids are literal text, compared without regard to case; they are never patterns. Marking ticks
//! boxes and changes status cells and touches nothing else. Start with [`parse`].

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

/// All that a requirements file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// The requirements in file order.
    pub items: Vec<Requirement>,
    /// The rows of tables whose first cell is an id.
    pub rows: Vec<TraceRow>,
}

/// One requirement: a list item, or a heading, that opens with an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The id as written.
    pub id: String,
    /// Whether its box is ticked; `None` without a box.
    pub ticked: Option<bool>,
    /// What is required, markup taken off.
    pub text: String,
    /// The heading it stands under.
    pub category: String,
    /// Its line, counted from one.
    pub line: usize,
}

/// One row that says which phase delivers a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceRow {
    /// The id as written.
    pub id: String,
    /// What the phase column says, empty without one.
    pub phase: String,
    /// What the status column says, empty without one.
    pub status: String,
    /// Its line, counted from one.
    pub line: usize,
}

/// What became of the ids that were to be marked, each spelt as it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marked {
    /// A box was ticked or a row changed.
    pub marked: Vec<String>,
    /// A ticked box or a complete row was there, and nothing to change.
    pub already: Vec<String>,
    /// Neither is there.
    pub not_found: Vec<String>,
}

/// Reads a requirements file.
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
            let Some((id, rest)) = id::split(content, item.tick.is_some()) else { continue };
            let category = headings.last().map_or(String::new(), |open| title(&text, open));
            let ticked = item.done();
            items.push(Requirement { id, ticked, text: rest, category, line: line + 1 });
        }
    }
    Requirements { items, rows: trace_rows(&text) }
}

/// Reads `### ID: text`; only text in the shape of an id counts.
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
    inline::plain(text.slice(heading.text.clone())).into_owned()
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
                    inline::plain(&row.cell(text, column)).into_owned()
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

/// Ticks the boxes of some requirements and completes their rows.
///
/// A row goes from `Pending` or `In Progress` to `Complete`; other words, such as `Blocked`, were
/// chosen by a person and stay.
pub fn mark_complete<S: AsRef<str>>(bytes: &[u8], ids: &[S]) -> (Vec<u8>, Marked) {
    let text = Text::new(bytes);
    let tables = table::tables(&text, 0..text.lines().len());
    let boxes = boxes(&text);
    let mut splices: Vec<Splice> = Vec::new();
    let mut outcome = Marked::default();
    for (index, id) in ids.iter().enumerate() {
        let id = id.as_ref().trim();
        let is_repeat = ids[..index].iter().any(|earlier| same_name(earlier.as_ref().trim(), id));
        if id.is_empty() || is_repeat {
            continue;
        }
        let mut found = Found::default();
        for candidate in boxes.iter().filter(|candidate| id::opens_with(&candidate.text, id)) {
            found.complete |= candidate.done;
            if !candidate.done {
                found.splices.push(Splice::replace(candidate.tick_at.clone(), "x"));
            }
        }
        for table in &tables {
            mark_rows(&text, table, id, &mut found);
        }
        let list = match (found.splices.is_empty(), found.complete) {
            (false, _) => &mut outcome.marked,
            (true, true) => &mut outcome.already,
            (true, false) => &mut outcome.not_found,
        };
        list.push(id.to_owned());
        splices.append(&mut found.splices);
    }
    // Two ids may open the same text: `A-1` and `A-1.` do.
    splices.sort_by_key(|splice| splice.range.start);
    splices.dedup();
    (splice::apply(bytes, splices), outcome)
}

/// What one id has in the file.
#[derive(Default)]
struct Found {
    splices: Vec<Splice>,
    /// Whether a box or row says already that it is done.
    complete: bool,
}

/// A list item with a box.
struct BoxedItem {
    done: bool,
    tick_at: Range<usize>,
    /// Its text, markup taken off.
    text: String,
}

fn boxes(text: &Text<'_>) -> Vec<BoxedItem> {
    let items = (0..text.lines().len()).filter_map(|line| list::item_at(text, line));
    let boxed = items.filter_map(|item| {
        let done = item.done()?;
        Some(BoxedItem {
            done,
            text: inline::plain(text.slice(item.text)).into_owned(),
            tick_at: item.tick_at,
        })
    });
    boxed.collect()
}

fn mark_rows(text: &Text<'_>, table: &Table, id: &str, found: &mut Found) {
    let status = table.column(text, &["Status"]);
    for row in &table.rows {
        if !same_name(&inline::plain(&row.cell(text, 0)), id) {
            continue;
        }
        // A table without a status column may still have the word in some column.
        let columns = status.map_or(1..row.cells.len(), |column| column..column + 1);
        for column in columns.filter(|column| *column > 0) {
            let cell = row.cell(text, column);
            let word = inline::plain(&cell);
            if same_name(&word, "Pending") || same_name(&word, "In Progress") {
                found.splices.extend(row.set(text, &[(column, "Complete")]));
            }
            found.complete |= same_name(&word, "Complete");
        }
    }
}
