//! Shows a run while it runs: redrawn progress bars on a terminal, one line per event elsewhere.

use std::io::{IsTerminal, Write};

use mow_core::lead::Status;
use mow_core::view::{
    EventKind, EventView, FastForwardRefusal, PhaseView, RunView, Tone, ViewLimits,
};
use mow_engine::clock::time_of_day;
use mow_engine::lead::{RunChange, RunObserver};

use crate::commands::plural::counted;
use crate::output::compact;
use crate::terminal::{
    BOLD, CYAN, DIM, GREEN, YELLOW, fit_line, styled, supports_utf8, toned, width,
};
use crate::wire::event::EventJson;

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
    tone: Tone,
    sentence: String,
}

impl EventLine {
    /// Returns the line of an event; `None` where another event says it better.
    fn of(event: &EventView) -> Option<Self> {
        Some(Self { at: event.at, tone: event.tone, sentence: event.text.clone()? })
    }

    fn render(&self, columns: usize) -> String {
        let sentence = fit_line(&self.sentence, columns.saturating_sub(9));
        format!("{} {}", styled(DIM, &time_of_day(self.at)), toned(self.tone, &sentence))
    }
}

/// The display of a run; state of the drawing that is redrawn.
pub(super) struct LiveView {
    /// Whether to redraw progress bars instead of printing one line per event.
    live: bool,
    /// Whether to print events as JSON.
    json: bool,
    /// Whether to show milestones only (`messages.events` is `lean`).
    lean: bool,
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
        let lean = false;
        Self { live, json, lean, rings_bell, first_shown: None, recent: Vec::new(), drawn_lines: 0 }
    }

    /// Shows milestones only, if `lean` is set; `--json` always shows all events.
    pub(super) fn with_lean(self, lean: bool) -> Self {
        Self { lean, ..self }
    }

    /// Returns whether an event is shown as a line. The reply to Ctrl-C always is.
    fn shows(&self, event: &EventView) -> bool {
        !self.lean || event.is_milestone || event.kind == EventKind::Hold
    }

    /// Returns when the run was first shown, in milliseconds since 1970.
    pub(super) fn first_shown(&self) -> u64 {
        self.first_shown.unwrap_or_default()
    }

    fn draw(&mut self, change: &RunChange<'_>) {
        let height = terminal_size::terminal_size().map(|(_, height)| usize::from(height.0));
        let phases = height.map_or(ROWS_DEFAULT, |h| h.saturating_sub(LINES_FREE).max(3));
        let limits = ViewLimits { phases, questions: LINES_FREE - EVENTS_MAX - 3 };
        let lines = rows(&change.view(limits), &self.recent);
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
    fn show(&mut self, change: &RunChange<'_>) {
        self.first_shown.get_or_insert(change.now());
        let events = change.events();
        if self.rings_bell && events.iter().any(|event| event.kind == EventKind::QuestionAsked) {
            ring_bell();
        }
        if self.json {
            let line = |event| compact(&EventJson::of_lead(change.run(), event)) + "\n";
            return print(&events.iter().map(line).collect::<String>());
        }
        let shown = events.iter().filter(|event| self.shows(event));
        let lines: Vec<_> = shown.filter_map(EventLine::of).collect();
        if !self.live {
            let text: String = lines.iter().map(|line| line.render(usize::MAX) + "\n").collect();
            return print(&text);
        }
        self.recent.extend(lines);
        let extra = self.recent.len().saturating_sub(EVENTS_MAX);
        self.recent.drain(..extra);
        self.draw(change);
    }

    fn warn(&mut self, text: &str) {
        if self.live {
            let at = mow_engine::clock::Clock::default().now();
            self.recent.push(EventLine { at, tone: Tone::Attention, sentence: text.to_owned() });
        } else {
            crate::output::warn(text);
        }
    }
}

/// Returns the lines of the drawing: phases, open questions, recent events.
fn rows(run: &RunView, recent: &[EventLine]) -> Vec<String> {
    let columns = width();
    let name_width = run.phases.iter().map(|phase| phase.name.chars().count()).max().unwrap_or(0);
    let name_width = name_width.clamp(8, 28);
    let mut lines: Vec<_> =
        run.phases.iter().map(|phase| row(phase, name_width, columns)).collect();
    if run.phases_left_out > 0 {
        let more = counted(run.phases_left_out, "more phase");
        lines.push(styled(DIM, &format!("  … and {more}")));
    }
    for question in &run.questions {
        let text = fit_line(&question.question, columns.saturating_sub(24));
        let hint = format!("mow answer {} …", question.id);
        lines.push(format!("{} {text}  {}", styled(YELLOW, "?"), styled(CYAN, &hint)));
    }
    lines.extend(recent.iter().map(|event| event.render(columns)));
    lines
}

