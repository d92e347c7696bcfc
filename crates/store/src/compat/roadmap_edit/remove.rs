//! Removes a phase: deletes its declarations and renumbers the phases after it by exactly one.

use std::ops::Range;

use mow_core::depends_on::{self, DependencyContext};
use mow_core::phase::PhaseNumber;
use thiserror::Error;

use super::renumber::{self, Token};
use crate::roadmap::declarations::{
    DEPENDS_COLUMNS, Declaration, DeclarationKind, Outline, phase_columns,
};
use crate::roadmap::details::{format_number, uses_padded_numbers};
use crate::roadmap::edit::RoadmapEditor;
use crate::roadmap::phase_groups::PhaseGroup;
use crate::roadmap::phase_section::{self, DEPENDS_FIELDS, PARALLEL_FIELDS};
use crate::text::Text;
use crate::text::field::{Field, field_at, same_name};
use crate::text::heading::heading_at;
use crate::text::inline::strip_markup;
use crate::text::list::item_at;
use crate::text::splice::{self, Splice};

/// The roadmap has several phases with the number, so none was removed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("ROADMAP.md has more than one phase {0}: its numbering starts over")]
pub struct AmbiguousPhase(
    /// The ambiguous number.
    pub PhaseNumber,
);

/// The state of one removal.
struct RoadmapRemoval<'a> {
    editor: &'a RoadmapEditor<'a>,
    removed: PhaseNumber,
    block: usize,
    padded: bool,
    /// All phase numbers of the block.
    block_phases: Vec<PhaseNumber>,
    /// Dependencies of the removed phase. Phases that depended on it depend on these instead.
    inherited: Vec<PhaseNumber>,
}

/// Removes a phase and its sub-phases, and renumbers the phases after it.
///
/// Only declarations of phases, fields that refer to phases, and plan ids change.
pub fn remove(bytes: &[u8], removed: &PhaseNumber) -> Result<Vec<u8>, AmbiguousPhase> {
    let text = Text::new(bytes);
    let outline = Outline::new(&text);
    let editor = RoadmapEditor::new(&outline);
    let same: Vec<_> = editor.groups.iter().filter(|group| group.number == *removed).collect();
    if same.len() > 1 {
        return Err(AmbiguousPhase(*removed));
    }
    let last_block = editor.groups.iter().map(|group| group.block).max().unwrap_or(0);
    let block = same.first().map_or(last_block, |group| group.block);
    let block_phases = editor.groups.iter().filter(|group| group.block == block);
    let mut removal = RoadmapRemoval {
        editor: &editor,
        removed: *removed,
        block,
        padded: uses_padded_numbers(&editor.groups),
        block_phases: block_phases.map(|group| group.number).collect(),
        inherited: Vec::new(),
    };
    removal.inherited =
        same.first().map(|group| removal.stated_dependencies(group)).unwrap_or_default();
    Ok(splice::apply(bytes, removal.splices()))
}

