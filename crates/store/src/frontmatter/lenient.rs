//! Reads entries that may be broken. What parses is read by the YAML parser; where it does not,
//! the entry is taken apart by indentation until the broken line stands alone, and that line is
//! read as text. Every guess is recorded as a [`Problem`].

use std::borrow::Cow;

use super::block::{Row, is_item, is_key, split};
use super::events::{self, Flaw};
use super::value::MapBuilder;
use super::{Problem, Value};

/// How many levels a broken entry is taken apart; each level parses its text once more.
pub(super) const DEPTH_MAX: usize = 12;

/// Reads the entry the rows make up; `None` when they do not open with a key.
pub(super) fn pair(
    rows: &[Row],
    depth: usize,
    problems: &mut Vec<Problem>,
) -> Option<(String, Value)> {
    let (first, rest) = rows.split_first()?;
    let (key, after_colon) = first.key()?;
    match read_only(rows, problems) {
        Ok(Value::Map(mut entries)) if entries.len() == 1 => {
            Some((key, entries.pop().map_or(Value::Null, |(_, value)| value)))
        }
        Ok(_) => {
            let value = guess(&first.raw[after_colon..], rest, depth, problems);
            let message = format!("`{key}` is not one entry");
            problems.push(Problem { line: first.number, message });
            Some((key, value))
        }
        Err(problem) => {
            let problems_before = problems.len();
            let value = guess(&first.raw[after_colon..], rest, depth, problems);
            // A guess that met no broken part of its own has not told what is wrong.
            if problems.len() == problems_before {
                problems.push(problem);
            }
            Some((key, value))
        }
    }
}

/// Returns the YAML text of rows.
pub(super) fn joined(rows: &[Row]) -> String {
    let mut text = String::with_capacity(rows.iter().map(|row| row.raw.len() + 1).sum());
    for row in rows {
        text.push_str(&row.raw);
        text.push('\n');
    }
    text
}

/// Reads rows that must be sound YAML.
fn read_only(rows: &[Row], problems: &mut Vec<Problem>) -> Result<Value, Problem> {
    let number = |line: usize| rows[(line - 1).min(rows.len() - 1)].number;
    match events::read(&joined(rows)) {
        Ok(reading) => {
            problems.extend(
                reading
                    .duplicates
                    .into_iter()
                    .map(|(line, key)| Problem::duplicate(number(line), &key)),
            );
            Ok(reading.value)
        }
        Err(Flaw { line, message }) => Err(Problem { line: number(line), message }),
    }
}

/// Reads a value of which `inline` stands behind the key and `rest` below it.
fn guess(inline: &str, rest: &[Row], depth: usize, problems: &mut Vec<Problem>) -> Value {
    let inline = inline.trim();
    let inline = if inline.starts_with('#') { "" } else { inline };
    let Some(first) = rest.iter().find(|row| !row.is_filler(usize::MAX)) else {
        return scalar(inline);
    };
    let Some(depth) = depth.checked_sub(1).filter(|_| inline.is_empty()) else {
        return text_of(inline, rest);
    };
    if is_item(first.text()) {
        let items = split(rest, first.indent, is_item).into_iter();
        Value::List(items.map(|range| item(&rest[range], depth, problems)).collect())
    } else if is_key(first.text()) {
        map(rest, first.indent, depth, problems)
    } else {
        text_of(inline, rest)
    }
}

fn map(rows: &[Row], indent: usize, depth: usize, problems: &mut Vec<Problem>) -> Value {
    let mut map = MapBuilder::default();
    for range in split(rows, indent, is_key) {
        let rows = &rows[range];
        let Some((key, value)) = pair(rows, depth, problems) else { continue };
        if map.put(key.clone(), value) {
            problems.push(Problem::duplicate(rows[0].number, &key));
        }
    }
    Value::Map(map.entries)
}

/// Reads one list item, dash included.
fn item(rows: &[Row], depth: usize, problems: &mut Vec<Problem>) -> Value {
    let problem = match read_only(rows, problems) {
        Ok(Value::List(mut items)) if items.len() == 1 => {
            return items.pop().unwrap_or(Value::Null);
        }
        Ok(_) => Problem { line: rows[0].number, message: "not one list item".to_owned() },
        Err(problem) => problem,
    };
    let mut rows = rows.to_vec();
    rows[0] = without_dash(&rows[0]);
    let indent = rows[0].indent;
    let level: Vec<&Row> = rows.iter().filter(|row| row.indent == indent).collect();
    // A lone line with a colon too many is a sentence; several keys are meant as a map.
    if level.len() > 1 && level.iter().all(|row| is_key(row.text())) {
        let problems_before = problems.len();
        let value = map(&rows, indent, depth, problems);
        if problems.len() == problems_before {
            problems.push(problem);
        }
        return value;
    }
    problems.push(problem);
    text_of(rows[0].text().trim_end(), &rows[1..])
}

/// Returns a list item's first row with its dash blanked out.
fn without_dash<'a>(row: &Row<'a>) -> Row<'a> {
    let content = row.text()[1..].trim_start_matches([' ', '\t']);
    let indent = row.raw.len() - content.len();
    let raw = Cow::Owned(format!("{}{content}", " ".repeat(indent)));
    Row { indent, raw, ..row.clone() }
}

/// Joins a text that goes on over lines the way YAML folds them.
fn text_of(inline: &str, rest: &[Row]) -> Value {
    let lines = rest.iter().map(|row| row.text().trim_end());
    let words: Vec<&str> = [inline].into_iter().chain(lines).filter(|l| !l.is_empty()).collect();
    scalar(&words.join(" "))
}

/// Reads the text of a line: a one-line list, else a scalar with one layer of quotes removed.
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
