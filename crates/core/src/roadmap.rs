//! What a roadmap declares, as plain values.
//!
//! The documents in the store fill these in; the graph reads them. Nothing here knows Markdown.

use crate::phase::PhaseNumber;

/// A phase as the roadmap declares it, all its mentions put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The number, free of padding.
    pub number: PhaseNumber,
    /// The number as its first declaration writes it.
    pub written: String,
    /// The name without markup, status marks and trailing remarks.
    pub name: String,
    /// Whether the phase is done, and whether the document agrees with itself about it.
    pub completion: Completion,
    /// Hard dependencies, sorted, each once.
    pub depends_on: Vec<PhaseNumber>,
    /// Whether the phase's own section says anything about dependencies, "none" included.
    pub depends_stated: bool,
    /// Phases this one may run beside: advice, never an edge.
    pub parallel_with: Vec<PhaseNumber>,
    /// Where the phase is declared.
    pub sources: Sources,
    /// Whether the phase stands in a folded block of a shipped milestone.
    pub archived: bool,
    /// Which block of the numbering the phase belongs to, where numbering starts over.
    pub block: usize,
    /// The line of the declaration that says most, counted from one.
    pub line: usize,
}

/// Whether a phase is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The answer of the strongest witness.
    pub done: bool,
    /// False when two places in the document contradict each other.
    pub certain: bool,
}

/// The kinds of places that declare a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// A bullet without a box.
    pub bullet: bool,
    /// A line with a checkbox.
    pub checklist: bool,
    /// A heading.
    pub heading: bool,
    /// A row of a table.
    pub table: bool,
}

impl Sources {
    /// Returns the kinds as letters in a fixed order: `CHT` is checklist, heading and table.
    pub fn letters(self) -> String {
        let kinds =
            [(self.bullet, 'B'), (self.checklist, 'C'), (self.heading, 'H'), (self.table, 'T')];
        kinds.into_iter().filter(|(is, _)| *is).map(|(_, letter)| letter).collect()
    }
}
