//! Reads the Markdown structure of a planning file and keeps every byte offset valid for edits.
//!
//! [`Text`] borrows the file's bytes and offers a *visible* copy of the same length. In that copy,
//! frontmatter, fenced code and comments are blanked, and each byte that is not UTF-8 is one `?`.
//! Readers parse the visible copy, writers splice the original bytes, and an offset found in one is
//! valid in the other. This module must not know any particular document, such as the roadmap.
//!
//! Start with [`Text::new`]. [`heading`], [`field`], [`table`], [`list`] and [`collapsed`] find
//! structures in it. Edits are [`splice::Splice`]s.

pub mod collapsed;
pub mod field;
pub mod heading;
pub mod inline;
pub mod list;
mod mask;
pub mod splice;
pub mod table;

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;

/// A file's bytes, its line positions, and its visible copy.
#[derive(Debug)]
pub struct Text<'a> {
    bytes: &'a [u8],
    visible: Cow<'a, str>,
    lines: Vec<LineSpan>,
}

/// The byte offsets of one line in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineSpan {
    /// Offset of the line's first byte.
    pub start: usize,
    /// Offset after the content, before the line ending.
    pub end: usize,
    /// Offset of the next line. Equal to `end` if the last line has no line ending.
    pub next: usize,
}

impl LineSpan {
    /// Returns the bytes of the line without its ending.
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// Returns the bytes of the line with its ending.
    pub fn range_with_ending(self) -> Range<usize> {
        self.start..self.next
    }
}

impl<'a> Text<'a> {
    /// Reads the structure of a file.
    pub fn new(bytes: &'a [u8]) -> Self {
        let lines = split_lines(bytes);
        let visible = mask::visible(bytes, &lines);
        debug_assert_eq!(visible.len(), bytes.len(), "masking keeps every offset");
        Self { bytes, visible, lines }
    }

    /// Returns the file's bytes, unmasked.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the copy in which code, comments and frontmatter are blanked.
    pub fn visible(&self) -> &str {
        &self.visible
    }

    /// Returns the offsets of all lines.
    pub fn lines(&self) -> &[LineSpan] {
        &self.lines
    }

    /// Returns the visible content of a line, or an empty string if the line does not exist.
    pub fn line(&self, index: usize) -> &str {
        self.lines.get(index).map_or("", |line| self.slice(line.range()))
    }

    /// Returns the visible text of a byte range.
    pub fn slice(&self, range: Range<usize>) -> &str {
        self.visible.get(range).unwrap_or("")
    }

    /// Returns the original text of a byte range; bytes that are not UTF-8 are replaced.
    pub fn raw(&self, range: Range<usize>) -> String {
        let bytes = self.bytes.get(range).unwrap_or(&[]);
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// Returns the index of the line that contains an offset.
    pub fn line_at(&self, offset: usize) -> usize {
        self.lines
            .partition_point(|line| line.next <= offset)
            .min(self.lines.len().saturating_sub(1))
    }

    /// Returns the line ending of the first line, which new lines use too.
    pub fn line_ending(&self) -> &'static str {
        match self.lines.first() {
            Some(line) if line.next - line.end == 2 => "\r\n",
            _ => "\n",
        }
    }
}

/// Splits bytes into lines. Only a line feed ends a line; a carriage return before it is part of the
/// line ending.
fn split_lines(bytes: &[u8]) -> Vec<LineSpan> {
    let mut lines = Vec::with_capacity(bytes.len() / 16 + 1);
    let mut start = 0;
    while start < bytes.len() {
        let feed = memchr(b'\n', &bytes[start..]).map(|at| start + at);
        let (end, next) = feed.map_or((bytes.len(), bytes.len()), |at| (at, at + 1));
        let carriage = feed.is_some() && end > start && bytes[end - 1] == b'\r';
        lines.push(LineSpan { start, end: end - usize::from(carriage), next });
        start = next;
    }
    lines
}

#[cfg(test)]
mod tests;
