//! Reads and edits `deferred-items.md`: work that agents noticed and left for later.
//!
//! Items stand in one section per plan. Other text in the file belongs to people and stays.

use std::ops::Range;

use crate::state::MarkdownSection;
use crate::state::list_sections::{add_item, is_placeholder};
use crate::text::Text;
use crate::text::heading::{heading_at, headings, section_end};
use crate::text::inline::{escape_comment_start, unescape_comment_start};
use crate::text::list::item_at;
use crate::text::splice::apply;

/// The name of the file in the folder of a phase.
pub const FILE: &str = "deferred-items.md";

/// The most items that a file is read for.
const ITEMS_MAX: usize = 1_000;

const NEW_FILE: &str = "# Deferred Items\n\nWork that agents noticed and left for later.\n";

/// Adds the items of a plan that the file does not have yet. Empty bytes make a new file.
pub fn add(bytes: &[u8], plan: &str, items: &[String]) -> Vec<u8> {
    let title = format!("Plan {plan}");
    items.iter().filter(|item| !item.trim().is_empty()).fold(bytes.to_vec(), |bytes, item| {
        if has_item(&bytes, item) { bytes } else { add_one(&bytes, &title, item) }
    })
}

fn add_one(bytes: &[u8], title: &str, item: &str) -> Vec<u8> {
    let bytes = if bytes.is_empty() { NEW_FILE.as_bytes() } else { bytes };
    let text = Text::new(bytes);
    let headings = headings(&text);
    let index = headings.iter().position(|heading| text.slice(heading.text.clone()) == title);
    if let Some(index) = index {
        let heading = headings[index].clone();
        let start = heading.line + 1;
        let lines = start..section_end(&text, &headings, index);
        let next = headings.get(index + 1).map_or(lines.end, |next| next.line.min(lines.end));
        let section = MarkdownSection { heading, lines, own: start..next };
        return apply(bytes, add_item(&text, &section, item));
    }
    let ending = text.line_ending();
    let gap = if bytes.ends_with(b"\n") { "" } else { ending };
    let with_heading = [bytes, format!("{gap}{ending}## {title}{ending}").as_bytes()].concat();
    add_one(&with_heading, title, item)
}

/// Reads the open items of the file: its list items without a ticked checkbox.
pub fn parse(bytes: &[u8]) -> Vec<String> {
    let text = Text::new(bytes);
    items(&text, 0..text.lines().len())
}

/// Reads the open items of all sections whose title begins with `Deferred`.
pub fn parse_sections(bytes: &[u8]) -> Vec<String> {
    let text = Text::new(bytes);
    let headings = headings(&text);
    let mut found = Vec::new();
    let mut end = 0;
    for (index, heading) in headings.iter().enumerate() {
        let title = text.slice(heading.text.clone()).to_lowercase();
        // A section within a section is read with the outer one.
        if heading.level >= 2 && heading.line >= end && title.starts_with("deferred") {
            end = section_end(&text, &headings, index);
            found.extend(items(&text, heading.line + 1..end));
        }
    }
    found
}

/// Returns the text of every item in some lines, with the lines that continue it.
fn items(text: &Text<'_>, lines: Range<usize>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in lines {
        let content = text.line(line).trim();
        if content.is_empty() || heading_at(text, line).is_some() || is_placeholder(content) {
            is_open = false;
        } else if let Some(item) = item_at(text, line).filter(|item| item.indent < 2) {
            is_open = item.done() != Some(true) && found.len() < ITEMS_MAX;
            if is_open {
                found.push(unescape_comment_start(text.slice(item.text)).into_owned());
            }
        } else if let (true, Some(last)) = (is_open, found.last_mut()) {
            last.push(' ');
            last.push_str(content);
        }
    }
    found
}

/// Returns whether a file has an item, ticked or not. Compares lines as they are written.
fn has_item(bytes: &[u8], item: &str) -> bool {
    let item = escape_comment_start(item.trim());
    String::from_utf8_lossy(bytes).lines().any(|line| {
        let line = line.trim();
        let text = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).unwrap_or_default();
        let unticked = text.get(3..).filter(|_| text.starts_with('['));
        text == item || unticked.is_some_and(|text| text.trim_start() == item)
    })
}

#[cfg(test)]
mod tests;
