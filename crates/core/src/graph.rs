//! The roadmap as a graph: what waits for what, what may run now, and how wide it gets.
//!
//! A phase is known by its place in the document, because numbering may start over with each
//! milestone. Everything is computed once, in time linear in phases and references, and without
//! recursion, so that a chain of any length is safe. Nothing here decides what *will* run; that is
//! the lead's business.

use std::collections::BTreeSet;

use crate::phase::PhaseNumber;

pub mod draw;
mod order;
mod resolve;

pub use order::{Cycle, Cyclic};
pub use resolve::Reference;

use order::Layers;
use resolve::Resolved;

/// A phase as the graph needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphNode {
    /// The number references use.
    pub number: PhaseNumber,
    /// Which block of the numbering the phase belongs to.
    pub block: usize,
    /// Whether the phase is finished.
    pub done: bool,
    /// Phases that must be finished before this one starts.
    pub depends_on: Vec<PhaseNumber>,
    /// Phases this one may run beside: advice, never an edge.
    pub parallel_with: Vec<PhaseNumber>,
}

/// Edges in both directions, each list in document order and free of repetition.
#[derive(Clone, Debug, Default)]
struct Edges {
    dependencies: Vec<Vec<usize>>,
    dependents: Vec<Vec<usize>>,
}

/// The phases of a roadmap and what they wait for.
///
/// Phases are named by their index in the list the graph was made from.
#[derive(Clone, Debug)]
pub struct Graph {
    nodes: Vec<GraphNode>,
    edges: Edges,
    resolved: Resolved,
    all: Layers,
    unfinished: Layers,
    cyclic: Option<Cyclic>,
}

impl Graph {
    /// Builds the graph from phases in document order.
    ///
    /// `archived` holds numbers of phases that live outside this roadmap; a reference to one of
    /// them is satisfied and no cause for a warning.
    pub fn new(nodes: Vec<GraphNode>, archived: &BTreeSet<PhaseNumber>) -> Self {
        let (edges, resolved) = resolve::resolve(&nodes, archived);
        let all = order::layers(&edges, |_| true);
        let unfinished = order::layers(&edges, |index| !nodes[index].done);
        let cyclic = order::explain(&nodes, &edges, &all.stuck);
        Self { nodes, edges, resolved, all, unfinished, cyclic }
    }

    /// Returns the phases in document order.
    pub fn nodes(&self) -> &[GraphNode] {
        &self.nodes
    }

    /// Returns the phases of this roadmap that `index` waits for, in document order.
    pub fn dependencies(&self, index: usize) -> &[usize] {
        &self.edges.dependencies[index]
    }

    /// Returns the phases that wait for `index`, in document order.
    pub fn dependents(&self, index: usize) -> &[usize] {
        &self.edges.dependents[index]
    }

    /// Returns the phases of this roadmap that `index` says it may run beside.
    pub fn parallel_with(&self, index: usize) -> &[usize] {
        &self.resolved.parallel[index]
    }

    /// Returns references to phases nobody knows; they count as satisfied.
    pub fn missing_refs(&self) -> &[Reference] {
        &self.resolved.missing
    }

    /// Returns references to phases of archived milestones; they count as satisfied.
    pub fn archived_refs(&self) -> &[Reference] {
        &self.resolved.archived
    }

    /// Returns the phases that named themselves as a dependency; the reference is dropped.
    pub fn self_refs(&self) -> &[usize] {
        &self.resolved.selves
    }

    /// Returns the topological generations of all phases, finished ones included.
    ///
    /// The first wave depends on nothing; inside a wave stands document order.
    pub fn waves(&self) -> Result<&[Vec<usize>], &Cyclic> {
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

    /// Returns the unfinished phases that must wait, each with the phases it waits for.
    pub fn blocked(&self) -> Vec<(usize, Vec<usize>)> {
        self.pending()
            .map(|index| (index, self.waiting_on(index).collect::<Vec<_>>()))
            .filter(|(_, waiting)| !waiting.is_empty())
            .collect()
    }

    /// Returns the generations of the unfinished phases, finished dependencies taken as met.
    ///
    /// Phases on a cycle, and those behind one, belong to no generation.
    pub fn unfinished_waves(&self) -> &[Vec<usize>] {
        &self.unfinished.waves
    }

    /// Returns a longest chain of unfinished phases, in the order they must run.
    ///
    /// Every phase is taken to last equally long. Of several such chains the one that comes first
    /// in the document, seen from its end, is chosen.
    pub fn critical_path(&self) -> Vec<usize> {
        let waves = &self.unfinished.waves;
        let Some(&last) = waves.last().and_then(|wave| wave.first()) else { return Vec::new() };
        let mut path = vec![last];
        let mut at = last;
        for wave in waves.iter().rev().skip(1) {
            // A phase stands in a generation because some dependency stands in the one before.
            let before = |dependency: &&usize| wave.binary_search(dependency).is_ok();
            let Some(&next) = self.dependencies(at).iter().find(before) else { break };
            path.push(next);
            at = next;
        }
        path.reverse();
        path
    }

    /// Returns how many unfinished phases may at most run at the same time, wave by wave.
    pub fn widest_wave(&self) -> usize {
        self.unfinished.waves.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Returns how many times faster than one after another the unfinished phases can run at best.
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
