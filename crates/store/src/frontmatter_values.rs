//! Reads frontmatter values tolerantly: spellings of keys, scalars as lists, lists on one line.

use crate::frontmatter::{Frontmatter, Value};
use crate::text::inline;

/// Returns the value at a dotted path. Hyphens and underscores in keys are the same.
pub(crate) fn value_at<'a>(front: &'a Frontmatter, path: &str) -> Option<&'a Value> {
    let mut parts = path.split('.');
    let first = map_value(&front.map, parts.next()?)?;
    parts.try_fold(first, |value, part| map_value(value.as_map()?, part))
}

/// Returns the value of a key in a map. The exact spelling wins over other spellings.
pub(crate) fn map_value<'a>(map: &'a [(String, Value)], key: &str) -> Option<&'a Value> {
    let exact = map.iter().find(|(name, _)| name == key);
    exact.or_else(|| map.iter().find(|(name, _)| same_key(name, key))).map(|(_, value)| value)
}

fn same_key(a: &str, b: &str) -> bool {
    let normalize = |byte: u8| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
    a.bytes().map(normalize).eq(b.bytes().map(normalize))
}

/// Returns the text at a path; `None` when it is absent, empty or not a scalar.
pub(crate) fn text_at(front: Option<&Frontmatter>, path: &str) -> Option<String> {
    scalar_text(value_at(front?, path)?)
}

/// Returns the texts at a path that holds a list or one scalar.
pub(crate) fn texts_at(front: Option<&Frontmatter>, path: &str) -> Vec<String> {
    front.and_then(|front| value_at(front, path)).map(scalar_texts).unwrap_or_default()
}

/// Returns the trimmed text of a scalar; `None` if it is blank or not a scalar.
pub(crate) fn scalar_text(value: &Value) -> Option<String> {
    value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Returns the texts of a list, or one text for a scalar.
///
/// YAML reads the item `- Key: text` as a map. It was meant as a sentence and is returned as one.
pub(crate) fn scalar_texts(value: &Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().filter_map(item_text).collect(),
        _ => scalar_text(value).into_iter().collect(),
    }
}

fn item_text(value: &Value) -> Option<String> {
    match value.as_map() {
        Some([(key, value)]) => Some(match scalar_text(value) {
            Some(text) => format!("{key}: {text}"),
            None => format!("{key}:"),
        }),
        Some(_) => None,
        None => scalar_text(value),
    }
}

/// Splits a list on one line. Brackets, quotes and backticks are removed.
pub(crate) fn split_commas(text: &str) -> Vec<String> {
    let text = text.trim();
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let parts = inner.split(',').map(|part| part.trim().trim_matches(['"', '\'', '`']).trim());
    parts
        .filter(|part| !part.is_empty())
        .map(|part| inline::collapse_whitespace(part).into_owned())
        .collect()
}
