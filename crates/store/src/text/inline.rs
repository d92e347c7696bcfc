//! Inline markup: what is left of a text when bold, code, links and strike-through are taken off.

/// Returns the text without emphasis, code marks, link targets and strike-through, blanks folded.
pub fn plain(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let (piece, taken) = match c {
            '[' => link(rest).unwrap_or(("[", 1)),
            '*' | '`' => ("", 1),
            '~' if rest.starts_with("~~") => ("", 2),
            '_' if is_emphasis(before, &rest[1..]) => ("", 1),
            '\\' if rest[1..].starts_with(|n: char| n.is_ascii_punctuation()) => (&rest[1..2], 2),
            _ => (&rest[..c.len_utf8()], c.len_utf8()),
        };
        if taken > 2 && c == '[' {
            result.push_str(&plain(piece));
        } else {
            result.push_str(piece);
        }
        before = rest[..taken].chars().next_back().unwrap_or(' ');
        rest = &rest[taken..];
    }
    fold_blanks(&result)
}

/// Returns the text with every run of blanks made one space.
pub fn fold_blanks(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !result.is_empty() {
            result.push(' ');
        }
        result.push_str(word);
    }
    result
}

/// An underscore is emphasis only at the edge of a word: `snake_case` keeps its own.
fn is_emphasis(before: char, after: &str) -> bool {
    let next = after.chars().next().unwrap_or(' ');
    !(before.is_alphanumeric() && next.is_alphanumeric()) && next != '_' && before != '_'
        || (before == '_') != (next == '_')
}

/// Reads `[text](target)` and returns the text and the width of the whole.
fn link(text: &str) -> Option<(&str, usize)> {
    let close = text.find("](")?;
    let inner = &text[1..close];
    if inner.contains(['[', '\n']) {
        return None;
    }
    let end = text[close..].find(')')? + close + 1;
    Some((inner, end))
}
