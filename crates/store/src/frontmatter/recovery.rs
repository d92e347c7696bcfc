//! Reads entries that may be invalid YAML.
//!
//! A valid entry is read by the YAML parser. An invalid entry is split by indentation until the
//! invalid line is alone, and that line is read as plain text. Every guess is recorded as a
//! [`Problem`].

use std::borrow::Cow;

use super::block::{BlockLine, is_item, is_key, split_items};
use super::value::MapBuilder;
use super::yaml_reader::{self, YamlError};
use super::{Problem, Value};

/// The number of levels an invalid entry is split into; each level parses its text once more.
pub(super) const RECOVERY_DEPTH_MAX: usize = 12;

/// Reads an entry from its lines; `None` if the first line does not start with a key.
pub(super) fn parse_entry(
    rows: &[BlockLine],
    depth: usize,
    problems: &mut Vec<Problem>,
) -> Option<(String, Value)> {
    let (first, rest) = rows.split_first()?;
    let (key, after_colon) = first.key()?;
    match parse_strict(rows, problems) {
        Ok(Value::Map(mut entries)) if entries.len() == 1 => {
            Some((key, entries.pop().map_or(Value::Null, |(_, value)| value)))
        }
        Ok(_) => {
            let value = guess_value(&first.raw[after_colon..], rest, depth, problems);
            let message = format!("`{key}` is not one entry");
            problems.push(Problem { line: first.number, message });
            Some((key, value))
        }
        Err(problem) => {
            let problems_before = problems.len();
            let value = guess_value(&first.raw[after_colon..], rest, depth, problems);
            // If the guess found no invalid part inside, nothing has reported the problem yet.
            if problems.len() == problems_before {
                problems.push(problem);
            }
            Some((key, value))
        }
    }
}

/// Returns the YAML text of lines.
pub(super) fn join_lines(rows: &[BlockLine]) -> String {
    let mut text = String::with_capacity(rows.iter().map(|row| row.raw.len() + 1).sum());
    for row in rows {
        text.push_str(&row.raw);
        text.push('\n');
    }
    text
}

/// Reads lines that must be valid YAML, and records duplicate keys.
fn parse_strict(rows: &[BlockLine], problems: &mut Vec<Problem>) -> Result<Value, Problem> {
    let number = |line: usize| rows[(line - 1).min(rows.len() - 1)].number;
    match yaml_reader::parse_yaml(&join_lines(rows)) {
        Ok(reading) => {
            problems.extend(
                reading
                    .duplicates
                    .into_iter()
                    .map(|(line, key)| Problem::duplicate(number(line), &key)),
            );
            Ok(reading.value)
        }
        Err(YamlError { line, message }) => Err(Problem { line: number(line), message }),
    }
}

/// Guesses a value from the text after its key (`inline`) and the lines below (`rest`).
fn guess_value(
    inline: &str,
    rest: &[BlockLine],
    depth: usize,
    problems: &mut Vec<Problem>,
) -> Value {
    let inline = inline.trim();
    let inline = if inline.starts_with('#') { "" } else { inline };
    let Some(first) = rest.iter().find(|row| !row.is_blank_or_comment(usize::MAX)) else {
        return scalar(inline);
    };
    let Some(depth) = depth.checked_sub(1).filter(|_| inline.is_empty()) else {
        return joined_text(inline, rest);
    };
    if is_item(first.text()) {
        let items = split_items(rest, first.indent, is_item).into_iter();
        Value::List(items.map(|range| guess_item(&rest[range], depth, problems)).collect())
    } else if is_key(first.text()) {
        guess_map(rest, first.indent, depth, problems)
    } else {
        joined_text(inline, rest)
    }
}

fn guess_map(
    rows: &[BlockLine],
    indent: usize,
    depth: usize,
    problems: &mut Vec<Problem>,
) -> Value {
    let mut map = MapBuilder::default();
    for range in split_items(rows, indent, is_key) {
        let rows = &rows[range];
        let Some((key, value)) = parse_entry(rows, depth, problems) else { continue };
        if map.put(key.clone(), value) {
            problems.push(Problem::duplicate(rows[0].number, &key));
        }
    }
    Value::Map(map.entries)
}

/// Guesses one list item from its lines, including the dash.
fn guess_item(rows: &[BlockLine], depth: usize, problems: &mut Vec<Problem>) -> Value {
    let problem = match parse_strict(rows, problems) {
        Ok(Value::List(mut items)) if items.len() == 1 => {
            return items.pop().unwrap_or(Value::Null);
        }
        Ok(_) => Problem { line: rows[0].number, message: "not one list item".to_owned() },
        Err(problem) => problem,
    };
    let mut rows = rows.to_vec();
    rows[0] = without_dash(&rows[0]);
    let indent = rows[0].indent;
    let level: Vec<&BlockLine> = rows.iter().filter(|row| row.indent == indent).collect();
    // A single line with an extra colon is a sentence; several keys are a map.
    if level.len() > 1 && level.iter().all(|row| is_key(row.text())) {
        let problems_before = problems.len();
        let value = guess_map(&rows, indent, depth, problems);
        if problems.len() == problems_before {
            problems.push(problem);
        }
        return value;
    }
    problems.push(problem);
    joined_text(rows[0].text().trim_end(), &rows[1..])
}

/// Returns a list item's first line with its dash replaced by blanks.
fn without_dash<'a>(row: &BlockLine<'a>) -> BlockLine<'a> {
    let content = row.text()[1..].trim_start_matches([' ', '\t']);
    let indent = row.raw.len() - content.len();
    let raw = Cow::Owned(format!("{}{content}", " ".repeat(indent)));
    BlockLine { indent, raw, ..row.clone() }
}

/// Joins the lines of a text with spaces, as YAML folds a plain scalar.
fn joined_text(inline: &str, rest: &[BlockLine]) -> Value {
    let lines = rest.iter().map(|row| row.text().trim_end());
    let words: Vec<&str> = [inline].into_iter().chain(lines).filter(|l| !l.is_empty()).collect();
    scalar(&words.join(" "))
}

/// Reads the text of a line as a one-line list, or as a scalar without its outer quotes.
fn scalar(text: &str) -> Value {
    if text.is_empty() {
        return Value::Null;
    }
    let Some(list) = text.strip_prefix('[').and_then(|list| list.strip_suffix(']')) else {
        return Value::Scalar(unquoted(text).to_owned());
    };
    let items = list.split(',').map(|item| unquoted(item.trim())).filter(|item| !item.is_empty());
    Value::List(items.map(|item| Value::Scalar(item.to_owned())).collect())
}

fn unquoted(text: &str) -> &str {
    let within = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    within('"').or_else(|| within('\'')).unwrap_or(text)
}
