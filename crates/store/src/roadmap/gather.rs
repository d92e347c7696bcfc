//! Puts the declarations of each phase together.
//!
//! A number usually means one phase, however many places name it. Where numbering starts over, two
//! headings (or two boxes) of different milestones carry the same number and different names: then
//! they are two phases, told apart by their block.

use std::collections::BTreeMap;

use mow_core::depends::{self, Surroundings};
use mow_core::phase::PhaseNumber;
use mow_core::roadmap::{Completion, Phase, Sources};

use super::declare::{Declaration, Kind, Outline};
use super::section::Section;
use super::{Entry, verdict};
use crate::text::heading::Heading;

/// How often numbering may start over. Who repeats a number more often does not number phases, and
/// each place is compared with all phases of its number.
const BLOCKS_MAX: usize = 100;

/// All places that declare one phase.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) number: PhaseNumber,
    pub(super) block: usize,
    pub(super) places: Vec<Declaration<'a>>,
}

impl<'a> Group<'a> {
    /// Returns the place that says most: a heading, else a box, else a row, else a bullet.
    pub(super) fn best(&self) -> &Declaration<'a> {
        self.places.iter().min_by_key(|place| place.kind).expect("a group begins with a place")
    }

    pub(super) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Declaration<'a>> {
        self.places.iter().filter(move |place| place.kind == kind)
    }
}

/// Groups declarations by phase, ordered by number and then as the document has them.
pub(super) fn groups<'a>(
    milestones: &Milestones<'_>,
    declarations: Vec<Declaration<'a>>,
) -> Vec<Group<'a>> {
    let mut groups = gather(milestones, declarations, false);
    // Where one number means two phases, boxes and headings of other numbers may too.
    if groups.iter().any(|group| group.block > 0) {
        let mut places: Vec<_> = groups.into_iter().flat_map(|group| group.places).collect();
        places.sort_by_key(|place| place.line);
        groups = gather(milestones, places, true);
    }
    align_blocks(milestones, &mut groups);
    groups
}

fn gather<'a>(
    milestones: &Milestones<'_>,
    mut places: Vec<Declaration<'a>>,
    restarts: bool,
) -> Vec<Group<'a>> {
    // By number, headings and boxes first: they say which phases there are.
    places.sort_by_key(|place| (place.number, !is_strong(place), place.line));
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut first = 0;
    for place in places {
        if groups.last().is_none_or(|group| group.number != place.number) {
            first = groups.len();
        }
        let found = &groups[first..];
        let fit =
            |group: &Group| if found.len() > 1 { closeness(milestones, group, &place) } else { 0 };
        let home = if found.len() >= BLOCKS_MAX {
            Some(found.len() - 1)
        } else {
            let is_another = |at: &usize| is_another(milestones, &found[*at], &place, restarts);
            (0..found.len()).filter(|at| !is_another(at)).max_by_key(|at| fit(&found[*at]))
        };
        match home {
            Some(at) => groups[first + at].places.push(place),
            None => {
                let block = found.len();
                let mut group = Group { number: place.number, block, places: Vec::new() };
                // Most phases have a box, a section and a row.
                group.places.reserve_exact(3);
                group.places.push(place);
                groups.push(group);
            }
        }
    }
    groups
}

/// Headings and boxes name a phase; rows and bullets may merely speak of it.
fn is_strong(place: &Declaration) -> bool {
    matches!(place.kind, Kind::Heading | Kind::Checklist)
}

/// Returns whether a place with the number of a group means another phase: the group has places to
/// compare with, all in other milestones and with other names.
///
/// Places of the same kind are compared. Headings and boxes are compared with each other where both
/// stand in a milestone, and where numbering is known to start over.
fn is_another(
    milestones: &Milestones<'_>,
    group: &Group,
    place: &Declaration,
    restarts: bool,
) -> bool {
    let own = milestones.at(place.line);
    let comparable = |twin: &&Declaration| {
        let both_placed = own.is_some() && milestones.at(twin.line).is_some();
        let both_strong = is_strong(twin) && is_strong(place);
        twin.kind == place.kind || (both_strong && (restarts || both_placed))
    };
    let mut twins = group.places.iter().filter(comparable).peekable();
    // Tables of other things repeat numbers too: only a milestone column tells rows apart.
    let apart = |twin: &Declaration| match (&twin.milestone, &place.milestone) {
        (Some(one), Some(other)) => one != other,
        _ => place.kind != Kind::Table && milestones.at(twin.line) != own,
    };
    place.kind != Kind::Bullet
        && twins.peek().is_some()
        && twins.all(|twin| apart(twin) && !alike(twin, place))
}

/// Says how well a place fits a group: by its name, else by its milestone.
fn closeness(milestones: &Milestones<'_>, group: &Group, place: &Declaration) -> usize {
    let named = group.places.iter().any(|other| alike(other, place));
    let near =
        group.places.iter().any(|other| milestones.at(other.line) == milestones.at(place.line));
    2 * usize::from(named) + usize::from(near)
}

/// Returns whether two names share a word, or one of them is missing.
fn alike(a: &Declaration, b: &Declaration) -> bool {
    let (a, b) = (words(a), words(b));
    a.is_empty() || b.is_empty() || a.iter().any(|word| b.contains(word))
}

/// Returns the words of a place's name that tell it from others.
fn words<'a>(place: &'a Declaration<'_>) -> &'a [String] {
    place.words.get_or_init(|| {
        let lower = place.name.to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric());
        words.filter(|word| word.chars().count() > 2).map(str::to_owned).collect()
    })
}

