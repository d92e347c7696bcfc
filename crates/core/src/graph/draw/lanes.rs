//! Lanes beside the phases, one row for each phase and one where lanes fork or join.
//!
//! A lane stands for a phase still to come and gathers the edges that lead to it, so that a lane
//! ends exactly at its phase. A line that passes under a lane without touching it is interrupted.

use std::collections::BTreeSet;

/// One place in a row of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// No lane.
    Empty,
    /// A lane going straight down.
    Lane,
    /// The phase itself.
    Phase,
    /// A corner or a fork: where it leads.
    Joint { up: bool, down: bool, left: bool, right: bool },
}

/// A row of lanes; `line` tells between which columns a line runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) cells: Vec<Cell>,
    pub(super) line: Option<(usize, usize)>,
}

impl Row {
    /// Returns the row of a phase that is drawn without lanes.
    pub(super) fn bare() -> Self {
        Self { cells: vec![Cell::Phase], line: None }
    }
}

/// The lanes at one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) phase: usize,
    pub(super) row: Row,
    /// Where lanes fork or join below the phase.
    pub(super) link: Option<Row>,
}

/// Draws the phases in the given order, or nothing when more than `most` lanes are needed.
pub(super) fn lanes(order: &[usize], dependents: &[Vec<usize>], most: usize) -> Option<Vec<Step>> {
    let mut open = Open { lanes: Vec::new(), resting: None };
    let mut steps = Vec::with_capacity(order.len());
    for &phase in order {
        steps.push(open.step(phase, &dependents[phase]));
        if open.lanes.len() > most {
            return None;
        }
    }
    Some(steps)
}

/// The lanes that are open: for each column the phase it leads to.
struct Open {
    lanes: Vec<Option<usize>>,
    /// The column of a phase that ended its lane in the row before. Another phase right below it
    /// would look like its follower.
    resting: Option<usize>,
}

impl Open {
    fn step(&mut self, phase: usize, targets: &[usize]) -> Step {
        let column = self.column_of(phase).unwrap_or_else(|| self.free_column(0));
        self.lanes[column] = None;
        let mut cells: Vec<Cell> = self.lanes.iter().map(straight).collect();
        cells[column] = Cell::Phase;
        let row = Row { cells, line: None };

        let above: Vec<bool> =
            (0..self.lanes.len()).map(|at| at == column || self.lanes[at].is_some()).collect();
        self.resting = None;
        let mut touched = BTreeSet::from([column]);
        let mut inherited = false;
        for &target in targets {
            let at = match self.column_of(target) {
                Some(at) => at,
                None if inherited => self.free_column(column),
                None => column,
            };
            inherited |= at == column;
            self.lanes[at] = Some(target);
            touched.insert(at);
        }
        if touched.len() == 1 {
            self.resting = self.lanes[column].is_none().then_some(column);
            return Step { phase, row, link: None };
        }
        Step { phase, row, link: Some(self.link(&above, &touched)) }
    }

    fn link(&self, above: &[bool], touched: &BTreeSet<usize>) -> Row {
        let first = touched.first().copied().unwrap_or(0);
        let last = touched.last().copied().unwrap_or(0);
        let cell = |at: usize| {
            if touched.contains(&at) {
                let up = above.get(at).copied().unwrap_or(false);
                let down = self.lanes[at].is_some();
                return Cell::Joint { up, down, left: at > first, right: at < last };
            }
            straight(&self.lanes[at])
        };
        Row { cells: (0..self.lanes.len()).map(cell).collect(), line: Some((first, last)) }
    }

    fn column_of(&self, phase: usize) -> Option<usize> {
        self.lanes.iter().position(|lane| *lane == Some(phase))
    }

    /// Finds a free column, at or right of `from` before left of it, or opens one.
    fn free_column(&mut self, from: usize) -> usize {
        let free = |at: &usize| self.lanes[*at].is_none() && self.resting != Some(*at);
        let right = (from..self.lanes.len()).find(free);
        right.or_else(|| (0..from).rev().find(free)).unwrap_or_else(|| {
            self.lanes.push(None);
            self.lanes.len() - 1
        })
    }
}

fn straight(lane: &Option<usize>) -> Cell {
    if lane.is_some() { Cell::Lane } else { Cell::Empty }
}

#[cfg(test)]
mod tests;
