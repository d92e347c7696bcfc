//! The drawing for the terminal: lanes and phases as lines of spans that carry a meaning.
//!
//! Decides what stands where within the given width; colours and printing are the binary's.

use std::fmt;

use super::lanes::{self, Row, Step};
use super::sheet::Sheet;
use super::{Picture, State, reduce};

/// More lanes than this cannot be followed by eye.
const LANES_MAX: usize = 12;

/// What the drawing must fit.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// The columns there are.
    pub width: usize,
    /// Whether to do without line-drawing characters.
    pub ascii: bool,
}

/// What a piece of a line means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Nothing in particular: spaces, the words of the legend.
    Plain,
    /// The name of a wave.
    Wave,
    /// Lanes.
    Edge,
    /// The mark of a phase.
    Mark(State),
    /// The number of a phase.
    Number,
    /// The name of a phase.
    Name(State),
    /// What a phase depends on.
    Needs,
    /// A cycle.
    Cycle,
}

/// One line of a drawing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line(pub Vec<(Style, String)>);

impl Line {
    pub(super) fn push(&mut self, style: Style, text: impl Into<String>) {
        let text = text.into();
        match self.0.last_mut() {
            Some((last, before)) if *last == style => before.push_str(&text),
            _ if text.is_empty() => {}
            _ => self.0.push((style, text)),
        }
    }

    /// Removes the spaces a line ends with.
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

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(_, text)| f.write_str(text))
    }
}

pub(super) fn draw(picture: &Picture<'_>, terminal: &Terminal) -> Vec<Line> {
    if picture.labels.is_empty() {
        return Vec::new();
    }
    let order: Vec<usize> = picture.graph.all.waves.iter().flatten().copied().collect();
    match laned(picture, terminal, &order) {
        Some(steps) => Sheet::new(picture, terminal, &steps).lines(&steps, true),
        None => {
            let bare = |phase: usize| Step { phase, row: Row::bare(), link: None };
            let steps: Vec<Step> = order.into_iter().map(bare).collect();
            Sheet::new(picture, terminal, &steps).lines(&steps, false)
        }
    }
}

/// Puts the phases in lanes, unless there is nothing to connect or too much of it.
fn laned(picture: &Picture<'_>, terminal: &Terminal, order: &[usize]) -> Option<Vec<Step>> {
    if order.len() > reduce::PHASES_MAX {
        return None;
    }
    let dependents = reduce::dependents(picture.graph);
    let connected = dependents.iter().any(|list| !list.is_empty());
    let most = LANES_MAX.min(terminal.width.saturating_sub(32) / 4);
    if connected { lanes::lanes(order, &dependents, most) } else { None }
}
