//! Following the drawn lanes from top to bottom finds every edge of the graph and no other.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{LaneCell, LaneRow, LaneStep, lanes};

/// Follows the lanes from top to bottom and returns, for each phase, the phases its lane comes
/// from.
fn follow(steps: &[LaneStep], phases: usize) -> Vec<BTreeSet<usize>> {
    let mut sources = vec![BTreeSet::new(); phases];
    let mut lanes: Vec<BTreeSet<usize>> = Vec::new();
    for step in steps {
        lanes.resize(step.row.cells.len().max(lanes.len()), BTreeSet::new());
        let mut column = 0;
        for (at, cell) in step.row.cells.iter().enumerate() {
            match cell {
                LaneCell::Phase => column = at,
                LaneCell::Lane => assert!(!lanes[at].is_empty(), "a lane without a source"),
                LaneCell::Empty => lanes[at].clear(),
                LaneCell::Joint { .. } => panic!("a joint in the row of a phase"),
            }
        }
        sources[step.phase] = std::mem::take(&mut lanes[column]);
        match &step.link {
            Some(link) => follow_link(&mut lanes, link, step.phase),
            // A phase right below would look like a dependent.
            None => lanes[column] = BTreeSet::from([step.phase]),
        }
    }
    sources
}

fn follow_link(lanes: &mut Vec<BTreeSet<usize>>, link: &LaneRow, phase: usize) {
    lanes.resize(link.cells.len().max(lanes.len()), BTreeSet::new());
    for (at, cell) in link.cells.iter().enumerate() {
        match *cell {
            LaneCell::Joint { up, down, .. } => {
                if !up || !down {
                    lanes[at].clear();
                }
                if down {
                    lanes[at].insert(phase);
                }
            }
            LaneCell::Lane => assert!(!lanes[at].is_empty(), "a lane without a source"),
            LaneCell::Empty => lanes[at].clear(),
            LaneCell::Phase => panic!("a phase in a link row"),
        }
    }
}

proptest! {
    #[test]
    fn lanes_show_every_edge_and_no_other(
        picks in vec(vec(any::<prop::sample::Index>(), 0..3), 1..20),
    ) {
        let mut needs = vec![BTreeSet::new(); picks.len()];
        let mut dependents = vec![Vec::new(); picks.len()];
        for (to, picks) in picks.iter().enumerate().skip(1) {
            needs[to] = picks.iter().map(|pick| pick.index(to)).collect();
            needs[to].iter().for_each(|&from| dependents[from].push(to));
        }
        let order: Vec<usize> = (0..picks.len()).collect();
        let steps = lanes(&order, &dependents, usize::MAX).expect("no limit");
        prop_assert_eq!(follow(&steps, picks.len()), needs);
    }
}

#[test]
fn too_many_lanes_are_refused() {
    let dependents = [vec![1, 2, 3], vec![], vec![], vec![]];
    assert!(lanes(&[0, 1, 2, 3], &dependents, 2).is_none());
    assert!(lanes(&[0, 1, 2, 3], &dependents, 3).is_some());
}
