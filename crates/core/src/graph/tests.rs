//! Waves, ready and blocked phases of small roadmaps.
//!
//! `2<-1,3|4` is phase 2, which depends on 1 and 3 and may run in parallel with 4. `+` marks a
//! finished phase, and `/` starts a new numbering block.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Graph, GraphNode};
use crate::phase::PhaseNumber;

fn numbers(text: &str) -> Vec<PhaseNumber> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| PhaseNumber::parse(word).expect("a number")).collect()
}

/// Parses a small roadmap.
pub(super) fn parse_nodes(text: &str) -> Vec<GraphNode> {
    let mut nodes = Vec::new();
    for (block, part) in text.split('/').enumerate() {
        for phase in part.split(';').map(str::trim).filter(|phase| !phase.is_empty()) {
            let (phase, parallel) = phase.split_once('|').unwrap_or((phase, ""));
            let (number, needs) = phase.split_once("<-").unwrap_or((phase, ""));
            let done = number.starts_with('+');
            let number = number.trim_start_matches('+').trim();
            nodes.push(GraphNode {
                number: PhaseNumber::parse(number).expect("a number"),
                block,
                done,
                depends_on: numbers(needs),
                parallel_with: numbers(parallel),
            });
        }
    }
    nodes
}

/// Returns the number of a phase, with its index if the number is not unique.
fn name(graph: &Graph, index: usize) -> String {
    let number = &graph.nodes()[index].number;
    let twice = graph.nodes().iter().filter(|node| node.number == *number).count() > 1;
    if twice { format!("{number}@{index}") } else { number.to_string() }
}

fn list(graph: &Graph, indices: &[usize]) -> String {
    indices.iter().map(|&index| name(graph, index)).collect::<Vec<_>>().join(" ")
}

/// Prints every result of the graph, without empty lines.
fn print(graph: &Graph) -> String {
    let mut text = String::new();
    let mut print_line = |key: &str, value: String| {
        if !value.is_empty() {
            writeln!(text, "{key}: {value}").expect("writing to a string cannot fail");
        }
    };
    match graph.waves() {
        Ok(waves) => {
            let waves: Vec<_> = waves.iter().map(|wave| list(graph, wave)).collect();
            print_line("waves", waves.join(" | "));
        }
        Err(cyclic) => {
            print_line("error", cyclic.to_string());
            print_line("stuck", list(graph, &cyclic.stuck));
        }
    }
    print_line("done", list(graph, &graph.completed()));
    print_line("ready", list(graph, &graph.ready()));
    let blocked = graph.blocked().into_iter();
    let blocked = blocked.map(|(at, on)| format!("{} (on {})", name(graph, at), list(graph, &on)));
    print_line("blocked", blocked.collect::<Vec<_>>().join(" "));
    print_line("path", list(graph, &graph.critical_path()));
    let gain = (graph.widest_wave(), graph.speedup_bound());
    print_line("width", format!("{} gain {:.2}", gain.0, gain.1));
    let outside = |refs: &[super::UnresolvedRef]| {
        refs.iter()
            .map(|r| format!("{}->{}", name(graph, r.from), r.to))
            .collect::<Vec<_>>()
            .join(" ")
    };
    print_line("missing", outside(graph.missing_refs()));
    print_line("archived", outside(graph.archived_refs()));
    print_line("self", list(graph, graph.self_refs()));
    text
}

fn graph(roadmap: &str) -> Graph {
    Graph::new(parse_nodes(roadmap), &BTreeSet::new())
}

fn check(roadmap: &str, expected: &str) {
    let expected: Vec<_> =
        expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let printed = print(&graph(roadmap));
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected, "for {roadmap}");
}

#[test]
fn the_middle_of_a_diamond_runs_in_parallel() {
    check(
        "1; 2<-1; 3<-1; 4<-2,3",
        "waves: 1 | 2 3 | 4
         ready: 1
         blocked: 2 (on 1) 3 (on 1) 4 (on 2 3)
         path: 1 2 4
         width: 2 gain 1.33",
    );
}

#[test]
fn finished_phases_unblock_their_dependents() {
    check(
        "+1; 2<-1; +3<-1; 4<-3; 5<-2,3",
        "waves: 1 | 2 3 | 4 5
         done: 1 3
         ready: 2 4
         blocked: 5 (on 2)
         path: 2 5
         width: 2 gain 1.50",
    );
}

#[test]
fn a_finished_phase_unblocks_others_even_if_its_own_dependency_is_unfinished() {
    check(
        "1; +2<-1; 3<-2",
        "waves: 1 | 2 | 3
         done: 2
         ready: 1 3
         path: 1
         width: 2 gain 2.00",
    );
}

#[test]
fn waves_follow_edges_and_not_numbers() {
    check(
        "1<-6.10; 6.2; 6.10<-6.2",
        "waves: 6.2 | 6.10 | 1
         ready: 6.2
         blocked: 1 (on 6.10) 6.10 (on 6.2)
         path: 6.2 6.10 1
         width: 1 gain 1.00",
    );
}

#[test]
fn a_finished_or_empty_roadmap_has_no_speedup() {
    check("", "width: 0 gain 1.00");
    check("+1; +2<-1", "waves: 1 | 2\n done: 1 2\n width: 0 gain 1.00");
}

