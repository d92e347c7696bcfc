//! List items, with and without a box.

use std::ops::Range;

use super::Text;

/// One line that begins a list item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The width of the blanks before the mark.
    pub indent: usize,
    /// The character in the box, if there is one: `x`, a space, `~`.
    pub tick: Option<char>,
    /// The bytes between the brackets of the box.
    pub tick_at: Range<usize>,
    /// The bytes of the text after mark and box.
    pub text: Range<usize>,
}

impl Item {
    /// Returns whether the box is ticked; `None` without a box.
    pub fn done(&self) -> Option<bool> {
        self.tick.map(|tick| matches!(tick, 'x' | 'X' | '✓' | '✔' | '✅' | '☑'))
    }
}

/// Reads a line as a list item.
pub fn item_at(text: &Text<'_>, line: usize) -> Option<Item> {
    let place = text.lines().get(line)?;
    let content = text.line(line);
    let indent = content.len() - content.trim_start().len();
    let marked = &content[indent..];
    let mark = mark_width(marked)?;
    let after = &marked[mark..];
    let body = after.trim_start();
    if body.len() == after.len() && !after.is_empty() {
        return None;
    }
    let body_at = place.start + content.len() - body.len();
    let (tick, tick_at, text_at) = match parse_box(body) {
        Some((tick, width, text)) => {
            (Some(tick), body_at + 1..body_at + 1 + width, body_at + body.len() - text.len())
        }
        None => (None, body_at..body_at, body_at),
    };
    let end = place.start + content.trim_end().len();
    Some(Item { indent, tick, tick_at, text: text_at.min(end)..end })
}

/// Returns the width of `-`, `*`, `+` or `12.`.
fn mark_width(text: &str) -> Option<usize> {
    if text.starts_with(['-', '*', '+']) {
        return Some(1);
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let dotted = matches!(text.as_bytes().get(digits), Some(b'.' | b')'));
    ((1..=4).contains(&digits) && dotted).then_some(digits + 1)
}

/// Reads `[x] text` and returns the character, its width and the text.
fn parse_box(body: &str) -> Option<(char, usize, &str)> {
    let inner = body.strip_prefix('[')?;
    let (inside, after) = inner.split_once(']')?;
    let mut characters = inside.chars().filter(|c| *c != '\u{fe0f}');
    let tick = characters.next().unwrap_or(' ');
    // `[text](url)` is a link, and a box is followed by a blank.
    if characters.any(|c| c != ' ') || !(after.is_empty() || after.starts_with([' ', '\t'])) {
        return None;
    }
    Some((tick, inside.len(), after.trim_start()))
}
