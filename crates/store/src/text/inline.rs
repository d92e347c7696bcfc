//! Strips inline markup (bold, code, links, strike-through) and escapes text that is written.

use std::borrow::Cow;

use memchr::memchr3;

/// Returns the text without emphasis, backticks, link targets and strike-through, with runs of
/// whitespace collapsed.
pub fn strip_markup(text: &str) -> Cow<'_, str> {
    // Most marked-up texts are bold as a whole and have no other markup inside.
    let inner = text.trim_matches(|c: char| c == '*' || c.is_whitespace());
    if is_plain(inner) {
        return Cow::Borrowed(inner);
    }
    let text = text.trim();
    if memchr3(b'*', b'`', b'[', text.as_bytes()).is_none()
        && memchr3(b'_', b'~', b'\\', text.as_bytes()).is_none()
    {
        return collapse_whitespace(text);
    }
    Cow::Owned(collapse_whitespace(&strip_marks(text)).into_owned())
}

/// Returns whether a trimmed ASCII text has neither markup nor whitespace to collapse.
///
/// Returns false for any text beyond ASCII, which takes the slow path.
fn is_plain(text: &str) -> bool {
    let mut before = b'x';
    text.bytes().all(|byte| {
        let is_second_blank = byte == b' ' && before == b' ';
        before = byte;
        matches!(byte, b' '..=b'~')
            && !matches!(byte, b'*' | b'`' | b'[' | b'_' | b'~' | b'\\')
            && !is_second_blank
    })
}

fn strip_marks(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = ' ';
    // No link can end beyond this offset. Without the limit each bracket would scan to the end.
    let links_end = text.rfind(')').unwrap_or(0);
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '[' => match link(rest, links_end.saturating_sub(text.len() - rest.len())) {
                Some((inner, width)) => {
                    result.push_str(&strip_marks(inner));
                    width
                }
                None => keep(&mut result, rest, 1),
            },
            '*' | '`' => 1,
            '~' if rest.starts_with("~~") => 2,
            '_' if is_emphasis(before, &rest[1..]) => 1,
            '\\' if rest[1..].starts_with(|n: char| n.is_ascii_punctuation()) => {
                keep(&mut result, &rest[1..], 1) + 1
            }
            _ => keep(&mut result, rest, c.len_utf8()),
        };
        before = rest[..taken].chars().next_back().unwrap_or(' ');
        rest = &rest[taken..];
    }
    result
}

/// Copies the first `width` bytes of a text to the result and returns `width`.
fn keep(result: &mut String, text: &str, width: usize) -> usize {
    result.push_str(&text[..width]);
    width
}

/// Escapes `<!--`, so that a written value cannot open a comment that hides the text after it.
pub fn escape_comment_start(value: &str) -> Cow<'_, str> {
    if value.contains("<!--") { value.replace("<!--", "&lt;!--").into() } else { value.into() }
}

/// Reverses [`escape_comment_start`].
pub fn unescape_comment_start(written: &str) -> Cow<'_, str> {
    if written.contains("&lt;!--") {
        written.replace("&lt;!--", "<!--").into()
    } else {
        written.into()
    }
}

/// Returns the trimmed text with every run of whitespace replaced by one space.
pub fn collapse_whitespace(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    let single = |(index, c): (usize, char)| {
        !c.is_whitespace() || (c == ' ' && !text[index + 1..].starts_with(char::is_whitespace))
    };
    if text.char_indices().all(single) {
        return Cow::Borrowed(text);
    }
    let mut result = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !result.is_empty() {
            result.push(' ');
        }
        result.push_str(word);
    }
    Cow::Owned(result)
}

/// Returns whether an underscore is emphasis. It is only at the edge of a word: `snake_case` keeps
/// its underscore.
fn is_emphasis(before: char, after: &str) -> bool {
    let next = after.chars().next().unwrap_or(' ');
    !(before.is_alphanumeric() && next.is_alphanumeric()) && next != '_' && before != '_'
        || (before == '_') != (next == '_')
}

/// Reads `[text](target)` and returns the link text and the width of the whole link.
///
/// `last` is the offset of the last closing parenthesis, or zero if there is none.
fn link(text: &str, last: usize) -> Option<(&str, usize)> {
    let ends = |at: &usize| match text.as_bytes()[*at] {
        b']' => text[at + 1..].starts_with('('),
        byte => matches!(byte, b'[' | b'\n'),
    };
    let close = (1..last).find(ends).filter(|at| text.as_bytes()[*at] == b']')?;
    let end = text[close..].find(')')? + close + 1;
    Some((&text[1..close], end))
}
