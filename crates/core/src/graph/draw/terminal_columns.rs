//! Lays out the columns of the terminal drawing: wave, lanes, number, name, dependencies.
//!
//! Computes the width of each column and writes the lines. [`super::lanes`] computes the lanes.

use super::label_text::{pad, shorten, width};
use super::lanes::{LaneCell, LaneRow, LaneStep};
use super::terminal::{SpanKind, StyledLine, TerminalFormat};
use super::{GraphDrawing, NodeState};
use crate::graph::UnresolvedRef;

/// The maximum width of the list of dependencies.
const NEEDS_MAX: usize = 26;
/// The minimum width of names, even on a narrow terminal.
const NAME_MIN: usize = 8;
/// The maximum width of phase numbers.
const NUMBER_MAX: usize = 12;

/// The characters of a drawing.
struct Glyphs {
    /// The marks for done, running, ready and blocked.
    marks: [&'static str; 4],
    lane: &'static str,
    line: &'static str,
    /// Corners and forks, indexed by the sum of their directions: up 8, down 4, left 2, right 1.
    joints: [&'static str; 16],
    needs: &'static str,
    then: &'static str,
    cut: &'static str,
}

static BOXES: Glyphs = Glyphs {
    marks: ["●", "◐", "○", "◌"],
    lane: "│",
    line: "─",
    joints: [" ", "─", "─", "─", "│", "╭", "╮", "┬", "│", "╰", "╯", "┴", "│", "├", "┤", "┼"],
    needs: "← ",
    then: " → ",
    cut: "…",
};

static ASCII: Glyphs = Glyphs {
    marks: ["*", "@", "o", "."],
    lane: "|",
    line: "-",
    joints: [" ", "-", "-", "-", "|", "/", "\\", "+", "|", "\\", "/", "+", "|", "+", "+", "+"],
    needs: "<- ",
    then: " -> ",
    cut: "~",
};

impl Glyphs {
    fn mark(&self, state: NodeState) -> &'static str {
        let [done, running, ready, blocked] = self.marks;
        match state {
            NodeState::Done => done,
            NodeState::Running => running,
            NodeState::Ready => ready,
            NodeState::Blocked => blocked,
        }
    }
}

/// The columns of one drawing.
pub(super) struct TerminalColumns<'a> {
    drawing: &'a GraphDrawing<'a>,
    glyphs: &'static Glyphs,
    /// The text before each phase: the wave name for the first phase of a wave, else empty.
    waves: Vec<String>,
    /// The width of the terminal.
    room: usize,
    /// The width of the wave names; the fields below are the widths of the other columns.
    gutter: usize,
    lanes: usize,
    number: usize,
    name: usize,
    needs: usize,
}

impl<'a> TerminalColumns<'a> {
    pub(super) fn new(
        drawing: &'a GraphDrawing<'a>,
        terminal: &TerminalFormat,
        steps: &[LaneStep],
    ) -> Self {
        let waves = wave_names(drawing);
        let longest = waves.iter().map(|text| width(text)).max().unwrap_or(0);
        let rows = steps.iter().flat_map(|step| std::iter::once(&step.row).chain(&step.link));
        let numbers = drawing.labels.iter().map(|label| width(&label.number));
        let mut columns = Self {
            drawing,
            glyphs: if terminal.ascii { &ASCII } else { &BOXES },
            waves,
            room: terminal.width,
            gutter: if longest == 0 { 0 } else { longest + 2 },
            lanes: 2 * rows.map(|row| row.cells.len()).max().unwrap_or(1),
            number: numbers.max().unwrap_or(0).min(NUMBER_MAX),
            name: 0,
            needs: 0,
        };
        columns.divide_width();
        columns
    }

    /// Divides the remaining width between names and dependencies.
    fn divide_width(&mut self) {
        let room = self.room.saturating_sub(self.gutter + self.lanes + self.number + 1);
        let needs_max = NEEDS_MAX.min(room / 2);
        let phases = 0..self.drawing.labels.len();
        self.needs = phases.map(|at| width(&self.needs_text(at, needs_max))).max().unwrap_or(0);
        let gap = if self.needs == 0 { 0 } else { 2 };
        let widest = self.drawing.labels.iter().map(|label| width(&label.name)).max().unwrap_or(0);
        self.name = widest.min(room.saturating_sub(self.needs + gap).max(NAME_MIN));
    }

    /// Writes all lines.
    ///
    /// With lanes, a phase that depends only on the phase right above does not list it.
    pub(super) fn lines(&self, steps: &[LaneStep], has_lanes: bool) -> Vec<StyledLine> {
        let graph = self.drawing.graph;
        let mut lines = Vec::new();
        let mut above = None;
        for step in steps {
            let depends_on_above_only =
                above.is_some_and(|at| graph.dependencies(step.phase) == [at]);
            let is_obvious =
                has_lanes && depends_on_above_only && self.unknown(step.phase).next().is_none();
            lines.push(self.phase_line(step.phase, &step.row, !is_obvious));
            lines.extend(step.link.as_ref().map(|row| self.link_line(row)));
            above = Some(step.phase);
        }
        let stuck = graph.all.stuck.iter();
        lines.extend(stuck.map(|&phase| self.phase_line(phase, &LaneRow::bare(), true)));
        if let Err(cyclic) = graph.waves() {
            lines.push(StyledLine::default());
            lines.extend(cyclic.cycles.iter().map(|cycle| self.cycle_line(&cycle.path)));
        }
        lines.push(StyledLine::default());
        lines.push(self.legend());
        lines
    }

