//! Tests of frontmatter: reading, edits, properties, and a walk over a folder of real files.

mod corpus;
mod edits;
mod properties;
mod reading;

use super::{Frontmatter, parse};

/// Parses a block that is given without its fences.
fn front(inner: &str) -> Frontmatter {
    parse(format!("---\n{inner}---\nbody\n").as_bytes()).expect("the block is closed")
}

/// Returns the lines on which problems were found.
fn problem_lines(front: &Frontmatter) -> Vec<usize> {
    front.problems.iter().map(|problem| problem.line).collect()
}
