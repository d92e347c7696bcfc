//! Computes the topological generations (waves) of phases and finds dependency cycles.
//!
//! The functions work on edges between indices; the caller chooses which phases take part.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::{Edges, GraphNode};
use crate::phase::PhaseNumber;

/// Phases grouped into waves, and the phases that fit in no wave.
#[derive(Clone, Debug, Default)]
pub(super) struct Layers {
    pub(super) waves: Vec<Vec<usize>>,
    /// Phases on a cycle, or dependent on one, in document order.
    pub(super) stuck: Vec<usize>,
}

/// Groups the chosen phases into waves; edges to other phases are ignored.
pub(super) fn layers(edges: &Edges, chosen: impl Fn(usize) -> bool) -> Layers {
    let members: Vec<usize> =
        (0..edges.dependencies.len()).filter(|&index| chosen(index)).collect();
    let mut unmet = vec![0_usize; edges.dependencies.len()];
    for &index in &members {
        unmet[index] = edges.dependencies[index].iter().filter(|&&on| chosen(on)).count();
    }
    let mut waves = Vec::new();
    let mut wave: Vec<usize> = members.iter().copied().filter(|&index| unmet[index] == 0).collect();
    while !wave.is_empty() {
        let mut next = Vec::new();
        for &index in &wave {
            for &dependent in edges.dependents[index].iter().filter(|&&by| chosen(by)) {
                unmet[dependent] -= 1;
                if unmet[dependent] == 0 {
                    next.push(dependent);
                }
            }
        }
        next.sort_unstable();
        waves.push(std::mem::replace(&mut wave, next));
    }
    let stuck = members.into_iter().filter(|&index| unmet[index] > 0).collect();
    Layers { waves, stuck }
}

/// A dependency cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The phases on the cycle: each depends on the next, the last on the first.
    ///
    /// The phase with the smallest number comes first.
    pub path: Vec<usize>,
    numbers: Vec<PhaseNumber>,
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for number in &self.numbers {
            write!(f, "{number} → ")?;
        }
        self.numbers.first().map_or(Ok(()), |first| write!(f, "{first}"))
    }
}

/// The error for a roadmap with dependency cycles.
///
/// The message names every stuck phase: first those on a printed cycle, then the others.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("dependency cycle: {}", describe(.cycles, .others))]
pub struct CycleError {
    /// One shortest cycle for each strongly connected component, smallest number first.
    pub cycles: Vec<Cycle>,
    /// Every phase that can never start: on a cycle or dependent on one, in document order.
    pub stuck: Vec<usize>,
    others: Vec<PhaseNumber>,
}

fn describe(cycles: &[Cycle], others: &[PhaseNumber]) -> String {
    let cycle_texts: Vec<_> = cycles.iter().map(ToString::to_string).collect();
    let others: Vec<_> = others.iter().map(ToString::to_string).collect();
    let tail = if others.is_empty() {
        String::new()
    } else {
        format!(" (also stuck: {})", others.join(", "))
    };
    format!("{}{tail}", cycle_texts.join("; "))
}

/// Finds the cycles among the phases that fit in no wave; `None` if there are no such phases.
pub(super) fn find_cycles(
    nodes: &[GraphNode],
    edges: &Edges,
    stuck: &[usize],
) -> Option<CycleError> {
    if stuck.is_empty() {
        return None;
    }
    let smallest = |index: &usize| (&nodes[*index].number, *index);
    let mut components = strong_components(edges, stuck);
    for component in &mut components {
        component.sort_unstable_by_key(smallest);
    }
    components.sort_unstable_by_key(|component| component.first().map(smallest));
    let cycles: Vec<Cycle> = components
        .iter()
        .map(|component| {
            let path = shortest_cycle(edges, component);
            let numbers = path.iter().map(|&index| nodes[index].number).collect();
            Cycle { path, numbers }
        })
        .collect();
    let named: BTreeSet<usize> =
        cycles.iter().flat_map(|cycle| cycle.path.iter().copied()).collect();
    let others = stuck.iter().filter(|index| !named.contains(index));
    let others = others.map(|&index| nodes[index].number).collect();
    Some(CycleError { cycles, stuck: stuck.to_vec(), others })
}

/// Finds the strongly connected components of two or more phases.
fn strong_components(edges: &Edges, stuck: &[usize]) -> Vec<Vec<usize>> {
    let mut graph = DiGraph::<usize, ()>::with_capacity(stuck.len(), stuck.len());
    let ids: BTreeMap<usize, NodeIndex> =
        stuck.iter().map(|&index| (index, graph.add_node(index))).collect();
    for (&index, &from) in &ids {
        for to in edges.dependencies[index].iter().filter_map(|on| ids.get(on)) {
            graph.add_edge(from, *to, ());
        }
    }
    // `tarjan_scc`, the other algorithm of petgraph, recurses.
    let components = kosaraju_scc(&graph).into_iter().filter(|set| set.len() > 1);
    components.map(|set| set.into_iter().map(|id| graph[id]).collect()).collect()
}

/// Finds a shortest dependency cycle through the first phase of a component.
fn shortest_cycle(edges: &Edges, component: &[usize]) -> Vec<usize> {
    let start = component[0];
    let members: BTreeSet<usize> = component.iter().copied().collect();
    let mut came_from: BTreeMap<usize, usize> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        if edges.dependencies[at].binary_search(&start).is_ok() {
            let back = std::iter::successors(Some(at), |step| came_from.get(step).copied());
            let mut path: Vec<usize> = back.collect();
            path.reverse();
            return path;
        }
        for &next in edges.dependencies[at].iter().filter(|&on| members.contains(on)) {
            if next != start && !came_from.contains_key(&next) {
                came_from.insert(next, at);
                queue.push_back(next);
            }
        }
    }
    unreachable!("the phases of a component all reach each other")
}
