//! Turns the numbers that phases mention into edges between places in the document.
//!
//! Knows how numbers are looked up when numbering starts over; knows nothing about order.

use std::collections::{BTreeMap, BTreeSet};

use super::{Edges, GraphNode};
use crate::phase::PhaseNumber;

/// A dependency on a phase that the roadmap does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The phase that depends.
    pub from: usize,
    /// The number it names.
    pub to: PhaseNumber,
}

/// What became of the references that are not edges.
#[derive(Clone, Debug, Default)]
pub(super) struct Resolved {
    pub(super) parallel: Vec<Vec<usize>>,
    pub(super) missing: Vec<Reference>,
    pub(super) archived: Vec<Reference>,
    pub(super) selves: Vec<usize>,
}

pub(super) fn resolve(nodes: &[GraphNode], archived: &BTreeSet<PhaseNumber>) -> (Edges, Resolved) {
    let places = Places::new(nodes);
    let mut edges = Edges {
        dependencies: vec![Vec::new(); nodes.len()],
        dependents: vec![Vec::new(); nodes.len()],
    };
    let mut resolved = Resolved::default();
    for (from, node) in nodes.iter().enumerate() {
        for to in node.depends_on.iter().collect::<BTreeSet<_>>() {
            if *to == node.number {
                resolved.selves.push(from);
            } else if let Some(index) = places.nearest(to, node.block) {
                edges.dependencies[from].push(index);
                edges.dependents[index].push(from);
            } else {
                let outside = archived.contains(to);
                let list = if outside { &mut resolved.archived } else { &mut resolved.missing };
                list.push(Reference { from, to: to.clone() });
            }
        }
        edges.dependencies[from].sort_unstable();
        let beside: BTreeSet<_> =
            node.parallel_with.iter().filter(|to| **to != node.number).collect();
        let beside: BTreeSet<_> =
            beside.into_iter().filter_map(|to| places.nearest(to, node.block)).collect();
        resolved.parallel.push(beside.into_iter().collect());
    }
    (edges, resolved)
}

/// Where each number stands: block and index, sorted.
struct Places<'a>(BTreeMap<&'a PhaseNumber, Vec<(usize, usize)>>);

impl<'a> Places<'a> {
    fn new(nodes: &'a [GraphNode]) -> Self {
        let mut places: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (index, node) in nodes.iter().enumerate() {
            places.entry(&node.number).or_default().push((node.block, index));
        }
        places.values_mut().for_each(|list| list.sort_unstable());
        Self(places)
    }

    /// Looks a number up as seen from a block: there, else in the nearest earlier one, else in the
    /// nearest later one. Of two in one block the first counts.
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
