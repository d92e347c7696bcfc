//! Removes implied edges from drawings (transitive reduction).
//!
//! When 3 depends on 1 and 2, and 2 depends on 1, the edge from 1 to 3 is implied and only makes
//! the drawing harder to read.

use petgraph::algo::tred::{dag_to_toposorted_adjacency_list, dag_transitive_reduction_closure};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::IntoNeighbors;

use crate::graph::Graph;

/// Larger graphs keep implied edges, because the reduction takes more than linear time.
pub(super) const PHASES_MAX: usize = 500;

/// Returns the dependents of each phase in document order, without implied edges.
///
/// Phases in no wave have no dependents here and are dependents of no phase.
pub(super) fn dependents(graph: &Graph) -> Vec<Vec<usize>> {
    let mut kept = vec![Vec::new(); graph.nodes.len()];
    let order: Vec<usize> = graph.all.waves.iter().flatten().copied().collect();
    let mut rank = vec![None; graph.nodes.len()];
    let mut dag = DiGraph::<(), ()>::with_capacity(order.len(), order.len());
    for &index in &order {
        rank[index] = Some(dag.add_node(()));
    }
    for &index in &order {
        for &dependent in graph.dependents(index) {
            if let (Some(from), Some(to)) = (rank[index], rank[dependent]) {
                dag.add_edge(from, to, ());
            }
        }
    }
    let sorted: Vec<NodeIndex> = dag.node_indices().collect();
    let (list, _) = dag_to_toposorted_adjacency_list::<_, u32>(&dag, &sorted);
    let (reduced, _) = dag_transitive_reduction_closure(&list);
    for (place, &index) in order.iter().enumerate() {
        let place = u32::try_from(place).expect("a drawing has few phases");
        kept[index] = reduced.neighbors(place).map(|to| order[to as usize]).collect();
        kept[index].sort_unstable();
    }
    kept
}
