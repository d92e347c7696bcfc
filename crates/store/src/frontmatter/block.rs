//! Finds a frontmatter block, its lines and the lines that start an entry.
//!
//! Only positions and line shapes are read here. [`super::yaml_reader`] and [`super::recovery`] read
//! the values.

use std::borrow::Cow;
use std::ops::Range;

use super::{Value, yaml_reader};

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Characters that cannot start an unquoted key.
const INDICATORS: &str = "-?:,[]{}#&*!|>'\"%@`";

/// The byte ranges of a frontmatter block in its file.
pub(super) struct FrontmatterBlock {
    /// The block with both fences and their line endings.
    pub(super) range: Range<usize>,
    /// The lines between the fences.
    pub(super) inner: Range<usize>,
    /// Line ending of the opening fence.
    pub(super) eol: &'static str,
}

impl FrontmatterBlock {
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

    /// Returns the lines between the fences as text of the same length.
    ///
    /// A byte that is not UTF-8 becomes `?`. So does a NUL, which the parser takes as end of input.
    pub(super) fn masked(&self, bytes: &[u8]) -> String {
        let mut text = String::with_capacity(self.inner.len());
        for chunk in bytes[self.inner.clone()].utf8_chunks() {
            text.push_str(chunk.valid());
            text.extend(chunk.invalid().iter().map(|_| '?'));
        }
        if text.contains('\0') { text.replace('\0', "?") } else { text }
    }
}

/// Returns the offset of the text after an optional byte order mark.
pub(super) fn after_bom(bytes: &[u8]) -> usize {
    if bytes.starts_with(BOM) { BOM.len() } else { 0 }
}

/// Returns the line ending of the first line, or `\n` if it has none.
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
pub(super) struct BlockLine<'a> {
    /// Line in the file, counted from 1.
    pub(super) number: usize,
    /// Offset in the file of the line's first byte.
    pub(super) start: usize,
    /// Offset in the file after the line ending.
    pub(super) end: usize,
    /// Number of leading blanks.
    pub(super) indent: usize,
    /// The line without its ending.
    pub(super) raw: Cow<'a, str>,
}

impl BlockLine<'_> {
    /// Returns the line without its indentation.
    pub(super) fn text(&self) -> &str {
        &self.raw[self.indent..]
    }

    /// Returns the offset in the file where the line ending begins.
    pub(super) fn content_end(&self) -> usize {
        self.start + self.raw.len()
    }

    /// Returns whether the line is blank, or a comment indented at most `indent`.
    ///
    /// A comment that is indented deeper may be text of a block scalar.
    pub(super) fn is_blank_or_comment(&self, indent: usize) -> bool {
        self.text().is_empty() || (self.indent <= indent && self.text().starts_with('#'))
    }

    /// Returns the key at the start of the line and the offset in `raw` after its colon.
    pub(super) fn key(&self) -> Option<(String, usize)> {
        let text = self.text();
        let length = key_length(text)?;
        let after_colon = self.indent + length;
        let spelled = text[..length - 1].trim_end();
        if !spelled.starts_with(['"', '\'']) {
            return Some((spelled.to_owned(), after_colon));
        }
        let decoded = yaml_reader::parse_yaml(spelled).ok().map(|reading| reading.value);
        let key = match decoded {
            Some(Value::Scalar(key)) => key,
            _ => spelled[1..spelled.len() - 1].to_owned(),
        };
        Some((key, after_colon))
    }
}

/// Splits the masked text of a block, which starts at `offset` in its file, into lines.
pub(super) fn block_lines(text: &str, offset: usize) -> Vec<BlockLine<'_>> {
    let mut start = offset;
    let mut rows = Vec::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let raw = line.strip_suffix('\n').unwrap_or(line);
        let raw = raw.strip_suffix('\r').unwrap_or(raw);
        let indent = raw.len() - raw.trim_start_matches([' ', '\t']).len();
        let end = start + line.len();
        // The opening fence is line 1 of the file.
        rows.push(BlockLine { number: index + 2, start, end, indent, raw: Cow::Borrowed(raw) });
        start = end;
    }
    rows
}

/// Splits lines into items. An item starts at each line with the given indentation that `opens`
/// accepts.
///
/// Blank lines and comments at the end of an item are left out, as are lines before the first item.
pub(super) fn split_items(
    rows: &[BlockLine],
    indent: usize,
    opens: fn(&str) -> bool,
) -> Vec<Range<usize>> {
    let opening = |row: &BlockLine| row.indent == indent && opens(row.text());
    let starts: Vec<usize> = (0..rows.len()).filter(|&index| opening(&rows[index])).collect();
    let limits = starts.iter().skip(1).copied().chain([rows.len()]);
    let trimmed = |(start, mut end): (usize, usize)| {
        while end > start + 1 && rows[end - 1].is_blank_or_comment(indent) {
            end -= 1;
        }
        start..end
    };
    starts.iter().copied().zip(limits).map(trimmed).collect()
}

/// Returns whether a line without its indentation starts with a key.
pub(super) fn is_key(text: &str) -> bool {
    key_length(text).is_some()
}

/// Returns whether a line without its indentation starts a list item.
pub(super) fn is_item(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(opens_with_blank)
}

/// Returns the length of the key at the start of a text, including the colon.
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

/// Returns the offset of the quote that closes the quote at the start of the text.
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
