//! Looks up one phase in the roadmap: the text of its section, its fields, and the phase after it.

use mow_core::phase::PhaseNumber;

use super::declarations::{self, Declaration, DeclarationKind, Outline};
use super::phase_groups::{self, MilestoneIndex, PhaseGroup};
use super::phase_label;
use super::phase_section::{self, PhaseSection};
use crate::text::Text;
use crate::text::field::{field_at, same_name};
use crate::text::list::item_at;

/// The section of one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseDescription {
    /// Name in the heading, including remarks such as `(INSERTED)`.
    pub name: String,
    /// Goal as written; `None` if the section has none.
    pub goal: Option<String>,
    /// Numbered lines below `Success Criteria`, without their numbers.
    pub success_criteria: Vec<String>,
    /// Ids in the `Requirements` field.
    pub requirements: Vec<String>,
    /// Full text of the section including its heading, with `
    /// ` line endings.
    pub section: String,
}

/// The result of looking up a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PhaseLookup {
    /// The phase has a section.
    Found(PhaseDescription),
    /// Only the summary list names the phase.
    ListedOnly {
        /// Name in the summary list.
        name: String,
    },
    /// Neither a section nor the summary list names the phase.
    Missing,
}

/// Looks up the section of a phase.
pub fn describe_phase(bytes: &[u8], number: &PhaseNumber) -> PhaseLookup {
    let text = Text::new(bytes);
    let outline = Outline::new(&text);
    let groups = phase_groups::group_by_phase(
        &MilestoneIndex::new(&outline),
        declarations::find_declarations(&outline),
    );
    let Some(group) = find_open_phase(&outline, &groups, number) else {
        return PhaseLookup::Missing;
    };
    if let Some(heading) = group.of_kind(DeclarationKind::Heading).next() {
        return PhaseLookup::Found(read(&outline, heading));
    }
    let listed = group.of_kind(DeclarationKind::Checklist).find(|declaration| declaration.bold);
    listed.map_or(PhaseLookup::Missing, |declaration| PhaseLookup::ListedOnly {
        name: declaration.name.to_string(),
    })
}

/// Returns the phase with a number. If numbering starts over, a phase that is neither collapsed nor
/// done is preferred.
pub(crate) fn find_open_phase<'a>(
    outline: &Outline<'_>,
    groups: &'a [PhaseGroup<'a>],
    number: &PhaseNumber,
) -> Option<&'a PhaseGroup<'a>> {
    let done = |group: &PhaseGroup| {
        group.declarations.iter().any(|declaration| declaration.done == Some(true))
    };
    let same = groups.iter().filter(|group| group.number == *number);
    same.min_by_key(|group| (outline.collapsed_at(group.best().line).is_some(), done(group)))
}

fn read(outline: &Outline<'_>, heading: &Declaration) -> PhaseDescription {
    let text = outline.text;
    let lines = phase_section::lines_below(outline, heading.line);
    let start = text.lines()[heading.line].start;
    let end = text.lines().get(lines.end).map_or(text.bytes().len(), |line| line.start);
    let title =
        phase_label::parse_label(text.line(heading.line).trim_start_matches(['#', ' ', '\t']));
    let mut fields = lines.clone().filter_map(|line| field_at(text, line));
    let criteria =
        fields.find(|field| same_name(text.slice(field.name.clone()).trim(), "Success Criteria"));
    let criteria = criteria.map(|field| field.line + 1..lines.end);
    let section = PhaseSection::new(outline, heading.line);
    PhaseDescription {
        name: title.map_or_else(|| heading.name.clone(), |label| label.title).into_owned(),
        goal: section.goal(),
        success_criteria: criteria.map(|lines| numbered(text, lines)).unwrap_or_default(),
        requirements: section.requirements().unwrap_or_default(),
        section: text.raw(start..end).trim().replace("\r\n", "\n"),
    }
}

/// Reads the numbered lines up to the next field.
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

/// Returns the phase after `number`, in the roadmap or on disk, within the same milestone.
///
/// Collapsed phases, which have shipped, and backlog phases are skipped.
pub fn next_phase(
    bytes: &[u8],
    number: &PhaseNumber,
    on_disk: &[PhaseNumber],
) -> Option<PhaseNumber> {
    let text = Text::new(bytes);
    let outline = Outline::new(&text);
    let milestones = MilestoneIndex::new(&outline);
    let groups =
        phase_groups::group_by_phase(&milestones, declarations::find_declarations(&outline));
    let own = find_open_phase(&outline, &groups, number);
    let is_elsewhere = |other: &PhaseNumber| {
        let (Some(own), Some(other)) = (own, find_open_phase(&outline, &groups, other)) else {
            return false;
        };
        own.block != other.block || in_other_milestone(&milestones, own, other)
    };
    let declared = groups.iter().filter(|group| {
        group.best().kind != DeclarationKind::Bullet
            && outline.collapsed_at(group.best().line).is_none()
    });
    let declared = declared.map(|group| &group.number);
    let later = declared
        .chain(on_disk)
        .filter(|other| *other > number && !other.is_backlog() && !is_elsewhere(other));
    later.min().copied()
}

/// Returns whether two phases are in different milestones.
///
/// They are if their checkboxes are under different headings or their rows name different
/// milestones. Sections prove nothing, because they often stand all in one part of the file.
fn in_other_milestone(milestones: &MilestoneIndex, one: &PhaseGroup, other: &PhaseGroup) -> bool {
    let of_box = |group: &PhaseGroup| {
        group
            .of_kind(DeclarationKind::Checklist)
            .find_map(|declaration| milestones.at(declaration.line))
    };
    let of_row = |group: &PhaseGroup| {
        group
            .of_kind(DeclarationKind::Table)
            .find_map(|declaration| declaration.milestone.as_deref().map(str::to_owned))
    };
    of_box(one).zip(of_box(other)).is_some_and(|(one, other)| one != other)
        || of_row(one).zip(of_row(other)).is_some_and(|(one, other)| one != other)
}

/// Returns whether the roadmap writes its numbers with a leading zero: `Phase 03`.
pub(crate) fn uses_padded_numbers(groups: &[PhaseGroup]) -> bool {
    let mut headings = groups.iter().flat_map(|group| &group.declarations);
    headings
        .any(|declaration| declaration.written.starts_with('0') && declaration.number.major() > 0)
}

/// Formats a number in the roadmap's style, padded or not.
pub(crate) fn format_number(number: &PhaseNumber, padded: bool) -> String {
    if padded { number.padded() } else { number.to_string() }
}

#[cfg(test)]
mod tests;
