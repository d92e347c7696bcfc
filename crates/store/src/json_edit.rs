//! Changes one value of a JSON file and keeps every other byte.
//!
//! `serde_json` parses the file first; the scanner here only finds byte positions. A new member
//! gets the blanks, line endings and indentation of its neighbours. Start with [`set`].

mod scan;

#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use crate::text::splice::{self, Splice};
use scan::{Object, object_at, skip_blanks, value_end};

/// The maximum number of keys in a path: a parser refuses files that are nested too deeply.
const PATH_PARTS_MAX: usize = 32;

/// Why a JSON file could not be read or changed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum JsonError {
    /// The text is not JSON.
    #[error("not valid JSON at line {line}, column {column}: {message}")]
    Syntax {
        /// The line of the error, counted from 1.
        line: usize,
        /// The column in that line, counted from 1.
        column: usize,
        /// The parser's message, without the position.
        message: String,
    },
    /// The top-level value is not an object.
    #[error("the file does not hold a JSON object")]
    NotAnObject,
    /// A key path is empty, has an empty part, or is too long.
    #[error("`{path}` is not a key path")]
    BadPath {
        /// The parts of the path, joined by dots.
        path: String,
    },
}

/// Reads a file as a JSON object; an empty file is an empty object.
pub fn parse(bytes: &[u8]) -> Result<serde_json::Map<String, Value>, JsonError> {
    let content = without_bom(bytes);
    if content.trim_ascii().is_empty() {
        return Ok(serde_json::Map::new());
    }
    match serde_json::from_slice(content).map_err(|error| syntax(&error))? {
        Value::Object(map) => Ok(map),
        _ => Err(JsonError::NotAnObject),
    }
}

fn syntax(error: &serde_json::Error) -> JsonError {
    let text = error.to_string();
    // The message ends with the position, which is stored in separate fields.
    let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
    JsonError::Syntax { line: error.line(), column: error.column(), message }
}

fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// Sets the value at a path. Missing objects on the way are created; other values are replaced.
pub fn set(bytes: &[u8], path: &[&str], value: &Value) -> Result<Vec<u8>, JsonError> {
    let has_valid_length = (1..=PATH_PARTS_MAX).contains(&path.len());
    if !has_valid_length || path.iter().any(|part| part.is_empty()) {
        return Err(JsonError::BadPath { path: path.join(".") });
    }
    parse(bytes)?;
    set_in_valid(bytes, path, value)
}

/// Like [`set`], for a valid path and a file that is known to be an object or empty.
pub(crate) fn set_in_valid(
    bytes: &[u8],
    path: &[&str],
    value: &Value,
) -> Result<Vec<u8>, JsonError> {
    if without_bom(bytes).trim_ascii().is_empty() {
        let style =
            ValueStyle { unit: b"  ".to_vec(), ending: "\n", base: Vec::new(), pretty: true };
        let added = style.render(&nest_value(path, value));
        // Existing blanks are dropped: some of them, such as form feeds, are not valid JSON.
        let bom_length = bytes.len() - without_bom(bytes).len();
        return Ok([&bytes[..bom_length], &added].concat());
    }
    let start = skip_blanks(bytes, bytes.len() - without_bom(bytes).len());
    let mut object = object_at(bytes, start).ok_or(JsonError::NotAnObject)?;
    let file = FileStyle::of(bytes, &object);
    for (depth, key) in path.iter().enumerate() {
        let rest = &path[depth + 1..];
        // Of duplicate keys, a parser takes the last.
        let Some(member) = object.members.iter().rfind(|member| member.key == *key) else {
            let edit = insert(bytes, &object, &file, key, &nest_value(rest, value));
            return Ok(splice::apply(bytes, vec![edit]));
        };
        let inner = (!rest.is_empty()).then(|| object_at(bytes, member.value.start)).flatten();
        let Some(inner) = inner else {
            let style = file.at(bytes, member.key_at);
            let replacement = style.render(&nest_value(rest, value));
            let edit = Splice { range: member.value.clone(), replacement };
            return Ok(splice::apply(bytes, vec![edit]));
        };
        object = inner;
    }
    unreachable!("the last key of a path is inserted or replaced")
}

/// Wraps a value in one object for each key of the path.
fn nest_value(path: &[&str], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |inner, key| {
        Value::Object(std::iter::once(((*key).to_owned(), inner)).collect())
    })
}

