//! Finds a section by its heading, for documents that look for one of many.

use std::ops::Range;

use crate::text::Text;
use crate::text::heading::{Heading, section_end};

/// Returns the lines below the first heading whose title is accepted, the heading left out.
pub(crate) fn find(
    text: &Text<'_>,
    headings: &[Heading],
    accepts: impl Fn(&str) -> bool,
) -> Option<Range<usize>> {
    let index = headings.iter().position(|heading| accepts(text.slice(heading.text.clone())))?;
    Some(headings[index].line + 1..section_end(text, headings, index))
}
