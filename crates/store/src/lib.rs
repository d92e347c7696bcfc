//! What mow remembers: planning documents, read in every dialect and edited without harming a byte.
//!
//! Documents are never rendered anew: an edit is a list of spliced bytes. Start with [`text`] (how a
//! file is seen), then the documents built on it, such as [`roadmap`]. Only `disk` writes files.

pub mod config;
#[cfg(test)]
mod corpus;
pub mod dashboard;
pub mod frontmatter;
pub mod json_edit;
pub mod manifest;
pub mod milestones;
pub mod ndjson;
pub mod phase_files;
pub mod plan;
pub mod requirements;
pub mod roadmap;
pub mod summary;
pub mod text;
pub mod todo;
mod values;
