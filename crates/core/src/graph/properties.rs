//! Properties of every graph, including graphs with cycles, duplicates and unknown numbers.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::draw::{GraphDrawing, NodeLabel, NodeState, TerminalFormat};
use super::{Graph, GraphNode};
use crate::phase::PhaseNumber;

fn node() -> impl Strategy<Value = GraphNode> {
    let number = || (0..14_u32).prop_map(PhaseNumber::whole);
    let fields = (number(), 0..3_usize, any::<bool>(), vec(number(), 0..4), vec(number(), 0..3));
    fields.prop_map(|(number, block, done, depends_on, parallel_with)| GraphNode {
        number,
        block,
        done,
        depends_on,
        parallel_with,
    })
}

/// Graphs of any shape; about half of them have cycles.
fn any_graph() -> impl Strategy<Value = Graph> {
    let archived = vec((0..14_u32).prop_map(PhaseNumber::whole), 0..3);
    (vec(node(), 0..14), archived)
        .prop_map(|(nodes, archived)| Graph::new(nodes, &archived.into_iter().collect()))
}

/// Graphs whose phases depend only on earlier ones.
fn acyclic_graph() -> impl Strategy<Value = Graph> {
    vec((any::<bool>(), vec(any::<prop::sample::Index>(), 0..4)), 1..24).prop_map(|rows| {
        let node = |(at, (done, picks)): (usize, (bool, Vec<prop::sample::Index>))| {
            let picks = picks.iter().filter(|_| at > 0);
            let earlier = picks.map(|pick| PhaseNumber::whole(pick.index(at) as u32));
            GraphNode {
                number: PhaseNumber::whole(at as u32),
                block: 0,
                done,
                depends_on: earlier.collect(),
                parallel_with: Vec::new(),
            }
        };
        Graph::new(rows.into_iter().enumerate().map(node).collect(), &BTreeSet::new())
    })
}

fn drawing(graph: &Graph) -> GraphDrawing<'_> {
    GraphDrawing::new(graph, |index| NodeLabel {
        number: graph.nodes()[index].number.to_string(),
        name: format!("Phase name {index}"),
        state: if graph.nodes()[index].done { NodeState::Done } else { NodeState::Ready },
    })
}

