//! Removed phases: what declares them goes, and those behind them move up by exactly one.

use std::ops::Range;

use mow_core::depends::{self, Surroundings};
use mow_core::phase::PhaseNumber;
use thiserror::Error;

use super::super::declare::{DEPENDS_COLUMNS, Declaration, Kind, Outline, phase_columns};
use super::super::details::{is_padded, styled};
use super::super::gather::Group;
use super::super::section::{self, DEPENDS, PARALLEL};
use super::Draft;
use super::renumber::{self, Token};
use crate::text::Text;
use crate::text::field::{Field, field_at, same_name};
use crate::text::heading::heading_at;
use crate::text::inline::plain;
use crate::text::list::item_at;
use crate::text::splice::{self, Splice};

/// Why a phase was not removed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("ROADMAP.md has more than one phase {0}: its numbering starts over")]
pub struct Ambiguous(
    /// The number.
    pub PhaseNumber,
);

/// The phases of a roadmap, seen from the one that goes.
struct Removal<'a> {
    draft: &'a Draft<'a>,
    removed: PhaseNumber,
    block: usize,
    padded: bool,
    /// The phases of the block.
    known: Vec<PhaseNumber>,
    /// What the removed phase depended on: who waited for it waits for these.
    inherited: Vec<PhaseNumber>,
}

/// Removes a phase and those that hang on it, and renumbers those behind it.
///
/// Only places that declare phases, fields that hold them and ids of plans change.
pub fn remove(bytes: &[u8], removed: &PhaseNumber) -> Result<Vec<u8>, Ambiguous> {
    let text = Text::new(bytes);
    let outline = Outline::new(&text);
    let draft = Draft::new(&outline);
    let same: Vec<_> = draft.groups.iter().filter(|group| group.number == *removed).collect();
    if same.len() > 1 {
        return Err(Ambiguous(*removed));
    }
    let last_block = draft.groups.iter().map(|group| group.block).max().unwrap_or(0);
    let block = same.first().map_or(last_block, |group| group.block);
    let known = draft.groups.iter().filter(|group| group.block == block);
    let mut removal = Removal {
        draft: &draft,
        removed: *removed,
        block,
        padded: is_padded(&draft.groups),
        known: known.map(|group| group.number).collect(),
        inherited: Vec::new(),
    };
    removal.inherited = same.first().map(|group| removal.needs(group)).unwrap_or_default();
    Ok(splice::apply(bytes, removal.splices()))
}

