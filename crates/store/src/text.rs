//! A planning file as bytes with structure on top.
//!
//! [`Text`] borrows the file's bytes and offers a *visible* copy of the same length: what stands in
//! frontmatter, fenced code and comments is blanked there, and bytes that are no UTF-8 are masked
//! one for one. Readers look at the visible copy, writers splice the bytes, and every offset found
//! in one is good in the other. Nothing here knows what a roadmap is.
//!
//! Start with [`Text::new`]; the parts built on it are [`heading`], [`field`], [`table`], [`list`]
//! and [`fold`]. Edits are [`splice::Splice`]s.

pub mod field;
pub mod fold;
pub mod heading;
pub mod inline;
pub mod list;
mod mask;
pub mod splice;
pub mod table;

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;

/// A file's bytes, its lines, and what of it a reader is meant to see.
#[derive(Debug)]
pub struct Text<'a> {
    bytes: &'a [u8],
    visible: Cow<'a, str>,
    lines: Vec<Line>,
}

/// The place of one line in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where the line begins.
    pub start: usize,
    /// Where its content ends, the line ending left out.
    pub end: usize,
    /// Where the next line begins.
    pub next: usize,
}

impl Line {
    /// Returns the bytes of the line without its ending.
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// Returns the bytes of the line with its ending.
    pub fn whole(self) -> Range<usize> {
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

    /// Returns the file as it is.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns what is left when code, comments and frontmatter are blanked.
    pub fn visible(&self) -> &str {
        &self.visible
    }

    /// Returns the places of all lines.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Returns the visible content of a line; nothing for a line that is not there.
    pub fn line(&self, index: usize) -> &str {
        self.lines.get(index).map_or("", |line| self.slice(line.range()))
    }

    /// Returns the visible text of a range of bytes.
    pub fn slice(&self, range: Range<usize>) -> &str {
        self.visible.get(range).unwrap_or("")
    }

    /// Returns the text of a range as it stands in the file, unreadable bytes replaced.
    pub fn raw(&self, range: Range<usize>) -> String {
        let bytes = self.bytes.get(range).unwrap_or(&[]);
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// Returns the index of the line that holds an offset.
    pub fn line_at(&self, offset: usize) -> usize {
        self.lines
            .partition_point(|line| line.next <= offset)
            .min(self.lines.len().saturating_sub(1))
    }

    /// Returns the line ending the file uses, taken from its first line.
    pub fn line_ending(&self) -> &'static str {
        match self.lines.first() {
            Some(line) if line.next - line.end == 2 => "\r\n",
            _ => "\n",
        }
    }
}

/// Cuts bytes into lines; only a line feed ends one, a carriage return before it belongs to it.
fn split_lines(bytes: &[u8]) -> Vec<Line> {
    let mut lines = Vec::with_capacity(bytes.len() / 16 + 1);
    let mut start = 0;
    while start < bytes.len() {
        let feed = memchr(b'\n', &bytes[start..]).map(|at| start + at);
        let (end, next) = feed.map_or((bytes.len(), bytes.len()), |at| (at, at + 1));
        let carriage = feed.is_some() && end > start && bytes[end - 1] == b'\r';
        lines.push(Line { start, end: end - usize::from(carriage), next });
        start = next;
    }
    lines
}

#[cfg(test)]
mod tests;
