//! Reads and edits STATE.md, which records where the project stands.
//!
//! Facts are read from two dialects and from frontmatter: bold fields near the top (`**Current
//! Phase:**`), plain fields under `## Current Position` (`Phase: 3 of 7 (Name)`), and YAML keys
//! (`current_phase`). [`snapshot`] reads all of them; [`fields`] reads and sets one; [`advance`]
//! and [`transition`] set several that belong together. [`active_phases`], [`assignments`],
//! [`team`] and [`metrics`] edit the tables, [`session`] the end of the last session, [`list_sections`] the lists, and [`merge`] merges two versions.
//! [`crate::compat`] has the tables that only contract commands write.
//!
//! All other bytes of the file belong to people and must stay unchanged.

pub mod active_phases;
pub mod advance;
pub mod assignments;
pub mod fields;
pub mod handoff;
pub mod list_sections;
pub(crate) mod managed_table;
pub mod merge;
pub mod metrics;
mod position;
pub mod session;
pub mod snapshot;
pub mod team;
pub mod transition;

use std::ops::Range;

use crate::text::Text;
use crate::text::field::same_name;
use crate::text::heading::{Heading, heading_at, headings, section_end};

/// A section with its heading.
pub(crate) struct MarkdownSection {
    pub(crate) heading: Heading,
    /// Lines below the heading, including sub-sections.
    pub(crate) lines: Range<usize>,
    /// Lines below the heading up to the next heading of any level.
    pub(crate) own: Range<usize>,
}

/// Finds the first section of level two or three with one of the names.
pub(crate) fn section(text: &Text<'_>, names: &[&str]) -> Option<MarkdownSection> {
    let mut headings = (0..text.lines().len()).filter_map(|line| heading_at(text, line));
    let heading = headings.find(|heading| is_named(text, heading, names))?;
    // Stop reading at the end of the section.
    let mut next = None;
    let end = headings.find(|other| {
        next.get_or_insert(other.line);
        other.level <= heading.level
    });
    let (start, last) = (heading.line + 1, text.lines().len());
    let lines = start..end.map_or(last, |end| end.line);
    Some(MarkdownSection { heading, lines, own: start..next.unwrap_or(last) })
}

/// Finds all sections of level two or three with one of the names, which must be in lower case.
pub(crate) fn sections_named(text: &Text<'_>, names: &[&str]) -> Vec<MarkdownSection> {
    sections_where(text, |title| names.contains(&title))
}

/// Finds the first section of level two or three whose title, in lower case, `accepts` accepts.
pub(crate) fn section_where(
    text: &Text<'_>,
    accepts: impl Fn(&str) -> bool,
) -> Option<MarkdownSection> {
    sections_where(text, accepts).into_iter().next()
}

fn sections_where(text: &Text<'_>, accepts: impl Fn(&str) -> bool) -> Vec<MarkdownSection> {
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

fn section_at(text: &Text<'_>, headings: &[Heading], index: usize) -> MarkdownSection {
    let start = headings[index].line + 1;
    let next = headings.get(index + 1).map_or(text.lines().len(), |heading| heading.line);
    let lines = start..section_end(text, headings, index);
    MarkdownSection { heading: headings[index].clone(), lines, own: start..next }
}

#[cfg(test)]
mod properties;
