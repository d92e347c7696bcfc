//! Shows a run: bars that are drawn over again on a terminal, one line for each event elsewhere.

use std::io::Write;

use mow_core::lead::{Event, Lead, Status, Track};
use mow_engine::clock::time_of_day;
use mow_engine::lead::Face;
use serde_json::json;

use crate::terminal::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, fit, painted, width};

/// How wide a bar is.
const BAR: usize = 16;
/// The most phases that are drawn; further ones are counted.
const ROWS_MAX: usize = 20;
/// The most recent events that are shown below the bars.
const NEWS: usize = 4;

/// Writes to the terminal or the pipe; a reader that has gone is no reason to stop a run.
pub(super) fn print(text: &str) {
    let mut stdout = anstream::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// A run as it is shown.
pub(super) struct Shown {
    live: bool,
    json: bool,
    began: Option<u64>,
    news: Vec<String>,
    /// How many lines the last drawing has.
    drawn: usize,
}

impl Shown {
    pub(super) fn new(live: bool, json: bool) -> Self {
        Self { live, json, began: None, news: Vec::new(), drawn: 0 }
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

impl Face for Shown {
    fn show(&mut self, lead: &Lead, events: &[Event], now: u64) {
        self.began.get_or_insert(now);
        let mut lines = Vec::new();
        for event in events {
            if self.json {
                lines.push(json!({ "at": now, "event": event }).to_string());
            } else if let Some(sentence) = event.sentence() {
                lines.push(format!(
                    "{} {}",
                    painted(DIM, &time_of_day(now)),
                    paint(event, &sentence)
                ));
            }
        }
        if !self.live {
            let text: String = lines.into_iter().map(|line| line + "\n").collect();
            return print(&text);
        }
        self.news.extend(lines);
        let extra = self.news.len().saturating_sub(NEWS);
        self.news.drain(..extra);
        self.draw(lead);
    }

    fn warn(&mut self, text: &str) {
        if self.live {
            self.news.push(painted(YELLOW, text));
        } else {
            crate::output::warn(text);
        }
    }
}

fn paint(event: &Event, sentence: &str) -> String {
    match event {
        Event::Moved { to: Status::Failed, .. } | Event::Died { .. } => painted(RED, sentence),
        Event::Moved { to: Status::Merged, .. } => painted(GREEN, sentence),
        Event::Asked { .. } | Event::Breaker { open: true } => painted(YELLOW, sentence),
        _ => sentence.to_owned(),
    }
}

/// Draws the phases, what waits for a person, and what happened last.
fn rows(lead: &Lead, news: &[String]) -> Vec<String> {
    let columns = width();
    let name_width = lead.phases.values().map(|t| t.spec.name.chars().count()).max().unwrap_or(0);
    let name_width = name_width.clamp(8, 28);
    let mut lines: Vec<_> =
        lead.phases.values().take(ROWS_MAX).map(|track| row(track, name_width, columns)).collect();
    let more = lead.phases.len().saturating_sub(ROWS_MAX);
    if more > 0 {
        lines.push(painted(DIM, &format!("  … and {more} more phases")));
    }
    for item in lead.open_items() {
        let text = fit(&item.ask.question, columns.saturating_sub(24));
        let hint = format!("mow answer {} …", item.id);
        lines.push(format!("{} {text}  {}", painted(YELLOW, "?"), painted(CYAN, &hint)));
    }
    lines.extend(news.iter().cloned());
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
    let bar = format!("{}{}", "█".repeat(filled), "░".repeat(BAR - filled));
    let (style, doing) = match track.status {
        Status::Merged => (GREEN, "merged".to_owned()),
        Status::Failed => (RED, format!("failed: {}", track.why)),
        Status::Parked => (YELLOW, "waits for a person".to_owned()),
        Status::Running => (CYAN, doing(track)),
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
    match &track.at {
        Some((plan, task, tasks)) if total > 0 => {
            format!(
                "{stage}, plan {} of {total} ({plan}, task {} of {tasks})",
                (done + 1).min(total),
                (task + 1).min(*tasks)
            )
        }
        _ => stage.to_owned(),
    }
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