/// Returns the edit that adds a member at the end of an object.
fn insert(bytes: &[u8], object: &Object, file: &FileStyle, key: &str, value: &Value) -> Splice {
    let name = Value::String(key.to_owned()).to_string();
    let Some(last) = object.members.last() else {
        let style = file.at(bytes, object.open);
        let replacement = style.render(&nest_value(&[key], value));
        return Splice { range: object.open..object.close + 1, replacement };
    };
    let style = file.at(bytes, last.key_at);
    let after_colon = &bytes[last.colon + 1..last.value.start];
    let before_key = &bytes[last.blanks_start..last.key_at];
    // `{"a": 1}` does not show the blanks after a comma, so those after the colon are used.
    let is_only = object.members.len() == 1 && before_key.is_empty();
    let mut replacement = b",".to_vec();
    replacement.extend_from_slice(if is_only { after_colon } else { before_key });
    replacement.extend_from_slice(name.as_bytes());
    replacement.push(b':');
    replacement.extend_from_slice(after_colon);
    replacement.extend(style.render(value));
    Splice { range: last.value.end..last.value.end, replacement }
}

/// The layout of the whole file.
struct FileStyle {
    /// The blanks of one indentation level.
    unit: Vec<u8>,
    /// The line ending.
    ending: &'static str,
    /// Whether members stand on lines of their own.
    pretty: bool,
}

impl FileStyle {
    fn of(bytes: &[u8], root: &Object) -> Self {
        let first = root.members.first();
        let indent = first.map(|member| indent_at(bytes, member.key_at));
        let unit = indent.filter(|indent| !indent.is_empty()).unwrap_or(b"  ").to_vec();
        let crlf = bytes.windows(2).any(|pair| pair == b"\r\n");
        let pretty = first.is_none() || bytes[root.open..root.close].contains(&b'\n');
        Self { unit, ending: if crlf { "\r\n" } else { "\n" }, pretty }
    }

    /// Returns the style of a value on the line that holds an offset.
    fn at(&self, bytes: &[u8], offset: usize) -> ValueStyle {
        let base = indent_at(bytes, offset).to_vec();
        ValueStyle { unit: self.unit.clone(), ending: self.ending, base, pretty: self.pretty }
    }
}

/// Returns the indentation of the line that holds an offset.
fn indent_at(bytes: &[u8], offset: usize) -> &[u8] {
    let start = bytes[..offset].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line = &bytes[start..offset];
    let width = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    &line[..width]
}

/// The layout of one value.
struct ValueStyle {
    unit: Vec<u8>,
    ending: &'static str,
    /// The indentation of the line on which the value starts.
    base: Vec<u8>,
    pretty: bool,
}

impl ValueStyle {
    fn render(&self, value: &Value) -> Vec<u8> {
        let is_scalar = !value.is_object() && !value.is_array();
        if is_scalar || !self.pretty {
            return value.to_string().into_bytes();
        }
        let mut written = Vec::new();
        let formatter = PrettyFormatter::with_indent(&self.unit);
        let mut serializer = Serializer::with_formatter(&mut written, formatter);
        value.serialize(&mut serializer).expect("writing JSON to memory does not fail");
        // A JSON string contains no raw line feed, so each line feed ends a line of the layout.
        let mut result = Vec::new();
        for (index, line) in written.split(|byte| *byte == b'\n').enumerate() {
            if index > 0 {
                result.extend_from_slice(self.ending.as_bytes());
                result.extend_from_slice(&self.base);
            }
            result.extend_from_slice(line);
        }
        result
    }
}

/// Removes the member at a path. A missing member is not an error.
pub fn remove(bytes: &[u8], path: &[&str]) -> Result<Vec<u8>, JsonError> {
    parse(bytes)?;
    let Some((key, parents)) = path.split_last() else { return Ok(bytes.to_vec()) };
    let object = span(bytes, parents).and_then(|at| object_at(bytes, at.start));
    let Some(object) = object else { return Ok(bytes.to_vec()) };
    let members = &object.members;
    let Some(at) = members.iter().rposition(|member| member.key == *key) else {
        return Ok(bytes.to_vec());
    };
    let range = match (at.checked_sub(1).map(|at| &members[at]), members.get(at + 1)) {
        // The comma before the member is removed too, or else the comma after it.
        (Some(before), _) => before.value.end..members[at].value.end,
        (None, Some(next)) => members[at].key_at..next.key_at,
        (None, None) => object.open + 1..object.close,
    };
    let removed = splice::apply(bytes, vec![Splice::remove(range)]);
    // Of duplicate keys, a parser takes the last: the earlier ones must not become visible.
    if members.iter().filter(|member| member.key == *key).count() > 1 {
        return remove(&removed, path);
    }
    Ok(removed)
}

/// Returns the byte range of the value at a path.
pub fn span(bytes: &[u8], path: &[&str]) -> Option<std::ops::Range<usize>> {
    parse(bytes).ok()?;
    let start = skip_blanks(bytes, bytes.len() - without_bom(bytes).len());
    path.iter().try_fold(start..value_end(bytes, start), |at, key| {
        let object = object_at(bytes, at.start)?;
        let member = object.members.into_iter().rfind(|member| member.key == *key)?;
        Some(member.value)
    })
}
