//! The lists of STATE.md: decisions and blockers.

use super::{Section, section};
use crate::text::Text;
use crate::text::inline::{fold_blanks, guard, unguard};
use crate::text::list::item_at;
use crate::text::splice::{Splice, apply};

const BLOCKERS: &[&str] =
    &["blockers", "blockers/concerns", "concerns", "blockers & concerns", "blockers / concerns"];

/// Returns whether a line only says that a list is empty.
pub(crate) fn is_placeholder(line: &str) -> bool {
    let line = line.trim().trim_start_matches(['-', '*', ' ']).trim_matches(['_', '*', '(', ')']);
    ["None", "None.", "None yet.", "None yet", "No decisions yet.", "No blockers.", "No blockers"]
        .iter()
        .any(|placeholder| line.eq_ignore_ascii_case(placeholder))
}

pub(super) fn decisions_section(text: &Text<'_>) -> Option<Section> {
    section(text, &["decisions made", "decisions", "accumulated decisions", "key decisions"])
}

/// Returns the blockers that are open.
pub(super) fn blockers(text: &Text<'_>) -> Vec<String> {
    let Some(section) = section(text, BLOCKERS) else { return Vec::new() };
    let items = section.lines.filter_map(|line| item_at(text, line));
    let items = items.filter(|item| item.indent < 2 && item.done() != Some(true));
    let texts = items.map(|item| unguard(&text.raw(item.text)).into_owned());
    texts.filter(|text| !text.trim().is_empty() && !is_placeholder(text)).collect()
}

/// Adds a blocker; `None` when the document has no section for them.
pub fn add_blocker(bytes: &[u8], blocker: &str) -> Option<Vec<u8>> {
    let text = Text::new(bytes);
    let section = section(&text, BLOCKERS)?;
    Some(apply(bytes, add_item(&text, &section, blocker)))
}

/// Returns the edits that put an item at the end of a section's own lines, in place of a
/// placeholder if there is one.
pub(crate) fn add_item(text: &Text<'_>, section: &Section, item: &str) -> Vec<Splice> {
    let ending = text.line_ending();
    let entry = format!("- {}", guard(&fold_blanks(item)));
    let placeholder =
        section.own.clone().find(|line| is_placeholder(&text.raw(text.lines()[*line].range())));
    let last = section
        .own
        .clone()
        .rev()
        .find(|line| !text.raw(text.lines()[*line].range()).trim().is_empty());
    if let Some(line) = placeholder {
        let place = text.lines()[line];
        if last == Some(line) {
            return vec![Splice::replace(place.range(), entry)];
        }
        let mut splices = add_after(text, last.unwrap_or(line), &entry, ending);
        splices.push(Splice::remove(place.whole()));
        return splices;
    }
    match last {
        Some(line) => {
            // Below prose a list begins with a blank line, else it would belong to the paragraph.
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

/// Inserts lines after a line, which may be the last one and lack its ending.
pub(crate) fn add_after(text: &Text<'_>, line: usize, added: &str, ending: &str) -> Vec<Splice> {
    let place = text.lines()[line];
    if place.end == place.next {
        vec![Splice::insert(place.end, format!("{ending}{added}"))]
    } else {
        vec![Splice::insert(place.next, format!("{added}{ending}"))]
    }
}

#[cfg(test)]
mod tests;
