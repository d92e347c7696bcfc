//! Writes the progress of a phase into ROADMAP.md.
//!
//! An edit changes only the lines that declare the phase: its section, its checkbox and its rows.
//! All other bytes stay unchanged. Start with [`set_progress`].

#[cfg(test)]
mod tests;

use std::ops::Range;

use mow_core::phase::PhaseNumber;

use super::declarations::{
    self, DATE_COLUMNS, Declaration, DeclarationKind, Outline, STATUS_COLUMNS,
};
use super::details::find_open_phase;
use super::phase_groups::{self, PhaseGroup};
use super::{phase_label, phase_section};
use crate::text::Text;
use crate::text::field::find_field;
use crate::text::list::item_at;
use crate::text::splice::{self, Splice};
use crate::text::table::{Table, TableRow, tables};

/// Names of columns that count plans.
pub(crate) const PLANS_COLUMNS: &[&str] =
    &["Plans Complete", "Plans", "Plans Completed", "Plans Done"];

/// Width to which a status is padded: that of the longest status word.
const STATUS_WIDTH: usize = 11;

/// The progress of a phase as the roadmap shows it.
#[derive(Clone, Debug)]
pub struct RoadmapProgress<'a> {
    /// Completed and total plans for the progress row, such as `1/2`; `None` keeps the cell.
    pub plans: Option<&'a str>,
    /// Status for the progress row.
    pub status: &'a str,
    /// Value of the section's `Plans` field.
    pub section_plans: &'a str,
    /// Date of completion. If set, the checkbox is ticked too.
    pub completed: Option<&'a str>,
}

/// A parsed roadmap with the structures that edits need.
pub(crate) struct RoadmapEditor<'a> {
    pub(crate) text: &'a Text<'a>,
    pub(crate) outline: &'a Outline<'a>,
    pub(crate) groups: Vec<PhaseGroup<'a>>,
    pub(crate) tables: Vec<Table>,
}

impl<'a> RoadmapEditor<'a> {
    pub(crate) fn new(outline: &'a Outline<'a>) -> Self {
        let text = outline.text;
        let groups = phase_groups::group_by_phase(
            &phase_groups::MilestoneIndex::new(outline),
            declarations::find_declarations(outline),
        );
        Self { text, outline, groups, tables: tables(text, 0..text.lines().len()) }
    }

    /// Returns the table and the row at a line.
    pub(crate) fn row(&self, line: usize) -> Option<(&Table, &TableRow)> {
        self.tables.iter().find_map(|table| {
            table.rows.iter().find(|row| row.line == line).map(|row| (table, row))
        })
    }

    /// Returns the lines of a phase's own section. The section ends before a collapsed block, or
    /// before a rule (`---`) after the last section, because those belong to the document.
    pub(crate) fn own_lines(&self, heading: usize) -> Range<usize> {
        let lines = phase_section::lines_below(self.outline, heading);
        let next = self.outline.headings.iter().find(|next| next.line == lines.end);
        let before_phase = next.is_some_and(|next| {
            phase_label::parse_label(self.text.slice(next.text.clone())).is_some()
        });
        let is_end = |line: &usize| {
            let content = self.text.line(*line).trim_start().to_ascii_lowercase();
            content.starts_with("<details")
                || content.starts_with("</details")
                || (!before_phase && content.starts_with("---"))
        };
        lines.start..lines.clone().find(is_end).unwrap_or(lines.end)
    }

    /// Returns the last line in a range that is not blank.
    pub(crate) fn last_filled(&self, lines: Range<usize>) -> Option<usize> {
        lines.rev().find(|line| {
            !self.text.bytes()[self.text.lines()[*line].range()].trim_ascii().is_empty()
        })
    }

    /// Returns the lines of a list item, including the indented lines that continue it.
    pub(crate) fn item_lines(&self, line: usize) -> Range<usize> {
        let indent = item_at(self.text, line).map_or(0, |item| item.indent);
        let goes_on = |next: &usize| {
            let content = self.text.line(*next);
            let blanks = content.len() - content.trim_start().len();
            blanks > indent && !content.trim().is_empty()
        };
        let all = self.text.lines().len();
        line..(line + 1..all).take_while(goes_on).last().unwrap_or(line) + 1
    }

    /// Returns the byte range of whole lines.
    pub(crate) fn bytes_of(&self, lines: &Range<usize>) -> Range<usize> {
        let all = self.text.bytes().len();
        let start = |line: usize| self.text.lines().get(line).map_or(all, |line| line.start);
        start(lines.start)..start(lines.end)
    }
}

/// Writes the progress of a phase: its progress row, the `Plans` field of its section and, if it is
/// complete, its checkbox.
///
/// A roadmap that has none of these stays unchanged.
pub fn set_progress(bytes: &[u8], number: &PhaseNumber, progress: &RoadmapProgress<'_>) -> Vec<u8> {
    let text = Text::new(bytes);
    let outline = Outline::new(&text);
    let editor = RoadmapEditor::new(&outline);
    let Some(group) = find_open_phase(&outline, &editor.groups, number) else {
        return bytes.to_vec();
    };
    let mut splices = Vec::new();
    for declaration in &group.declarations {
        match (declaration.kind, progress.completed) {
            (DeclarationKind::Heading, _) => {
                let lines = phase_section::lines_below(&outline, declaration.line);
                let field = find_field(&text, lines, "Plans", true);
                splices.extend(field.map(|field| field.set(&text, progress.section_plans)));
            }
            (DeclarationKind::Checklist, Some(today)) => {
                splices.extend(tick(&text, declaration.line, today));
            }
            (DeclarationKind::Table, _) => splices.extend(set_row(&editor, declaration, progress)),
            _ => {}
        }
    }
    splice::apply(bytes, splices)
}

/// Returns the edits that tick a checkbox and add the date; a ticked checkbox stays unchanged.
fn tick(text: &Text<'_>, line: usize, today: &str) -> Vec<Splice> {
    let Some(item) = item_at(text, line).filter(|item| item.done() == Some(false)) else {
        return Vec::new();
    };
    let span = text.lines()[line];
    let content = text.bytes()[span.range()].trim_ascii_end();
    let is_dated = String::from_utf8_lossy(content).to_lowercase().contains("(completed ");
    let mut splices = vec![Splice::replace(item.checkbox_range, "x")];
    if !is_dated {
        let end = span.start + content.len();
        splices.push(Splice::insert(end, format!(" (completed {today})")));
    }
    splices
}

/// Returns the edits of a progress row; each cell is found by its column name.
fn set_row(
    editor: &RoadmapEditor<'_>,
    declaration: &Declaration,
    progress: &RoadmapProgress<'_>,
) -> Vec<Splice> {
    let Some((table, row)) = editor.row(declaration.line) else { return Vec::new() };
    let text = editor.text;
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
