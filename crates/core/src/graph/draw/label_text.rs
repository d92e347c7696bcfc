//! Cleans, measures, shortens and pads the names in drawings.

use unicode_width::UnicodeWidthStr;

/// Puts a text on one line and removes characters that disturb a terminal or are invalid in XML.
///
/// Marks that change the writing direction are removed too: one of them could reorder a whole line.
pub(super) fn clean(text: &str) -> String {
    let visible = text.chars().filter_map(|c| match c {
        c if c.is_whitespace() => Some(' '),
        '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{feff}'
        | '\u{fffe}'
        | '\u{ffff}' => None,
        c => (!c.is_control()).then_some(c),
    });
    let line: String = visible.collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the number of terminal columns that a text takes.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// Cuts a text to at most `columns`; a cut text ends with `mark`.
pub(super) fn shorten(text: &str, columns: usize, mark: &str) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(width(mark));
    let mut end = 0;
    // A column holds few characters, so looking at `8 * columns` characters is enough to find the
    // cut, even in a very long text.
    for (at, c) in text.char_indices().take(8 * columns) {
        let next = at + c.len_utf8();
        if width(&text[..next]) > room {
            break;
        }
        end = next;
    }
    let kept = text[..end].trim_end_matches(['\u{200d}', '\u{fe0f}', ' ']);
    format!("{kept}{mark}")
}

/// Appends spaces up to `columns`.
pub(super) fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}
