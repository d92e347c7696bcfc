//! Draws the dashboard as lines: active phases, recent events, and pins that need a person.
//!
//! Drawing is a pure function. Times are passed as text, because only the caller knows the clock
//! and the time zone. Control characters are removed from all texts. Start with
//! [`DashboardView::lines`].

#[cfg(test)]
mod tests;

use std::fmt::Write;

use crate::banner::ProgressBar;
use crate::color::{self, ColorLevel, NO_PHASE_COLOR, NO_PHASE_PIN_COLOR, RESET};
use crate::phase::PhaseNumber;
use crate::text_width;

/// The contents of the dashboard.
#[derive(Clone, Debug, Default)]
pub struct DashboardView {
    /// The progress through the milestone; `None` when auto-advance is off.
    pub auto: Option<AutoAdvance>,
    /// The active phases, in the order of their table.
    pub rows: Vec<DashboardRow>,
    /// Recent events, oldest first.
    pub events: Vec<EventRow>,
    /// Errors and questions that need a person.
    pub pins: Vec<PinRow>,
}

/// The progress of auto-advance, which runs all phases of a milestone in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutoAdvance {
    /// The number of the current phase, as the roadmap writes it.
    pub phase: String,
    /// The position of the current phase in the milestone, counted from one.
    pub position: usize,
    /// The number of phases in the milestone.
    pub total: usize,
    /// The number of finished phases.
    pub done: usize,
}

impl AutoAdvance {
    /// Returns the percentage of finished phases.
    pub fn percent(&self) -> u64 {
        percent(self.done, self.total)
    }
}

/// The line of an active phase.
#[derive(Clone, Debug, Default)]
pub struct DashboardRow {
    /// The phase number as STATE.md writes it.
    pub phase: String,
    /// The name of the phase; it may have any characters.
    pub name: String,
    /// Whether the phase is complete; the other progress fields are then not shown.
    pub complete: bool,
    /// Whether the phase is blocked.
    pub blocked: bool,
    /// Whether the phase waits for input of a person.
    pub waiting: bool,
    /// The number of finished plans and of all plans.
    pub plans: (usize, usize),
    /// The latest activity.
    pub activity: String,
    /// The time since that activity, as text.
    pub elapsed: String,
}

/// The line of an event.
#[derive(Clone, Debug)]
pub struct EventRow {
    /// The message type, such as `plan_complete`; it selects the icon.
    pub kind: String,
    /// The phase number; `None` if the event concerns no phase.
    pub phase: Option<String>,
    /// The description; empty to show the message type instead.
    pub detail: String,
    /// The time of day, such as `10:05`.
    pub time: String,
}

/// The line of an error or question that needs a person.
#[derive(Clone, Debug)]
pub struct PinRow {
    /// Whether the pin is an error; otherwise it is a request for input.
    pub is_error: bool,
    /// The phase number; `None` if the pin concerns no phase.
    pub phase: Option<String>,
    /// The error message, or the kind of input.
    pub subject: String,
}

const LABEL_COLUMNS: usize = 25;
const BAR_CELLS: usize = 10;
const ACTIVITY_COLUMNS: usize = 22;
/// The colours of the auto-advance line.
const AUTO_FILL: u8 = 27;
const AUTO_TEXT: u8 = 231;

