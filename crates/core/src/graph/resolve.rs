//! Resolves the phase numbers in references to document indices, and builds the edges.
//!
//! The lookup handles roadmaps whose numbering restarts. Ordering is done in [`super::order`].

use std::collections::{BTreeMap, BTreeSet};

use super::{Edges, GraphNode};
use crate::phase::PhaseNumber;

/// A dependency on a phase that is not in the roadmap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresolvedRef {
    /// The index of the dependent phase.
    pub from: usize,
    /// The number of the phase that it depends on.
    pub to: PhaseNumber,
}

/// The references that did not become edges.
#[derive(Clone, Debug, Default)]
pub(super) struct NonEdges {
    pub(super) parallel: Vec<Vec<usize>>,
    pub(super) missing: Vec<UnresolvedRef>,
    pub(super) archived: Vec<UnresolvedRef>,
    /// Phases that depend on themselves.
    pub(super) self_refs: Vec<usize>,
}

/// Resolves the references of all phases.
pub(super) fn resolve(nodes: &[GraphNode], archived: &BTreeSet<PhaseNumber>) -> (Edges, NonEdges) {
    let index = NumberIndex::new(nodes);
    let mut edges = Edges {
        dependencies: vec![Vec::new(); nodes.len()],
        dependents: vec![Vec::new(); nodes.len()],
    };
    let mut non_edges = NonEdges::default();
    for (from, node) in nodes.iter().enumerate() {
        for to in node.depends_on.iter().collect::<BTreeSet<_>>() {
            if *to == node.number {
                non_edges.self_refs.push(from);
            } else if let Some(dependency) = index.nearest(to, node.block) {
                edges.dependencies[from].push(dependency);
                edges.dependents[dependency].push(from);
            } else {
                let is_archived = archived.contains(to);
                let list =
                    if is_archived { &mut non_edges.archived } else { &mut non_edges.missing };
                list.push(UnresolvedRef { from, to: *to });
            }
        }
        edges.dependencies[from].sort_unstable();
        let parallel: BTreeSet<_> =
            node.parallel_with.iter().filter(|to| **to != node.number).collect();
        let parallel: BTreeSet<_> =
            parallel.into_iter().filter_map(|to| index.nearest(to, node.block)).collect();
        non_edges.parallel.push(parallel.into_iter().collect());
    }
    (edges, non_edges)
}

/// Maps each number to its (block, index) pairs, sorted.
struct NumberIndex<'a>(BTreeMap<&'a PhaseNumber, Vec<(usize, usize)>>);

impl<'a> NumberIndex<'a> {
    fn new(nodes: &'a [GraphNode]) -> Self {
        let mut pairs: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (index, node) in nodes.iter().enumerate() {
            pairs.entry(&node.number).or_default().push((node.block, index));
        }
        pairs.values_mut().for_each(|list| list.sort_unstable());
        Self(pairs)
    }

    /// Returns the phase that a number means when it is used in a block.
    ///
    /// The search order is: the same block, the nearest earlier block, the nearest later block. Of
    /// two phases with one number in a block, the first is chosen.
    fn nearest(&self, number: &PhaseNumber, block: usize) -> Option<usize> {
        let list = self.0.get(number)?;
        let after = list.partition_point(|&(other, _)| other <= block);
        let chosen = match list[..after].last() {
            Some(&(other, _)) => list.partition_point(|&(earlier, _)| earlier < other),
            None => after,
        };
        list.get(chosen).map(|&(_, index)| index)
    }
}
