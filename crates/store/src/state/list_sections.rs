//! Reads and edits the list sections of STATE.md: decisions and blockers.

use std::ops::Range;

use super::{MarkdownSection, section, section_where};
use crate::text::Text;
use crate::text::heading::heading_at;
use crate::text::inline::{escape_comment_start, unescape_comment_start};
use crate::text::list::item_at;
use crate::text::splice::{Splice, apply};

const BLOCKERS: &[&str] =
    &["blockers", "blockers/concerns", "concerns", "blockers & concerns", "blockers / concerns"];

/// Titles of the section that records the end of the last session.
pub(super) const SESSION: &[&str] =
    &["session", "session continuity", "session info", "continuity"];

/// Returns whether a line only says that a list is empty, such as `None yet.`.
pub(crate) fn is_placeholder(line: &str) -> bool {
    let line = line.trim().trim_start_matches(['-', '*', ' ']).trim_matches(['_', '*', '(', ')']);
    ["None", "None.", "None yet.", "None yet", "No decisions yet.", "No blockers.", "No blockers"]
        .iter()
        .any(|placeholder| line.eq_ignore_ascii_case(placeholder))
}

pub(super) fn decisions_section(text: &Text<'_>) -> Option<MarkdownSection> {
    section_where(text, |title| {
        matches!(title, "decisions made" | "decisions" | "key decisions")
            || (title.starts_with("accumulated") && title.ends_with("decisions"))
    })
}

/// Returns the open blockers.
pub(super) fn blockers(text: &Text<'_>) -> Vec<String> {
    let Some(section) = section(text, BLOCKERS) else { return Vec::new() };
    let items = section.lines.filter_map(|line| item_at(text, line));
    let items = items.filter(|item| item.indent < 2 && item.done() != Some(true));
    let texts = items.map(|item| unescape_comment_start(&text.raw(item.text)).into_owned());
    texts.filter(|text| !text.trim().is_empty() && !is_placeholder(text)).collect()
}

/// Adds a blocker; `None` if the document has no blockers section.
pub fn add_blocker(bytes: &[u8], blocker: &str) -> Option<Vec<u8>> {
    let text = Text::new(bytes);
    let section = section(&text, BLOCKERS)?;
    Some(apply(bytes, add_item(&text, &section, blocker)))
}

/// Adds a decision, given as the text of an item; `None` if the document has no decisions section.
pub fn add_decision(bytes: &[u8], decision: &str) -> Option<Vec<u8>> {
    let text = Text::new(bytes);
    let section = decisions_section(&text)?;
    Some(apply(bytes, add_item(&text, &section, decision)))
}

/// Adds the decisions of a phase that the document does not have yet, and the section if needed.
pub fn add_new_decisions(bytes: &[u8], phase: &str, decisions: &[String]) -> Vec<u8> {
    decisions.iter().fold(bytes.to_vec(), |bytes, decision| {
        let item = render_decision(Some(phase), decision, None);
        let line = format!("- {}", escape_comment_start(&one_line(&item)));
        if String::from_utf8_lossy(&bytes).lines().any(|known| known.trim() == line) {
            return bytes;
        }
        add_decision(&bytes, &item).unwrap_or_else(|| {
            let ending = Text::new(&bytes).line_ending();
            let gap = if bytes.is_empty() || bytes.ends_with(b"\n") { "" } else { ending };
            let section = format!("{gap}{ending}## Decisions{ending}{ending}{line}{ending}");
            [&bytes[..], section.as_bytes()].concat()
        })
    })
}

/// Renders a decision as the text of a list item.
pub fn render_decision(phase: Option<&str>, summary: &str, rationale: Option<&str>) -> String {
    let why = rationale.map_or(String::new(), |why| format!(" — {}", one_line(why)));
    format!("[Phase {}]: {}{why}", one_line(phase.unwrap_or("?")), one_line(summary))
}

