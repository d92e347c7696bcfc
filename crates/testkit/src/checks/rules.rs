//! Checks of the rules: numbers, dependency texts, graphs.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use mow_core::depends_on::{self as dependencies, DependencyContext};
use mow_core::graph::draw::{GraphDrawing, NodeLabel, NodeState, TerminalFormat};
use mow_core::graph::{Graph, GraphNode};
use mow_core::phase::PhaseNumber;

use super::Input;

/// Phase numbers: every spelling of a number is the number, and the order agrees with equality.
pub fn phase_number(bytes: &[u8]) {
    let input = Input::new(bytes);
    let text = String::from_utf8_lossy(input.file);
    if let Some((_, rest)) = PhaseNumber::parse_prefix(&text) {
        assert!(text.ends_with(rest) && rest.len() < text.len());
    }
    let Some(number) = PhaseNumber::parse(&text) else { return };
    assert_eq!(PhaseNumber::parse(&number.to_string()), Some(number));
    assert_eq!(PhaseNumber::parse(&number.padded()), Some(number));
    assert!(PhaseNumber::parse(&number.canonical()).is_some());
    let Some(other) = PhaseNumber::parse(&input.value) else { return };
    assert_eq!(number.cmp(&other) == Ordering::Equal, number == other);
    assert_eq!(number.cmp(&other), other.cmp(&number).reverse());
    assert!(
        number.major() == other.major() || number.major().cmp(&other.major()) == number.cmp(&other)
    );
}

/// Dependency texts: sorted numbers, each once, never the phase itself.
pub fn depends(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut known: Vec<_> = (1..40).map(PhaseNumber::whole).collect();
    known.extend(["2.1", "3.1c", "36a", "9.05"].iter().filter_map(|text| PhaseNumber::parse(text)));
    let own = PhaseNumber::whole(12);
    let found = dependencies::parse(
        &text,
        DependencyContext { phase: &own, block_phases: &known, milestone_phases: &known },
    );
    assert!(found.is_sorted_by(|a, b| a < b), "{found:?}");
    assert!(!found.contains(&own));
}

/// Graphs: every phase in one wave behind what it needs, and every drawing holds every phase.
pub fn graph(bytes: &[u8]) {
    let mut bytes = bytes.iter().copied();
    let width = 40 + usize::from(bytes.next().unwrap_or(0)) / 2;
    let mut nodes = Vec::new();
    while let Some(first) = bytes.next() {
        nodes.push(node(first, &mut bytes));
    }
    let archived = BTreeSet::from([PhaseNumber::whole(1), PhaseNumber::whole(30)]);
    let graph = Graph::new(nodes, &archived);
    edges_agree(&graph);
    waves_are_in_order(&graph);
    let mut all = graph.completed();
    all.extend(graph.ready());
    all.extend(graph.blocked().into_iter().map(|(index, _)| index));
    all.sort_unstable();
    assert!(all.into_iter().eq(0..graph.nodes().len()));
    assert_eq!(graph.critical_path().len(), graph.unfinished_waves().len());
    assert!(graph.speedup_bound() <= graph.widest_wave().max(1) as f64);
    drawings_hold_every_phase(&graph, width);
}

/// Reads a phase: its number, its block, whether it is done, and up to three references.
fn node(first: u8, bytes: &mut impl Iterator<Item = u8>) -> GraphNode {
    let number = |byte: u8| PhaseNumber::whole(u32::from(byte % 32));
    let flags = bytes.next().unwrap_or(0);
    let mut references = |count: u8| bytes.by_ref().take(count.into()).map(number).collect();
    GraphNode {
        number: number(first),
        block: usize::from(first >> 6),
        done: flags & 1 == 1,
        depends_on: references(flags >> 1 & 3),
        parallel_with: references(flags >> 3 & 1),
    }
}

fn edges_agree(graph: &Graph) {
    for at in 0..graph.nodes().len() {
        let (needs, needed_by) = (graph.dependencies(at), graph.dependents(at));
        assert!(needs.is_sorted() && needed_by.is_sorted() && !needs.contains(&at));
        assert!(needs.iter().all(|&on| graph.dependents(on).binary_search(&at).is_ok()));
    }
}

fn waves_are_in_order(graph: &Graph) {
    let waves = match graph.waves() {
        Ok(waves) => waves,
        Err(cyclic) => {
            assert!(!cyclic.cycles.is_empty() && !cyclic.to_string().is_empty());
            return;
        }
    };
    let mut seen = vec![false; graph.nodes().len()];
    for wave in waves {
        assert!(wave.iter().all(|&at| graph.dependencies(at).iter().all(|&on| seen[on])));
        for &at in wave {
            assert!(!std::mem::replace(&mut seen[at], true));
        }
    }
    assert!(seen.into_iter().all(|seen| seen));
}

fn drawings_hold_every_phase(graph: &Graph, width: usize) {
    let picture = GraphDrawing::new(graph, |at| NodeLabel {
        number: graph.nodes()[at].number.to_string(),
        name: format!("Phase <b>&\"{at}"),
        state: if graph.nodes()[at].done { NodeState::Done } else { NodeState::Ready },
    });
    for ascii in [false, true] {
        let lines = picture.terminal(&TerminalFormat { width, ascii });
        let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
        assert!(lines.iter().all(|line| line.chars().count() <= width), "{lines:#?}");
        let named = lines.iter().filter(|line| line.contains("Phase")).count();
        assert_eq!(named, graph.nodes().len());
    }
    picture.terminal(&TerminalFormat { width: width - 40, ascii: true });
    assert_eq!(picture.svg().matches("<g class").count(), graph.nodes().len());
    assert!(!picture.svg().contains("<b>"));
    assert!(picture.mermaid().lines().count() >= graph.nodes().len());
    assert!(picture.dot().lines().count() >= graph.nodes().len());
}
