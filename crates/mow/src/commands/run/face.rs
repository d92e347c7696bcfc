//! Shows a run: bars that are drawn over again on a terminal, one line for each event elsewhere.

use std::io::{IsTerminal, Write};

use anstyle::Style;
use mow_core::lead::{Event, Lead, Status, Track};
use mow_engine::clock::time_of_day;
use mow_engine::lead::Face;
use serde_json::json;

use crate::terminal::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, fit, painted, speaks_utf8, width};

/// How wide a bar is.
const BAR: usize = 16;
/// The lines of a terminal that are left free around the phases.
const LINES_FREE: usize = 10;
/// The phases that are drawn where the height of the terminal is not known.
const ROWS_DEFAULT: usize = 14;
/// The most recent events that are shown below the bars.
const NEWS: usize = 4;

/// Writes to the terminal or the pipe; a reader that has gone is no reason to stop a run.
pub(super) fn print(text: &str) {
    let mut stdout = anstream::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Something that happened.
struct News {
    at: u64,
    style: Option<Style>,
    sentence: String,
}

impl News {
    fn line(&self, columns: usize) -> String {
        let sentence = fit(&self.sentence, columns.saturating_sub(9));
        let sentence = self.style.map_or_else(|| sentence.clone(), |s| painted(s, &sentence));
        format!("{} {sentence}", painted(DIM, &time_of_day(self.at)))
    }
}

/// A run as it is shown.
pub(super) struct Shown {
    live: bool,
    json: bool,
    /// Whether a terminal rings when a person is needed.
    rings: bool,
    began: Option<u64>,
    news: Vec<News>,
    /// How many lines the last drawing has.
    drawn: usize,
}

impl Shown {
    pub(super) fn new(live: bool, json: bool, rings: bool) -> Self {
        Self { live, json, rings, began: None, news: Vec::new(), drawn: 0 }
    }

    /// Returns when it was first shown.
    pub(super) fn began(&self) -> u64 {
        self.began.unwrap_or_default()
    }

    fn draw(&mut self, lead: &Lead) {
        let lines = rows(lead, &self.news);
        let mut text = String::new();
        if self.drawn > 0 {
            text += &format!("\x1b[{}A\x1b[J", self.drawn);
        }
        for line in &lines {
            text += line;
            text.push('\n');
        }
        self.drawn = lines.len();
        print(&text);
    }
}

/// Rings the bell of the terminal, if there is one.
fn ring() {
    let mut terminal = std::io::stderr();
    if terminal.is_terminal() {
        terminal.write_all(b"\x07").ok();
    }
}

impl Face for Shown {
    fn show(&mut self, lead: &Lead, events: &[Event], now: u64) {
        self.began.get_or_insert(now);
        if self.rings && events.iter().any(|event| matches!(event, Event::Asked { .. })) {
            ring();
        }
        if self.json {
            let lines = events.iter().map(|event| json!({ "at": now, "event": event }));
            return print(&lines.map(|line| format!("{line}\n")).collect::<String>());
        }
        let news = events.iter().filter_map(|event| {
            Some(News { at: now, style: style(event), sentence: event.sentence()? })
        });
        if !self.live {
            let text: String = news.map(|news| news.line(usize::MAX) + "\n").collect();
            return print(&text);
        }
        self.news.extend(news);
        let extra = self.news.len().saturating_sub(NEWS);
        self.news.drain(..extra);
        self.draw(lead);
    }

    fn warn(&mut self, text: &str) {
        if self.live {
            let at = mow_engine::clock::Clock::default().now();
            self.news.push(News { at, style: Some(YELLOW), sentence: text.to_owned() });
        } else {
            crate::output::warn(text);
        }
    }
}

fn style(event: &Event) -> Option<Style> {
    match event {
        Event::Moved { to: Status::Failed, .. } | Event::Died { .. } => Some(RED),
        Event::Moved { to: Status::Merged, .. } => Some(GREEN),
        Event::Asked { .. } | Event::Breaker { open: true } => Some(YELLOW),
        _ => None,
    }
}

/// Draws the phases, what waits for a person, and what happened last.
fn rows(lead: &Lead, news: &[News]) -> Vec<String> {
    let columns = width();
    let height = terminal_size::terminal_size().map(|(_, height)| usize::from(height.0));
    let rows_max = height.map_or(ROWS_DEFAULT, |h| h.saturating_sub(LINES_FREE).max(3));
    let name_width = lead.phases.values().map(|t| t.spec.name.chars().count()).max().unwrap_or(0);
    let name_width = name_width.clamp(8, 28);
    let mut lines: Vec<_> =
        lead.phases.values().take(rows_max).map(|track| row(track, name_width, columns)).collect();
    let more = lead.phases.len().saturating_sub(rows_max);
    if more > 0 {
        lines.push(painted(DIM, &format!("  … and {more} more phases")));
    }
    for item in lead.open_items().take(LINES_FREE - NEWS - 3) {
        let text = fit(&item.ask.question, columns.saturating_sub(24));
        let hint = format!("mow answer {} …", item.id);
        lines.push(format!("{} {text}  {}", painted(YELLOW, "?"), painted(CYAN, &hint)));
    }
    lines.extend(news.iter().map(|news| news.line(columns)));
    lines
}

fn row(track: &Track, name_width: usize, columns: usize) -> String {
    let (done, total) = track.plans;
    let finished = matches!(track.status, Status::Merged | Status::Complete | Status::Merging);
    let filled = match total {
        _ if finished => BAR,
        0 => 0,
        total => BAR * done / total,
    };
    let (full, empty) = if speaks_utf8() { ("█", "░") } else { ("#", ".") };
    let bar = format!("{}{}", full.repeat(filled), empty.repeat(BAR - filled));
    let (style, doing) = match track.status {
        Status::Merged => (GREEN, "merged".to_owned()),
        Status::Failed => (RED, format!("failed: {}", track.why)),
        Status::Parked => (YELLOW, "waits for a person".to_owned()),
        Status::Running if track.looks_ahead() => (DIM, format!("ahead: {}", doing(track))),
        Status::Running => (CYAN, doing(track)),
        Status::Waiting if !track.spec.depends_on.is_empty() => {
            let on: Vec<_> = track.spec.depends_on.iter().map(ToString::to_string).collect();
            (DIM, format!("after {}", on.join(", ")))
        }
        status => (DIM, status.name().to_owned()),
    };
    let name = fit(&track.spec.name, name_width);
    let number = track.spec.number.to_string();
    let left = columns.saturating_sub(name_width + BAR + 12);
    format!("{number:>5} {name:<name_width$} {} {}", painted(style, &bar), fit(&doing, left))
}

fn doing(track: &Track) -> String {
    let stage = track.stage.map_or("starting", mow_core::stage::Stage::name);
    let (done, total) = track.plans;
    let at: Vec<_> = track
        .at
        .iter()
        .map(|(plan, (task, tasks))| format!("{plan}, task {} of {tasks}", (task + 1).min(*tasks)))
        .collect();
    if at.is_empty() || total <= done {
        return stage.to_owned();
    }
    format!("{stage}, plan {} of {total} ({})", (done + 1).min(total), at.join("; "))
}

/// Says how a run went: a line for each phase, over time.
pub(super) fn summary(run: &str, lead: &Lead, count: &str, began: u64) -> String {
    let started = lead.phases.values().filter_map(|track| track.started).min().unwrap_or(began);
    let ended = lead.phases.values().map(|track| track.since).max().unwrap_or(began);
    let span = ended.saturating_sub(started).max(1);
    let columns = width().saturating_sub(50).clamp(20, 60);
    let mut text = format!("\n{}\n", painted(BOLD, "Timeline"));
    for track in lead.phases.values() {
        let Some(start) = track.started else { continue };
        let place = |at: u64| {
            usize::try_from((at.saturating_sub(started)) * columns as u64 / span).unwrap_or(0)
        };
        let from = place(start).min(columns - 1);
        let to = place(track.since).clamp(from + 1, columns);
        let line = format!("{}{}", " ".repeat(from), "━".repeat(to - from));
        let seconds = (track.since - start) as f64 / 1_000.0;
        let (number, name) = (track.spec.number.to_string(), fit(&track.spec.name, 24));
        text += &format!(
            "{number:>5} {name:<24} {}{} {seconds:.1} s\n",
            painted(GREEN, &line),
            " ".repeat(columns - to)
        );
    }
    let total = span as f64 / 1_000.0;
    text += &format!("\n{} in {total:.1} s.\n", painted(BOLD, count));
    if let Some((reason, command)) = &lead.follow_refused {
        text += &format!("{} did not follow: {reason}\nTo finish: {command}\n", lead.target);
    }
    text += &format!(
        "\n{} mow log   {}\n",
        painted(CYAN, "›"),
        painted(DIM, &format!("why each thing happened in run {run}"))
    );
    text += &format!("{} git log --graph --oneline {}\n", painted(CYAN, "›"), lead.target);
    text
}
