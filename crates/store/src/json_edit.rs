//! Changes one value of a JSON file and leaves every other byte as it is.
//!
//! The file is checked by a real parser first; the scanner here only finds where things stand. A
//! new member takes the blanks, line endings and indentation of its neighbours. Start with [`set`].

mod scan;

#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use crate::text::splice::{self, Splice};
use scan::{Object, object_at, skip_blanks, value_end};

/// The longest key path; a parser gives up on files nested too deeply.
const PATH_PARTS_MAX: usize = 32;

/// Why a JSON file was not read or changed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum JsonError {
    /// The text is not JSON.
    #[error("not valid JSON at line {line}, column {column}: {message}")]
    Syntax {
        /// The line, counted from one.
        line: usize,
        /// The column in it, counted from one.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// The file holds something else than an object.
    #[error("the file does not hold a JSON object")]
    NotAnObject,
    /// A path is empty, has an empty part, or is too long.
    #[error("`{path}` is not a key path")]
    BadPath {
        /// The path, its parts joined by dots.
        path: String,
    },
}

/// Reads a file as a JSON object; an empty file is an empty object.
pub fn parse(bytes: &[u8]) -> Result<serde_json::Map<String, Value>, JsonError> {
    let content = without_mark(bytes);
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
    // The message ends with the place, which the error has in fields of its own.
    let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
    JsonError::Syntax { line: error.line(), column: error.column(), message }
}

fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// Gives the value at a path; objects on the way are made, and replace what is no object.
pub fn set(bytes: &[u8], path: &[&str], value: &Value) -> Result<Vec<u8>, JsonError> {
    let is_sound = (1..=PATH_PARTS_MAX).contains(&path.len());
    if !is_sound || path.iter().any(|part| part.is_empty()) {
        return Err(JsonError::BadPath { path: path.join(".") });
    }
    parse(bytes)?;
    set_in_sound(bytes, path, value)
}

/// The same in a file that is known to hold an object, or nothing, and with a path that is sound.
pub(crate) fn set_in_sound(
    bytes: &[u8],
    path: &[&str],
    value: &Value,
) -> Result<Vec<u8>, JsonError> {
    if without_mark(bytes).trim_ascii().is_empty() {
        let style = Style { unit: b"  ".to_vec(), ending: "\n", base: Vec::new(), pretty: true };
        let added = style.render(&nested(path, value));
        // Of the blanks there are, JSON does not know all.
        let mark = bytes.len() - without_mark(bytes).len();
        return Ok([&bytes[..mark], &added].concat());
    }
    let start = skip_blanks(bytes, bytes.len() - without_mark(bytes).len());
    let mut object = object_at(bytes, start).ok_or(JsonError::NotAnObject)?;
    let file = FileStyle::of(bytes, &object);
    for (depth, key) in path.iter().enumerate() {
        let rest = &path[depth + 1..];
        // Of duplicate keys a parser takes the last.
        let Some(member) = object.members.iter().rfind(|member| member.key == *key) else {
            let edit = insert(bytes, &object, &file, key, &nested(rest, value));
            return Ok(splice::apply(bytes, vec![edit]));
        };
        let inner = (!rest.is_empty()).then(|| object_at(bytes, member.value.start)).flatten();
        let Some(inner) = inner else {
            let style = file.at(bytes, member.key_at);
            let with = style.render(&nested(rest, value));
            let edit = Splice { range: member.value.clone(), with };
            return Ok(splice::apply(bytes, vec![edit]));
        };
        object = inner;
    }
    unreachable!("the last key of a path is inserted or replaced")
}

/// Wraps a value in objects, one for each key.
fn nested(path: &[&str], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |inner, key| {
        Value::Object(std::iter::once(((*key).to_owned(), inner)).collect())
    })
}

/// Adds a member at the end of an object.
fn insert(bytes: &[u8], object: &Object, file: &FileStyle, key: &str, value: &Value) -> Splice {
    let name = Value::String(key.to_owned()).to_string();
    let Some(last) = object.members.last() else {
        let style = file.at(bytes, object.open);
        let with = style.render(&nested(&[key], value));
        return Splice { range: object.open..object.close + 1, with };
    };
    let style = file.at(bytes, last.key_at);
    let after_colon = &bytes[last.colon + 1..last.value.start];
    let lead = &bytes[last.lead..last.key_at];
    // `{"a": 1}` says nothing of the blank after a comma; the one after the colon does.
    let is_only = object.members.len() == 1 && lead.is_empty();
    let mut with = b",".to_vec();
    with.extend_from_slice(if is_only { after_colon } else { lead });
    with.extend_from_slice(name.as_bytes());
    with.push(b':');
    with.extend_from_slice(after_colon);
    with.extend(style.render(value));
    Splice { range: last.value.end..last.value.end, with }
}

/// How the whole file is laid out.
struct FileStyle {
    unit: Vec<u8>,
    ending: &'static str,
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
    fn at(&self, bytes: &[u8], offset: usize) -> Style {
        let base = indent_at(bytes, offset).to_vec();
        Style { unit: self.unit.clone(), ending: self.ending, base, pretty: self.pretty }
    }
}

/// Returns the blanks that open the line of an offset.
fn indent_at(bytes: &[u8], offset: usize) -> &[u8] {
    let start = bytes[..offset].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line = &bytes[start..offset];
    let width = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    &line[..width]
}

/// How one value is written.
struct Style {
    unit: Vec<u8>,
    ending: &'static str,
    base: Vec<u8>,
    pretty: bool,
}

impl Style {
    fn render(&self, value: &Value) -> Vec<u8> {
        let is_scalar = !value.is_object() && !value.is_array();
        if is_scalar || !self.pretty {
            return value.to_string().into_bytes();
        }
        let mut written = Vec::new();
        let formatter = PrettyFormatter::with_indent(&self.unit);
        let mut serializer = Serializer::with_formatter(&mut written, formatter);
        value.serialize(&mut serializer).expect("writing JSON to memory does not fail");
        // Strings hold no raw line feed in JSON, so each one ends a line of the layout.
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

/// Takes the member at a path out; one that is not there is no error.
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
        // The comma before it goes too, or else the one after it.
        (Some(before), _) => before.value.end..members[at].value.end,
        (None, Some(next)) => members[at].key_at..next.key_at,
        (None, None) => object.open + 1..object.close,
    };
    let removed = splice::apply(bytes, vec![Splice::remove(range)]);
    // Of duplicate keys a parser takes the last: the others must not come back.
    if members.iter().filter(|member| member.key == *key).count() > 1 {
        return remove(&removed, path);
    }
    Ok(removed)
}

/// Returns the bytes of the value at a path.
pub fn span(bytes: &[u8], path: &[&str]) -> Option<std::ops::Range<usize>> {
    parse(bytes).ok()?;
    let start = skip_blanks(bytes, bytes.len() - without_mark(bytes).len());
    path.iter().try_fold(start..value_end(bytes, start), |at, key| {
        let object = object_at(bytes, at.start)?;
        let member = object.members.into_iter().rfind(|member| member.key == *key)?;
        Some(member.value)
    })
}
