//! Computes the layout of the SVG drawing: layers, the order within a layer, and positions along
//! it.
//!
//! An edge over several layers has a bend in each of them, so that it passes between the boxes. The
//! layout knows lengths along a layer only; the SVG writer chooses the direction of the layers.

use std::collections::BTreeMap;

use super::reduce;
use crate::graph::Graph;

/// With more bends than this, the layout would take too long; long edges are then drawn straight.
const BENDS_MAX: usize = 20_000;
/// How often order and positions are improved, each time down and up.
const SWEEPS: usize = 6;
/// The length of a bend along its layer.
const BEND: f64 = 8.0;

/// The box of a phase, or a bend of an edge.
#[derive(Clone, Debug)]
pub(super) struct LayoutItem {
    /// The phase of a box; `None` for a bend.
    pub(super) phase: Option<usize>,
    pub(super) layer: usize,
    /// The position of the centre along the layer.
    pub(super) middle: f64,
    length: f64,
    /// Connected items in the layers before.
    before: Vec<usize>,
    /// Connected items in the layers after.
    after: Vec<usize>,
}

/// The path of one edge.
#[derive(Clone, Debug)]
pub(super) struct EdgeRoute {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The boxes and bends on the path, both ends included.
    pub(super) items: Vec<usize>,
}

/// The layout of all boxes, bends and edges.
#[derive(Clone, Debug)]
pub(super) struct GraphLayout {
    pub(super) items: Vec<LayoutItem>,
    pub(super) layers: Vec<Vec<usize>>,
    pub(super) routes: Vec<EdgeRoute>,
    /// Edges between stuck phases, which share the last layer.
    pub(super) stuck_edges: Vec<(usize, usize)>,
    /// The length of the longest layer.
    pub(super) length: f64,
}

impl GraphLayout {
    /// Computes the layout for boxes of a given length with gaps between them.
    pub(super) fn new(graph: &Graph, length: f64, gap: f64) -> Self {
        let mut layout = Self::boxes(graph, length);
        layout.connect(graph);
        for _ in 0..SWEEPS {
            layout.sort_layers(true);
            layout.sort_layers(false);
        }
        layout.pack(gap);
        for _ in 0..SWEEPS {
            layout.align(false, gap);
            layout.align(true, gap);
        }
        layout.shift();
        layout
    }

    /// Creates a box for each phase; an item has the same index as its phase.
    fn boxes(graph: &Graph, length: f64) -> Self {
        let blank = LayoutItem {
            phase: None,
            layer: 0,
            middle: 0.0,
            length,
            before: Vec::new(),
            after: Vec::new(),
        };
        let mut items = vec![blank; graph.nodes.len()];
        let mut layers = graph.all.waves.clone();
        if !graph.all.stuck.is_empty() {
            layers.push(graph.all.stuck.clone());
        }
        for (layer, members) in layers.iter().enumerate() {
            for &phase in members {
                items[phase].phase = Some(phase);
                items[phase].layer = layer;
            }
        }
        Self { items, layers, routes: Vec::new(), stuck_edges: Vec::new(), length: 0.0 }
    }

    /// Adds bends and routes for all edges.
    fn connect(&mut self, graph: &Graph) {
        let edges = self.edges(graph);
        let reach = |&(from, to): &(usize, usize)| self.items[to].layer - self.items[from].layer;
        let has_bends = edges.iter().map(reach).sum::<usize>() <= BENDS_MAX;
        let mut bends = BTreeMap::new();
        for (from, to) in edges {
            let mut items = vec![from];
            let first = self.items[from].layer + 1;
            for layer in (first..self.items[to].layer).filter(|_| has_bends) {
                // Edges from one phase share their bends as long as they run together.
                let bend = *bends.entry((from, layer)).or_insert_with(|| self.add_bend(layer));
                items.push(bend);
            }
            items.push(to);
            for pair in items.windows(2) {
                let shared = &self.items[pair[1]];
                // A shared bend already has its predecessor; a later edge through it adds none.
                if shared.phase.is_some() || shared.before.is_empty() {
                    self.items[pair[0]].after.push(pair[1]);
                    self.items[pair[1]].before.push(pair[0]);
                }
            }
            self.routes.push(EdgeRoute { from, to, items });
        }
        let stuck_pairs = graph.all.stuck.iter().flat_map(|&to| {
            let stuck = |from: &&usize| graph.all.stuck.binary_search(from).is_ok();
            graph.dependencies(to).iter().filter(stuck).map(move |&from| (from, to))
        });
        self.stuck_edges = stuck_pairs.collect();
    }

