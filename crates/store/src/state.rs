//! STATE.md: where the project stands.
//!
//! Two dialects and a frontmatter block are read: bold fields near the top (`**Current Phase:**`),
//! plain fields under `## Current Position` (`Phase: 3 of 7 (Name)`), and YAML keys
//! (`current_phase`). [`snapshot`] puts them together; [`fields`] reads and sets one of them, and
//! [`advance`] those that go together; [`active`], [`assignments`], [`verification`], [`team`] and
//! [`metrics`] are the tables; [`sections`] adds to the lists; [`merge`] joins two versions.
//! Everything else in the file belongs to people and stays as it is.

pub mod active;
pub mod advance;
pub mod assignments;
pub mod fields;
pub mod handoff;
pub mod merge;
pub mod metrics;
mod position;
mod rows;
pub mod sections;
pub mod snapshot;
pub mod team;
pub mod transition;
pub mod verification;

use std::ops::Range;

use crate::text::Text;
use crate::text::field::same_name;
use crate::text::heading::{Heading, heading_at, headings, section_end};

/// The lines of a section and the heading that opens it.
pub(crate) struct Section {
    pub(crate) heading: Heading,
    /// The lines below the heading, sub-sections included.
    pub(crate) lines: Range<usize>,
    /// The lines below the heading up to the next heading of any level.
    pub(crate) own: Range<usize>,
}

/// Finds the first section of level two or three with one of some names.
pub(crate) fn section(text: &Text<'_>, names: &[&str]) -> Option<Section> {
    let mut headings = (0..text.lines().len()).filter_map(|line| heading_at(text, line));
    let heading = headings.find(|heading| is_named(text, heading, names))?;
    // What stands behind the section is not looked at.
    let mut next = None;
    let end = headings.find(|other| {
        next.get_or_insert(other.line);
        other.level <= heading.level
    });
    let (start, last) = (heading.line + 1, text.lines().len());
    let lines = start..end.map_or(last, |end| end.line);
    Some(Section { heading, lines, own: start..next.unwrap_or(last) })
}

/// Finds all sections of level two or three with one of some names.
pub(crate) fn sections_named(text: &Text<'_>, names: &[&str]) -> Vec<Section> {
    sections_where(text, |title| names.contains(&title))
}

/// Finds the first section of level two or three with a title, in lower case, that is accepted.
pub(crate) fn section_where(text: &Text<'_>, accepts: impl Fn(&str) -> bool) -> Option<Section> {
    sections_where(text, accepts).into_iter().next()
}

fn sections_where(text: &Text<'_>, accepts: impl Fn(&str) -> bool) -> Vec<Section> {
    let headings = headings(text);
    let is_accepted = |heading: &Heading| {
        let title = text.slice(heading.text.clone()).trim_end_matches(':').to_lowercase();
        (2..=3).contains(&heading.level) && accepts(&title)
    };
    let found = (0..headings.len()).filter(|index| is_accepted(&headings[*index]));
    found.map(|index| section_at(text, &headings, index)).collect()
}

fn is_named(text: &Text<'_>, heading: &Heading, names: &[&str]) -> bool {
    let title = text.slice(heading.text.clone()).trim_end_matches(':');
    (2..=3).contains(&heading.level) && names.iter().any(|name| same_name(title, name))
}

fn section_at(text: &Text<'_>, headings: &[Heading], index: usize) -> Section {
    let start = headings[index].line + 1;
    let next = headings.get(index + 1).map_or(text.lines().len(), |heading| heading.line);
    let lines = start..section_end(text, headings, index);
    Section { heading: headings[index].clone(), lines, own: start..next }
}

#[cfg(test)]
mod properties;
