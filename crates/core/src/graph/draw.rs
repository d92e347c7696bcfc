//! Draws the roadmap graph for the terminal, Graphviz, Mermaid and SVG.
//!
//! The functions return text and print nothing. Terminal lines consist of spans with a kind; the
//! binary chooses the colours. Names come from files that people write, so they are cleaned here,
//! and each format escapes them.

use std::collections::BTreeSet;

use super::Graph;

mod dot;
mod label_text;
mod lanes;
mod layout;
mod mermaid;
mod reduce;
mod svg;
mod terminal;
mod terminal_columns;

pub use terminal::{SpanKind, StyledLine, TerminalFormat};

/// The state of a phase as a drawing shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeState {
    /// All work is finished.
    Done,
    /// A worker is working on the phase.
    Running,
    /// All dependencies are done.
    Ready,
    /// A dependency is not done.
    Blocked,
}

impl NodeState {
    /// All states, in the order a legend lists them.
    const ALL: [Self; 4] = [Self::Done, Self::Running, Self::Ready, Self::Blocked];

    /// Returns the state as one lower-case word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Running => "running",
            Self::Ready => "ready",
            Self::Blocked => "blocked",
        }
    }
}

/// The text and state that a drawing shows for one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeLabel {
    /// The number as the roadmap writes it.
    pub number: String,
    /// The name, of any length and with any characters.
    pub name: String,
    /// Chooses the mark and colour of the phase.
    pub state: NodeState,
}

/// A graph with a label for every phase, ready to be drawn.
#[derive(Debug)]
pub struct GraphDrawing<'a> {
    graph: &'a Graph,
    labels: Vec<NodeLabel>,
}

impl<'a> GraphDrawing<'a> {
    /// Labels every phase; `label` is called with each index and may return any characters.
    pub fn new(graph: &'a Graph, mut label: impl FnMut(usize) -> NodeLabel) -> Self {
        let mut labels: Vec<NodeLabel> = (0..graph.nodes.len()).map(&mut label).collect();
        for label in &mut labels {
            label.number = label_text::clean(&label.number);
            label.name = label_text::clean(&label.name);
        }
        Self { graph, labels }
    }

    /// Draws lanes next to the phases, like `git log --graph`.
    ///
    /// Falls back to a list by wave when lanes would not be readable.
    pub fn terminal(&self, terminal: &TerminalFormat) -> Vec<StyledLine> {
        terminal::draw(self, terminal)
    }

    /// Writes the graph in Graphviz's language.
    pub fn dot(&self) -> String {
        dot::draw(self)
    }

    /// Writes the graph as a Mermaid flowchart.
    pub fn mermaid(&self) -> String {
        mermaid::draw(self)
    }

    /// Draws a self-contained SVG image for light and dark backgrounds.
    pub fn svg(&self) -> String {
        svg::draw(self)
    }

    /// Returns the number and name of a phase in one line.
    fn title(&self, index: usize) -> String {
        let label = &self.labels[index];
        format!("{} {}", label.number, label.name).trim_end().to_owned()
    }

    /// Returns every dependency as a pair (dependency, dependent).
    fn edges(&self) -> impl Iterator<Item = (usize, usize)> {
        let dependents = 0..self.labels.len();
        dependents.flat_map(|to| self.graph.dependencies(to).iter().map(move |&from| (from, to)))
    }

    /// Returns every pair of phases that may run in parallel once, even if both phases declare it.
    fn parallel_pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let graph = self.graph;
        (0..self.labels.len()).flat_map(move |one| {
            let others = graph.parallel_with(one).iter().copied();
            let is_declared_before =
                move |other: usize| other < one && graph.parallel_with(other).contains(&one);
            others.filter(move |&other| !is_declared_before(other)).map(move |other| (one, other))
        })
    }

    /// Returns the edges of the critical path, which are drawn bold.
    fn critical_edges(&self) -> BTreeSet<(usize, usize)> {
        self.graph.critical_path().windows(2).map(|pair| (pair[0], pair[1])).collect()
    }
}

#[cfg(test)]
mod tests;
