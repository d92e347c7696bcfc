//! Examples of reading and editing; the properties and the walk over whole folders are below.

mod corpus;
mod edits;
mod properties;
mod reading;

use super::{Frontmatter, parse};

/// Reads a block given without its fences.
fn front(inner: &str) -> Frontmatter {
    parse(format!("---\n{inner}---\nbody\n").as_bytes()).expect("the block is closed")
}

/// Returns the lines problems were found at.
fn problem_lines(front: &Frontmatter) -> Vec<usize> {
    front.problems.iter().map(|problem| problem.line).collect()
}
