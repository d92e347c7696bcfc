//! Draws the graph for the terminal as lines of spans.
//!
//! Each span has a kind; the binary maps kinds to colours and prints the lines.

use std::fmt;

use super::lanes::{self, LaneRow, LaneStep};
use super::terminal_columns::TerminalColumns;
use super::{GraphDrawing, NodeState, reduce};

/// A drawing with more lanes is not readable.
const LANES_MAX: usize = 12;

/// The limits of the terminal.
#[derive(Clone, Copy, Debug)]
pub struct TerminalFormat {
    /// The number of columns.
    pub width: usize,
    /// Whether to use only ASCII characters.
    pub ascii: bool,
}

/// The meaning of a part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Spaces and the words of the legend.
    Plain,
    /// The name of a wave, such as `Wave 2`.
    Wave,
    /// The lines of lanes.
    Edge,
    /// The symbol for the state of a phase.
    Mark(NodeState),
    /// The number of a phase.
    Number,
    /// The name of a phase.
    Name(NodeState),
    /// The list of dependencies of a phase.
    Needs,
    /// The description of a dependency cycle.
    Cycle,
}

/// One line of a terminal drawing, as spans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StyledLine(pub Vec<(SpanKind, String)>);

impl StyledLine {
    /// Appends a text; it joins the last span if the kind is the same.
    pub(super) fn push(&mut self, kind: SpanKind, text: impl Into<String>) {
        let text = text.into();
        match self.0.last_mut() {
            Some((last, before)) if *last == kind => before.push_str(&text),
            _ if text.is_empty() => {}
            _ => self.0.push((kind, text)),
        }
    }

    /// Removes trailing spaces.
    pub(super) fn trimmed(mut self) -> Self {
        while let Some((_, text)) = self.0.last_mut() {
            text.truncate(text.trim_end().len());
            if !text.is_empty() {
                break;
            }
            self.0.pop();
        }
        self
    }
}

impl fmt::Display for StyledLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(_, text)| f.write_str(text))
    }
}

pub(super) fn draw(drawing: &GraphDrawing<'_>, terminal: &TerminalFormat) -> Vec<StyledLine> {
    if drawing.labels.is_empty() {
        return Vec::new();
    }
    let order: Vec<usize> = drawing.graph.all.waves.iter().flatten().copied().collect();
    match compute_lanes(drawing, terminal, &order) {
        Some(steps) => TerminalColumns::new(drawing, terminal, &steps).lines(&steps, true),
        None => {
            let bare = |phase: usize| LaneStep { phase, row: LaneRow::bare(), link: None };
            let steps: Vec<LaneStep> = order.into_iter().map(bare).collect();
            TerminalColumns::new(drawing, terminal, &steps).lines(&steps, false)
        }
    }
}

/// Computes lanes; `None` if there are no edges, too many phases or too many lanes.
fn compute_lanes(
    drawing: &GraphDrawing<'_>,
    terminal: &TerminalFormat,
    order: &[usize],
) -> Option<Vec<LaneStep>> {
    if order.len() > reduce::PHASES_MAX {
        return None;
    }
    let dependents = reduce::dependents(drawing.graph);
    let has_edges = dependents.iter().any(|list| !list.is_empty());
    let lanes_max = LANES_MAX.min(terminal.width.saturating_sub(32) / 4);
    if has_edges { lanes::lanes(order, &dependents, lanes_max) } else { None }
}
