//! What mow remembers: planning documents, read in every dialect and edited without harming a byte.
//!
//! Documents are never rendered anew: an edit is a list of spliced bytes. Start with [`text`] (how a
//! file is seen), then the documents built on it, such as [`roadmap`] and [`state`]. [`project`]
//! finds the files, and only [`disk`] writes them.

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests make their own files"))]

pub mod claims;
pub mod config;
#[cfg(test)]
mod corpus;
pub mod dashboard;
pub mod digest;
pub mod disk;
pub mod exclude;
pub mod frontmatter;
pub mod journal;
pub mod json_edit;
pub mod manifest;
pub mod milestones;
pub mod ndjson;
pub mod papers;
pub mod phase_dirs;
pub mod phase_files;
pub mod phase_removal;
pub mod plan;
pub mod planning_copy;
pub mod planning_join;
pub mod project;
pub mod references;
pub mod requirements;
pub mod roadmap;
pub mod run_files;
mod sections;
pub mod starter;
pub mod state;
pub mod status;
pub mod summary;
pub mod survey;
pub mod templates;
pub mod text;
pub mod todo;
#[cfg(test)]
mod trial_values;
mod values;
pub mod worktree_home;
