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

/// How often numbering may start over. Who repeats a number more often does not number phases, and
/// each place is compared with all phases of its number.
const BLOCKS_MAX: usize = 100;

/// All places that declare one phase.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) number: PhaseNumber,
    pub(super) block: usize,
    pub(super) places: Vec<Declaration>,
}

impl Group {
    /// Returns the place that says most: a heading, else a box, else a row, else a bullet.
    pub(super) fn best(&self) -> &Declaration {
        self.places.iter().min_by_key(|place| place.kind).expect("a group begins with a place")
    }

    fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Declaration> {
        self.places.iter().filter(move |place| place.kind == kind)
    }
}

/// Groups declarations by phase, ordered by number and then as the document has them.
pub(super) fn groups(outline: &Outline<'_>, mut declarations: Vec<Declaration>) -> Vec<Group> {
    let milestones = Milestones::new(outline);
    for place in &mut declarations {
        place.words = words(&place.name);
    }
    let mut groups: BTreeMap<PhaseNumber, Vec<Group>> = BTreeMap::new();
    let (strong, weak): (Vec<_>, Vec<_>) = declarations
        .into_iter()
        .partition(|place| matches!(place.kind, Kind::Heading | Kind::Checklist));
    for place in strong.into_iter().chain(weak) {
        let found = groups.entry(place.number).or_default();
        let several = found.len() > 1;
        if found.len() >= BLOCKS_MAX
            && let Some(last) = found.last_mut()
        {
            last.places.push(place);
            continue;
        }
        let free = found.iter_mut().filter(|group| !is_another(&milestones, group, &place));
        let fit =
            |group: &&mut Group| if several { closeness(&milestones, group, &place) } else { 0 };
        match free.max_by_key(fit) {
            Some(group) => group.places.push(place),
            None => {
                let block = found.len();
                found.push(Group { number: place.number, block, places: vec![place] });
            }
        }
    }
    let mut groups: Vec<Group> = groups.into_values().flatten().collect();
    align_blocks(&milestones, &mut groups);
    groups
}

/// Returns whether a place with the number of a group means another phase: the group has places of
/// the same kind, all in other milestones and with other names.
fn is_another(milestones: &Milestones, group: &Group, place: &Declaration) -> bool {
    let mut twins = group.of_kind(place.kind).peekable();
    // Tables of other things repeat numbers too: only a milestone column tells rows apart.
    let apart = |twin: &Declaration| match (&twin.milestone, &place.milestone) {
        (Some(one), Some(other)) => one != other,
        _ => place.kind != Kind::Table && milestones.at(twin.line) != milestones.at(place.line),
    };
    place.kind != Kind::Bullet
        && twins.peek().is_some()
        && twins.all(|twin| apart(twin) && !alike(twin, place))
}

/// Says how well a place fits a group: by its name, else by its milestone.
fn closeness(milestones: &Milestones, group: &Group, place: &Declaration) -> usize {
    let named = group.places.iter().any(|other| alike(other, place));
    let near =
        group.places.iter().any(|other| milestones.at(other.line) == milestones.at(place.line));
    2 * usize::from(named) + usize::from(near)
}

/// Returns whether two names share a word, or one of them is missing.
fn alike(a: &Declaration, b: &Declaration) -> bool {
    a.words.is_empty() || b.words.is_empty() || a.words.iter().any(|word| b.words.contains(word))
}

/// Returns the words of a name that tell it from others.
fn words(name: &str) -> Vec<String> {
    let lower = name.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| word.chars().count() > 2).map(str::to_owned).collect()
}

/// Gives the phases of a milestone whose numbering starts over the same block.
fn align_blocks(milestones: &Milestones, groups: &mut [Group]) {
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
struct Milestones {
    of_line: Vec<Option<usize>>,
}

impl Milestones {
    fn new(outline: &Outline<'_>) -> Self {
        let mut of_line = vec![None; outline.text.lines().len()];
        let mut current = None;
        let mut next_heading = outline.headings.iter().peekable();
        for (line, slot) in of_line.iter_mut().enumerate() {
            if let Some(heading) = next_heading.next_if(|heading| heading.line == line)
                && is_milestone(outline.text.slice(heading.text.clone()))
            {
                current = Some(line);
            }
            *slot = outline.fold_at(line).map(|fold| fold.first).or(current);
        }
        Self { of_line }
    }

    fn at(&self, line: usize) -> Option<usize> {
        self.of_line.get(line).copied().flatten()
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
pub(super) fn entries(outline: &Outline<'_>, groups: &[Group]) -> Vec<Entry> {
    let mut known: BTreeMap<usize, Vec<PhaseNumber>> = BTreeMap::new();
    for group in groups {
        known.entry(group.block).or_default().push(group.number);
    }
    groups.iter().map(|group| entry(outline, group, &known[&group.block])).collect()
}

fn entry(outline: &Outline<'_>, group: &Group, known: &[PhaseNumber]) -> Entry {
    let best = group.best();
    let sections: Vec<_> =
        group.of_kind(Kind::Heading).map(|place| Section::new(outline, place.line)).collect();
    let stated = sections
        .iter()
        .find_map(Section::depends)
        .or_else(|| group.places.iter().find_map(|place| place.depends.clone()));
    let around = Surroundings { own: &group.number, known };
    let numbers = |text: &String| depends::parse(text, around);
    let parallel = sections.iter().find_map(Section::parallel);
    let has = |kind| group.of_kind(kind).next().is_some();
    let phase = Phase {
        number: group.number,
        written: best.written.clone(),
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
    Entry { phase, goal, depends_text: stated, ticked: ticked == Some(true), lacks_details }
}

/// Returns the name of the best place that has one.
fn name(group: &Group) -> String {
    let mut places: Vec<_> = group.places.iter().collect();
    places.sort_by_key(|place| place.kind);
    places
        .iter()
        .map(|place| &place.name)
        .find(|name| !name.is_empty())
        .cloned()
        .unwrap_or_default()
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
