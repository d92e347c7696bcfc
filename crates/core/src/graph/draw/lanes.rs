//! Computes the lanes next to the phases in the terminal drawing.
//!
//! Each phase has one row, and a second row below it if lanes fork or join there. A lane belongs to
//! a phase further down and collects all edges to it, so a lane ends exactly at its phase. A
//! horizontal line that crosses a lane without joining it is interrupted there.

use std::collections::BTreeSet;

/// One column of a row of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaneCell {
    /// No lane.
    Empty,
    /// A lane going straight down.
    Lane,
    /// The mark of the phase of this row.
    Phase,
    /// A corner or a fork, with the directions of its lines.
    Joint { up: bool, down: bool, left: bool, right: bool },
}

/// A row of lanes; `line` is the first and last column of its horizontal line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LaneRow {
    pub(super) cells: Vec<LaneCell>,
    pub(super) line: Option<(usize, usize)>,
}

impl LaneRow {
    /// Returns a row with only the mark of a phase, for drawings without lanes.
    pub(super) fn bare() -> Self {
        Self { cells: vec![LaneCell::Phase], line: None }
    }
}

/// The rows of one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LaneStep {
    pub(super) phase: usize,
    pub(super) row: LaneRow,
    /// The row below the phase, if lanes fork or join there.
    pub(super) link: Option<LaneRow>,
}

/// Computes the rows of the phases in the given order.
///
/// Returns `None` when more than `lanes_max` lanes are needed.
pub(super) fn lanes(
    order: &[usize],
    dependents: &[Vec<usize>],
    lanes_max: usize,
) -> Option<Vec<LaneStep>> {
    let mut open = OpenLanes { lanes: Vec::new(), blocked_column: None };
    let mut steps = Vec::with_capacity(order.len());
    for &phase in order {
        steps.push(open.step(phase, &dependents[phase]));
        if open.lanes.len() > lanes_max {
            return None;
        }
    }
    Some(steps)
}

/// The open lanes: for each column, the phase that its lane leads to.
struct OpenLanes {
    lanes: Vec<Option<usize>>,
    /// The column of a phase in the row before that has no dependents. It stays empty for one row:
    /// a phase right below would look like a dependent.
    blocked_column: Option<usize>,
}

impl OpenLanes {
    /// Draws a phase, closes its lane and opens lanes to its dependents.
    fn step(&mut self, phase: usize, targets: &[usize]) -> LaneStep {
        let column = self.column_of(phase).unwrap_or_else(|| self.free_column(0));
        self.lanes[column] = None;
        let mut cells: Vec<LaneCell> = self.lanes.iter().map(straight).collect();
        cells[column] = LaneCell::Phase;
        let row = LaneRow { cells, line: None };

        let above: Vec<bool> =
            (0..self.lanes.len()).map(|at| at == column || self.lanes[at].is_some()).collect();
        self.blocked_column = None;
        let mut joined = BTreeSet::from([column]);
        let mut is_column_reused = false;
        for &target in targets {
            let at = match self.column_of(target) {
                Some(at) => at,
                None if is_column_reused => self.free_column(column),
                None => column,
            };
            is_column_reused |= at == column;
            self.lanes[at] = Some(target);
            joined.insert(at);
        }
        if joined.len() == 1 {
            self.blocked_column = self.lanes[column].is_none().then_some(column);
            return LaneStep { phase, row, link: None };
        }
        LaneStep { phase, row, link: Some(self.link(&above, &joined)) }
    }

    /// Returns the row that connects the columns in `joined`.
    fn link(&self, above: &[bool], joined: &BTreeSet<usize>) -> LaneRow {
        let first = joined.first().copied().unwrap_or(0);
        let last = joined.last().copied().unwrap_or(0);
        let cell = |at: usize| {
            if joined.contains(&at) {
                let up = above.get(at).copied().unwrap_or(false);
                let down = self.lanes[at].is_some();
                return LaneCell::Joint { up, down, left: at > first, right: at < last };
            }
            straight(&self.lanes[at])
        };
        LaneRow { cells: (0..self.lanes.len()).map(cell).collect(), line: Some((first, last)) }
    }

    fn column_of(&self, phase: usize) -> Option<usize> {
        self.lanes.iter().position(|lane| *lane == Some(phase))
    }

    /// Returns a free column: the nearest at or right of `from`, else the nearest left of it, else
    /// a new one.
    fn free_column(&mut self, from: usize) -> usize {
        let free = |at: &usize| self.lanes[*at].is_none() && self.blocked_column != Some(*at);
        let right = (from..self.lanes.len()).find(free);
        right.or_else(|| (0..from).rev().find(free)).unwrap_or_else(|| {
            self.lanes.push(None);
            self.lanes.len() - 1
        })
    }
}

fn straight(lane: &Option<usize>) -> LaneCell {
    if lane.is_some() { LaneCell::Lane } else { LaneCell::Empty }
}

#[cfg(test)]
mod tests;
