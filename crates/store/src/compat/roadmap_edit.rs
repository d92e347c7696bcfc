//! Adds phases to ROADMAP.md and removes them: `mow phase add`, `insert` and `remove`.
//!
//! An edit changes the lines that declare a phase (its section, its checkbox, its rows) and the
//! fields that refer to it. All other bytes stay unchanged. Start with [`insert`] and [`remove`].
//! [`crate::roadmap::edit`] writes the progress of a run.

mod insert;
mod remove;
mod renumber;
#[cfg(test)]
mod tests;

pub use insert::{NewPhase, highest_number, insert};
pub use remove::{AmbiguousPhase, remove};
