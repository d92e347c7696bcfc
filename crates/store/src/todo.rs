//! Todo files: notes with a title, an area, dates and the files they concern.
//!
//! Keys are read from the frontmatter, or without one at the start of any line. Start with
//! [`parse`] and [`set_key`].

mod folder;

#[cfg(test)]
mod tests;

use serde_json::Value as Json;

use crate::frontmatter::{self, EditError, Frontmatter, Value};
use crate::frontmatter_values;
use crate::text::{Text, list};

pub use folder::{TodoFile, TodoFolder, is_file_name, list};

/// The content of a todo file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Todo {
    /// The title; `None` when the file has none.
    pub title: Option<String>,
    /// The part of the project it concerns; `general` by default.
    pub area: String,
    /// The date of creation, as written.
    pub created: Option<String>,
    /// The date when work on it began, as written.
    pub started: Option<String>,
    /// The files it concerns.
    pub files: Vec<String>,
}

/// Parses a todo file.
pub fn parse(bytes: &[u8]) -> Todo {
    let front = frontmatter::parse(bytes);
    let text = Text::new(bytes);
    let value = |key: &str| {
        frontmatter_values::text_at(front.as_ref(), key).or_else(|| line_value(&text, key))
    };
    Todo {
        title: value("title"),
        area: value("area").unwrap_or_else(|| "general".to_owned()),
        created: value("created"),
        started: value("started"),
        files: files(front.as_ref(), &text),
    }
}

/// Renders the file of a new todo.
pub fn render(title: &str, created: &str, problem: &str) -> Result<Vec<u8>, EditError> {
    let text = format!(
        "---\ncreated: {created}\narea: general\n---\n\n\
         ## Problem\n\n{problem}\n\n## Solution\n\nTBD\n"
    );
    frontmatter::set(text.as_bytes(), "title", &Json::String(title.to_owned()))
}

/// Sets a key in the frontmatter, or adds it as a new first line in a file without frontmatter.
pub fn set_key(bytes: &[u8], key: &str, value: &str) -> Result<Vec<u8>, EditError> {
    if frontmatter::parse(bytes).is_some() {
        return frontmatter::set(bytes, key, &Json::String(value.to_owned()));
    }
    let bom = "\u{feff}".as_bytes();
    let at = if bytes.starts_with(bom) { bom.len() } else { 0 };
    let ending = Text::new(bytes).line_ending();
    let line = format!("{key}: {value}").replace(['\n', '\r'], " ");
    Ok([&bytes[..at], line.as_bytes(), ending.as_bytes(), &bytes[at..]].concat())
}

/// Finds the first line that starts with a key.
fn line_at(text: &Text<'_>, key: &str) -> Option<usize> {
    (0..text.lines().len()).find(|line| after_key(content(text, *line), key).is_some())
}

/// Returns a line without the blanks that replace a byte order mark in [`Text`].
fn content<'a>(text: &'a Text<'_>, line: usize) -> &'a str {
    let has_bom = line == 0 && text.bytes().starts_with("\u{feff}".as_bytes());
    let content = text.line(line);
    if has_bom { content.trim_start() } else { content }
}

fn after_key<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.strip_prefix(key)?.strip_prefix(':')
}

fn line_value(text: &Text<'_>, key: &str) -> Option<String> {
    let value = after_key(content(text, line_at(text, key)?), key)?;
    let value = value.trim().trim_matches(['"', '\'']).trim();
    (!value.is_empty()).then(|| value.to_owned())
}

fn files(front: Option<&Frontmatter>, text: &Text<'_>) -> Vec<String> {
    match front.and_then(|front| frontmatter_values::value_at(front, "files")) {
        Some(Value::Scalar(line)) => return frontmatter_values::split_commas(line),
        Some(value) => {
            return frontmatter_values::scalar_texts(value)
                .iter()
                .flat_map(|item| frontmatter_values::split_commas(item))
                .collect();
        }
        None => {}
    }
    if let Some(line) = line_value(text, "files") {
        return frontmatter_values::split_commas(&line);
    }
    let Some(line) = line_at(text, "files") else { return Vec::new() };
    let items = (line + 1..text.lines().len()).map_while(|line| list::item_at(text, line));
    items.flat_map(|item| frontmatter_values::split_commas(text.slice(item.text))).collect()
}