impl Removal<'_> {
    fn goes(&self, number: &PhaseNumber) -> bool {
        *number == self.removed || number.hangs_on(&self.removed)
    }

    fn splices(&self) -> Vec<Splice> {
        let mut gone = Vec::new();
        let mut splices = Vec::new();
        for group in self.draft.groups.iter().filter(|group| group.block == self.block) {
            if self.goes(&group.number) {
                gone.extend(group.places.iter().filter_map(|place| self.extent(group, place)));
            } else {
                self.renumber(group, &mut splices);
            }
        }
        let gone = merged(gone);
        splices.retain(|splice| !gone.iter().any(|range| overlap(range, &splice.range)));
        splices.sort_by_key(|splice| splice.range.start);
        splices.dedup_by(|later, earlier| earlier.range.end > later.range.start);
        splices.extend(gone.into_iter().map(Splice::remove));
        splices
    }

    /// Returns the bytes that go with a place.
    fn extent(&self, group: &Group, place: &Declaration) -> Option<Range<usize>> {
        let lines = match place.kind {
            Kind::Heading => place.line..self.draft.own_lines(place.line).end,
            Kind::Checklist => self.draft.item_lines(place.line),
            Kind::Table => place.line..place.line + 1,
            Kind::Bullet if is_list_form(group) => self.draft.item_lines(place.line),
            // A remark on the phase elsewhere is somebody's note.
            Kind::Bullet => return None,
        };
        Some(self.draft.bytes_of(&lines))
    }

    fn renumber(&self, group: &Group, splices: &mut Vec<Splice>) {
        let moved = group.number.after_removal(&self.removed);
        for place in &group.places {
            if moved != group.number && (place.kind != Kind::Bullet || is_list_form(group)) {
                splices.extend(self.declared(place, &moved));
            }
            match place.kind {
                Kind::Heading => self.fields(group, place, splices),
                Kind::Table => splices.extend(self.depends_cell(group, place)),
                _ => {}
            }
            if place.kind == Kind::Heading {
                let lines = section::lines_below(self.draft.outline, place.line);
                self.plan_ids(&group.number, &lines, splices);
            }
        }
    }

    /// Changes the number in the place that declares a phase.
    fn declared(&self, place: &Declaration, moved: &PhaseNumber) -> Option<Splice> {
        let text = self.draft.text;
        let range = match place.kind {
            Kind::Table => {
                let (table, row) = self.draft.row(place.line)?;
                row.cells.get(phase_columns(text, table)?.0)?.clone()
            }
            // The text of an item begins behind its mark, which may be a number itself.
            Kind::Checklist | Kind::Bullet => item_at(text, place.line)?.text,
            Kind::Heading => text.lines()[place.line].range(),
        };
        let content = text.slice(range.clone());
        let token = renumber::leading(content).filter(|token| token.number == place.number)?;
        Some(self.rewrite(content, range.start, &token, moved))
    }

    fn rewrite(&self, content: &str, at: usize, token: &Token, moved: &PhaseNumber) -> Splice {
        let range = at + token.range.start..at + token.range.end;
        Splice::replace(range, token.rewritten(content, moved, self.padded))
    }

    /// Changes the numbers that a piece of text names.
    fn shift(&self, range: Range<usize>, tokens: &[Token]) -> Vec<Splice> {
        let content = self.draft.text.slice(range.clone());
        let moved = tokens.iter().filter_map(|token| {
            let moved = token.number.after_removal(&self.removed);
            (moved != token.number).then(|| self.rewrite(content, range.start, token, &moved))
        });
        moved.collect()
    }

    /// Changes the fields of a section that hold phases.
    fn fields(&self, group: &Group, place: &Declaration, splices: &mut Vec<Splice>) {
        let text = self.draft.text;
        let lines = section::lines_below(self.draft.outline, place.line);
        for field in lines.clone().filter_map(|line| field_at(text, line)) {
            let name = plain(text.slice(field.name.clone()));
            let is = |names: &[&str]| names.iter().any(|other| same_name(&name, other));
            if !is(DEPENDS) && !is(PARALLEL) {
                continue;
            }
            let value = text.slice(field.value.clone());
            if is(DEPENDS) && self.waits(group, value) {
                splices.push(Splice::replace(field.value.clone(), self.bridged(group, value)));
                continue;
            }
            splices.extend(self.shift(field.value.clone(), &renumber::in_field(value)));
            for line in self.continued(&field, lines.end) {
                let range = text.lines()[line].range();
                let tokens = renumber::in_field(text.slice(range.clone()));
                splices.extend(self.shift(range, &tokens));
            }
        }
    }

    /// Returns the lines that a field's value goes on over.
    fn continued(&self, field: &Field, end: usize) -> Range<usize> {
        let text = self.draft.text;
        let goes_on = |line: &usize| {
            let content = text.line(*line).trim();
            !content.is_empty()
                && !content.starts_with(['|', '<'])
                && heading_at(text, *line).is_none()
                && field_at(text, *line).is_none_or(|next| !next.bold)
        };
        let start = field.line + 1;
        start..(start..end).take_while(goes_on).last().map_or(start, |line| line + 1)
    }

    fn depends_cell(&self, group: &Group, place: &Declaration) -> Vec<Splice> {
        let text = self.draft.text;
        let Some((table, row)) = self.draft.row(place.line) else { return Vec::new() };
        let Some(column) = table.column(text, DEPENDS_COLUMNS) else { return Vec::new() };
        let Some(cell) = row.cells.get(column).cloned() else { return Vec::new() };
        let value = text.slice(cell.clone());
        if self.waits(group, value) {
            return row.set(text, &[(column, &self.bridged(group, value))]);
        }
        self.shift(cell, &renumber::in_field(value))
    }

    fn dependencies(&self, group: &Group, value: &str) -> Vec<PhaseNumber> {
        // "All previous phases" stays true without one of them: it names none by number.
        let around = Surroundings { own: &group.number, known: &self.known, peers: &[] };
        depends::parse(&plain(value), around)
    }

    /// Returns what a phase depends on.
    fn needs(&self, group: &Group) -> Vec<PhaseNumber> {
        let text = self.draft.text;
        let of_heading = group.of_kind(Kind::Heading).find_map(|place| {
            let lines = section::lines_below(self.draft.outline, place.line);
            let mut fields = lines.filter_map(|line| field_at(text, line));
            let field = fields.find(|field| {
                let name = plain(text.slice(field.name.clone()));
                DEPENDS.iter().any(|other| same_name(&name, other))
            })?;
            Some(self.dependencies(group, text.slice(field.value)))
        });
        of_heading.unwrap_or_default()
    }

    /// Returns whether a phase depends on one that goes.
    fn waits(&self, group: &Group, value: &str) -> bool {
        self.dependencies(group, value).iter().any(|number| self.goes(number))
    }

    /// Writes a dependency field without what goes: what that one waited for takes its place.
    fn bridged(&self, group: &Group, value: &str) -> String {
        let mut needs = self.dependencies(group, value);
        needs.extend(&self.inherited);
        needs.retain(|number| !self.goes(number) && *number != group.number);
        needs.sort();
        needs.dedup();
        let names = needs.iter().map(|number| {
            format!("Phase {}", styled(&number.after_removal(&self.removed), self.padded))
        });
        let names: Vec<_> = names.collect();
        if names.is_empty() { "Nothing".to_owned() } else { names.join(", ") }
    }

    /// Changes the ids of the section's own plans, and the names of other phases' plan files.
    fn plan_ids(&self, own: &PhaseNumber, lines: &Range<usize>, splices: &mut Vec<Splice>) {
        let range = self.draft.bytes_of(lines);
        let content = self.draft.text.slice(range.clone());
        let tokens = renumber::in_plan_ids(content, |number, is_file| number == own || is_file);
        for token in tokens {
            let moved = token.number.after_removal(&self.removed);
            if moved != token.number && !self.goes(&token.number) {
                let written = &content[token.range.clone()];
                let padded = written.starts_with('0') || token.number.major() > 9;
                let at = range.start + token.range.start..range.start + token.range.end;
                splices.push(Splice::replace(at, styled(&moved, padded)));
            }
        }
    }
}

/// In a roadmap without boxes plain items are the list of phases.
fn is_list_form(group: &Group) -> bool {
    group.of_kind(Kind::Checklist).next().is_none()
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// Joins ranges that overlap or touch.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}
