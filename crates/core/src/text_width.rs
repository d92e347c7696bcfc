//! Measures, cuts and pads text by terminal columns.
//!
//! A wide character takes two columns. Pass foreign text through [`one_line`] first: it removes
//! control characters, so that the text cannot move the cursor or set colours.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Marks the place where a text was cut.
const CUT: &str = "...";

/// Replaces control characters, line breaks included, by spaces.
pub fn one_line(text: &str) -> Cow<'_, str> {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain {
        return Cow::Borrowed(text);
    }
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns the number of terminal columns that a text takes.
pub fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

/// Cuts a text to at most `columns`; a cut text ends with `...`.
pub fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mark = &CUT[..CUT.len().min(columns)];
    let room = columns - mark.len();
    let mut kept = String::new();
    let mut taken = 0;
    for c in text.chars() {
        taken += c.width().unwrap_or(0);
        if taken > room {
            break;
        }
        kept.push(c);
    }
    Cow::Owned(kept + mark)
}

/// Appends spaces up to `columns`.
pub fn pad(text: &str, columns: usize) -> String {
    let spaces = columns.saturating_sub(width(text));
    let mut filled = String::with_capacity(text.len() + spaces);
    filled.push_str(text);
    filled.extend(std::iter::repeat_n(' ', spaces));
    filled
}

/// Cuts or pads a text to exactly `columns`.
pub fn fit(text: &str, columns: usize) -> String {
    pad(&cut(text, columns), columns)
}

/// Prepends spaces up to `columns`.
pub fn pad_start(text: &str, columns: usize) -> String {
    let mut filled = " ".repeat(columns.saturating_sub(width(text)));
    filled.push_str(text);
    filled
}
