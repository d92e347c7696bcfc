//! Edits of a file: some bytes go, others come, all the rest stays.

use std::ops::Range;

/// One replacement in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    /// The bytes that go; an empty range inserts.
    pub range: Range<usize>,
    /// What comes in their place.
    pub with: Vec<u8>,
}

impl Splice {
    /// Replaces a range by text.
    pub fn replace(range: Range<usize>, with: impl Into<String>) -> Self {
        Self { range, with: with.into().into_bytes() }
    }

    /// Inserts text at an offset.
    pub fn insert(at: usize, with: impl Into<String>) -> Self {
        Self::replace(at..at, with)
    }

    /// Removes a range.
    pub fn remove(range: Range<usize>) -> Self {
        Self { range, with: Vec::new() }
    }
}

/// Applies edits that do not overlap; several insertions at one place keep their order.
///
/// # Panics
/// When two edits overlap or reach past the end: that is a mistake in the code that made them, and
/// writing half of it would damage the file.
pub fn apply(bytes: &[u8], mut splices: Vec<Splice>) -> Vec<u8> {
    splices.sort_by_key(|splice| (splice.range.start, splice.range.end));
    let mut result = Vec::with_capacity(bytes.len() + 256);
    let mut at = 0;
    for splice in splices {
        assert!(splice.range.start >= at, "edits must not overlap");
        result.extend_from_slice(&bytes[at..splice.range.start]);
        result.extend_from_slice(&splice.with);
        at = splice.range.end;
    }
    result.extend_from_slice(&bytes[at..]);
    result
}
