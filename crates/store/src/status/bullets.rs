//! Reads and adds the bullets of the sections Blockers, Decisions and Context.
//!
//! A new bullet goes to the end of its section and replaces a placeholder such as `None.`. All
//! other text in the section stays.

use std::ops::Range;

use super::layout::{StatusLayout, StatusSection};
use super::{StatusError, one_line, unescape_value};
use crate::state::list_sections::{add_item, is_placeholder};
use crate::text::heading::heading_at;
use crate::text::list::{ListItem, item_at};
use crate::text::splice::apply;

/// Adds a blocker.
///
/// # Errors
/// Returns an error if the text is empty.
pub fn add_blocker(bytes: &[u8], text: &str) -> Result<Vec<u8>, StatusError> {
    add_bullet(bytes, StatusSection::Blockers, text)
}

/// Adds a blocker, unless the section has it; then returns `None`.
///
/// # Errors
/// Returns an error if the text is empty.
pub fn add_blocker_once(bytes: &[u8], text: &str) -> Result<Option<Vec<u8>>, StatusError> {
    let layout = StatusLayout::new(bytes);
    let entry = unescape_value(&one_line(text));
    let is_there = read_bullets(&layout, StatusSection::Blockers).contains(&entry);
    if is_there { Ok(None) } else { add_blocker(bytes, text).map(Some) }
}

/// Adds a decision.
///
/// # Errors
/// Returns an error if the text is empty.
pub fn add_decision(bytes: &[u8], text: &str) -> Result<Vec<u8>, StatusError> {
    add_bullet(bytes, StatusSection::Decisions, text)
}

/// Adds a note for the next worker.
///
/// # Errors
/// Returns an error if the text is empty.
pub fn add_context(bytes: &[u8], text: &str) -> Result<Vec<u8>, StatusError> {
    add_bullet(bytes, StatusSection::Context, text)
}

/// Reads the bullets of a section, each with the lines that continue it.
pub(super) fn read_bullets(layout: &StatusLayout<'_>, part: StatusSection) -> Vec<String> {
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
            entries.push(unescape_value(text.slice(range_with_checkbox(&item))));
            is_open = true;
        } else if let (true, Some(entry)) = (is_open, entries.last_mut()) {
            entry.push(' ');
            entry.push_str(&unescape_value(content));
        }
    }
    entries
}

/// Returns the byte range after the list marker; a checkbox is part of the bullet's text.
fn range_with_checkbox(item: &ListItem) -> Range<usize> {
    let start =
        if item.checkbox.is_some() { item.checkbox_range.start - 1 } else { item.text.start };
    start..item.text.end
}

fn add_bullet(bytes: &[u8], part: StatusSection, entry: &str) -> Result<Vec<u8>, StatusError> {
    let entry = one_line(entry);
    if entry.is_empty() {
        return Err(StatusError::EmptyEntry);
    }
    let layout = StatusLayout::new(bytes);
    let splices = match layout.section(part) {
        Some(section) => add_item(&layout.text, &section, &entry),
        None => vec![layout.insert_section(part, &format!("- {entry}"))],
    };
    Ok(apply(bytes, splices))
}
