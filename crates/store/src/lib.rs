//! Reads and edits planning documents, writes files, holds locks and keeps journals.
//!
//! A document is never rendered from a parsed tree: an edit replaces byte ranges and keeps every
//! other byte. Start with [`text`], which splits a file into lines and marks code and comments. The
//! document modules, such as [`roadmap`] and [`state`], build on it. [`project`] finds the files,
//! and only [`disk`] writes them.
//!
//! Only the contract's commands use [`compat`]. No other module of this crate may name it.

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests make their own files"))]

#[cfg(test)]
mod awkward_text;
pub mod claims;
pub mod compat;
pub mod config;
#[cfg(test)]
mod corpus;
pub mod dashboard;
pub mod disk;
pub mod frontmatter;
mod frontmatter_values;
pub mod git_exclude;
pub mod journal;
pub mod json_edit;
pub mod manifest;
pub mod ndjson;
pub mod new_project;
pub mod phase_dirs;
pub mod phase_documents;
pub mod phase_files;
pub mod plan;
pub mod planning_copy;
pub mod planning_merge;
pub mod project;
pub mod project_phases;
pub mod requirements;
pub mod roadmap;
pub mod run_files;
mod sections;
pub mod state;
pub mod status;
pub mod text;
pub mod todo;
pub mod worktree_home;
