//! What the roadmap says about one phase: the text of its section and the fields in it.

use mow_core::phase::PhaseNumber;

use super::declare::{self, Declaration, Kind, Outline};
use super::gather::{self, Group, Milestones};
use super::mention;
use super::section::{self, Section};
use crate::text::Text;
use crate::text::field::{field_at, same_name};
use crate::text::list::item_at;

/// The section of one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Details {
    /// The name as the heading has it, remarks such as `(INSERTED)` included.
    pub name: String,
    /// The goal as written.
    pub goal: Option<String>,
    /// The numbered lines below `Success Criteria`, numbers taken off.
    pub success_criteria: Vec<String>,
    /// The ids of its `Requirements` field.
    pub requirements: Vec<String>,
    /// The whole section from its heading on, as it stands in the file.
    pub section: String,
}

/// What a roadmap knows of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// It has a section.
    Found(Details),
    /// Only the summary list names it.
    ListedOnly {
        /// Its name there.
        name: String,
    },
    /// Neither does.
    Missing,
}

/// Finds a phase's section.
pub fn details(bytes: &[u8], number: &PhaseNumber) -> Lookup {
    let text = Text::new(bytes);
    let outline = Outline::new(&text);
    let groups = gather::groups(&Milestones::new(&outline), declare::declarations(&outline));
    let Some(group) = open_group(&outline, &groups, number) else { return Lookup::Missing };
    if let Some(heading) = group.of_kind(Kind::Heading).next() {
        return Lookup::Found(read(&outline, heading));
    }
    let listed = group.of_kind(Kind::Checklist).find(|place| place.bold);
    listed.map_or(Lookup::Missing, |place| Lookup::ListedOnly { name: place.name.to_string() })
}

/// Returns the phase with a number: where numbering starts over, one that is not folded away and
/// not done before the others.
pub(super) fn open_group<'a>(
    outline: &Outline<'_>,
    groups: &'a [Group<'a>],
    number: &PhaseNumber,
) -> Option<&'a Group<'a>> {
    let done = |group: &Group| group.places.iter().any(|place| place.done == Some(true));
    let same = groups.iter().filter(|group| group.number == *number);
    same.min_by_key(|group| (outline.fold_at(group.best().line).is_some(), done(group)))
}

fn read(outline: &Outline<'_>, heading: &Declaration) -> Details {
    let text = outline.text;
    let lines = section::lines_below(outline, heading.line);
    let start = text.lines()[heading.line].start;
    let end = text.lines().get(lines.end).map_or(text.bytes().len(), |line| line.start);
    let title = mention::named(text.line(heading.line).trim_start_matches(['#', ' ', '\t']));
    let mut fields = lines.clone().filter_map(|line| field_at(text, line));
    let criteria =
        fields.find(|field| same_name(text.slice(field.name.clone()).trim(), "Success Criteria"));
    let criteria = criteria.map(|field| field.line + 1..lines.end);
    let section = Section::new(outline, heading.line);
    Details {
        name: title.map_or_else(|| heading.name.clone(), |mention| mention.title).into_owned(),
        goal: section.goal(),
        success_criteria: criteria.map(|lines| numbered(text, lines)).unwrap_or_default(),
        requirements: section.requirements().unwrap_or_default(),
        section: text.raw(start..end).trim().replace("\r\n", "\n"),
    }
}

/// Reads numbered lines up to the next field.
fn numbered(text: &Text<'_>, lines: std::ops::Range<usize>) -> Vec<String> {
    let mut found = Vec::new();
    for line in lines {
        let content = text.line(line).trim_start();
        let is_numbered = content.starts_with(|c: char| c.is_ascii_digit());
        match item_at(text, line) {
            Some(item) if is_numbered => found.push(text.slice(item.text).to_owned()),
            _ if field_at(text, line)
                .is_some_and(|field| field.bold || content.starts_with("Plans:")) =>
            {
                break;
            }
            _ => {}
        }
    }
    found
}

/// Returns the phase that follows another: in the roadmap or on disk, within the same milestone.
///
/// Shipped phases that are folded away and the backlog are none.
pub fn successor(
    bytes: &[u8],
    number: &PhaseNumber,
    on_disk: &[PhaseNumber],
) -> Option<PhaseNumber> {
    let text = Text::new(bytes);
    let outline = Outline::new(&text);
    let milestones = Milestones::new(&outline);
    let groups = gather::groups(&milestones, declare::declarations(&outline));
    let own = open_group(&outline, &groups, number);
    let elsewhere = |other: &PhaseNumber| {
        let (Some(own), Some(other)) = (own, open_group(&outline, &groups, other)) else {
            return false;
        };
        own.block != other.block || in_other_milestone(&milestones, own, other)
    };
    let declared = groups.iter().filter(|group| {
        group.best().kind != Kind::Bullet && outline.fold_at(group.best().line).is_none()
    });
    let declared = declared.map(|group| &group.number);
    let behind = declared
        .chain(on_disk)
        .filter(|other| *other > number && !other.is_backlog() && !elsewhere(other));
    behind.min().copied()
}

/// Two phases are in different milestones when their boxes stand under different headings, or
/// their rows name different ones. Sections tell nothing: they often stand all in one place.
fn in_other_milestone(milestones: &Milestones, one: &Group, other: &Group) -> bool {
    let of_box =
        |group: &Group| group.of_kind(Kind::Checklist).find_map(|place| milestones.at(place.line));
    let of_row = |group: &Group| {
        group.of_kind(Kind::Table).find_map(|place| place.milestone.as_deref().map(str::to_owned))
    };
    of_box(one).zip(of_box(other)).is_some_and(|(one, other)| one != other)
        || of_row(one).zip(of_row(other)).is_some_and(|(one, other)| one != other)
}

/// Returns whether the roadmap writes its numbers with a leading zero: `Phase 03`.
pub(super) fn is_padded(groups: &[Group]) -> bool {
    let mut headings = groups.iter().flat_map(|group| &group.places);
    headings.any(|place| place.written.starts_with('0') && place.number.major() > 0)
}

/// Writes a number in a roadmap's own style.
pub(super) fn styled(number: &PhaseNumber, padded: bool) -> String {
    if padded { number.padded() } else { number.to_string() }
}

#[cfg(test)]
mod tests;
