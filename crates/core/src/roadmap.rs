//! The phases that a roadmap declares, as plain values.
//!
//! The store parses ROADMAP.md into these types; the graph is built from them. This module knows no
//! Markdown.

use crate::phase::PhaseNumber;

/// A phase of the roadmap, merged from all its declarations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoadmapPhase {
    /// The number without padding.
    pub number: PhaseNumber,
    /// The number as its first declaration writes it.
    pub written: String,
    /// The name without markup, status marks and trailing remarks.
    pub name: String,
    /// Whether the phase is done, and whether all declarations agree.
    pub completion: Completion,
    /// Hard dependencies, sorted, each once.
    pub depends_on: Vec<PhaseNumber>,
    /// Whether the section of the phase states its dependencies, even if it states "none".
    pub depends_stated: bool,
    /// Phases that may run in parallel with this one: advice, never an edge.
    pub parallel_with: Vec<PhaseNumber>,
    /// The kinds of declarations of the phase.
    pub sources: DeclarationKinds,
    /// Whether the phase is in the folded block of a shipped milestone.
    pub archived: bool,
    /// The numbering block of the phase; a new block starts where numbering restarts.
    pub block: usize,
    /// The line of the most detailed declaration, counted from one.
    pub line: usize,
}

/// The completion of a phase, merged from all its declarations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The value of the most reliable declaration.
    pub done: bool,
    /// False when two declarations contradict each other.
    pub certain: bool,
}

/// The kinds of Markdown elements that declare a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeclarationKinds {
    /// A list item without a checkbox.
    pub bullet: bool,
    /// A list item with a checkbox.
    pub checklist: bool,
    /// A heading of a section.
    pub heading: bool,
    /// A row of a table.
    pub table: bool,
}

impl DeclarationKinds {
    /// Returns the kinds as letters in a fixed order: `CHT` is checklist, heading and table.
    pub fn letters(self) -> String {
        let kinds =
            [(self.bullet, 'B'), (self.checklist, 'C'), (self.heading, 'H'), (self.table, 'T')];
        kinds.into_iter().filter(|(is, _)| *is).map(|(_, letter)| letter).collect()
    }
}