#[test]
fn unknown_references_count_as_satisfied_and_are_reported() {
    check(
        "1<-7; 2<-1,8,7",
        "waves: 1 | 2
         ready: 1
         blocked: 2 (on 1)
         path: 1 2
         width: 1 gain 1.00
         missing: 1->7 2->7 2->8",
    );
}

#[test]
fn archived_references_are_satisfied_without_a_warning() {
    let archived = numbers("7, 1").into_iter().collect();
    let graph = Graph::new(parse_nodes("10<-7; 11<-1,9; 1"), &archived);
    let printed = print(&graph);
    assert!(printed.contains("archived: 10->7\n"), "{printed}");
    assert!(printed.contains("missing: 11->9\n"), "{printed}");
    assert!(printed.contains("waves: 10 1 | 11\n"), "the roadmap comes first: {printed}");
}

#[test]
fn a_phase_does_not_wait_for_itself() {
    check(
        "1<-1; 2<-1,2,1",
        "waves: 1 | 2
         ready: 1
         blocked: 2 (on 1)
         path: 1 2
         width: 1 gain 1.00
         self: 1 2",
    );
}

#[test]
fn numbers_are_looked_up_in_the_own_block_then_before_then_after() {
    check(
        "1; 2<-1 / 1; 3<-1,2,5 / 1; 2 / 5",
        "waves: 1@0 1@2 1@4 2@5 5 | 2@1 | 3
         ready: 1@0 1@2 1@4 2@5 5
         blocked: 2@1 (on 1@0) 3 (on 2@1 1@2 5)
         path: 1@0 2@1 3
         width: 5 gain 2.33",
    );
}

#[test]
fn the_nearest_earlier_block_wins() {
    let graph = graph("7 / 7 / 8<-7 / 7");
    assert_eq!(graph.dependencies(2), [1]);
    assert_eq!(graph.dependents(1), [2]);
}

#[test]
fn duplicate_numbers_in_a_block_are_both_kept() {
    check(
        "1; 1; 2<-1",
        "waves: 1@0 1@1 | 2
         ready: 1@0 1@1
         blocked: 2 (on 1@0)
         path: 1@0 2
         width: 2 gain 1.50",
    );
}

#[test]
fn a_cycle_is_reported_and_other_phases_stay_ready() {
    check(
        "1; 2<-1; 3<-5,2; 4<-3; 5<-4; 6<-5",
        "error: dependency cycle: 3 → 5 → 4 → 3 (also stuck: 6)
         stuck: 3 4 5 6
         ready: 1
         blocked: 2 (on 1) 3 (on 2 5) 4 (on 3) 5 (on 4) 6 (on 5)
         path: 1 2
         width: 1 gain 1.00",
    );
}

#[test]
fn every_component_reports_one_cycle_smallest_first() {
    check(
        "9<-8; 8<-9; 2<-3; 3<-4,2; 4<-2",
        "error: dependency cycle: 2 → 3 → 2; 8 → 9 → 8 (also stuck: 4)
         stuck: 9 8 2 3 4
         blocked: 9 (on 8) 8 (on 9) 2 (on 3) 3 (on 2 4) 4 (on 2)
         width: 0 gain 1.00",
    );
}

#[test]
fn a_finished_phase_breaks_a_cycle_for_readiness_but_not_for_waves() {
    check(
        "+1<-2; 2<-1; 3<-2",
        "error: dependency cycle: 1 → 2 → 1 (also stuck: 3)
         stuck: 1 2 3
         done: 1
         ready: 2
         blocked: 3 (on 2)
         path: 2 3
         width: 1 gain 1.00",
    );
}

#[test]
fn parallel_with_is_advice_and_no_edge() {
    let graph = graph("1; 2|1,2,9; 3<-2|1");
    assert_eq!(graph.parallel_with(1), [0]);
    assert_eq!(graph.parallel_with(2), [0]);
    assert_eq!(graph.waves(), Ok(&[vec![0, 1], vec![2]][..]));
    assert!(graph.missing_refs().is_empty());
}

/// Phases 1 to `count`; each depends on the phases that `needs` returns.
fn many(count: u32, needs: impl Fn(u32) -> Vec<u32>) -> Graph {
    let node = |number| GraphNode {
        number: PhaseNumber::whole(number),
        block: 0,
        done: false,
        depends_on: needs(number).into_iter().map(PhaseNumber::whole).collect(),
        parallel_with: Vec::new(),
    };
    Graph::new((1..=count).map(node).collect(), &BTreeSet::new())
}

#[test]
fn a_chain_of_fifty_thousand_is_walked_without_recursion() {
    let chain = many(50_000, |n| if n == 1 { vec![] } else { vec![n - 1] });
    assert_eq!(chain.waves().map(<[_]>::len), Ok(50_000));
    assert_eq!(chain.critical_path().len(), 50_000);
    let cycle = many(50_000, |n| vec![if n == 1 { 50_000 } else { n - 1 }]);
    let cyclic = cycle.waves().expect_err("a cycle has no waves");
    assert_eq!(cyclic.cycles.len(), 1);
    assert_eq!(cyclic.cycles[0].path.len(), 50_000);
    assert_eq!(cyclic.stuck.len(), 50_000);
}

#[test]
fn a_wide_graph_keeps_document_order() {
    let wide = many(20_000, |n| if n == 1 { vec![] } else { vec![1] });
    let waves = wide.waves().expect("no cycle");
    assert_eq!(waves.len(), 2);
    assert!(waves[1].is_sorted());
    assert_eq!(wide.widest_wave(), 19_999);
}
