//! Applies edits to a file as replacements of byte ranges; all other bytes stay unchanged.

use std::ops::Range;

/// One replacement in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    /// The byte range that is removed; an empty range inserts.
    pub range: Range<usize>,
    /// The bytes written in its place.
    pub replacement: Vec<u8>,
}

impl Splice {
    /// Replaces a range by text.
    pub fn replace(range: Range<usize>, with: impl Into<String>) -> Self {
        Self { range, replacement: with.into().into_bytes() }
    }

    /// Inserts text at an offset.
    pub fn insert(at: usize, with: impl Into<String>) -> Self {
        Self::replace(at..at, with)
    }

    /// Removes a range.
    pub fn remove(range: Range<usize>) -> Self {
        Self { range, replacement: Vec::new() }
    }
}

/// Applies edits that do not overlap; several insertions at one offset keep their order.
///
/// # Panics
/// Panics if two edits overlap or reach past the end. That is a bug in the code that built them, and
/// applying only some of them would damage the file.
pub fn apply(bytes: &[u8], mut splices: Vec<Splice>) -> Vec<u8> {
    splices.sort_by_key(|splice| (splice.range.start, splice.range.end));
    let mut result = Vec::with_capacity(bytes.len() + 256);
    let mut at = 0;
    for splice in splices {
        assert!(splice.range.start >= at, "edits must not overlap");
        result.extend_from_slice(&bytes[at..splice.range.start]);
        result.extend_from_slice(&splice.replacement);
        at = splice.range.end;
    }
    result.extend_from_slice(&bytes[at..]);
    result
}
