//! `mow log`: a run in words, and what the workers of one phase did.

mod worker;

use std::fmt::Write;

use mow_core::lead::{Command, Effect, Event, Lead, Status};
use mow_core::machine::Machine;
use mow_core::phase::PhaseNumber;
use mow_engine::clock::time_of_day;
use serde::Serialize;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::{Entry, Run, day, time_text};
use crate::terminal::{BOLD, DIM, GREEN, RED, YELLOW, fit, painted};

/// The arguments of `log`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this phase, with the journals of its workers
    phase: Option<String>,
    /// The run; the newest if not given
    #[arg(long, value_name = "ID")]
    run: Option<String>,
}

/// One line of the log.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    seq: u64,
    at: u64,
    time: String,
    /// `lead`, or `worker` for a line of a worker's own journal.
    source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    phase: Option<String>,
    text: Option<String>,
    /// The log of what failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<String>,
    event: Value,
    #[serde(skip)]
    tone: Tone,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tone {
    #[default]
    Plain,
    Good,
    Bad,
    Ask,
}

impl Line {
    /// Says what an event of the lead's journal means, given the run as it was before.
    pub(super) fn of_lead(entry: &Entry, before: &Lead) -> Self {
        let tone = match &entry.event {
            Event::Moved { to: Status::Failed, .. } | Event::Died { .. } => Tone::Bad,
            Event::Moved { to: Status::Merged, .. } => Tone::Good,
            Event::Asked { .. } | Event::Breaker { open: true } => Tone::Ask,
            _ => Tone::Plain,
        };
        Self {
            seq: entry.seq,
            at: entry.at,
            time: time_text(entry.at),
            source: "lead",
            attempt: None,
            phase: about(&entry.event, before).map(|phase| phase.to_string()),
            text: entry.event.explained(before).map(|text| fit(&text, usize::MAX)),
            log: None,
            event: json!(entry.event),
            tone,
        }
    }

    /// Returns the line for people; `None` for what needs no words.
    pub(super) fn shown(&self) -> Option<String> {
        let text = self.text.as_ref()?;
        let text = match self.tone {
            Tone::Plain => text.clone(),
            Tone::Good => painted(GREEN, text),
            Tone::Bad => painted(RED, text),
            Tone::Ask => painted(YELLOW, text),
        };
        let indent = if self.source == "worker" { "  " } else { "" };
        let mut shown = format!("{}  {indent}{text}", painted(DIM, &time_of_day(self.at)));
        if let Some(log) = &self.log {
            let _ = write!(shown, "\n{:10}{indent}its log: {log}", "");
        }
        Some(shown)
    }
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let run = Run::load(context, args.run.as_deref())?;
    let phase = args.phase.as_deref().map(|word| run.phase(word)).transpose()?;
    let mut lines = Vec::new();
    let mut lead = Lead::default();
    for entry in &run.entries {
        lines.push(Line::of_lead(entry, &lead));
        lead.apply(&entry.event, entry.at);
    }
    let mut logs = Vec::new();
    if let Some(track) = phase {
        let number = track.spec.number.to_string();
        lines.retain(|line| line.phase.as_ref() == Some(&number));
        logs = worker::logs(&run, track);
        let (own, read) = worker::lines(&run, track, &logs);
        // What a worker reported stands in its own journal, where that is still there.
        let is_double = |line: &Line| {
            let attempt = line.event["attempt"].as_u64();
            line.event["event"] == "reported" && attempt.is_some_and(|n| read.contains(&n))
        };
        lines.retain(|line| !is_double(line));
        lines.extend(own);
        lines.sort_by_key(|line| line.at);
    }
    let journal = run.dir.journal().display().to_string();
    let log_dir = run.dir.path().join("logs").display().to_string();
    if context.wants_json() {
        return Ok(Output::json_lines(json!({
            "run": run.dir.run(),
            "phase": phase.map(|track| track.spec.number.to_string()),
            "status": phase.map(|track| track.status),
            "why": phase.map(|track| run.lead.why(track)),
            "journal": journal,
            "log_dir": log_dir,
            "logs": logs,
            "events": lines,
        })));
    }
    let mut text = headline(&run, phase);
    write_lines(&mut text, &lines);
    let _ = writeln!(text, "\n{}\n  {journal}\n  {log_dir}/", painted(BOLD, "Files"));
    if phase.is_some() {
        for log in &logs {
            let _ = writeln!(text, "  {log}");
        }
    } else {
        text.push_str(&painted(DIM, "mow log PHASE shows what the workers of a phase did\n"));
    }
    Ok(Output::Text(text))
}

fn headline(run: &Run, phase: Option<&mow_core::lead::Track>) -> String {
    let title = format!("Run {} into {}: {}", run.dir.run(), run.lead.target, run.standing());
    let mut text = format!("{}\n", painted(BOLD, &title));
    if let Some(track) = phase {
        let (number, name, status) = (track.spec.number, &track.spec.name, track.status.name());
        let line = format!("Phase {number} {name} is {status}: {}", run.lead.why(track));
        let _ = writeln!(text, "{}", fit(&line, usize::MAX));
    }
    text
}

fn write_lines(text: &mut String, lines: &[Line]) {
    let mut today = String::new();
    for line in lines {
        let Some(shown) = line.shown() else { continue };
        let day = day(line.at);
        if day != today {
            let _ = writeln!(text, "\n{}", painted(DIM, &day));
            today = day;
        }
        let _ = writeln!(text, "{shown}");
    }
}

/// Returns the phase that an event is about, where only the run as it was before tells.
fn about(event: &Event, before: &Lead) -> Option<PhaseNumber> {
    match event {
        Event::Finished { id, .. } => match before.open.get(id)? {
            Effect::Prepare { phase, .. }
            | Effect::Tell { phase, .. }
            | Effect::End { phase, .. }
            | Effect::Gather { phase, .. }
            | Effect::Merge { phase, .. } => Some(*phase),
            Effect::Start { brief } => Some(brief.phase),
            Effect::Follow { .. } | Effect::Close { .. } => None,
        },
        Event::Answered { item, .. } | Event::Withdrawn { item } => before.items.get(item)?.phase,
        Event::Commanded { command, .. } => match command {
            Command::Pause { phase } | Command::Resume { phase } | Command::Cancel { phase } => {
                *phase
            }
            Command::Answer { item, .. } => before.items.get(item)?.phase,
        },
        event => event.phase(),
    }
}
