//! Edits of ROADMAP.md: progress, new phases, removed phases.
//!
//! An edit touches the places that declare a phase (its heading's section, its box, its rows) and
//! the fields that refer to it; all other bytes stay. Start with [`set_progress`], [`insert`] and
//! [`remove`].

mod insert;
mod remove;
mod renumber;
#[cfg(test)]
mod tests;

use std::ops::Range;

use mow_core::phase::PhaseNumber;

use super::declare::{self, DATE_COLUMNS, Declaration, Kind, Outline, STATUS_COLUMNS};
use super::details::open_group;
use super::gather::{self, Group};
use super::{mention, section};
use crate::text::Text;
use crate::text::field::find_field;
use crate::text::list::item_at;
use crate::text::splice::{self, Splice};
use crate::text::table::{Row, Table, tables};

pub use insert::{NewPhase, highest, insert};
pub use remove::{Ambiguous, remove};

/// Columns that count plans.
const PLANS_COLUMNS: &[&str] = &["Plans Complete", "Plans", "Plans Completed", "Plans Done"];

/// A status is written as wide as the longest of its words.
const STATUS_WIDTH: usize = 11;

/// How far a phase is, as the roadmap shows it.
#[derive(Clone, Debug)]
pub struct Progress<'a> {
    /// Plans done and in all for the progress row, such as `1/2`; `None` leaves the cell.
    pub plans: Option<&'a str>,
    /// The word for the progress row.
    pub status: &'a str,
    /// The value of the section's `Plans` field.
    pub section_plans: &'a str,
    /// The day it was completed; also ticks the box.
    pub completed: Option<&'a str>,
}

/// A roadmap with its phases, ready to be edited.
struct Draft<'a> {
    text: &'a Text<'a>,
    outline: &'a Outline<'a>,
    groups: Vec<Group<'a>>,
    tables: Vec<Table>,
}

impl<'a> Draft<'a> {
    fn new(outline: &'a Outline<'a>) -> Self {
        let text = outline.text;
        let groups =
            gather::groups(&gather::Milestones::new(outline), declare::declarations(outline));
        Self { text, outline, groups, tables: tables(text, 0..text.lines().len()) }
    }

    /// Returns the table and the row that stand at a line.
    fn row(&self, line: usize) -> Option<(&Table, &Row)> {
        self.tables.iter().find_map(|table| {
            table.rows.iter().find(|row| row.line == line).map(|row| (table, row))
        })
    }

    /// Returns the lines of a phase's section that are its own: what a fold or a rule sets off at
    /// the end of the last section belongs to the document.
    fn own_lines(&self, heading: usize) -> Range<usize> {
        let lines = section::lines_below(self.outline, heading);
        let next = self.outline.headings.iter().find(|next| next.line == lines.end);
        let before_phase =
            next.is_some_and(|next| mention::named(self.text.slice(next.text.clone())).is_some());
        let is_end = |line: &usize| {
            let content = self.text.line(*line).trim_start().to_ascii_lowercase();
            content.starts_with("<details")
                || content.starts_with("</details")
                || (!before_phase && content.starts_with("---"))
        };
        lines.start..lines.clone().find(is_end).unwrap_or(lines.end)
    }

    /// Returns the last line before another that is not blank.
    fn last_filled(&self, lines: Range<usize>) -> Option<usize> {
        lines.rev().find(|line| {
            !self.text.bytes()[self.text.lines()[*line].range()].trim_ascii().is_empty()
        })
    }

    /// Returns the lines of a list item: its own and the indented ones that go on with it.
    fn item_lines(&self, line: usize) -> Range<usize> {
        let indent = item_at(self.text, line).map_or(0, |item| item.indent);
        let goes_on = |next: &usize| {
            let content = self.text.line(*next);
            let blanks = content.len() - content.trim_start().len();
            blanks > indent && !content.trim().is_empty()
        };
        let all = self.text.lines().len();
        line..(line + 1..all).take_while(goes_on).last().unwrap_or(line) + 1
    }

    /// Returns the bytes of whole lines.
    fn bytes_of(&self, lines: &Range<usize>) -> Range<usize> {
        let all = self.text.bytes().len();
        let start = |line: usize| self.text.lines().get(line).map_or(all, |line| line.start);
        start(lines.start)..start(lines.end)
    }
}

/// Writes how far a phase is: progress row, plans of its section, and its box when it is complete.
///
/// A roadmap that shows none of these stays as it is.
pub fn set_progress(bytes: &[u8], number: &PhaseNumber, progress: &Progress<'_>) -> Vec<u8> {
    let text = Text::new(bytes);
    let outline = Outline::new(&text);
    let draft = Draft::new(&outline);
    let Some(group) = open_group(&outline, &draft.groups, number) else { return bytes.to_vec() };
    let mut splices = Vec::new();
    for place in &group.places {
        match (place.kind, progress.completed) {
            (Kind::Heading, _) => {
                let lines = section::lines_below(&outline, place.line);
                let field = find_field(&text, lines, "Plans", true);
                splices.extend(field.map(|field| field.set(&text, progress.section_plans)));
            }
            (Kind::Checklist, Some(today)) => splices.extend(tick(&text, place.line, today)),
            (Kind::Table, _) => splices.extend(set_row(&draft, place, progress)),
            _ => {}
        }
    }
    splice::apply(bytes, splices)
}

/// Ticks a box and says when; a ticked one stays.
fn tick(text: &Text<'_>, line: usize, today: &str) -> Vec<Splice> {
    let Some(item) = item_at(text, line).filter(|item| item.done() == Some(false)) else {
        return Vec::new();
    };
    let place = text.lines()[line];
    let content = text.bytes()[place.range()].trim_ascii_end();
    let said = String::from_utf8_lossy(content).to_lowercase().contains("(completed ");
    let mut splices = vec![Splice::replace(item.tick_at, "x")];
    if !said {
        let end = place.start + content.len();
        splices.push(Splice::insert(end, format!(" (completed {today})")));
    }
    splices
}

/// Changes the cells of a progress row, each found by the name of its column.
fn set_row(draft: &Draft<'_>, place: &Declaration, progress: &Progress<'_>) -> Vec<Splice> {
    let Some((table, row)) = draft.row(place.line) else { return Vec::new() };
    let text = draft.text;
    let column = |names: &[&str]| table.column(text, names);
    let (plans, date) = (column(PLANS_COLUMNS), column(DATE_COLUMNS));
    let Some(status) = column(STATUS_COLUMNS).filter(|_| plans.is_some() || date.is_some()) else {
        return Vec::new();
    };
    let word = format!("{:<STATUS_WIDTH$}", progress.status);
    let changes = [
        plans.zip(progress.plans),
        Some((status, word.as_str())),
        date.map(|column| (column, progress.completed.unwrap_or(""))),
    ];
    let changes = changes.into_iter().flatten();
    let (present, missing): (Vec<_>, Vec<_>) =
        changes.partition(|(column, _)| *column < row.cells.len());
    let mut splices = row.set(text, &missing);
    for (column, value) in present {
        let cell = row.cells[column].clone();
        let width = text.slice(cell.clone()).chars().count();
        splices.push(Splice::replace(cell, format!("{:<width$}", format!(" {value} "))));
    }
    splices
}
