//! x
pub mod frontmatter;
