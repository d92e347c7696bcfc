//! Inline markup: what is left of a text when bold, code, links and strike-through are taken off.

use std::borrow::Cow;

use memchr::memchr3;

/// Returns the text without emphasis, code marks, link targets and strike-through, blanks folded.
pub fn plain(text: &str) -> Cow<'_, str> {
    // Bold around the whole is the most usual markup, and what it leaves is seldom marked up.
    let inner = text.trim_matches(|c: char| c == '*' || c.is_whitespace());
    if is_plain(inner) {
        return Cow::Borrowed(inner);
    }
    let text = text.trim();
    if memchr3(b'*', b'`', b'[', text.as_bytes()).is_none()
        && memchr3(b'_', b'~', b'\\', text.as_bytes()).is_none()
    {
        return fold_blanks(text);
    }
    Cow::Owned(fold_blanks(&strip_marks(text)).into_owned())
}

/// Returns whether a trimmed text is known to have neither markup nor blanks to fold; one beyond
/// ASCII is not.
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
    // Beyond this offset no link can end; looking there for each bracket would take too long.
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

/// Copies the first bytes of a text and returns how many.
fn keep(result: &mut String, text: &str, width: usize) -> usize {
    result.push_str(&text[..width]);
    width
}

/// Writes a value so that it cannot open a comment, which would hide what follows it.
pub fn guard(value: &str) -> Cow<'_, str> {
    if value.contains("<!--") { value.replace("<!--", "&lt;!--").into() } else { value.into() }
}

/// Reads back what [`guard`] wrote.
pub fn unguard(written: &str) -> Cow<'_, str> {
    if written.contains("&lt;!--") {
        written.replace("&lt;!--", "<!--").into()
    } else {
        written.into()
    }
}

/// Returns the text with every run of blanks made one space.
pub fn fold_blanks(text: &str) -> Cow<'_, str> {
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

/// An underscore is emphasis only at the edge of a word: `snake_case` keeps its own.
fn is_emphasis(before: char, after: &str) -> bool {
    let next = after.chars().next().unwrap_or(' ');
    !(before.is_alphanumeric() && next.is_alphanumeric()) && next != '_' && before != '_'
        || (before == '_') != (next == '_')
}

/// Reads `[text](target)` and returns the text and the width of the whole.
///
/// `last` is the place of the last closing parenthesis, zero when there is none.
fn link(text: &str, last: usize) -> Option<(&str, usize)> {
    let ends = |at: &usize| match text.as_bytes()[*at] {
        b']' => text[at + 1..].starts_with('('),
        byte => matches!(byte, b'[' | b'\n'),
    };
    let close = (1..last).find(ends).filter(|at| text.as_bytes()[*at] == b']')?;
    let end = text[close..].find(')')? + close + 1;
    Some((&text[1..close], end))
}
