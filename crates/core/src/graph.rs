//! The dependency graph of a roadmap: waves, ready and blocked phases, the critical path.
//!
//! A phase is identified by its index in the document, because numbering may restart in each
//! milestone. Everything is computed once, in time linear in phases and references. There is no
//! recursion, so a chain of any length is safe. The graph does not decide which phases run; the
//! [`lead`](crate::lead) does.

use std::collections::BTreeSet;

use crate::phase::PhaseNumber;

pub mod draw;
mod order;
mod resolve;

pub use order::{Cycle, CycleError};
pub use resolve::UnresolvedRef;

use order::Layers;
use resolve::NonEdges;

/// The input of the graph for one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphNode {
    /// The number by which other phases refer to this one.
    pub number: PhaseNumber,
    /// The numbering block of the phase; a new block starts where numbering restarts.
    pub block: usize,
    /// Whether the phase is finished; a finished phase blocks no other phase.
    pub done: bool,
    /// Phases that must be finished before this one starts.
    pub depends_on: Vec<PhaseNumber>,
    /// Phases that may run in parallel with this one: advice, never an edge.
    pub parallel_with: Vec<PhaseNumber>,
}

/// Edges in both directions; each list is in document order and has no duplicates.
#[derive(Clone, Debug, Default)]
struct Edges {
    dependencies: Vec<Vec<usize>>,
    dependents: Vec<Vec<usize>>,
}

/// The phases of a roadmap and their dependencies.
///
/// Phases are identified by their index in the list that was passed to [`Graph::new`].
#[derive(Clone, Debug)]
pub struct Graph {
    nodes: Vec<GraphNode>,
    edges: Edges,
    non_edges: NonEdges,
    all: Layers,
    unfinished: Layers,
    cyclic: Option<CycleError>,
}

impl Graph {
    /// Builds the graph from phases in document order.
    ///
    /// `archived` has the numbers of phases outside this roadmap. A reference to one of them counts
    /// as satisfied and causes no warning.
    pub fn new(nodes: Vec<GraphNode>, archived: &BTreeSet<PhaseNumber>) -> Self {
        let (edges, non_edges) = resolve::resolve(&nodes, archived);
        let all = order::layers(&edges, |_| true);
        let unfinished = order::layers(&edges, |index| !nodes[index].done);
        let cyclic = order::find_cycles(&nodes, &edges, &all.stuck);
        Self { nodes, edges, non_edges, all, unfinished, cyclic }
    }

    /// Returns the phases in document order.
    pub fn nodes(&self) -> &[GraphNode] {
        &self.nodes
    }

    /// Returns the phases of this roadmap that `index` depends on, in document order.
    pub fn dependencies(&self, index: usize) -> &[usize] {
        &self.edges.dependencies[index]
    }

    /// Returns the phases that depend on `index`, in document order.
    pub fn dependents(&self, index: usize) -> &[usize] {
        &self.edges.dependents[index]
    }

    /// Returns the phases of this roadmap that may run in parallel with `index`, as `index`
    /// declares.
    pub fn parallel_with(&self, index: usize) -> &[usize] {
        &self.non_edges.parallel[index]
    }

    /// Returns references to phases that do not exist; they count as satisfied.
    pub fn missing_refs(&self) -> &[UnresolvedRef] {
        &self.non_edges.missing
    }

    /// Returns references to phases of archived milestones; they count as satisfied.
    pub fn archived_refs(&self) -> &[UnresolvedRef] {
        &self.non_edges.archived
    }

    /// Returns the phases that depend on themselves; the reference is ignored.
    pub fn self_refs(&self) -> &[usize] {
        &self.non_edges.self_refs
    }

    /// Returns the waves (topological generations) of all phases, finished ones included.
    ///
    /// Phases of the first wave have no dependencies. A wave is in document order.
    pub fn waves(&self) -> Result<&[Vec<usize>], &CycleError> {
        self.cyclic.as_ref().map_or(Ok(&self.all.waves), Err)
    }

    /// Returns the finished phases.
    pub fn completed(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|&index| self.nodes[index].done).collect()
    }

    /// Returns the unfinished phases whose dependencies are all finished.
    pub fn ready(&self) -> Vec<usize> {
        self.pending().filter(|&index| self.waiting_on(index).next().is_none()).collect()
    }

    /// Returns the unfinished phases with unfinished dependencies, each with those dependencies.
    pub fn blocked(&self) -> Vec<(usize, Vec<usize>)> {
        self.pending()
            .map(|index| (index, self.waiting_on(index).collect::<Vec<_>>()))
            .filter(|(_, waiting)| !waiting.is_empty())
            .collect()
    }

    /// Returns the waves of the unfinished phases; finished dependencies count as met.
    ///
    /// Phases on a cycle, and phases that depend on one, belong to no wave.
    pub fn unfinished_waves(&self) -> &[Vec<usize>] {
        &self.unfinished.waves
    }

    /// Returns a longest chain of unfinished phases, in the order in which they must run.
    ///
    /// All phases count as equally long. Of several longest chains, the one whose last phase comes
    /// first in the document is chosen; ties before it are broken the same way.
    pub fn critical_path(&self) -> Vec<usize> {
        let waves = &self.unfinished.waves;
        let Some(&last) = waves.last().and_then(|wave| wave.first()) else { return Vec::new() };
        let mut path = vec![last];
        let mut at = last;
        for wave in waves.iter().rev().skip(1) {
            // A phase is in a wave because one of its dependencies is in the wave before.
            let is_in_wave = |dependency: &&usize| wave.binary_search(dependency).is_ok();
            let Some(&next) = self.dependencies(at).iter().find(is_in_wave) else { break };
            path.push(next);
            at = next;
        }
        path.reverse();
        path
    }

    /// Returns the size of the largest unfinished wave: the most phases that can run at once.
    pub fn widest_wave(&self) -> usize {
        self.unfinished.waves.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Returns the best possible speedup over running the unfinished phases one after another.
    pub fn speedup_bound(&self) -> f64 {
        let waves = &self.unfinished.waves;
        if waves.is_empty() {
            return 1.0;
        }
        let phases: usize = waves.iter().map(Vec::len).sum();
        phases as f64 / waves.len() as f64
    }

    fn pending(&self) -> impl Iterator<Item = usize> {
        (0..self.nodes.len()).filter(|&index| !self.nodes[index].done)
    }

    fn waiting_on(&self, index: usize) -> impl Iterator<Item = usize> {
        self.dependencies(index).iter().copied().filter(|&dependency| !self.nodes[dependency].done)
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
