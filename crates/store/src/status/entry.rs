//! The bullets of Blockers, Decisions and Context.
//!
//! A bullet is added at the end of its section; a line that only says there is nothing gives way.
//! What else people wrote into the section stays.

use std::ops::Range;

use super::layout::{Layout, Part};
use super::{StatusError, one_line, shown};
use crate::state::sections::{add_item, is_placeholder};
use crate::text::heading::heading_at;
use crate::text::list::{Item, item_at};
use crate::text::splice::apply;

/// Adds a blocker.
///
/// # Errors
/// When the text is empty.
pub fn add_blocker(bytes: &[u8], text: &str) -> Result<Vec<u8>, StatusError> {
    add(bytes, Part::Blockers, text)
}

/// Adds a decision.
///
/// # Errors
/// When the text is empty.
pub fn add_decision(bytes: &[u8], text: &str) -> Result<Vec<u8>, StatusError> {
    add(bytes, Part::Decisions, text)
}

/// Adds something whoever comes next should know.
///
/// # Errors
/// When the text is empty.
pub fn add_context(bytes: &[u8], text: &str) -> Result<Vec<u8>, StatusError> {
    add(bytes, Part::Context, text)
}

/// Reads the bullets of a section, each with the lines that go on with it.
pub(super) fn entries(layout: &Layout<'_>, part: Part) -> Vec<String> {
    let text = &layout.text;
    let mut entries: Vec<String> = Vec::new();
    let mut is_open = false;
    let lines = layout.section(part).map(|section| section.lines);
    for line in lines.unwrap_or_default() {
        let content = text.line(line).trim();
        let ends = content.is_empty() || heading_at(text, line).is_some();
        if ends || is_placeholder(content) {
            is_open = false;
        } else if let Some(item) = item_at(text, line) {
            entries.push(shown(text.slice(with_box(&item))));
            is_open = true;
        } else if let (true, Some(entry)) = (is_open, entries.last_mut()) {
            entry.push(' ');
            entry.push_str(&shown(content));
        }
    }
    entries
}

/// Returns the bytes after the mark; whether a box is ticked is part of what was written.
fn with_box(item: &Item) -> Range<usize> {
    let start = if item.tick.is_some() { item.tick_at.start - 1 } else { item.text.start };
    start..item.text.end
}

fn add(bytes: &[u8], part: Part, entry: &str) -> Result<Vec<u8>, StatusError> {
    let entry = one_line(entry);
    if entry.is_empty() {
        return Err(StatusError::EmptyEntry);
    }
    let layout = Layout::new(bytes);
    let splices = match layout.section(part) {
        Some(section) => add_item(&layout.text, &section, &entry),
        None => vec![layout.insert_section(part, &format!("- {entry}"))],
    };
    Ok(apply(bytes, splices))
}
