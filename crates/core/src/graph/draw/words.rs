//! Makes names fit for drawing: one line, no control characters, a known width.

use unicode_width::UnicodeWidthStr;

/// Puts a text on one line and drops what would disturb a terminal or be no legal XML.
///
/// Marks that turn the direction of writing go too, since one of them could rearrange a whole line.
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

/// Returns how many columns a text takes on a terminal.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// Cuts a text to at most so many columns, ending it with `mark` when something is lost.
pub(super) fn shorten(text: &str, columns: usize, mark: &str) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(width(mark));
    let mut end = 0;
    // A column holds few characters, so the search for the cut stays short even in a long text.
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

/// Fills a text with spaces up to so many columns.
pub(super) fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}
