//! Groups the declarations of each phase and builds the roadmap entries from the groups.
//!
//! A number usually means one phase, however many declarations name it. If numbering starts over,
//! two headings (or two checkboxes) in different milestones have the same number and different
//! names. They are then two phases, distinguished by their `block`.

use std::collections::BTreeMap;

use mow_core::depends_on::{self, DependencyContext};
use mow_core::phase::PhaseNumber;
use mow_core::roadmap::{Completion, DeclarationKinds, RoadmapPhase};

use super::declarations::{Declaration, DeclarationKind, Outline};
use super::phase_section::PhaseSection;
use super::withdrawn::WithdrawalIndex;
use super::{RoadmapEntry, completion_words};
use crate::text::heading::Heading;

/// The number of times numbering may start over. A file that repeats a number more often does not
/// number phases, and each declaration is compared with all phases of its number.
const BLOCKS_MAX: usize = 100;

/// All declarations of one phase.
#[derive(Debug)]
pub(crate) struct PhaseGroup<'a> {
    pub(crate) number: PhaseNumber,
    pub(crate) block: usize,
    pub(crate) declarations: Vec<Declaration<'a>>,
}

impl<'a> PhaseGroup<'a> {
    /// Returns the most authoritative declaration: a heading, else a checkbox, else a row, else a
    /// bullet.
    pub(crate) fn best(&self) -> &Declaration<'a> {
        self.declarations
            .iter()
            .min_by_key(|declaration| declaration.kind)
            .expect("a group begins with a declaration")
    }

    pub(crate) fn of_kind(&self, kind: DeclarationKind) -> impl Iterator<Item = &Declaration<'a>> {
        self.declarations.iter().filter(move |declaration| declaration.kind == kind)
    }
}

/// Groups declarations by phase, ordered by number and then by position in the document.
pub(crate) fn group_by_phase<'a>(
    milestones: &MilestoneIndex<'_>,
    declarations: Vec<Declaration<'a>>,
) -> Vec<PhaseGroup<'a>> {
    let mut groups = build_groups(milestones, declarations, false);
    // If one number means two phases, checkboxes and headings of other numbers may too.
    if groups.iter().any(|group| group.block > 0) {
        let mut declarations: Vec<_> =
            groups.into_iter().flat_map(|group| group.declarations).collect();
        declarations.sort_by_key(|declaration| declaration.line);
        groups = build_groups(milestones, declarations, true);
    }
    align_blocks(milestones, &mut groups);
    groups
}

fn build_groups<'a>(
    milestones: &MilestoneIndex<'_>,
    mut declarations: Vec<Declaration<'a>>,
    restarts: bool,
) -> Vec<PhaseGroup<'a>> {
    // Sort by number with headings and checkboxes first, because they define which phases exist.
    declarations.sort_by_key(|declaration| {
        (declaration.number, !is_defining(declaration), declaration.line)
    });
    let mut groups: Vec<PhaseGroup<'a>> = Vec::new();
    let mut first = 0;
    for declaration in declarations {
        if groups.last().is_none_or(|group| group.number != declaration.number) {
            first = groups.len();
        }
        let found = &groups[first..];
        let fit = |group: &PhaseGroup| {
            if found.len() > 1 { match_score(milestones, group, &declaration) } else { 0 }
        };
        let home = if found.len() >= BLOCKS_MAX {
            Some(found.len() - 1)
        } else {
            let is_other_phase =
                |at: &usize| is_other_phase(milestones, &found[*at], &declaration, restarts);
            (0..found.len()).filter(|at| !is_other_phase(at)).max_by_key(|at| fit(&found[*at]))
        };
        match home {
            Some(at) => groups[first + at].declarations.push(declaration),
            None => {
                let block = found.len();
                let mut group =
                    PhaseGroup { number: declaration.number, block, declarations: Vec::new() };
                // Most phases have a checkbox, a section and a row.
                group.declarations.reserve_exact(3);
                group.declarations.push(declaration);
                groups.push(group);
            }
        }
    }
    groups
}

/// Returns whether a declaration defines a phase. Headings and checkboxes do; rows and bullets may
/// only refer to one.
fn is_defining(declaration: &Declaration) -> bool {
    matches!(declaration.kind, DeclarationKind::Heading | DeclarationKind::Checklist)
}