/// Returns the line of one phase: number, name, progress bar, activity.
fn row(phase: &PhaseView, name_width: usize, columns: usize) -> String {
    let finished = matches!(phase.status, Status::Merged | Status::Complete | Status::Merging);
    let filled = match phase.plans {
        _ if finished => BAR_WIDTH,
        0 => 0,
        total => BAR_WIDTH * phase.plans_done / total,
    };
    let (full, empty) = if supports_utf8() { ("█", "░") } else { ("#", ".") };
    let bar = format!("{}{}", full.repeat(filled), empty.repeat(BAR_WIDTH - filled));
    let activity = match phase.status {
        Status::Failed => format!("{}: {}", phase.phrase(), phase.why),
        Status::Running if phase.looks_ahead.is_some() => {
            format!("look-ahead: {}", activity(phase))
        }
        Status::Running => activity(phase),
        Status::Waiting => waiting(phase),
        _ => phase.phrase().to_owned(),
    };
    let name = fit_line(&phase.name, name_width);
    let number = phase.number.to_string();
    let columns_left = columns.saturating_sub(name_width + BAR_WIDTH + 12);
    format!(
        "{number:>5} {name:<name_width$} {} {}",
        toned(phase.tone(), &bar),
        fit_line(&activity, columns_left)
    )
}

/// Says which phases a waiting phase starts after.
fn waiting(phase: &PhaseView) -> String {
    let after: Vec<_> = phase.waits_for.iter().map(|wait| wait.number.to_string()).collect();
    match after.as_slice() {
        [] => phase.phrase().to_owned(),
        after => format!("after {}", after.join(", ")),
    }
}

/// Describes the stage of a running phase, and its open plans with their tasks.
fn activity(phase: &PhaseView) -> String {
    let stage = phase.stage.map_or("starting", mow_core::stage::Stage::name);
    let (done, total) = (phase.plans_done, phase.plans);
    let open_plans: Vec<_> = phase
        .open_plans
        .iter()
        .map(|open| format!("{}, task {} of {}", open.plan, open.task(), open.tasks))
        .collect();
    if open_plans.is_empty() || total <= done {
        return stage.to_owned();
    }
    format!("{stage}, plan {} of {total} ({})", (done + 1).min(total), open_plans.join("; "))
}

/// Returns the summary of a finished run: a timeline of its phases, and the next commands.
pub(super) fn summary(run: &RunView, progress: &str, first_shown: u64) -> String {
    let started = run.phases.iter().filter_map(|phase| phase.started).min().unwrap_or(first_shown);
    let ended = run.phases.iter().map(|phase| phase.since).max().unwrap_or(first_shown);
    let span = ended.saturating_sub(started).max(1);
    let columns = width().saturating_sub(50).clamp(20, 60);
    let mut text = format!("\n{}\n", styled(BOLD, "Timeline"));
    for phase in &run.phases {
        let Some(start) = phase.started else { continue };
        let column = |at: u64| {
            usize::try_from((at.saturating_sub(started)) * columns as u64 / span).unwrap_or(0)
        };
        let from = column(start).min(columns - 1);
        let to = column(phase.since).clamp(from + 1, columns);
        let line = format!("{}{}", " ".repeat(from), "━".repeat(to - from));
        let seconds = (phase.since - start) as f64 / 1_000.0;
        let (number, name) = (phase.number.to_string(), fit_line(&phase.name, 24));
        text += &format!(
            "{number:>5} {name:<24} {}{} {seconds:.1} s\n",
            styled(GREEN, &line),
            " ".repeat(columns - to)
        );
    }
    let total = span as f64 / 1_000.0;
    text += &format!("\n{} in {total:.1} s.\n", styled(BOLD, progress));
    let target = &run.target;
    if let Some(FastForwardRefusal { reason, command }) = &run.refusal {
        text += &format!("{target} was not fast-forwarded: {reason}\nTo finish: {command}\n");
    }
    text += &format!(
        "\n{} mow log   {}\n",
        styled(CYAN, "›"),
        styled(DIM, &format!("what happened in run {}, and why", run.run))
    );
    text += &format!("{} git log --graph --oneline {target}\n", styled(CYAN, "›"));
    text
}