impl RoadmapRemoval<'_> {
    fn is_removed(&self, number: &PhaseNumber) -> bool {
        *number == self.removed || number.is_descendant_of(&self.removed)
    }

    fn splices(&self) -> Vec<Splice> {
        let mut removed = Vec::new();
        let mut splices = Vec::new();
        for group in self.editor.groups.iter().filter(|group| group.block == self.block) {
            if self.is_removed(&group.number) {
                removed.extend(
                    group
                        .declarations
                        .iter()
                        .filter_map(|declaration| self.extent(group, declaration)),
                );
            } else {
                self.renumber(group, &mut splices);
            }
        }
        let removed = merge_ranges(removed);
        splices.retain(|splice| !removed.iter().any(|range| overlap(range, &splice.range)));
        splices.sort_by_key(|splice| splice.range.start);
        splices.dedup_by(|later, earlier| earlier.range.end > later.range.start);
        splices.extend(removed.into_iter().map(Splice::remove));
        splices
    }

    /// Returns the byte range that is deleted with a declaration.
    fn extent(&self, group: &PhaseGroup, declaration: &Declaration) -> Option<Range<usize>> {
        let lines = match declaration.kind {
            DeclarationKind::Heading => {
                declaration.line..self.editor.own_lines(declaration.line).end
            }
            DeclarationKind::Checklist => self.editor.item_lines(declaration.line),
            DeclarationKind::Table => declaration.line..declaration.line + 1,
            DeclarationKind::Bullet if is_list_form(group) => {
                self.editor.item_lines(declaration.line)
            }
            // A bullet about a phase that is declared elsewhere is a person's note and stays.
            DeclarationKind::Bullet => return None,
        };
        Some(self.editor.bytes_of(&lines))
    }

    fn renumber(&self, group: &PhaseGroup, splices: &mut Vec<Splice>) {
        let moved = group.number.after_removal(&self.removed);
        for declaration in &group.declarations {
            if moved != group.number
                && (declaration.kind != DeclarationKind::Bullet || is_list_form(group))
            {
                splices.extend(self.renumber_declaration(declaration, &moved));
            }
            match declaration.kind {
                DeclarationKind::Heading => self.fields(group, declaration, splices),
                DeclarationKind::Table => splices.extend(self.depends_cell(group, declaration)),
                _ => {}
            }
            if declaration.kind == DeclarationKind::Heading {
                let lines = phase_section::lines_below(self.editor.outline, declaration.line);
                self.plan_ids(&group.number, &lines, splices);
            }
        }
    }

    /// Returns the edit of the number in a declaration.
    fn renumber_declaration(
        &self,
        declaration: &Declaration,
        moved: &PhaseNumber,
    ) -> Option<Splice> {
        let text = self.editor.text;
        let range = match declaration.kind {
            DeclarationKind::Table => {
                let (table, row) = self.editor.row(declaration.line)?;
                row.cells.get(phase_columns(text, table)?.0)?.clone()
            }
            // The text of a list item starts after its marker, which may be a number too.
            DeclarationKind::Checklist | DeclarationKind::Bullet => {
                item_at(text, declaration.line)?.text
            }
            DeclarationKind::Heading => text.lines()[declaration.line].range(),
        };
        let content = text.slice(range.clone());
        let token =
            renumber::leading(content).filter(|token| token.number == declaration.number)?;
        Some(self.rewrite(content, range.start, &token, moved))
    }

    fn rewrite(&self, content: &str, at: usize, token: &Token, moved: &PhaseNumber) -> Splice {
        let range = at + token.range.start..at + token.range.end;
        Splice::replace(range, token.rewritten(content, moved, self.padded))
    }

    /// Returns the edits of the phase numbers in a range of text.
    fn renumber_tokens(&self, range: Range<usize>, tokens: &[Token]) -> Vec<Splice> {
        let content = self.editor.text.slice(range.clone());
        let moved = tokens.iter().filter_map(|token| {
            let moved = token.number.after_removal(&self.removed);
            (moved != token.number).then(|| self.rewrite(content, range.start, token, &moved))
        });
        moved.collect()
    }

    /// Adds the edits of the section's fields that refer to phases.
    fn fields(&self, group: &PhaseGroup, declaration: &Declaration, splices: &mut Vec<Splice>) {
        let text = self.editor.text;
        let lines = phase_section::lines_below(self.editor.outline, declaration.line);
        for field in lines.clone().filter_map(|line| field_at(text, line)) {
            let name = strip_markup(text.slice(field.name.clone()));
            let is = |names: &[&str]| names.iter().any(|other| same_name(&name, other));
            if !is(DEPENDS_FIELDS) && !is(PARALLEL_FIELDS) {
                continue;
            }
            let value = text.slice(field.value.clone());
            if is(DEPENDS_FIELDS) && self.depends_on_removed(group, value) {
                splices
                    .push(Splice::replace(field.value.clone(), self.without_removed(group, value)));
                continue;
            }
            splices.extend(self.renumber_tokens(field.value.clone(), &renumber::in_field(value)));
            for line in self.continuation_lines(&field, lines.end) {
                let range = text.lines()[line].range();
                let tokens = renumber::in_field(text.slice(range.clone()));
                splices.extend(self.renumber_tokens(range, &tokens));
            }
        }
    }

    /// Returns the lines that continue a field's value.
    fn continuation_lines(&self, field: &Field, end: usize) -> Range<usize> {
        let text = self.editor.text;
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

    fn depends_cell(&self, group: &PhaseGroup, declaration: &Declaration) -> Vec<Splice> {
        let text = self.editor.text;
        let Some((table, row)) = self.editor.row(declaration.line) else { return Vec::new() };
        let Some(column) = table.column(text, DEPENDS_COLUMNS) else { return Vec::new() };
        let Some(cell) = row.cells.get(column).cloned() else { return Vec::new() };
        let value = text.slice(cell.clone());
        if self.depends_on_removed(group, value) {
            return row.set(text, &[(column, &self.without_removed(group, value))]);
        }
        self.renumber_tokens(cell, &renumber::in_field(value))
    }

    fn dependencies(&self, group: &PhaseGroup, value: &str) -> Vec<PhaseNumber> {
        // "All previous phases" names no number, so it stays true without the removed phase.
        let around = DependencyContext {
            phase: &group.number,
            block_phases: &self.block_phases,
            milestone_phases: &[],
        };
        depends_on::parse(&strip_markup(value), around)
    }

    /// Returns the dependencies that a phase's section states.
    fn stated_dependencies(&self, group: &PhaseGroup) -> Vec<PhaseNumber> {
        let text = self.editor.text;
        let of_heading = group.of_kind(DeclarationKind::Heading).find_map(|declaration| {
            let lines = phase_section::lines_below(self.editor.outline, declaration.line);
            let mut fields = lines.filter_map(|line| field_at(text, line));
            let field = fields.find(|field| {
                let name = strip_markup(text.slice(field.name.clone()));
                DEPENDS_FIELDS.iter().any(|other| same_name(&name, other))
            })?;
            Some(self.dependencies(group, text.slice(field.value)))
        });
        of_heading.unwrap_or_default()
    }

    /// Returns whether a dependency text refers to a removed phase.
    fn depends_on_removed(&self, group: &PhaseGroup, value: &str) -> bool {
        self.dependencies(group, value).iter().any(|number| self.is_removed(number))
    }

    /// Renders a dependency field in which the removed phase is replaced by its own dependencies.
    fn without_removed(&self, group: &PhaseGroup, value: &str) -> String {
        let mut needs = self.dependencies(group, value);
        needs.extend(&self.inherited);
        needs.retain(|number| !self.is_removed(number) && *number != group.number);
        needs.sort();
        needs.dedup();
        let names = needs.iter().map(|number| {
            format!("Phase {}", format_number(&number.after_removal(&self.removed), self.padded))
        });
        let names: Vec<_> = names.collect();
        if names.is_empty() { "Nothing".to_owned() } else { names.join(", ") }
    }

    /// Adds the edits of the section's own plan ids and of plan file names of other phases.
    fn plan_ids(&self, own: &PhaseNumber, lines: &Range<usize>, splices: &mut Vec<Splice>) {
        let range = self.editor.bytes_of(lines);
        let content = self.editor.text.slice(range.clone());
        let tokens = renumber::in_plan_ids(content, |number, is_file| number == own || is_file);
        for token in tokens {
            let moved = token.number.after_removal(&self.removed);
            if moved != token.number && !self.is_removed(&token.number) {
                let written = &content[token.range.clone()];
                let padded = written.starts_with('0') || token.number.major() > 9;
                let at = range.start + token.range.start..range.start + token.range.end;
                splices.push(Splice::replace(at, format_number(&moved, padded)));
            }
        }
    }
}

/// Returns whether plain list items are the list of phases, as in a roadmap without checkboxes.
fn is_list_form(group: &PhaseGroup) -> bool {
    group.of_kind(DeclarationKind::Checklist).next().is_none()
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// Merges ranges that overlap or touch.
fn merge_ranges(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
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
