//! Todo files: small notes with a title, an area, dates and the files they touch.
//!
//! The keys are read in the block at the top and, where there is none, at the start of any line.
//! Start with [`parse`] and [`add_line`].

mod shelf;

#[cfg(test)]
mod tests;

use serde_json::Value as Json;

use crate::frontmatter::{self, EditError, Frontmatter, Value};
use crate::text::{Text, list};
use crate::values;

pub use shelf::{Filed, Shelf, is_file_name, list};

/// A todo as its file states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Todo {
    /// Its title.
    pub title: Option<String>,
    /// What it is about; `general` where it does not say.
    pub area: String,
    /// When it was written down.
    pub created: Option<String>,
    /// When work on it began.
    pub started: Option<String>,
    /// The files it touches.
    pub files: Vec<String>,
}

/// Reads a todo.
pub fn parse(bytes: &[u8]) -> Todo {
    let front = frontmatter::parse(bytes);
    let text = Text::new(bytes);
    let value = |key: &str| values::text(front.as_ref(), key).or_else(|| line_value(&text, key));
    Todo {
        title: value("title"),
        area: value("area").unwrap_or_else(|| "general".to_owned()),
        created: value("created"),
        started: value("started"),
        files: files(front.as_ref(), &text),
    }
}

/// Makes the file of a new todo.
pub fn render(title: &str, created: &str, problem: &str) -> Result<Vec<u8>, EditError> {
    let text = format!(
        "---\ncreated: {created}\narea: general\n---\n\n\
         ## Problem\n\n{problem}\n\n## Solution\n\nTBD\n"
    );
    frontmatter::set(text.as_bytes(), "title", &Json::String(title.to_owned()))
}

/// Records a key: in the block when the file has one, else as a new first line.
pub fn add_line(bytes: &[u8], key: &str, value: &str) -> Result<Vec<u8>, EditError> {
    if frontmatter::parse(bytes).is_some() {
        return frontmatter::set(bytes, key, &Json::String(value.to_owned()));
    }
    let mark = "\u{feff}".as_bytes();
    let at = if bytes.starts_with(mark) { mark.len() } else { 0 };
    let ending = Text::new(bytes).line_ending();
    let line = format!("{key}: {value}").replace(['\n', '\r'], " ");
    Ok([&bytes[..at], line.as_bytes(), ending.as_bytes(), &bytes[at..]].concat())
}

/// Finds the first line that starts with a key.
fn line_at(text: &Text<'_>, key: &str) -> Option<usize> {
    (0..text.lines().len()).find(|line| after_key(content(text, *line), key).is_some())
}

/// Returns a line without the blanks that stand for a byte order mark.
fn content<'a>(text: &'a Text<'_>, line: usize) -> &'a str {
    let is_marked = line == 0 && text.bytes().starts_with("\u{feff}".as_bytes());
    let content = text.line(line);
    if is_marked { content.trim_start() } else { content }
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
    match front.and_then(|front| values::entry(front, "files")) {
        Some(Value::Scalar(line)) => return values::split_commas(line),
        Some(value) => {
            return values::texts(value)
                .iter()
                .flat_map(|item| values::split_commas(item))
                .collect();
        }
        None => {}
    }
    if let Some(line) = line_value(text, "files") {
        return values::split_commas(&line);
    }
    let Some(line) = line_at(text, "files") else { return Vec::new() };
    let items = (line + 1..text.lines().len()).map_while(|line| list::item_at(text, line));
    items.flat_map(|item| values::split_commas(text.slice(item.text))).collect()
}
