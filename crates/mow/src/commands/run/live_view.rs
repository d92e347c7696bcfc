//! Shows a run while it runs: redrawn progress bars on a terminal, one line per event elsewhere.

use std::io::{IsTerminal, Write};

use anstyle::Style;
use mow_core::lead::{Event, Lead, PhaseState, Status};
use mow_engine::clock::time_of_day;
use mow_engine::lead::RunObserver;
use serde_json::json;

use crate::commands::plural::counted;
use crate::terminal::{
    BOLD, CYAN, DIM, GREEN, RED, YELLOW, fit_line, styled, supports_utf8, width,
};

/// The width of a progress bar, in columns.
const BAR_WIDTH: usize = 16;
/// The terminal lines that are reserved for questions and events.
const LINES_FREE: usize = 10;
/// The most phases shown when the terminal height is unknown.
const ROWS_DEFAULT: usize = 14;
/// The number of recent events shown below the bars.
const EVENTS_MAX: usize = 4;

/// Writes to standard output; ignores errors, because a closed pipe must not stop a run.
pub(super) fn print(text: &str) {
    let mut stdout = anstream::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// An event as one line of text.
struct EventLine {
    at: u64,
    style: Option<Style>,
    sentence: String,
}

impl EventLine {
    fn render(&self, columns: usize) -> String {
        let sentence = fit_line(&self.sentence, columns.saturating_sub(9));
        let sentence = self.style.map_or_else(|| sentence.clone(), |s| styled(s, &sentence));
        format!("{} {sentence}", styled(DIM, &time_of_day(self.at)))
    }
}

/// The display of a run; state of the drawing that is redrawn.
pub(super) struct LiveView {
    /// Whether to redraw progress bars instead of printing one line per event.
    live: bool,
    /// Whether to print events as JSON.
    json: bool,
    /// Whether to ring the terminal bell when a question is asked.
    rings_bell: bool,
    /// When the run was first shown, in milliseconds since 1970.
    first_shown: Option<u64>,
    recent: Vec<EventLine>,
    /// The number of lines of the last drawing.
    drawn_lines: usize,
}

impl LiveView {
    pub(super) fn new(live: bool, json: bool, rings_bell: bool) -> Self {
        Self { live, json, rings_bell, first_shown: None, recent: Vec::new(), drawn_lines: 0 }
    }

    /// Returns when the run was first shown, in milliseconds since 1970.
    pub(super) fn first_shown(&self) -> u64 {
        self.first_shown.unwrap_or_default()
    }

    fn draw(&mut self, lead: &Lead) {
        let lines = rows(lead, &self.recent);
        let mut text = String::new();
        if self.drawn_lines > 0 {
            text += &format!("\x1b[{}A\x1b[J", self.drawn_lines);
        }
        for line in &lines {
            text += line;
            text.push('\n');
        }
        self.drawn_lines = lines.len();
        print(&text);
    }
}

/// Rings the terminal bell if standard error is a terminal.
fn ring_bell() {
    let mut terminal = std::io::stderr();
    if terminal.is_terminal() {
        terminal.write_all(b"\x07").ok();
    }
}

impl RunObserver for LiveView {
    fn show(&mut self, lead: &Lead, events: &[Event], now: u64) {
        self.first_shown.get_or_insert(now);
        if self.rings_bell && events.iter().any(|event| matches!(event, Event::Asked { .. })) {
            ring_bell();
        }
        if self.json {
            let lines = events.iter().map(|event| json!({ "at": now, "event": event }));
            return print(&lines.map(|line| format!("{line}\n")).collect::<String>());
        }
        let lines = events.iter().filter_map(|event| {
            Some(EventLine { at: now, style: style(event), sentence: event.sentence()? })
        });
        if !self.live {
            let text: String = lines.map(|line| line.render(usize::MAX) + "\n").collect();
            return print(&text);
        }
        self.recent.extend(lines);
        let extra = self.recent.len().saturating_sub(EVENTS_MAX);
        self.recent.drain(..extra);
        self.draw(lead);
    }

    fn warn(&mut self, text: &str) {
        if self.live {
            let at = mow_engine::clock::Clock::default().now();
            self.recent.push(EventLine { at, style: Some(YELLOW), sentence: text.to_owned() });
        } else {
            crate::output::warn(text);
        }
    }
}

/// Returns the style of an event's line; `None` for plain text.
fn style(event: &Event) -> Option<Style> {
    match event {
        Event::StatusChanged { to: Status::Failed, .. } | Event::WorkerDied { .. } => Some(RED),
        Event::StatusChanged { to: Status::Merged, .. } => Some(GREEN),
        Event::Asked { .. } | Event::Breaker { open: true } => Some(YELLOW),
        _ => None,
    }
}

/// Returns the lines of the drawing: phases, open questions, recent events.
fn rows(lead: &Lead, recent: &[EventLine]) -> Vec<String> {
    let columns = width();
    let height = terminal_size::terminal_size().map(|(_, height)| usize::from(height.0));
    let rows_max = height.map_or(ROWS_DEFAULT, |h| h.saturating_sub(LINES_FREE).max(3));
    let name_width =
        lead.phases.values().map(|phase| phase.spec.name.chars().count()).max().unwrap_or(0);
    let name_width = name_width.clamp(8, 28);
    let mut lines: Vec<_> =
        lead.phases.values().take(rows_max).map(|phase| row(phase, name_width, columns)).collect();
    let more = lead.phases.len().saturating_sub(rows_max);
    if more > 0 {
        lines.push(styled(DIM, &format!("  … and {}", counted(more, "more phase"))));
    }
    for item in lead.inbox.open().take(LINES_FREE - EVENTS_MAX - 3) {
        let text = fit_line(&item.ask.question, columns.saturating_sub(24));
        let hint = format!("mow answer {} …", item.id);
        lines.push(format!("{} {text}  {}", styled(YELLOW, "?"), styled(CYAN, &hint)));
    }
    lines.extend(recent.iter().map(|event| event.render(columns)));
    lines
}

/// Returns the line of one phase: number, name, progress bar, activity.
fn row(phase: &PhaseState, name_width: usize, columns: usize) -> String {
    let (done, total) = phase.plans;
    let finished = matches!(phase.status, Status::Merged | Status::Complete | Status::Merging);
    let filled = match total {
        _ if finished => BAR_WIDTH,
        0 => 0,
        total => BAR_WIDTH * done / total,
    };
    let (full, empty) = if supports_utf8() { ("█", "░") } else { ("#", ".") };
    let bar = format!("{}{}", full.repeat(filled), empty.repeat(BAR_WIDTH - filled));
    let (style, activity) = match phase.status {
        Status::Merged => (GREEN, "merged".to_owned()),
        Status::Failed => (RED, format!("failed: {}", phase.why)),
        Status::Parked => (YELLOW, "waits for your answer".to_owned()),
        Status::Running if phase.looks_ahead() => (DIM, format!("look-ahead: {}", activity(phase))),
        Status::Running => (CYAN, activity(phase)),
        Status::Waiting if !phase.spec.depends_on.is_empty() => {
            let dependencies: Vec<_> =
                phase.spec.depends_on.iter().map(ToString::to_string).collect();
            (DIM, format!("after {}", dependencies.join(", ")))
        }
        status => (DIM, status.name().to_owned()),
    };
    let name = fit_line(&phase.spec.name, name_width);
    let number = phase.spec.number.to_string();
    let columns_left = columns.saturating_sub(name_width + BAR_WIDTH + 12);
    format!(
        "{number:>5} {name:<name_width$} {} {}",
        styled(style, &bar),
        fit_line(&activity, columns_left)
    )
}

/// Describes the stage of a running phase, and its open plans with their tasks.
fn activity(phase: &PhaseState) -> String {
    let stage = phase.stage.map_or("starting", mow_core::stage::Stage::name);
    let (done, total) = phase.plans;
    let open_plans: Vec<_> = phase
        .open_plans
        .iter()
        .map(|(plan, (task, tasks))| format!("{plan}, task {} of {tasks}", (task + 1).min(*tasks)))
        .collect();
    if open_plans.is_empty() || total <= done {
        return stage.to_owned();
    }
    format!("{stage}, plan {} of {total} ({})", (done + 1).min(total), open_plans.join("; "))
}

/// Returns the summary of a finished run: a timeline of its phases, and the next commands.
pub(super) fn summary(run: &str, lead: &Lead, progress: &str, first_shown: u64) -> String {
    let started =
        lead.phases.values().filter_map(|phase| phase.started).min().unwrap_or(first_shown);
    let ended = lead.phases.values().map(|phase| phase.since).max().unwrap_or(first_shown);
    let span = ended.saturating_sub(started).max(1);
    let columns = width().saturating_sub(50).clamp(20, 60);
    let mut text = format!("\n{}\n", styled(BOLD, "Timeline"));
    for phase in lead.phases.values() {
        let Some(start) = phase.started else { continue };
        let column = |at: u64| {
            usize::try_from((at.saturating_sub(started)) * columns as u64 / span).unwrap_or(0)
        };
        let from = column(start).min(columns - 1);
        let to = column(phase.since).clamp(from + 1, columns);
        let line = format!("{}{}", " ".repeat(from), "━".repeat(to - from));
        let seconds = (phase.since - start) as f64 / 1_000.0;
        let (number, name) = (phase.spec.number.to_string(), fit_line(&phase.spec.name, 24));
        text += &format!(
            "{number:>5} {name:<24} {}{} {seconds:.1} s\n",
            styled(GREEN, &line),
            " ".repeat(columns - to)
        );
    }
    let total = span as f64 / 1_000.0;
    text += &format!("\n{} in {total:.1} s.\n", styled(BOLD, progress));
    if let Some((reason, command)) = &lead.target.refusal {
        text += &format!(
            "{} was not fast-forwarded: {reason}\nTo finish: {command}\n",
            lead.target.branch
        );
    }
    text += &format!(
        "\n{} mow log   {}\n",
        styled(CYAN, "›"),
        styled(DIM, &format!("what happened in run {run}, and why"))
    );
    text += &format!("{} git log --graph --oneline {}\n", styled(CYAN, "›"), lead.target.branch);
    text
}