    fn phase_line(&self, phase: usize, row: &LaneRow, with_needs: bool) -> StyledLine {
        let label = &self.drawing.labels[phase];
        let mut line = StyledLine::default();
        line.push(SpanKind::Wave, pad(&self.waves[phase], self.gutter));
        self.push_lanes(&mut line, row, label.state);
        let number = shorten(&label.number, self.number, self.glyphs.cut);
        line.push(SpanKind::Number, pad(&number, self.number + 1));
        let name = shorten(&label.name, self.name, self.glyphs.cut);
        line.push(SpanKind::Name(label.state), pad(&name, self.name));
        if with_needs {
            line.push(SpanKind::Plain, "  ");
            line.push(SpanKind::Needs, self.needs_text(phase, self.needs));
        }
        line.trimmed()
    }

    fn link_line(&self, row: &LaneRow) -> StyledLine {
        let mut line = StyledLine::default();
        line.push(SpanKind::Plain, " ".repeat(self.gutter));
        self.push_lanes(&mut line, row, NodeState::Blocked);
        line.trimmed()
    }

    fn push_lanes(&self, line: &mut StyledLine, row: &LaneRow, state: NodeState) {
        for (at, cell) in row.cells.iter().enumerate() {
            // A horizontal line ends only at joints, so it passes through empty cells.
            let is_crossed = row.line.is_some_and(|(first, last)| first <= at && at < last);
            let across = if is_crossed { self.glyphs.line } else { " " };
            match *cell {
                LaneCell::Empty => line.push(SpanKind::Edge, across),
                LaneCell::Lane => line.push(SpanKind::Edge, self.glyphs.lane),
                LaneCell::Phase => line.push(SpanKind::Mark(state), self.glyphs.mark(state)),
                LaneCell::Joint { up, down, left, right } => {
                    let directions = [up, down, left, right];
                    let joint = directions.iter().fold(0, |sum, &bit| 2 * sum + usize::from(bit));
                    line.push(SpanKind::Edge, self.glyphs.joints[joint]);
                }
            }
            line.push(SpanKind::Edge, across);
        }
        line.push(SpanKind::Edge, " ".repeat(self.lanes.saturating_sub(2 * row.cells.len())));
    }

    /// Returns the references of a phase to phases that do not exist.
    fn unknown(&self, phase: usize) -> impl Iterator<Item = &UnresolvedRef> {
        let missing = self.drawing.graph.missing_refs();
        let first = missing.partition_point(|reference| reference.from < phase);
        missing[first..].iter().take_while(move |reference| reference.from == phase)
    }

    /// Lists the dependencies of a phase as far as they fit; unknown numbers get a question mark.
    fn needs_text(&self, phase: usize, columns: usize) -> String {
        let graph = self.drawing.graph;
        let labels = &self.drawing.labels;
        let known = graph.dependencies(phase).iter().map(|&on| labels[on].number.clone());
        let unknown = self.unknown(phase).map(|reference| format!("{}?", reference.to));
        let numbers: Vec<String> = known.chain(unknown).collect();
        if numbers.is_empty() {
            return String::new();
        }
        let whole = format!("{}{}", self.glyphs.needs, numbers.join(", "));
        if width(&whole) <= columns {
            return whole;
        }
        let mut text = self.glyphs.needs.to_owned();
        for (at, number) in numbers.iter().enumerate() {
            let more = format!("+{}", numbers.len() - at);
            if width(&text) + width(number) + 2 + width(&more) > columns {
                return text + &more;
            }
            text = text + number + ", ";
        }
        text
    }

    fn cycle_line(&self, path: &[usize]) -> StyledLine {
        let mut text = "Cycle: ".to_owned();
        for &phase in path.iter().chain(path.first()).take(self.room) {
            if !text.ends_with(": ") {
                text.push_str(self.glyphs.then);
            }
            text.push_str(&self.drawing.labels[phase].number);
        }
        StyledLine(vec![(SpanKind::Cycle, shorten(&text, self.room, self.glyphs.cut))])
    }

    fn legend(&self) -> StyledLine {
        let mut line = StyledLine::default();
        let is_used =
            |state: &NodeState| self.drawing.labels.iter().any(|label| label.state == *state);
        for state in NodeState::ALL.into_iter().filter(is_used) {
            let gap = if line.0.is_empty() { "" } else { "   " };
            line.push(SpanKind::Plain, gap);
            line.push(SpanKind::Mark(state), self.glyphs.mark(state));
            line.push(SpanKind::Plain, format!(" {}", state.word()));
        }
        line
    }
}

/// Returns the wave name for the first phase of each wave, and empty texts for the others.
///
/// If every wave has one phase, all texts are empty: counting waves would add nothing.
fn wave_names(drawing: &GraphDrawing<'_>) -> Vec<String> {
    let graph = drawing.graph;
    let mut names = vec![String::new(); drawing.labels.len()];
    let is_sequential = graph.waves().is_ok_and(|waves| waves.iter().all(|wave| wave.len() == 1));
    if is_sequential {
        return names;
    }
    for (place, wave) in graph.all.waves.iter().enumerate() {
        wave.iter().take(1).for_each(|&at| names[at] = format!("Wave {}", place + 1));
    }
    graph.all.stuck.iter().take(1).for_each(|&at| names[at] = "Stuck".to_owned());
    names
}