/// Returns whether a declaration means another phase than a group with the same number.
///
/// It does if the group has comparable declarations, and all of them are in other milestones and
/// have other names. Declarations of the same kind are comparable. Headings and checkboxes are
/// comparable with each other if both are in a milestone, or if numbering is known to start over.
fn is_other_phase(
    milestones: &MilestoneIndex<'_>,
    group: &PhaseGroup,
    declaration: &Declaration,
    restarts: bool,
) -> bool {
    let own = milestones.at(declaration.line);
    let comparable = |twin: &&Declaration| {
        let both_placed = own.is_some() && milestones.at(twin.line).is_some();
        let both_defining = is_defining(twin) && is_defining(declaration);
        twin.kind == declaration.kind || (both_defining && (restarts || both_placed))
    };
    let mut twins = group.declarations.iter().filter(comparable).peekable();
    // Tables about other things repeat numbers too, so only a milestone column distinguishes rows.
    let apart = |twin: &Declaration| match (&twin.milestone, &declaration.milestone) {
        (Some(one), Some(other)) => one != other,
        _ => declaration.kind != DeclarationKind::Table && milestones.at(twin.line) != own,
    };
    declaration.kind != DeclarationKind::Bullet
        && twins.peek().is_some()
        && twins.all(|twin| apart(twin) && !names_overlap(twin, declaration))
}

/// Scores how well a declaration fits a group: first by name, then by milestone.
fn match_score(
    milestones: &MilestoneIndex<'_>,
    group: &PhaseGroup,
    declaration: &Declaration,
) -> usize {
    let named = group.declarations.iter().any(|other| names_overlap(other, declaration));
    let near = group
        .declarations
        .iter()
        .any(|other| milestones.at(other.line) == milestones.at(declaration.line));
    2 * usize::from(named) + usize::from(near)
}

/// Returns whether two names share a word, or one of them has no words.
fn names_overlap(a: &Declaration, b: &Declaration) -> bool {
    let (a, b) = (words(a), words(b));
    a.is_empty() || b.is_empty() || a.iter().any(|word| b.contains(word))
}

/// Returns the words of a declaration's name that are longer than two characters, in lower case.
fn words<'a>(declaration: &'a Declaration<'_>) -> &'a [String] {
    declaration.words.get_or_init(|| {
        let lower = declaration.name.to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric());
        words.filter(|word| word.chars().count() > 2).map(str::to_owned).collect()
    })
}

/// Gives all phases of a milestone the same block if its numbering starts over.
fn align_blocks(milestones: &MilestoneIndex<'_>, groups: &mut [PhaseGroup]) {
    let mut blocks: BTreeMap<Option<usize>, usize> = BTreeMap::new();
    for group in groups.iter().filter(|group| group.block > 0) {
        let block = blocks.entry(milestones.at(group.best().line)).or_default();
        *block = (*block).max(group.block);
    }
    for group in groups {
        let aligned = blocks.get(&milestones.at(group.best().line)).copied().unwrap_or(0);
        group.block = group.block.max(aligned);
    }
}

/// Finds the milestone of a line: the collapsed block around it or the milestone heading above it.
pub(crate) struct MilestoneIndex<'a> {
    outline: &'a Outline<'a>,
    /// Heading lines at which the milestone changes, each with the new milestone's line or `None`.
    changes: Vec<(usize, Option<usize>)>,
}

impl<'a> MilestoneIndex<'a> {
    pub(crate) fn new(outline: &'a Outline<'a>) -> Self {
        let mut current: Option<&Heading> = None;
        let mut changes = Vec::new();
        for heading in &outline.headings {
            let ends = current.is_some_and(|milestone| heading.level <= milestone.level);
            if is_milestone(outline.text.slice(heading.text.clone())) {
                current = Some(heading);
                changes.push((heading.line, Some(heading.line)));
            } else if ends {
                current = None;
                changes.push((heading.line, None));
            }
        }
        Self { outline, changes }
    }

    pub(crate) fn outline(&self) -> &'a Outline<'a> {
        self.outline
    }

    pub(crate) fn at(&self, line: usize) -> Option<usize> {
        let block = self.outline.collapsed_at(line).map(|block| block.first_line);
        block.or_else(|| {
            let after = self.changes.partition_point(|(from, _)| *from <= line);
            self.changes[..after].last().and_then(|(_, milestone)| *milestone)
        })
    }
}

