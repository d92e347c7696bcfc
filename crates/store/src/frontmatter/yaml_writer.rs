//! Renders values as YAML in one fixed style.
//!
//! Short lists are inline, longer ones are blocks indented by two spaces per level. A scalar is
//! quoted only if it would not read back unquoted or contains `:` or `#`. Values come from JSON
//! without nulls, so their depth is already limited.

use std::fmt::Write;

use super::Value;

const INLINE_ITEMS_MAX: usize = 3;
/// Items of an inline list have fewer characters than this.
const INLINE_CHARS_LIMIT: usize = 60;

/// Returns the value in its one-line form, or `None` if it needs several lines.
pub(super) fn inline(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::Scalar(text) => Some(scalar(text, false)),
        Value::Map(entries) => entries.is_empty().then(|| "{}".to_owned()),
        Value::List(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            let texts = texts.filter(|texts| {
                texts.len() <= INLINE_ITEMS_MAX
                    && texts.iter().all(|text| text.chars().count() < INLINE_CHARS_LIMIT)
            })?;
            let texts: Vec<String> = texts.into_iter().map(|text| scalar(text, true)).collect();
            Some(format!("[{}]", texts.join(", ")))
        }
    }
}

/// Returns the lines of a value that needs several lines.
pub(super) fn lines(value: &Value, indent: usize) -> Vec<String> {
    match value {
        Value::Null | Value::Scalar(_) => Vec::new(),
        Value::List(items) => items.iter().flat_map(|item| item_lines(item, indent)).collect(),
        Value::Map(entries) => {
            entries.iter().flat_map(|(name, value)| entry_lines(name, value, indent)).collect()
        }
    }
}

/// Returns the lines of an entry: key and value.
pub(super) fn entry_lines(name: &str, value: &Value, indent: usize) -> Vec<String> {
    let head = format!("{}{}:", " ".repeat(indent), key(name));
    match inline(value) {
        Some(text) => vec![format!("{head} {text}")],
        None => [head].into_iter().chain(lines(value, indent + 2)).collect(),
    }
}

fn item_lines(item: &Value, indent: usize) -> Vec<String> {
    let pad = " ".repeat(indent);
    if let Some(text) = inline(item) {
        return vec![format!("{pad}- {text}")];
    }
    let mut lines = lines(item, indent + 2);
    if let Some(first) = lines.first_mut() {
        first.replace_range(indent..indent + 2, "- ");
    }
    lines
}

/// Returns a key as written before its colon, quoted if necessary.
pub(super) fn key(name: &str) -> String {
    if name.starts_with('-') { double_quoted(name) } else { scalar(name, true) }
}

fn scalar(text: &str, in_flow: bool) -> String {
    if reads_plain(text, in_flow) { text.to_owned() } else { double_quoted(text) }
}

/// Returns whether a text reads back without quotes.
fn reads_plain(text: &str, in_flow: bool) -> bool {
    let Some(first) = text.chars().next() else { return false };
    let dash = text.strip_prefix('-').is_some_and(|rest| {
        rest.starts_with('-') || rest.chars().next().is_none_or(char::is_whitespace)
    });
    let blank_edge = first.is_whitespace() || text.ends_with(char::is_whitespace);
    let marked = text.contains([':', '#']) || (in_flow && text.contains(['[', ']', '{', '}', ',']));
    let special = "?,[]{}&*!|>'\"%@`".contains(first);
    !(dash || blank_edge || marked || special || text.contains(needs_escape))
}

fn double_quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ if needs_escape(letter) => {
                // Writing to a String cannot fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(letter));
            }
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns whether YAML requires a character to be escaped. All such characters fit in four hex
/// digits.
fn needs_escape(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}
