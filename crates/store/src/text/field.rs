//! Finds and sets fields: `**Name:** value`, `**Name**: value` and `Name: value`.
//!
//! A field never extends past its line. An empty field has an empty value, not the next line's text.

use std::ops::Range;

use super::Text;
use super::inline::escape_comment_start;
use super::splice::Splice;

/// The longest name of a plain field, in bytes; a longer text is a sentence with a colon in it.
const PLAIN_NAME_MAX: usize = 40;

/// A field found in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Index of the line.
    pub line: usize,
    /// Whether the name is bold: `**Name:**`.
    pub bold: bool,
    /// Byte range of the name, without asterisks and colon.
    pub name: Range<usize>,
    /// Byte range of the trimmed value.
    pub value: Range<usize>,
}

impl Field {
    /// Returns the edit that sets the field's value and replaces the rest of the line.
    ///
    /// Trailing blanks stay, because two of them are a line break in Markdown. A field that already
    /// has the value gets an empty edit.
    pub fn set(&self, text: &Text<'_>, value: &str) -> Splice {
        if text.slice(self.value.clone()) == value {
            return Splice::remove(self.value.end..self.value.end);
        }
        let line = text.lines()[self.line];
        let rest = text.raw(self.value.start..line.end);
        let blanks = rest.len() - rest.trim_end_matches([' ', '\t']).len();
        let glued = !text.slice(0..self.value.start).ends_with(char::is_whitespace);
        let blank = if glued && !value.is_empty() { " " } else { "" };
        let value = escape_comment_start(value).replace(['\n', '\r'], " ");
        Splice::replace(self.value.start..line.end - blanks, format!("{blank}{value}"))
    }
}

/// Reads one line as a field.
pub fn field_at(text: &Text<'_>, line: usize) -> Option<Field> {
    let span = *text.lines().get(line)?;
    let content = text.line(line);
    let body = without_marker(content.trim_start());
    // A checkbox is not a field.
    if body.starts_with('[') {
        return None;
    }
    let at = span.start + content.len() - body.len();
    let (bold, name, after) = match body.strip_prefix("**") {
        Some(inner) => {
            let (name, after) = split_bold(inner)?;
            (true, at + 2..at + 2 + name.len(), after)
        }
        None => {
            let (name, after) = split_plain(body)?;
            (false, at..at + name.len(), after)
        }
    };
    let value = after.trim();
    let lead = after.len() - after.trim_start().len();
    let end = span.start + content.len();
    let start = if value.is_empty() {
        (end - after.len() + lead.min(1)).min(end)
    } else {
        end - after.trim_start().len()
    };
    Some(Field { line, bold, name, value: start..start + value.len() })
}

/// Strips a list marker or a quote marker.
fn without_marker(content: &str) -> &str {
    let marked = content.starts_with(['-', '+', '>']) || content.starts_with("* ");
    if marked { content[1..].trim_start() } else { content }
}

/// Splits `Name:** value` and `Name**: value` (also `Name** (remark): value`).
fn split_bold(inner: &str) -> Option<(&str, &str)> {
    // Names are short, so scanning byte pairs is faster than preparing a substring search.
    let at = inner.as_bytes().windows(2).position(|pair| pair == b"**")?;
    let (name, after) = (&inner[..at], &inner[at + 2..]);
    if let Some(name) = name.trim_end().strip_suffix([':', '：']) {
        return Some((name, after));
    }
    let rest = after.trim_start();
    let rest = match rest.strip_prefix('(') {
        Some(remark) => remark.split_once(')')?.1.trim_start(),
        None => rest,
    };
    Some((name, rest.strip_prefix([':', '：'])?))
}

fn split_plain(body: &str) -> Option<(&str, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || " _-/()#'".contains(c);
    let at = body.find(|c| !is_part(c)).filter(|at| *at <= PLAIN_NAME_MAX)?;
    let (name, after) = (&body[..at], body[at..].strip_prefix([':', '：'])?);
    let is_name = name.starts_with(char::is_alphabetic);
    // `http://` is a URL, not a field named `http`.
    (is_name && !after.starts_with("//")).then_some((name, after))
}

/// Finds the first field with a name in a range of lines, ignoring case.
pub fn find_field(text: &Text<'_>, lines: Range<usize>, name: &str, bold: bool) -> Option<Field> {
    lines.filter_map(|line| field_at(text, line)).find(|field| {
        let found = text.slice(field.name.clone()).trim();
        field.bold == bold && same_name(found, name)
    })
}

/// Returns whether a name is in a list of names, ignoring case.
pub fn name_is_one_of(name: &str, names: &[&str]) -> bool {
    if name.is_ascii() {
        return names.iter().any(|other| name.eq_ignore_ascii_case(other));
    }
    names.iter().any(|other| same_name(name, other))
}

/// Compares two names, ignoring case.
pub fn same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || (!a.is_ascii() && a.to_lowercase() == b.to_lowercase())
}
