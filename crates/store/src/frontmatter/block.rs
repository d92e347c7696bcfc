//! Where a block and its entries lie: fences, lines, keys. Only positions and line shapes are
//! judged here; values are read elsewhere.

use std::borrow::Cow;
use std::ops::Range;

use super::{Value, events};

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Characters that cannot open a plain key.
const INDICATORS: &str = "-?:,[]{}#&*!|>'\"%@`";

/// The bounds of a frontmatter block in its file.
pub(super) struct Block {
    /// Both fences, line endings included.
    pub(super) range: Range<usize>,
    /// The lines between the fences.
    pub(super) inner: Range<usize>,
    /// How the opening fence ends its line.
    pub(super) eol: &'static str,
}

impl Block {
    /// Finds the block at the top of a file.
    pub(super) fn find(bytes: &[u8]) -> Option<Self> {
        let start = after_bom(bytes);
        let inner_start = line_end(bytes, start);
        if !is_fence(&bytes[start..inner_start]) {
            return None;
        }
        let mut at = inner_start;
        while at < bytes.len() {
            let end = line_end(bytes, at);
            if is_fence(&bytes[at..end]) {
                let eol = eol_of(&bytes[..inner_start]);
                return Some(Self { range: start..end, inner: inner_start..at, eol });
            }
            at = end;
        }
        None
    }

    /// Returns the lines between the fences as text of the same length: a byte that is not UTF-8
    /// and a NUL, which the parser takes for the end of its input, become `?`.
    pub(super) fn masked(&self, bytes: &[u8]) -> String {
        let mut text = String::with_capacity(self.inner.len());
        for chunk in bytes[self.inner.clone()].utf8_chunks() {
            text.push_str(chunk.valid());
            text.extend(chunk.invalid().iter().map(|_| '?'));
        }
        if text.contains('\0') { text.replace('\0', "?") } else { text }
    }
}

/// Returns where the text of a file begins.
pub(super) fn after_bom(bytes: &[u8]) -> usize {
    if bytes.starts_with(BOM) { BOM.len() } else { 0 }
}

/// Returns the line ending of the first line, `\n` when it has none.
pub(super) fn eol_of(bytes: &[u8]) -> &'static str {
    if bytes[..line_end(bytes, 0)].ends_with(b"\r\n") { "\r\n" } else { "\n" }
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |length| at + length + 1)
}

fn is_fence(line: &[u8]) -> bool {
    line.trim_ascii_end() == b"---"
}

/// One line of a block.
#[derive(Clone)]
pub(super) struct Row<'a> {
    /// Line in the file, counted from 1.
    pub(super) number: usize,
    /// Offset in the file of the line's first byte.
    pub(super) start: usize,
    /// Offset in the file after the line ending.
    pub(super) end: usize,
    /// How many blanks it opens with.
    pub(super) indent: usize,
    /// The line without its ending.
    pub(super) raw: Cow<'a, str>,
}

impl Row<'_> {
    /// Returns the line without its indentation.
    pub(super) fn text(&self) -> &str {
        &self.raw[self.indent..]
    }

    /// Returns the offset in the file where the line ending begins.
    pub(super) fn content_end(&self) -> usize {
        self.start + self.raw.len()
    }

    /// Tells whether the line is blank, or a comment indented no deeper than `indent`. Deeper ones
    /// may be text of a block scalar.
    pub(super) fn is_filler(&self, indent: usize) -> bool {
        self.text().is_empty() || (self.indent <= indent && self.text().starts_with('#'))
    }

    /// Returns the key the line opens with, and the offset in `raw` after its colon.
    pub(super) fn key(&self) -> Option<(String, usize)> {
        let text = self.text();
        let length = key_length(text)?;
        let after_colon = self.indent + length;
        let spelled = text[..length - 1].trim_end();
        if !spelled.starts_with(['"', '\'']) {
            return Some((spelled.to_owned(), after_colon));
        }
        let decoded = events::read(spelled).ok().map(|reading| reading.value);
        let key = match decoded {
            Some(Value::Scalar(key)) => key,
            _ => spelled[1..spelled.len() - 1].to_owned(),
        };
        Some((key, after_colon))
    }
}

/// Splits the masked text of a block, which begins at `offset` in its file, into rows.
pub(super) fn rows(text: &str, offset: usize) -> Vec<Row<'_>> {
    let mut start = offset;
    let mut rows = Vec::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let raw = line.strip_suffix('\n').unwrap_or(line);
        let raw = raw.strip_suffix('\r').unwrap_or(raw);
        let indent = raw.len() - raw.trim_start_matches([' ', '\t']).len();
        let end = start + line.len();
        // The opening fence is line 1 of the file.
        rows.push(Row { number: index + 2, start, end, indent, raw: Cow::Borrowed(raw) });
        start = end;
    }
    rows
}

/// Splits rows at each one of the given indentation that opens an item. Fillers at the end of an
/// item are left out; so are rows before the first one.
pub(super) fn split(rows: &[Row], indent: usize, opens: fn(&str) -> bool) -> Vec<Range<usize>> {
    let opening = |row: &Row| row.indent == indent && opens(row.text());
    let starts: Vec<usize> = (0..rows.len()).filter(|&index| opening(&rows[index])).collect();
    let limits = starts.iter().skip(1).copied().chain([rows.len()]);
    let trimmed = |(start, mut end): (usize, usize)| {
        while end > start + 1 && rows[end - 1].is_filler(indent) {
            end -= 1;
        }
        start..end
    };
    starts.iter().copied().zip(limits).map(trimmed).collect()
}

/// Tells whether a line, indentation removed, opens with a key.
pub(super) fn is_key(text: &str) -> bool {
    key_length(text).is_some()
}

/// Tells whether a line, indentation removed, opens a list item.
pub(super) fn is_item(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(opens_with_blank)
}

/// Returns the length of a key with its colon.
fn key_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let first = text.chars().next()?;
    if matches!(first, '"' | '\'') {
        let close = closing_quote(bytes)?;
        let colon = close + 1 + bytes[close + 1..].iter().position(|byte| !is_blank(*byte))?;
        let closed = bytes[colon] == b':' && opens_with_blank(&text[colon + 1..]);
        return closed.then_some(colon + 1);
    }
    if INDICATORS.contains(first) || first.is_ascii_whitespace() {
        return None;
    }
    for (at, &byte) in bytes.iter().enumerate() {
        if byte == b':' && opens_with_blank(&text[at + 1..]) {
            return Some(at + 1);
        }
        if byte == b'#' && is_blank(bytes[at - 1]) {
            return None;
        }
    }
    None
}

/// Returns the position of the quote that closes the one the text opens with.
fn closing_quote(bytes: &[u8]) -> Option<usize> {
    let quote = bytes[0];
    let mut at = 1;
    while at < bytes.len() {
        if quote == b'"' && bytes[at] == b'\\' {
            at += 2;
        } else if bytes[at] != quote {
            at += 1;
        } else if quote == b'\'' && bytes.get(at + 1) == Some(&quote) {
            at += 2;
        } else {
            return Some(at);
        }
    }
    None
}

fn opens_with_blank(text: &str) -> bool {
    text.bytes().next().is_none_or(is_blank)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
