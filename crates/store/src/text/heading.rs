//! ATX headings and the sections they open.

use std::ops::Range;

use super::Text;

/// A heading line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// The number of `#` signs.
    pub level: usize,
    /// The index of its line.
    pub line: usize,
    /// The bytes of its text, signs and blanks around it left out.
    pub text: Range<usize>,
}

/// Finds all headings.
pub fn headings(text: &Text<'_>) -> Vec<Heading> {
    (0..text.lines().len()).filter_map(|line| heading_at(text, line)).collect()
}

/// Reads one line as a heading.
///
/// `###Phase 3` without a blank is accepted, as people write it; `#12` is not, it names an issue.
pub fn heading_at(text: &Text<'_>, line: usize) -> Option<Heading> {
    let place = text.lines().get(line)?;
    let content = text.line(line);
    // Most lines are no headings, and documents are asked for headings again and again.
    let first = content.bytes().find(|byte| !byte.is_ascii_whitespace())?;
    if first.is_ascii() && first != b'#' {
        return None;
    }
    let signs_at = content.len() - content.trim_start().len();
    let level = content[signs_at..].bytes().take_while(|b| *b == b'#').count();
    let after = &content[signs_at + level..];
    let glued = level >= 2 && after.starts_with(char::is_alphabetic);
    if !(1..=6).contains(&level) || !(glued || after.is_empty() || after.starts_with([' ', '\t'])) {
        return None;
    }
    let title = without_closing_signs(after.trim());
    let start = place.start + content.len() - after.trim_start().len();
    Some(Heading { level, line, text: start..start + title.len() })
}

/// Takes off the signs that may close a heading; those of `C#` belong to the word.
fn without_closing_signs(title: &str) -> &str {
    let bare = title.trim_end_matches('#');
    if bare.is_empty() || bare.ends_with([' ', '\t']) { bare.trim_end() } else { title }
}

/// Returns the index of the line after the section that a heading opens.
///
/// A section ends at the next heading of the same or a higher level.
pub fn section_end(text: &Text<'_>, headings: &[Heading], index: usize) -> usize {
    let level = headings[index].level;
    let next = headings[index + 1..].iter().find(|heading| heading.level <= level);
    next.map_or(text.lines().len(), |heading| heading.line)
}