/// Returns whether a heading opens a milestone: it names a version, or contains the word.
fn is_milestone(heading: &str) -> bool {
    let lower = heading.to_lowercase();
    let version = lower.split(|c: char| !(c.is_alphanumeric() || c == '.')).any(|word| {
        word.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    version || lower.contains("milestone") || lower.starts_with("part ")
}

/// Builds a roadmap entry from each group.
pub(crate) fn roadmap_entries(
    milestones: &MilestoneIndex<'_>,
    groups: &[PhaseGroup],
) -> Vec<RoadmapEntry> {
    let home = |group: &PhaseGroup| (group.block, milestones.at(group.best().line));
    let mut block_phases: BTreeMap<usize, Vec<PhaseNumber>> = BTreeMap::new();
    let mut peers: BTreeMap<_, Vec<PhaseNumber>> = BTreeMap::new();
    for group in groups {
        block_phases.entry(group.block).or_default().push(group.number);
        peers.entry(home(group)).or_default().push(group.number);
    }
    let withdrawals = WithdrawalIndex::new(milestones);
    let make = |group: &PhaseGroup| {
        let (block_phases, peers) = (&block_phases[&group.block], &peers[&home(group)]);
        entry(
            &withdrawals,
            group,
            DependencyContext { phase: &group.number, block_phases, milestone_phases: peers },
        )
    };
    groups.iter().map(make).collect()
}

fn entry(
    withdrawals: &WithdrawalIndex<'_>,
    group: &PhaseGroup,
    around: DependencyContext<'_>,
) -> RoadmapEntry {
    let outline = withdrawals.outline();
    let best = group.best();
    let sections: Vec<_> = group
        .of_kind(DeclarationKind::Heading)
        .map(|declaration| PhaseSection::new(outline, declaration.line))
        .collect();
    let of_column = |declaration: &Declaration<'_>| {
        Some((declaration.depends.as_ref()?.to_string(), declaration.line))
    };
    let stated = sections.iter().find_map(|section| section.depends().zip(section.depends_line()));
    let stated = stated.or_else(|| group.declarations.iter().find_map(of_column));
    let (stated, depends_line) = stated.unzip();
    let numbers = |text: &String| depends_on::parse(text, around);
    let parallel = sections.iter().find_map(PhaseSection::parallel);
    let has = |kind| group.of_kind(kind).next().is_some();
    let phase = RoadmapPhase {
        number: group.number,
        written: best.written.to_string(),
        name: name(group),
        completion: completion(outline, group, &sections),
        depends_on: stated.as_ref().map(numbers).unwrap_or_default(),
        depends_stated: stated.is_some(),
        parallel_with: parallel.as_ref().map(numbers).unwrap_or_default(),
        sources: DeclarationKinds {
            bullet: has(DeclarationKind::Bullet),
            checklist: has(DeclarationKind::Checklist),
            heading: has(DeclarationKind::Heading),
            table: has(DeclarationKind::Table),
        },
        archived: group
            .of_kind(best.kind)
            .all(|declaration| outline.collapsed_at(declaration.line).is_some()),
        block: group.block,
        line: best.line + 1,
    };
    let is_open = !phase.completion.done;
    let withdrawn = if is_open { withdrawals.of_phase(group, &sections) } else { None };
    let goal = sections.iter().find_map(PhaseSection::goal);
    let ticked = group.of_kind(DeclarationKind::Checklist).find_map(|declaration| declaration.done);
    let listed = group.of_kind(DeclarationKind::Checklist).any(|declaration| declaration.bold);
    let lacks_details = listed && !phase.sources.heading;
    let requirements = sections.iter().find_map(PhaseSection::requirements).unwrap_or_default();
    RoadmapEntry {
        phase,
        goal,
        depends_text: stated,
        depends_line: depends_line.map(|line| line + 1),
        withdrawn,
        requirements,
        ticked: ticked == Some(true),
        lacks_details,
    }
}

/// Returns the name in the most authoritative declaration that has one.
fn name(group: &PhaseGroup) -> String {
    let named = group.declarations.iter().filter(|declaration| !declaration.name.is_empty());
    named
        .min_by_key(|declaration| declaration.kind)
        .map(|declaration| declaration.name.to_string())
        .unwrap_or_default()
}

fn in_shipped_block(outline: &Outline<'_>, line: usize) -> bool {
    outline
        .collapsed_at(line)
        .is_some_and(|block| completion_words::summary_says_shipped(&block.summary))
}

/// Decides completion from the signals in this order: checkbox, status cell, marks and status line,
/// collapsed block, plan checkboxes.
fn completion(
    outline: &Outline<'_>,
    group: &PhaseGroup,
    sections: &[PhaseSection<'_>],
) -> Completion {
    let of_kind =
        |kind| group.of_kind(kind).filter_map(|declaration| declaration.done).collect::<Vec<_>>();
    let boxes = of_kind(DeclarationKind::Checklist);
    let cells = of_kind(DeclarationKind::Table);
    let mut marks = of_kind(DeclarationKind::Heading);
    marks.extend(sections.iter().filter_map(PhaseSection::status));
    // A bullet about a phase that is declared elsewhere is only a remark.
    if group.best().kind == DeclarationKind::Bullet {
        marks.extend(of_kind(DeclarationKind::Bullet));
    }
    let is_shipped =
        group.declarations.iter().any(|declaration| in_shipped_block(outline, declaration.line));
    let plans = sections.iter().find_map(PhaseSection::plan_boxes);
    let signals: Vec<bool> = boxes.into_iter().chain(cells).chain(marks).collect();
    let done = signals.first().copied().unwrap_or(is_shipped || plans == Some(true));
    Completion { done, certain: signals.iter().all(|other| *other == done) }
}

#[cfg(test)]
mod tests;