/// Gives the phases of a milestone whose numbering starts over the same block.
fn align_blocks(milestones: &Milestones<'_>, groups: &mut [Group]) {
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

/// The milestone each line belongs to: the nearest fold or milestone heading above it.
pub(super) struct Milestones<'a> {
    outline: &'a Outline<'a>,
    /// The lines of headings from which on another milestone counts, or none.
    changes: Vec<(usize, Option<usize>)>,
}

impl<'a> Milestones<'a> {
    pub(super) fn new(outline: &'a Outline<'a>) -> Self {
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

    pub(super) fn at(&self, line: usize) -> Option<usize> {
        let fold = self.outline.fold_at(line).map(|fold| fold.first);
        fold.or_else(|| {
            let after = self.changes.partition_point(|(from, _)| *from <= line);
            self.changes[..after].last().and_then(|(_, milestone)| *milestone)
        })
    }
}

/// Returns whether a heading opens a milestone: it names a version, or says so.
fn is_milestone(heading: &str) -> bool {
    let lower = heading.to_lowercase();
    let version = lower.split(|c: char| !(c.is_alphanumeric() || c == '.')).any(|word| {
        word.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    version || lower.contains("milestone") || lower.starts_with("part ")
}

/// Makes an entry of each group.
pub(super) fn entries(milestones: &Milestones<'_>, groups: &[Group]) -> Vec<Entry> {
    let outline = milestones.outline;
    let home = |group: &Group| (group.block, milestones.at(group.best().line));
    let mut known: BTreeMap<usize, Vec<PhaseNumber>> = BTreeMap::new();
    let mut peers: BTreeMap<_, Vec<PhaseNumber>> = BTreeMap::new();
    for group in groups {
        known.entry(group.block).or_default().push(group.number);
        peers.entry(home(group)).or_default().push(group.number);
    }
    let make = |group: &Group| {
        let (known, peers) = (&known[&group.block], &peers[&home(group)]);
        entry(outline, group, Surroundings { own: &group.number, known, peers })
    };
    groups.iter().map(make).collect()
}

fn entry(outline: &Outline<'_>, group: &Group, around: Surroundings<'_>) -> Entry {
    let best = group.best();
    let sections: Vec<_> =
        group.of_kind(Kind::Heading).map(|place| Section::new(outline, place.line)).collect();
    let stated = sections.iter().find_map(Section::depends).or_else(|| {
        group.places.iter().find_map(|place| Some(place.depends.as_ref()?.to_string()))
    });
    let numbers = |text: &String| depends::parse(text, around);
    let parallel = sections.iter().find_map(Section::parallel);
    let has = |kind| group.of_kind(kind).next().is_some();
    let phase = Phase {
        number: group.number,
        written: best.written.to_string(),
        name: name(group),
        completion: completion(outline, group, &sections),
        depends_on: stated.as_ref().map(numbers).unwrap_or_default(),
        depends_stated: stated.is_some(),
        parallel_with: parallel.as_ref().map(numbers).unwrap_or_default(),
        sources: Sources {
            bullet: has(Kind::Bullet),
            checklist: has(Kind::Checklist),
            heading: has(Kind::Heading),
            table: has(Kind::Table),
        },
        archived: group.of_kind(best.kind).all(|place| outline.fold_at(place.line).is_some()),
        block: group.block,
        line: best.line + 1,
    };
    let goal = sections.iter().find_map(Section::goal);
    let ticked = group.of_kind(Kind::Checklist).find_map(|place| place.done);
    let listed = group.of_kind(Kind::Checklist).any(|place| place.bold);
    let lacks_details = listed && !phase.sources.heading;
    let requirements = sections.iter().find_map(Section::requirements).unwrap_or_default();
    Entry {
        phase,
        goal,
        depends_text: stated,
        requirements,
        ticked: ticked == Some(true),
        lacks_details,
    }
}

/// Returns the name of the best place that has one.
fn name(group: &Group) -> String {
    let named = group.places.iter().filter(|place| !place.name.is_empty());
    named.min_by_key(|place| place.kind).map(|place| place.name.to_string()).unwrap_or_default()
}

fn in_shipped_fold(outline: &Outline<'_>, line: usize) -> bool {
    outline.fold_at(line).is_some_and(|fold| verdict::of_fold(&fold.summary))
}

/// Asks the witnesses in their order: box, status cell, marks and status line, fold, plan boxes.
fn completion(outline: &Outline<'_>, group: &Group, sections: &[Section<'_>]) -> Completion {
    let of_kind = |kind| group.of_kind(kind).filter_map(|place| place.done).collect::<Vec<_>>();
    let boxes = of_kind(Kind::Checklist);
    let cells = of_kind(Kind::Table);
    let mut marks = of_kind(Kind::Heading);
    marks.extend(sections.iter().filter_map(Section::status));
    // A bullet about a phase declared elsewhere is a remark.
    if group.best().kind == Kind::Bullet {
        marks.extend(of_kind(Kind::Bullet));
    }
    let folded = group.places.iter().any(|place| in_shipped_fold(outline, place.line));
    let plans = sections.iter().find_map(Section::plan_boxes);
    let witnesses: Vec<bool> = boxes.into_iter().chain(cells).chain(marks).collect();
    let done = witnesses.first().copied().unwrap_or(folded || plans == Some(true));
    Completion { done, certain: witnesses.iter().all(|other| *other == done) }
}

#[cfg(test)]
mod tests;
