//! Small roadmaps whose times can be calculated by hand.

use super::*;
use crate::graph::GraphNode;
use crate::phase::PhaseNumber;

const SHARES: AheadShares = AheadShares { research: 20, plan: 15 };

/// Builds phases 1, 2, ... from their lists of dependencies.
fn graph(phases: &[&[u32]]) -> Graph {
    let nodes = (1..).zip(phases).map(|(number, on)| GraphNode {
        number: PhaseNumber::whole(number),
        block: 0,
        done: false,
        depends_on: on.iter().map(|n| PhaseNumber::whole(*n)).collect(),
        parallel_with: Vec::new(),
    });
    Graph::new(nodes.collect(), &BTreeSet::new())
}

fn forecast(phases: &[&[u32]]) -> Forecast {
    Forecast::new(&graph(phases), |_| 1, SHARES).unwrap()
}

fn times(forecast: &Forecast, workers: usize, merge_at_once: bool) -> [u64; 3] {
    Lookahead::ALL
        .map(|lookahead| forecast.makespan(ForecastPolicy { workers, lookahead, merge_at_once }))
}

#[test]
fn look_ahead_shortens_a_chain() {
    let chain = forecast(&[&[], &[1], &[2], &[3], &[4], &[5]]);
    assert_eq!(chain.sequential(), 600);
    assert_eq!(times(&chain, 3, false), [600, 500, 425]);
    assert_eq!(times(&chain, 3, true), [600, 500, 425]);
    assert_eq!(times(&chain, 1, false), [600, 600, 600], "no slot is free");
}

#[test]
fn waves_wait_for_their_slowest_phase() {
    let graph = graph(&[&[], &[], &[1], &[2]]);
    let uneven = Forecast::new(&graph, |index| [3, 1, 1, 3][index], SHARES).unwrap();
    assert_eq!(uneven.sequential(), 800);
    assert_eq!(times(&uneven, 2, false)[0], 600);
    assert_eq!(times(&uneven, 2, true)[0], 400, "4 begins when 2 is merged");
}

#[test]
fn the_worker_count_limits_parallel_phases() {
    let wide = forecast(&[&[], &[], &[], &[]]);
    assert_eq!([1, 2, 3, 4].map(|workers| times(&wide, workers, false)[0]), [400, 200, 200, 100]);
}

#[test]
fn finished_phases_take_no_time_and_a_cycle_is_an_error() {
    let mut nodes = graph(&[&[], &[1]]).nodes().to_vec();
    nodes[0].done = true;
    let rest = Forecast::new(&Graph::new(nodes, &BTreeSet::new()), |_| 2, SHARES).unwrap();
    assert_eq!((rest.phases(), rest.sequential()), (1, 200));
    assert_eq!(times(&rest, 3, false), [200, 200, 200]);
    assert!(Forecast::new(&graph(&[&[2], &[1]]), |_| 1, SHARES).is_err());
    assert_eq!(times(&forecast(&[]), 3, false), [0, 0, 0]);
}

#[test]
fn look_ahead_is_never_slower_on_parallel_chains() {
    for width in 1..5_u32 {
        let phases: Vec<Vec<u32>> =
            (0..24).map(|n| if n < width { Vec::new() } else { vec![n - width + 1] }).collect();
        let phases: Vec<&[u32]> = phases.iter().map(Vec::as_slice).collect();
        let [off, research, plan] = times(&forecast(&phases), 6, true);
        assert!(off >= research && research >= plan, "{width}: {off} {research} {plan}");
    }
}
