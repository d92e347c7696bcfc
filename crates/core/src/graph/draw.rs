//! Drawings of the roadmap: for the terminal, Graphviz, Mermaid and as an SVG picture.
//!
//! Text out, nothing else: colours on the terminal are the binary's, so that drawing comes as spans
//! with a meaning. Names come from people's files: they are cleaned here, and each format escapes
//! them in its own way.

use std::collections::BTreeSet;

use super::Graph;

mod dot;
mod lanes;
mod layout;
mod mermaid;
mod reduce;
mod sheet;
mod svg;
mod terminal;
mod words;

pub use terminal::{Line, Style, Terminal};

/// What a phase is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Finished.
    Done,
    /// Being worked on.
    Running,
    /// Free to start.
    Ready,
    /// Waiting for another phase.
    Blocked,
}

impl State {
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

/// What a drawing says about one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The number as the roadmap writes it.
    pub number: String,
    /// The name, of any length and with any characters.
    pub name: String,
    /// What the phase is doing.
    pub state: State,
}

/// A graph with a label on every phase, ready to be drawn.
#[derive(Debug)]
pub struct Picture<'a> {
    graph: &'a Graph,
    labels: Vec<Label>,
}

impl<'a> Picture<'a> {
    /// Asks for the label of each phase by its index.
    pub fn new(graph: &'a Graph, mut label: impl FnMut(usize) -> Label) -> Self {
        let mut labels: Vec<Label> = (0..graph.nodes.len()).map(&mut label).collect();
        for label in &mut labels {
            label.number = words::clean(&label.number);
            label.name = words::clean(&label.name);
        }
        Self { graph, labels }
    }

    /// Draws lanes beside the phases, as version control does; a list by wave where lanes would
    /// not be readable.
    pub fn terminal(&self, terminal: &Terminal) -> Vec<Line> {
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

    /// Paints a picture that needs no other file, for light and dark backgrounds.
    pub fn svg(&self) -> String {
        svg::draw(self)
    }

    /// Returns the number and name of a phase in one line.
    fn title(&self, index: usize) -> String {
        let label = &self.labels[index];
        format!("{} {}", label.number, label.name).trim_end().to_owned()
    }

    /// Returns every dependency as a pair of what comes first and what waits.
    fn edges(&self) -> impl Iterator<Item = (usize, usize)> {
        let waiting = 0..self.labels.len();
        waiting.flat_map(|to| self.graph.dependencies(to).iter().map(move |&from| (from, to)))
    }

    /// Returns every advised pair once, whichever side gives the advice.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let graph = self.graph;
        (0..self.labels.len()).flat_map(move |one| {
            let others = graph.parallel_with(one).iter().copied();
            let said_before =
                move |other: usize| other < one && graph.parallel_with(other).contains(&one);
            others.filter(move |&other| !said_before(other)).map(move |other| (one, other))
        })
    }

    /// Returns the edges of the critical path, which are drawn stronger.
    fn critical_edges(&self) -> BTreeSet<(usize, usize)> {
        self.graph.critical_path().windows(2).map(|pair| (pair[0], pair[1])).collect()
    }
}

#[cfg(test)]
mod tests;
