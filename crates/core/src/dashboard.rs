//! The dashboard as lines: running phases, what happened lately, what waits for a person.
//!
//! A pure function of values. Times come in as text, since only the caller knows the clock and the
//! place; no text of others can bring sequences in. Start with [`Dashboard::lines`].

#[cfg(test)]
mod tests;

use std::fmt::Write;

use crate::banner::Bar;
use crate::color::{self, Level, NO_PHASE, NO_PHASE_PIN, RESET};
use crate::fit;
use crate::phase::PhaseNumber;

/// Everything that is shown.
#[derive(Clone, Debug, Default)]
pub struct Dashboard {
    /// How far a run through the milestone is, when one is on.
    pub auto: Option<AutoAdvance>,
    /// The phases, in the order of their table.
    pub rows: Vec<Row>,
    /// What happened lately, oldest first.
    pub events: Vec<Event>,
    /// What waits for a person.
    pub pins: Vec<Pin>,
}

/// A run through all phases of a milestone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutoAdvance {
    /// The phase it is at, by its number as written.
    pub phase: String,
    /// Its place among the phases of the milestone, counted from one.
    pub place: usize,
    /// How many phases the milestone has.
    pub total: usize,
    /// How many of them are done.
    pub done: usize,
}

impl AutoAdvance {
    /// Returns the share of phases that are done.
    pub fn percent(&self) -> u64 {
        percent(self.done, self.total)
    }
}

/// A phase with its progress.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The number as written.
    pub phase: String,
    /// The name.
    pub name: String,
    /// Whether all of it is done.
    pub complete: bool,
    /// Whether it stands still.
    pub blocked: bool,
    /// Whether it waits for a person.
    pub waiting: bool,
    /// How many plans are done, and how many there are.
    pub plans: (usize, usize),
    /// What it does now.
    pub activity: String,
    /// How long ago that was.
    pub elapsed: String,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Event {
    /// The type of the message that told it.
    pub kind: String,
    /// Where.
    pub phase: Option<String>,
    /// What.
    pub detail: String,
    /// The time of day, as people read it.
    pub time: String,
}

/// Something that waits for a person.
#[derive(Clone, Debug)]
pub struct Pin {
    /// Whether it is an error and not a question.
    pub is_error: bool,
    /// Where.
    pub phase: Option<String>,
    /// The error, or the sort of input.
    pub what: String,
}

const LABEL_COLUMNS: usize = 25;
const BAR_CELLS: usize = 10;
const ACTIVITY_COLUMNS: usize = 22;
/// The colours of the line about a run through a milestone.
const AUTO_FILL: u8 = 27;
const AUTO_TEXT: u8 = 231;

impl Dashboard {
    /// Draws everything.
    pub fn lines(&self, width: usize, level: Level) -> Vec<String> {
        let rule = || "─".repeat(width);
        let mut lines = Vec::new();
        if let Some(auto) = &self.auto {
            lines.extend([auto.line(width, level), rule()]);
        }
        lines.extend(self.rows.iter().map(|row| row.line(level)));
        if self.rows.is_empty() {
            lines.push("No active phases".to_owned());
        }
        if !self.rows.is_empty() || !self.events.is_empty() {
            lines.push(rule());
        }
        lines.extend(self.events.iter().map(|event| event.line(width, level)));
        if !self.pins.is_empty() {
            lines.push(String::new());
        }
        lines.extend(self.pins.iter().map(|pin| pin.line(width, level)));
        lines
    }
}

impl AutoAdvance {
    fn line(&self, width: usize, level: Level) -> String {
        let Self { place, total, done, .. } = self;
        let percent = self.percent();
        let text = format!(
            "AUTO-ADVANCE  Phase {place}/{total}  Milestone: {percent}%  {done}/{total} done"
        );
        if level != Level::Full {
            return text;
        }
        let (fill, ink) = (color::background(AUTO_FILL), color::foreground(AUTO_TEXT));
        format!("{fill}{ink}{}{RESET}", fit::pad(&text, width))
    }
}