    /// Lists the edges between layers, without implied edges unless the graph is too large.
    fn edges(&self, graph: &Graph) -> Vec<(usize, usize)> {
        let small = graph.nodes.len() <= reduce::PHASES_MAX;
        let reduced = small.then(|| reduce::dependents(graph));
        let mut edges = Vec::new();
        for (from, item) in self.items.iter().enumerate() {
            let dependents = graph.dependents(from);
            for &to in dependents.iter().filter(|&&to| self.items[to].layer > item.layer) {
                let stuck = graph.all.stuck.binary_search(&to).is_ok();
                let kept =
                    reduced.as_ref().is_none_or(|kept| kept[from].binary_search(&to).is_ok());
                if stuck || kept {
                    edges.push((from, to));
                }
            }
        }
        edges
    }

    fn add_bend(&mut self, layer: usize) -> usize {
        let (before, after) = (Vec::new(), Vec::new());
        self.items.push(LayoutItem {
            phase: None,
            layer,
            middle: 0.0,
            length: BEND,
            before,
            after,
        });
        self.layers[layer].push(self.items.len() - 1);
        self.items.len() - 1
    }

    /// Sorts each layer by the average position of its neighbours in the layer before (or after).
    ///
    /// Items without such neighbours keep their position.
    fn sort_layers(&mut self, down: bool) {
        for layer in self.sequence(down) {
            let mut order = std::mem::take(&mut self.layers[layer]);
            for (place, &item) in order.iter().enumerate() {
                self.items[item].middle = self.neighbour_mean(item, down).unwrap_or(place as f64);
            }
            order.sort_by(|a, b| self.items[*a].middle.total_cmp(&self.items[*b].middle));
            for (place, &item) in order.iter().enumerate() {
                self.items[item].middle = place as f64;
            }
            self.layers[layer] = order;
        }
    }

    fn sequence(&self, down: bool) -> Vec<usize> {
        let layers = 0..self.layers.len();
        if down { layers.collect() } else { layers.rev().collect() }
    }

    /// Returns the average position of the neighbours of an item on one side.
    fn neighbour_mean(&self, item: usize, down: bool) -> Option<f64> {
        let item = &self.items[item];
        let neighbours = if down { &item.before } else { &item.after };
        let sum: f64 = neighbours.iter().map(|&other| self.items[other].middle).sum();
        (!neighbours.is_empty()).then(|| sum / neighbours.len() as f64)
    }

    /// Puts the items of each layer next to each other.
    fn pack(&mut self, gap: f64) {
        for layer in 0..self.layers.len() {
            let targets = vec![0.0; self.layers[layer].len()];
            self.place(layer, &targets, gap);
        }
    }

    /// Moves items towards their neighbours on one side as far as the gaps allow.
    fn align(&mut self, down: bool, gap: f64) {
        for layer in self.sequence(down) {
            let order = &self.layers[layer];
            let target =
                |&item: &usize| self.neighbour_mean(item, down).unwrap_or(self.items[item].middle);
            let targets: Vec<f64> = order.iter().map(target).collect();
            self.place(layer, &targets, gap);
        }
    }

    /// Positions a layer as close to the targets as order and gaps allow, by least squares.
    fn place(&mut self, layer: usize, targets: &[f64], gap: f64) {
        let order = &self.layers[layer];
        let mut offsets = Vec::with_capacity(order.len());
        let mut offset = 0.0;
        for (place, &item) in order.iter().enumerate() {
            if place > 0 {
                let before = self.items[order[place - 1]].length;
                offset += f64::midpoint(before, self.items[item].length) + gap;
            }
            offsets.push(offset);
        }
        // After subtracting the offsets, positions only must not decrease. Runs that would decrease
        // are averaged (pool adjacent violators).
        let mut runs: Vec<(f64, usize)> = Vec::new();
        for (target, offset) in targets.iter().zip(&offsets) {
            let mut run = (target - offset, 1);
            while let Some(&(mean, count)) = runs.last().filter(|(mean, _)| *mean > run.0) {
                runs.pop();
                let total = count + run.1;
                run.0 = (mean * count as f64 + run.0 * run.1 as f64) / total as f64;
                run.1 = total;
            }
            runs.push(run);
        }
        let means = runs.into_iter().flat_map(|(mean, count)| std::iter::repeat_n(mean, count));
        for ((&item, offset), mean) in self.layers[layer].iter().zip(offsets).zip(means) {
            self.items[item].middle = mean + offset;
        }
    }

    /// Moves all items so that positions start at zero, and sets the total length.
    fn shift(&mut self) {
        let ends = self.items.iter().map(|item| (item.middle, item.length / 2.0));
        let (low, high) = ends
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (at, half)| {
                (low.min(at - half), high.max(at + half))
            });
        if low.is_finite() {
            self.items.iter_mut().for_each(|item| item.middle -= low);
            self.length = high - low;
        }
    }
}
