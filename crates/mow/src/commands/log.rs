//! `mow log`: describes the events of a run, and the work of one phase's workers.

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
use crate::runs::{JournalEntry, Run, format_utc, local_date};
use crate::terminal::{BOLD, DIM, GREEN, RED, YELLOW, fit_line, styled};

/// The arguments of `log`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show only this phase, with the journals of its workers
    phase: Option<String>,
    /// The id of the run; default: the newest run
    #[arg(long, value_name = "ID")]
    run: Option<String>,
}

/// One line of the log. Field names are JSON keys.
#[derive(Debug, Serialize)]
pub(super) struct LogLine {
    seq: u64,
    at: u64,
    time: String,
    /// The journal of the event: `lead` or `worker`.
    source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    phase: Option<String>,
    text: Option<String>,
    /// The log file of the command that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<String>,
    event: Value,
    #[serde(skip)]
    tone: LineTone,
}

/// The colour of a line: plain, green, red or yellow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LineTone {
    #[default]
    Plain,
    Good,
    Bad,
    Ask,
}

impl LogLine {
    /// Describes an event of the lead's journal; `before` is the state before the event.
    pub(super) fn from_lead(entry: &JournalEntry, before: &Lead) -> Self {
        let tone = match &entry.event {
            Event::StatusChanged { to: Status::Failed, .. } | Event::WorkerDied { .. } => {
                LineTone::Bad
            }
            Event::StatusChanged { to: Status::Merged, .. } => LineTone::Good,
            Event::Asked { .. } | Event::Breaker { open: true } => LineTone::Ask,
            _ => LineTone::Plain,
        };
        Self {
            seq: entry.seq,
            at: entry.at,
            time: format_utc(entry.at),
            source: "lead",
            attempt: None,
            phase: phase_of(&entry.event, before).map(|phase| phase.to_string()),
            text: entry.event.describe(before).map(|text| fit_line(&text, usize::MAX)),
            log: None,
            event: json!(entry.event),
            tone,
        }
    }

    /// Returns the line as text; `None` for an event without a description.
    pub(super) fn render(&self) -> Option<String> {
        let text = self.text.as_ref()?;
        let text = match self.tone {
            LineTone::Plain => text.clone(),
            LineTone::Good => styled(GREEN, text),
            LineTone::Bad => styled(RED, text),
            LineTone::Ask => styled(YELLOW, text),
        };
        let indent = if self.source == "worker" { "  " } else { "" };
        let mut shown = format!("{}  {indent}{text}", styled(DIM, &time_of_day(self.at)));
        if let Some(log) = &self.log {
            let _ = write!(shown, "\n{:10}{indent}log: {log}", "");
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
        lines.push(LogLine::from_lead(entry, &lead));
        lead.apply(&entry.event, entry.at);
    }
    let mut logs = Vec::new();
    if let Some(state) = phase {
        let number = state.spec.number.to_string();
        lines.retain(|line| line.phase.as_ref() == Some(&number));
        logs = worker::log_files(&run, state);
        let (own, attempts_read) = worker::journal_lines(&run, state, &logs);
        // A worker's reports are also in its own journal, if that still exists.
        let is_duplicate = |line: &LogLine| {
            let attempt = line.event["attempt"].as_u64();
            line.event["event"] == "reported" && attempt.is_some_and(|n| attempts_read.contains(&n))
        };
        lines.retain(|line| !is_duplicate(line));
        lines.extend(own);
        lines.sort_by_key(|line| line.at);
    }
    let journal = run.dir.journal().display().to_string();
    let log_dir = run.dir.path().join("logs").display().to_string();
    if context.wants_json() {
        return Ok(Output::pretty_json(json!({
            "run": run.dir.run(),
            "phase": phase.map(|state| state.spec.number.to_string()),
            "status": phase.map(|state| state.status),
            "why": phase.map(|state| run.lead.explain_status(state)),
            "journal": journal,
            "log_dir": log_dir,
            "logs": logs,
            "events": lines,
        })));
    }
    let mut text = headline(&run, phase);
    write_lines(&mut text, &lines);
    let _ = writeln!(text, "\n{}\n  {journal}\n  {log_dir}/", styled(BOLD, "Files"));
    if phase.is_some() {
        for log in &logs {
            let _ = writeln!(text, "  {log}");
        }
    } else {
        text.push_str(&styled(DIM, "`mow log PHASE` shows the work of one phase\n"));
    }
    Ok(Output::Text(text))
}

fn headline(run: &Run, phase: Option<&mow_core::lead::PhaseState>) -> String {
    let title =
        format!("Run {} into {}: {}", run.dir.run(), run.lead.target.branch, run.progress());
    let mut text = format!("{}\n", styled(BOLD, &title));
    if let Some(state) = phase {
        let (number, name, status) = (state.spec.number, &state.spec.name, state.status.name());
        let line = format!("Phase {number} {name} is {status}: {}", run.lead.explain_status(state));
        let _ = writeln!(text, "{}", fit_line(&line, usize::MAX));
    }
    text
}

fn write_lines(text: &mut String, lines: &[LogLine]) {
    let mut today = String::new();
    for line in lines {
        let Some(shown) = line.render() else { continue };
        let day = local_date(line.at);
        if day != today {
            let _ = writeln!(text, "\n{}", styled(DIM, &day));
            today = day;
        }
        let _ = writeln!(text, "{shown}");
    }
}

/// Returns the phase of an event; some events name it only by an id in the state before.
fn phase_of(event: &Event, before: &Lead) -> Option<PhaseNumber> {
    match event {
        Event::Finished { id, .. } => match before.effects.open.get(id)? {
            Effect::Prepare { phase, .. }
            | Effect::SendMessage { phase, .. }
            | Effect::KillWorker { phase, .. }
            | Effect::CollectLookahead { phase, .. }
            | Effect::Merge { phase, .. } => Some(*phase),
            Effect::Start { brief } => Some(brief.phase),
            Effect::FastForward { .. } | Effect::CommitPlanningFiles { .. } => None,
        },
        Event::Answered { item, .. } | Event::Withdrawn { item } => {
            before.inbox.items.get(item)?.phase
        }
        Event::Commanded { command, .. } => match command {
            Command::Pause { phase } | Command::Resume { phase } | Command::Cancel { phase } => {
                *phase
            }
            Command::Answer { item, .. } => before.inbox.items.get(item)?.phase,
        },
        event => event.phase(),
    }
}
