//! The columns of the terminal drawing: wave, lanes, number, name, dependencies.
//!
//! Gives each column its width and fills in the lines; which lanes there are is decided elsewhere.

use super::lanes::{Cell, Row, Step};
use super::terminal::{Line, Style, Terminal};
use super::words::{pad, shorten, width};
use super::{Picture, State};
use crate::graph::Reference;

/// The most columns given to the list of dependencies behind a name.
const NEEDS_MAX: usize = 26;
/// The least columns given to a name, however narrow the terminal.
const NAME_MIN: usize = 8;
/// The most columns given to a number.
const NUMBER_MAX: usize = 12;

/// The characters a drawing is made of.
struct Glyphs {
    /// Done, running, ready, blocked.
    marks: [&'static str; 4],
    lane: &'static str,
    line: &'static str,
    /// Corners and forks by the directions they lead to: up 8, down 4, left 2, right 1.
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
    fn mark(&self, state: State) -> &'static str {
        let [done, running, ready, blocked] = self.marks;
        match state {
            State::Done => done,
            State::Running => running,
            State::Ready => ready,
            State::Blocked => blocked,
        }
    }
}

/// The columns of one drawing.
pub(super) struct Sheet<'a> {
    picture: &'a Picture<'a>,
    glyphs: &'static Glyphs,
    /// What stands in front of each phase: the name of its wave at the first one, else nothing.
    waves: Vec<String>,
    room: usize,
    gutter: usize,
    lanes: usize,
    number: usize,
    name: usize,
    needs: usize,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(picture: &'a Picture<'a>, terminal: &Terminal, steps: &[Step]) -> Self {
        let waves = wave_names(picture);
        let longest = waves.iter().map(|text| width(text)).max().unwrap_or(0);
        let rows = steps.iter().flat_map(|step| std::iter::once(&step.row).chain(&step.link));
        let numbers = picture.labels.iter().map(|label| width(&label.number));
        let mut sheet = Self {
            picture,
            glyphs: if terminal.ascii { &ASCII } else { &BOXES },
            waves,
            room: terminal.width,
            gutter: if longest == 0 { 0 } else { longest + 2 },
            lanes: 2 * rows.map(|row| row.cells.len()).max().unwrap_or(1),
            number: numbers.max().unwrap_or(0).min(NUMBER_MAX),
            name: 0,
            needs: 0,
        };
        sheet.share_out();
        sheet
    }

    /// Divides what is left of the width between names and dependencies.
    fn share_out(&mut self) {
        let room = self.room.saturating_sub(self.gutter + self.lanes + self.number + 1);
        let most = NEEDS_MAX.min(room / 2);
        let phases = 0..self.picture.labels.len();
        self.needs = phases.map(|at| width(&self.needs_text(at, most))).max().unwrap_or(0);
        let gap = if self.needs == 0 { 0 } else { 2 };
        let widest = self.picture.labels.iter().map(|label| width(&label.name)).max().unwrap_or(0);
        self.name = widest.min(room.saturating_sub(self.needs + gap).max(NAME_MIN));
    }

    /// Writes all lines; with lanes an edge to the row above needs no words.
    pub(super) fn lines(&self, steps: &[Step], laned: bool) -> Vec<Line> {
        let graph = self.picture.graph;
        let mut lines = Vec::new();
        let mut above = None;
        for step in steps {
            let only = above.is_some_and(|at| graph.dependencies(step.phase) == [at]);
            let obvious = laned && only && self.unknown(step.phase).next().is_none();
            lines.push(self.phase_line(step.phase, &step.row, !obvious));
            lines.extend(step.link.as_ref().map(|row| self.link_line(row)));
            above = Some(step.phase);
        }
        let stuck = graph.all.stuck.iter();
        lines.extend(stuck.map(|&phase| self.phase_line(phase, &Row::bare(), true)));
        if let Err(cyclic) = graph.waves() {
            lines.push(Line::default());
            lines.extend(cyclic.cycles.iter().map(|cycle| self.cycle_line(&cycle.path)));
        }
        lines.push(Line::default());
        lines.push(self.legend());
        lines
    }

    fn phase_line(&self, phase: usize, row: &Row, with_needs: bool) -> Line {
        let label = &self.picture.labels[phase];
        let mut line = Line::default();
        line.push(Style::Wave, pad(&self.waves[phase], self.gutter));
        self.push_lanes(&mut line, row, label.state);
        let number = shorten(&label.number, self.number, self.glyphs.cut);
        line.push(Style::Number, pad(&number, self.number + 1));
        let name = shorten(&label.name, self.name, self.glyphs.cut);
        line.push(Style::Name(label.state), pad(&name, self.name));
        if with_needs {
            line.push(Style::Plain, "  ");
            line.push(Style::Needs, self.needs_text(phase, self.needs));
        }
        line.trimmed()
    }

    fn link_line(&self, row: &Row) -> Line {
        let mut line = Line::default();
        line.push(Style::Plain, " ".repeat(self.gutter));
        self.push_lanes(&mut line, row, State::Blocked);
        line.trimmed()
    }

    fn push_lanes(&self, line: &mut Line, row: &Row, state: State) {
        for (at, cell) in row.cells.iter().enumerate() {
            // A line ends at joints only, so an empty place under it is passed through.
            let covered = row.line.is_some_and(|(first, last)| first <= at && at < last);
            let across = if covered { self.glyphs.line } else { " " };
            match *cell {
                Cell::Empty => line.push(Style::Edge, across),
                Cell::Lane => line.push(Style::Edge, self.glyphs.lane),
                Cell::Phase => line.push(Style::Mark(state), self.glyphs.mark(state)),
                Cell::Joint { up, down, left, right } => {
                    let directions = [up, down, left, right];
                    let joint = directions.iter().fold(0, |sum, &is| 2 * sum + usize::from(is));
                    line.push(Style::Edge, self.glyphs.joints[joint]);
                }
            }
            line.push(Style::Edge, across);
        }
        line.push(Style::Edge, " ".repeat(self.lanes.saturating_sub(2 * row.cells.len())));
    }

    /// Returns the references of a phase to numbers nobody knows.
    fn unknown(&self, phase: usize) -> impl Iterator<Item = &Reference> {
        let missing = self.picture.graph.missing_refs();
        let first = missing.partition_point(|reference| reference.from < phase);
        missing[first..].iter().take_while(move |reference| reference.from == phase)
    }

    /// Lists what a phase depends on, unknown numbers with a question mark, as far as it fits.
    fn needs_text(&self, phase: usize, columns: usize) -> String {
        let graph = self.picture.graph;
        let labels = &self.picture.labels;
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

    fn cycle_line(&self, path: &[usize]) -> Line {
        let mut text = "Cycle: ".to_owned();
        for &phase in path.iter().chain(path.first()).take(self.room) {
            if !text.ends_with(": ") {
                text.push_str(self.glyphs.then);
            }
            text.push_str(&self.picture.labels[phase].number);
        }
        Line(vec![(Style::Cycle, shorten(&text, self.room, self.glyphs.cut))])
    }

    fn legend(&self) -> Line {
        let mut line = Line::default();
        let seen = |state: &State| self.picture.labels.iter().any(|label| label.state == *state);
        for state in State::ALL.into_iter().filter(seen) {
            let gap = if line.0.is_empty() { "" } else { "   " };
            line.push(Style::Plain, gap);
            line.push(Style::Mark(state), self.glyphs.mark(state));
            line.push(Style::Plain, format!(" {}", state.word()));
        }
        line
    }
}

/// Names the wave at its first phase.
///
/// Where phases only follow one another, counting waves says nothing and there are no names.
fn wave_names(picture: &Picture<'_>) -> Vec<String> {
    let graph = picture.graph;
    let mut names = vec![String::new(); picture.labels.len()];
    let sequential = graph.waves().is_ok_and(|waves| waves.iter().all(|wave| wave.len() == 1));
    if sequential {
        return names;
    }
    for (place, wave) in graph.all.waves.iter().enumerate() {
        wave.iter().take(1).for_each(|&at| names[at] = format!("Wave {}", place + 1));
    }
    graph.all.stuck.iter().take(1).for_each(|&at| names[at] = "Stuck".to_owned());
    names
}