impl Row {
    fn line(&self, level: Level) -> String {
        let phase = fit::one_line(&self.phase);
        let elapsed = fit::one_line(&self.elapsed);
        let text = if self.complete {
            format!("✓ Phase {phase} ({elapsed})")
        } else {
            let label = format!("Phase {phase}: {}", fit::one_line(&self.name));
            let (done, total) = self.plans;
            let percent = percent(done, total);
            let bar = Bar {
                percent: percent as f64,
                cells: BAR_CELLS,
                blocked: self.blocked,
                color: None,
            };
            let activity = if self.waiting { "Awaiting input" } else { &self.activity };
            let mut text = fit::fit(&label, LABEL_COLUMNS);
            // Room for the rest at once: thousands of rows may be drawn.
            text.reserve(3 * BAR_CELLS + ACTIVITY_COLUMNS + elapsed.len() + 16);
            let _ = write!(text, " {} {percent:>3}%  ", bar.draw(Level::None));
            text.push_str(&fit::fit(&fit::one_line(activity), ACTIVITY_COLUMNS));
            text.push(' ');
            text.push_str(&fit::pad_start(&elapsed, 4));
            text
        };
        color::painted(&text, color_of(Some(&self.phase), NO_PHASE), level)
    }
}

impl Event {
    fn line(&self, width: usize, level: Level) -> String {
        let (icon, is_bold) = match self.kind.as_str() {
            "plan_complete" | "commit_made" => ("✓ ", false),
            "error" => ("✗ ", false),
            "stage_transition" => ("→ ", true),
            "input_needed" => ("⚠ ", false),
            "phase_complete" => ("", true),
            _ => ("", false),
        };
        let phase = self.phase.as_deref();
        let text = match self.kind.as_str() {
            "phase_complete" => self.separator(),
            kind => {
                let what = match (kind, self.detail.as_str()) {
                    ("input_needed", detail) => input_needed(phase, detail),
                    (kind, "") => kind.to_owned(),
                    (_, detail) => detail.to_owned(),
                };
                format!("{} {} {icon}{what}", self.time, place(phase))
            }
        };
        let text = fit::one_line(&text);
        let text = fit::cut(&text, width);
        let text = if is_bold { color::bold(&text, level) } else { text.into_owned() };
        color::painted(&text, color_of(phase, NO_PHASE), level)
    }

    fn separator(&self) -> String {
        let mut text = format!("━━━ Phase {}: Complete", self.phase.as_deref().unwrap_or("--"));
        if !self.detail.is_empty() {
            let _ = write!(text, " ({})", self.detail);
        }
        text + " ━━━"
    }
}

impl Pin {
    fn line(&self, width: usize, level: Level) -> String {
        let phase = self.phase.as_deref();
        let text = if self.is_error {
            format!("✗ {} ERROR: {}", place(phase), self.what)
        } else {
            format!("⚠ {} {}", place(phase), input_needed(phase, &self.what))
        };
        let text = fit::one_line(&text);
        color::painted(&fit::cut(&text, width), color_of(phase, NO_PHASE_PIN), level)
    }
}

fn place(phase: Option<&str>) -> String {
    phase.map_or_else(|| "[--]".to_owned(), |phase| format!("[Phase {phase}]"))
}

/// Says who waits for what, and where to answer.
fn input_needed(phase: Option<&str>, what: &str) -> String {
    let what = if what.is_empty() { "unknown" } else { what };
    let answer = phase.map(|phase| format!(" -- Switch to Phase {phase} terminal"));
    format!("INPUT NEEDED: {what}{}", answer.unwrap_or_default())
}

/// Returns the colour of a phase; a text that is no number has the other one.
fn color_of(phase: Option<&str>, other: u8) -> u8 {
    let number = phase.and_then(|phase| PhaseNumber::parse_prefix(phase.trim()));
    number.map_or(other, |(number, _)| color::of_phase(&number).fill)
}

/// Returns a share in percent, rounded; nothing of nothing is nothing.
pub fn percent(done: usize, total: usize) -> u64 {
    let (done, total) = (done.min(total) as u128, total as u128);
    (200 * done + total).checked_div(2 * total).unwrap_or(0) as u64
}

/// Writes how long something took in its largest unit: `45s`, `7m`, `3h`, `12d`.
pub fn elapsed(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds @ 3600..86_400 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}