impl DashboardView {
    /// Draws all lines for a terminal of `width` columns.
    pub fn lines(&self, width: usize, level: ColorLevel) -> Vec<String> {
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
    fn line(&self, width: usize, level: ColorLevel) -> String {
        let Self { position, total, done, .. } = self;
        let percent = self.percent();
        let text = format!(
            "AUTO-ADVANCE  Phase {position}/{total}  Milestone: {percent}%  {done}/{total} done"
        );
        if level != ColorLevel::Full {
            return text;
        }
        let (background, foreground) = (color::background(AUTO_FILL), color::foreground(AUTO_TEXT));
        format!("{background}{foreground}{}{RESET}", text_width::pad(&text, width))
    }
}

impl DashboardRow {
    fn line(&self, level: ColorLevel) -> String {
        let phase = text_width::one_line(&self.phase);
        let elapsed = text_width::one_line(&self.elapsed);
        let text = if self.complete {
            format!("✓ Phase {phase} ({elapsed})")
        } else {
            let label = format!("Phase {phase}: {}", text_width::one_line(&self.name));
            let (done, total) = self.plans;
            let percent = percent(done, total);
            let bar = ProgressBar {
                percent: percent as f64,
                cells: BAR_CELLS,
                blocked: self.blocked,
                color: None,
            };
            let activity = if self.waiting { "Awaiting input" } else { &self.activity };
            let mut text = text_width::fit(&label, LABEL_COLUMNS);
            // One allocation for the rest, because thousands of rows may be drawn.
            text.reserve(3 * BAR_CELLS + ACTIVITY_COLUMNS + elapsed.len() + 16);
            let _ = write!(text, " {} {percent:>3}%  ", bar.draw(ColorLevel::None));
            text.push_str(&text_width::fit(&text_width::one_line(activity), ACTIVITY_COLUMNS));
            text.push(' ');
            text.push_str(&text_width::pad_start(&elapsed, 4));
            text
        };
        color::paint(&text, color_of(Some(&self.phase), NO_PHASE_COLOR), level)
    }
}

impl EventRow {
    fn line(&self, width: usize, level: ColorLevel) -> String {
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
                let description = match (kind, self.detail.as_str()) {
                    ("input_needed", detail) => input_needed(phase, detail),
                    (kind, "") => kind.to_owned(),
                    (_, detail) => detail.to_owned(),
                };
                format!("{} {} {icon}{description}", self.time, phase_tag(phase))
            }
        };
        let text = text_width::one_line(&text);
        let text = text_width::cut(&text, width);
        let text = if is_bold { color::bold(&text, level) } else { text.into_owned() };
        color::paint(&text, color_of(phase, NO_PHASE_COLOR), level)
    }

    fn separator(&self) -> String {
        let mut text = format!("━━━ Phase {}: Complete", self.phase.as_deref().unwrap_or("--"));
        if !self.detail.is_empty() {
            let _ = write!(text, " ({})", self.detail);
        }
        text + " ━━━"
    }
}

impl PinRow {
    fn line(&self, width: usize, level: ColorLevel) -> String {
        let phase = self.phase.as_deref();
        let text = if self.is_error {
            format!("✗ {} ERROR: {}", phase_tag(phase), self.subject)
        } else {
            format!("⚠ {} {}", phase_tag(phase), input_needed(phase, &self.subject))
        };
        let text = text_width::one_line(&text);
        color::paint(&text_width::cut(&text, width), color_of(phase, NO_PHASE_PIN_COLOR), level)
    }
}

fn phase_tag(phase: Option<&str>) -> String {
    phase.map_or_else(|| "[--]".to_owned(), |phase| format!("[Phase {phase}]"))
}

/// Returns the text of a request for input and where to answer it.
fn input_needed(phase: Option<&str>, subject: &str) -> String {
    let subject = if subject.is_empty() { "unknown" } else { subject };
    let answer = phase.map(|phase| format!(" -- Switch to Phase {phase} terminal"));
    format!("INPUT NEEDED: {subject}{}", answer.unwrap_or_default())
}

/// Returns the colour of a phase, or `default` if the text is no phase number.
fn color_of(phase: Option<&str>, default: u8) -> u8 {
    let number = phase.and_then(|phase| PhaseNumber::parse_prefix(phase.trim()));
    number.map_or(default, |(number, _)| color::phase_colors(&number).fill)
}

/// Returns the rounded percentage of `done` in `total`; 0 if `total` is 0.
pub fn percent(done: usize, total: usize) -> u64 {
    let (done, total) = (done.min(total) as u128, total as u128);
    (200 * done + total).checked_div(2 * total).unwrap_or(0) as u64
}

/// Formats a duration in its largest unit: `45s`, `7m`, `3h`, `12d`. Negative values count as 0.
pub fn format_elapsed(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds @ 3600..86_400 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}
