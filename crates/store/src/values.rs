//! Tolerant readings of frontmatter values, shared by the documents that have a block.

use crate::frontmatter::{Frontmatter, Value};
use crate::text::inline;

/// Returns the value of a key, whether spelt with hyphens or underscores; dots lead into maps.
pub(crate) fn entry<'a>(front: &'a Frontmatter, path: &str) -> Option<&'a Value> {
    let mut parts = path.split('.');
    let first = find(&front.map, parts.next()?)?;
    parts.try_fold(first, |value, part| find(value.as_map()?, part))
}

/// Returns the value of a key of a map, in the spelling asked for before any other.
pub(crate) fn find<'a>(map: &'a [(String, Value)], key: &str) -> Option<&'a Value> {
    let exact = map.iter().find(|(name, _)| name == key);
    exact.or_else(|| map.iter().find(|(name, _)| same_key(name, key))).map(|(_, value)| value)
}

fn same_key(a: &str, b: &str) -> bool {
    let plain = |byte: u8| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
    a.bytes().map(plain).eq(b.bytes().map(plain))
}

/// Returns the text of a key; nothing when it is absent, empty or no scalar.
pub(crate) fn text(front: Option<&Frontmatter>, path: &str) -> Option<String> {
    scalar(entry(front?, path)?)
}

/// Returns the texts of a key that holds a list or one scalar.
pub(crate) fn list(front: Option<&Frontmatter>, path: &str) -> Vec<String> {
    front.and_then(|front| entry(front, path)).map(texts).unwrap_or_default()
}

/// Returns the text of a scalar that is not blank.
pub(crate) fn scalar(value: &Value) -> Option<String> {
    value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Returns the texts of a list, or of a scalar as a list of one.
///
/// `- Key: text` was meant as a sentence and is read as one.
pub(crate) fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().filter_map(sentence).collect(),
        _ => scalar(value).into_iter().collect(),
    }
}

fn sentence(value: &Value) -> Option<String> {
    match value.as_map() {
        Some([(key, value)]) => Some(match scalar(value) {
            Some(text) => format!("{key}: {text}"),
            None => format!("{key}:"),
        }),
        Some(_) => None,
        None => scalar(value),
    }
}

/// Splits a list on one line, with or without brackets, quotes and code marks.
pub(crate) fn split_commas(text: &str) -> Vec<String> {
    let text = text.trim();
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let parts = inner.split(',').map(|part| part.trim().trim_matches(['"', '\'', '`']).trim());
    parts
        .filter(|part| !part.is_empty())
        .map(|part| inline::fold_blanks(part).into_owned())
        .collect()
}