proptest! {
    #[test]
    fn every_phase_is_in_one_wave_after_its_dependencies(graph in acyclic_graph()) {
        let waves = graph.waves().expect("edges lead to earlier phases only");
        let mut seen = BTreeSet::new();
        for (place, wave) in waves.iter().enumerate() {
            prop_assert!(wave.is_sorted());
            for &index in wave {
                let needs = graph.dependencies(index);
                prop_assert!(needs.iter().all(|on| seen.contains(on)));
                prop_assert!(place == 0 || needs.iter().any(|on| waves[place - 1].contains(on)));
            }
            for &index in wave {
                prop_assert!(seen.insert(index), "twice: {index}");
            }
        }
        prop_assert_eq!(seen.len(), graph.nodes().len());
    }

    #[test]
    fn every_phase_is_exactly_one_of_done_ready_or_blocked(graph in any_graph()) {
        let blocked = graph.blocked();
        prop_assert!(blocked.iter().all(|(_, on)| !on.is_empty()));
        let blocked = blocked.into_iter().map(|(index, _)| index);
        let mut all: Vec<_> = graph.completed().into_iter().chain(graph.ready()).collect();
        all.extend(blocked);
        all.sort_unstable();
        prop_assert_eq!(all, (0..graph.nodes().len()).collect::<Vec<_>>());
    }

    #[test]
    fn reported_cycles_are_real_and_name_all_stuck_phases(graph in any_graph()) {
        let Err(cyclic) = graph.waves() else { return Ok(()) };
        let mut on_cycles = BTreeSet::new();
        for cycle in &cyclic.cycles {
            prop_assert!(cycle.path.len() > 1);
            for (place, &from) in cycle.path.iter().enumerate() {
                let to = cycle.path[(place + 1) % cycle.path.len()];
                prop_assert!(graph.dependencies(from).contains(&to));
                prop_assert!(on_cycles.insert(from), "on two printed cycles: {from}");
            }
            let number = |index: usize| &graph.nodes()[index].number;
            prop_assert!(cycle.path.iter().all(|&at| number(at) >= number(cycle.path[0])));
        }
        let text = cyclic.to_string();
        for &index in &cyclic.stuck {
            let number = graph.nodes()[index].number.to_string();
            prop_assert!(graph.dependencies(index).iter().any(|on| cyclic.stuck.contains(on)));
            let named = text.split(|c: char| !c.is_ascii_digit()).any(|word| word == number);
            prop_assert!(named, "{} is missing in {}", number, text);
        }
        prop_assert!(cyclic.stuck.len() >= on_cycles.len());
    }

    #[test]
    fn waves_fail_exactly_when_a_phase_depends_on_itself_transitively(graph in any_graph()) {
        let size = graph.nodes().len();
        let mut reach: Vec<BTreeSet<usize>> =
            (0..size).map(|at| graph.dependencies(at).iter().copied().collect()).collect();
        for _ in 0..size {
            for at in 0..size {
                let further: Vec<_> =
                    reach[at].iter().flat_map(|&on| reach[on].iter().copied()).collect();
                reach[at].extend(further);
            }
        }
        let cyclic = (0..size).any(|at| reach[at].contains(&at));
        prop_assert_eq!(graph.waves().is_err(), cyclic);
    }

    #[test]
    fn the_critical_path_is_a_chain_as_long_as_there_are_waves(graph in any_graph()) {
        let path = graph.critical_path();
        prop_assert_eq!(path.len(), graph.unfinished_waves().len());
        prop_assert!(path.iter().all(|&at| !graph.nodes()[at].done));
        prop_assert!(path.windows(2).all(|pair| graph.dependencies(pair[1]).contains(&pair[0])));
    }

    #[test]
    fn edges_are_the_same_seen_from_both_ends(graph in any_graph()) {
        for at in 0..graph.nodes().len() {
            prop_assert!(!graph.dependencies(at).contains(&at));
            let (needs, needed_by) = (graph.dependencies(at), graph.dependents(at));
            prop_assert!(needs.is_sorted() && needed_by.is_sorted());
            prop_assert!(needs.iter().all(|&on| graph.dependents(on).contains(&at)));
            prop_assert!(needed_by.iter().all(|&by| graph.dependencies(by).contains(&at)));
        }
    }

    #[test]
    fn drawings_show_all_phases_within_the_width(
        graph in any_graph(),
        width in 40..100_usize,
    ) {
        let drawing = drawing(&graph);
        for ascii in [false, true] {
            let lines = drawing.terminal(&TerminalFormat { width, ascii });
            let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
            prop_assert!(lines.iter().all(|line| line.chars().count() <= width), "{lines:#?}");
            prop_assert!(!ascii || lines.iter().all(|line| line.is_ascii()), "{lines:#?}");
            let named = lines.iter().filter(|line| line.contains("Phase")).count();
            prop_assert_eq!(named, graph.nodes().len());
        }
        prop_assert_eq!(drawing.svg().matches("<g class").count(), graph.nodes().len());
        let edges: usize = (0..graph.nodes().len()).map(|at| graph.dependencies(at).len()).sum();
        let mermaid = drawing.mermaid();
        let arrows = |text: &str, arrow: &str| text.matches(arrow).count();
        prop_assert_eq!(arrows(&mermaid, " --> ") + arrows(&mermaid, " ==> "), edges);
        let dot = drawing.dot();
        prop_assert_eq!(arrows(&dot, " -> ") - arrows(&dot, "dashed"), edges);
    }

    #[test]
    fn boxes_never_overlap(graph in any_graph()) {
        let svg = drawing(&graph).svg();
        let places: Vec<(i64, i64)> = svg.split("translate(").skip(1).map(parse_place).collect();
        for (at, one) in places.iter().enumerate() {
            for other in &places[..at] {
                let apart = (one.0 - other.0).abs() >= 196 || (one.1 - other.1).abs() >= 68;
                prop_assert!(apart, "{one:?} {other:?}");
            }
        }
    }
}

fn parse_place(text: &str) -> (i64, i64) {
    let (x, rest) = text.split_once(' ').expect("two numbers");
    let y = rest.split(')').next().expect("a bracket");
    (x.parse().expect("a number"), y.parse().expect("a number"))
}
