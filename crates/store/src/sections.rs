//! Finds a section of a Markdown document by its heading.

use std::ops::Range;

use crate::text::Text;
use crate::text::heading::{Heading, section_end};

/// Returns the lines below the first heading whose title `accepts` accepts, without the heading.
pub(crate) fn find(
    text: &Text<'_>,
    headings: &[Heading],
    accepts: impl Fn(&str) -> bool,
) -> Option<Range<usize>> {
    let index = headings.iter().position(|heading| accepts(text.slice(heading.text.clone())))?;
    Some(headings[index].line + 1..section_end(text, headings, index))
}
