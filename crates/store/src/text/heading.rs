//! Finds ATX headings (`## Title`) and the end of the section that each one opens.

use std::ops::Range;

use super::Text;

/// A heading line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// Number of `#` characters, 1 to 6.
    pub level: usize,
    /// Index of the line.
    pub line: usize,
    /// Byte range of the title, without `#` characters and surrounding blanks.
    pub text: Range<usize>,
}

/// Finds all headings in file order.
pub fn headings(text: &Text<'_>) -> Vec<Heading> {
    (0..text.lines().len()).filter_map(|line| heading_at(text, line)).collect()
}

/// Reads one line as a heading.
///
/// `###Phase 3` without a blank is accepted because people write it. `#12` is not a heading: it names
/// an issue.
pub fn heading_at(text: &Text<'_>, line: usize) -> Option<Heading> {
    let span = text.lines().get(line)?;
    let content = text.line(line);
    // Most lines are not headings, and documents are searched for headings often: reject them fast.
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
    let start = span.start + content.len() - after.trim_start().len();
    Some(Heading { level, line, text: start..start + title.len() })
}

/// Strips the `#` characters that may close a heading; those of `C#` belong to the word.
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
