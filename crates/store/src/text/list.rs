//! Reads list items, with and without a checkbox.

use std::ops::Range;

use super::Text;

/// The first line of a list item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListItem {
    /// Width in bytes of the blanks before the list marker.
    pub indent: usize,
    /// Character in the checkbox, such as `x`, a space or `~`; `None` without a checkbox.
    pub checkbox: Option<char>,
    /// Byte range between the brackets of the checkbox; empty without a checkbox.
    pub checkbox_range: Range<usize>,
    /// Byte range of the text after the marker and the checkbox.
    pub text: Range<usize>,
}

impl ListItem {
    /// Returns whether the checkbox is ticked; `None` without a checkbox.
    pub fn done(&self) -> Option<bool> {
        self.checkbox.map(|tick| matches!(tick, 'x' | 'X' | '✓' | '✔' | '✅' | '☑'))
    }
}

/// Reads a line as a list item.
pub fn item_at(text: &Text<'_>, line: usize) -> Option<ListItem> {
    let span = text.lines().get(line)?;
    let content = text.line(line);
    let indent = content.len() - content.trim_start().len();
    let marked = &content[indent..];
    let width = marker_width(marked)?;
    let after = &marked[width..];
    let body = after.trim_start();
    if body.len() == after.len() && !after.is_empty() {
        return None;
    }
    let body_at = span.start + content.len() - body.len();
    let (tick, checkbox_range, text_at) = match parse_checkbox(body) {
        Some((tick, width, text)) => {
            (Some(tick), body_at + 1..body_at + 1 + width, body_at + body.len() - text.len())
        }
        None => (None, body_at..body_at, body_at),
    };
    let end = span.start + content.trim_end().len();
    Some(ListItem { indent, checkbox: tick, checkbox_range, text: text_at.min(end)..end })
}

/// Returns the width of the list marker: `-`, `*`, `+` or `12.`.
fn marker_width(text: &str) -> Option<usize> {
    if text.starts_with(['-', '*', '+']) {
        return Some(1);
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let dotted = matches!(text.as_bytes().get(digits), Some(b'.' | b')'));
    ((1..=4).contains(&digits) && dotted).then_some(digits + 1)
}

/// Reads `[x] text` and returns the character, its width and the text.
fn parse_checkbox(body: &str) -> Option<(char, usize, &str)> {
    let inner = body.strip_prefix('[')?;
    let (inside, after) = inner.split_once(']')?;
    let mut characters = inside.chars().filter(|c| *c != '\u{fe0f}');
    let tick = characters.next().unwrap_or(' ');
    // `[text](url)` is a link. A checkbox is followed by a blank.
    if characters.any(|c| c != ' ') || !(after.is_empty() || after.starts_with([' ', '\t'])) {
        return None;
    }
    Some((tick, inside.len(), after.trim_start()))
}