/// Removes the blockers that contain some words, ignoring case, and returns their number.
///
/// Returns `None` if the document has no blockers section. A list that becomes empty says `None`.
pub fn resolve_blocker(bytes: &[u8], words: &str) -> Option<(Vec<u8>, usize)> {
    let text = Text::new(bytes);
    let section = section(&text, BLOCKERS)?;
    let words = one_line(words).to_lowercase();
    let items = items(&text, &section);
    let matches = |lines: &Range<usize>| {
        let raw = text.raw(text.lines()[lines.start].start..text.lines()[lines.end - 1].end);
        let raw = unescape_comment_start(&raw).to_lowercase();
        raw.contains(&words) || one_line(&raw).contains(&words)
    };
    let found: Vec<_> = items.iter().filter(|lines| matches(lines)).cloned().collect();
    let is_emptied = !found.is_empty() && found.len() == items.len();
    let splices = found.iter().enumerate().map(|(index, lines)| {
        if is_emptied && index == 0 {
            let end = text.lines()[lines.end - 1].end;
            return Splice::replace(text.lines()[lines.start].start..end, "None");
        }
        remove_item(&text, lines, section.lines.end)
    });
    Some((apply(bytes, splices.collect()), found.len()))
}

/// Returns the lines of each item of a section, including the lines that continue it.
fn items(text: &Text<'_>, section: &MarkdownSection) -> Vec<Range<usize>> {
    let is_item = |line: usize| item_at(text, line).is_some_and(|item| item.indent < 2);
    let blank = |line: usize| text.raw(text.lines()[line].range()).trim().is_empty();
    let mut items: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    for line in section.lines.clone() {
        let indented = text.raw(text.lines()[line].range()).starts_with([' ', '\t']);
        let continues = open && items.last().is_some_and(|item| item.end == line || indented);
        if heading_at(text, line).is_some() {
            open = false;
        } else if is_item(line) {
            open = true;
            items.push(line..line + 1);
        } else if !blank(line) {
            open = continues;
            if let Some(item) = items.last_mut().filter(|_| continues) {
                item.end = line + 1;
            }
        }
    }
    items
}

/// Removes an item's lines. If blank lines are on both sides, one of them is removed too.
fn remove_item(text: &Text<'_>, item: &Range<usize>, end: usize) -> Splice {
    let blank = |line: usize| line < end && text.raw(text.lines()[line].range()).trim().is_empty();
    let mut last = item.end - 1;
    if item.start > 0 && blank(item.start - 1) && blank(item.end) {
        last = item.end;
    }
    Splice::remove(text.lines()[item.start].start..text.lines()[last].next)
}

/// Joins the lines of a text with spaces; all other characters stay.
pub(crate) fn one_line(text: &str) -> String {
    let lines = text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

/// Returns the edits that add an item at the end of a section's own lines and replace a
/// placeholder.
pub(crate) fn add_item(text: &Text<'_>, section: &MarkdownSection, item: &str) -> Vec<Splice> {
    let ending = text.line_ending();
    let entry = format!("- {}", escape_comment_start(&one_line(item)));
    let placeholder =
        section.own.clone().find(|line| is_placeholder(&text.raw(text.lines()[*line].range())));
    let last = section
        .own
        .clone()
        .rev()
        .find(|line| !text.raw(text.lines()[*line].range()).trim().is_empty());
    if let Some(line) = placeholder {
        let span = text.lines()[line];
        if last == Some(line) {
            return vec![Splice::replace(span.range(), entry)];
        }
        let mut splices = add_after(text, last.unwrap_or(line), &entry, ending);
        splices.push(Splice::remove(span.range_with_ending()));
        return splices;
    }
    match last {
        Some(line) => {
            // A list below prose needs a blank line before it; otherwise it continues the
            // paragraph.
            let lead = if item_at(text, line).is_some() || text.line(line).starts_with(' ') {
                ""
            } else {
                ending
            };
            add_after(text, line, &format!("{lead}{entry}"), ending)
        }
        None => add_after(text, section.heading.line, &format!("{ending}{entry}"), ending),
    }
}

/// Inserts lines after a line, which may be the last one and lack its line ending.
pub(crate) fn add_after(text: &Text<'_>, line: usize, added: &str, ending: &str) -> Vec<Splice> {
    let span = text.lines()[line];
    if span.end == span.next {
        vec![Splice::insert(span.end, format!("{ending}{added}"))]
    } else {
        vec![Splice::insert(span.next, format!("{added}{ending}"))]
    }
}

#[cfg(test)]
mod tests;
