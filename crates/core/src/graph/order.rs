//! Topological generations, and the cycles that stand in their way.
//!
//! Works on edges between indices alone; which phases take part is the caller's choice.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::{Edges, GraphNode};
use crate::phase::PhaseNumber;

/// Phases put in generations, and those that fit in none.
#[derive(Clone, Debug, Default)]
pub(super) struct Layers {
    pub(super) waves: Vec<Vec<usize>>,
    /// Phases on a cycle or behind one, in document order.
    pub(super) stuck: Vec<usize>,
}

/// Puts the chosen phases in generations; edges to phases not chosen count for nothing.
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

/// Phases that wait for each other in a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The phases on the ring, each depending on the next and the last on the first.
    ///
    /// The smallest number comes first.
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

/// Why a roadmap has no waves.
///
/// The text names every stuck phase: those on a printed ring, then the others.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("dependency cycle: {}", describe(.cycles, .others))]
pub struct Cyclic {
    /// One shortest ring for each knot of phases that reach each other, smallest number first.
    pub cycles: Vec<Cycle>,
    /// Every phase that can never start: on a ring or behind one, in document order.
    pub stuck: Vec<usize>,
    others: Vec<PhaseNumber>,
}

fn describe(cycles: &[Cycle], others: &[PhaseNumber]) -> String {
    let rings: Vec<_> = cycles.iter().map(ToString::to_string).collect();
    let others: Vec<_> = others.iter().map(ToString::to_string).collect();
    let tail = if others.is_empty() {
        String::new()
    } else {
        format!(" (also stuck: {})", others.join(", "))
    };
    format!("{}{tail}", rings.join("; "))
}

/// Names the cycles among the phases that fit in no generation.
pub(super) fn explain(nodes: &[GraphNode], edges: &Edges, stuck: &[usize]) -> Option<Cyclic> {
    if stuck.is_empty() {
        return None;
    }
    let smallest = |index: &usize| (&nodes[*index].number, *index);
    let mut knots = knots(edges, stuck);
    for knot in &mut knots {
        knot.sort_unstable_by_key(smallest);
    }
    knots.sort_unstable_by_key(|knot| knot.first().map(smallest));
    let cycles: Vec<Cycle> = knots
        .iter()
        .map(|knot| {
            let path = ring(edges, knot);
            let numbers = path.iter().map(|&index| nodes[index].number.clone()).collect();
            Cycle { path, numbers }
        })
        .collect();
    let named: BTreeSet<usize> =
        cycles.iter().flat_map(|cycle| cycle.path.iter().copied()).collect();
    let others = stuck.iter().filter(|index| !named.contains(index));
    let others = others.map(|&index| nodes[index].number.clone()).collect();
    Some(Cyclic { cycles, stuck: stuck.to_vec(), others })
}

/// Finds the sets of two or more phases that all reach each other.
fn knots(edges: &Edges, stuck: &[usize]) -> Vec<Vec<usize>> {
    let mut graph = DiGraph::<usize, ()>::with_capacity(stuck.len(), stuck.len());
    let ids: BTreeMap<usize, NodeIndex> =
        stuck.iter().map(|&index| (index, graph.add_node(index))).collect();
    for (&index, &from) in &ids {
        for to in edges.dependencies[index].iter().filter_map(|on| ids.get(on)) {
            graph.add_edge(from, *to, ());
        }
    }
    // Of the two algorithms petgraph offers this is the one that does not recurse.
    let components = kosaraju_scc(&graph).into_iter().filter(|set| set.len() > 1);
    components.map(|set| set.into_iter().map(|id| graph[id]).collect()).collect()
}

/// Finds a shortest way along dependencies from the first phase of a knot back to itself.
fn ring(edges: &Edges, knot: &[usize]) -> Vec<usize> {
    let start = knot[0];
    let members: BTreeSet<usize> = knot.iter().copied().collect();
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
    unreachable!("a knot's phases all reach each other")
}
