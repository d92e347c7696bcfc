//! `mow replay`: makes a run happen again in memory, event by event, and checks it.
//!
//! Nothing is started and nothing is written: only the journal is read.

use std::fmt::Write;
use std::io::{BufRead, IsTerminal};

use mow_core::lead::{Event, Lead, Status};
use mow_core::machine::Machine;
use mow_engine::clock::time_of_day;
use serde::Serialize;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, stream};
use crate::runs::{Entry, Run};
use crate::terminal::{BOLD, DIM, GREEN, RED, fit, painted};

/// The arguments of `replay`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run; the newest if not given
    run: Option<String>,
    /// Show every event; on a terminal, wait for Enter after each
    #[arg(long)]
    step: bool,
}

/// A phase that an event gave another status.
#[derive(Debug, Serialize)]
struct Change {
    phase: String,
    from: Option<Status>,
    to: Status,
}

/// An event and what it changed; `seq` is the record that it stands in.
#[derive(Debug, Serialize)]
struct Step {
    seq: u64,
    at: u64,
    event: String,
    text: Option<String>,
    changes: Vec<Change>,
}

/// The first record that breaks a rule.
#[derive(Debug, Serialize)]
struct Problem {
    seq: u64,
    file: String,
    line: u64,
    problem: String,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let run = Run::load(context, args.run.as_deref())?;
    let (mut lead, mut steps, mut problem) = (Lead::default(), Vec::new(), None);
    for entry in &run.entries {
        if let Err(broken) = lead.check(&entry.event) {
            problem.get_or_insert_with(|| found(&run, entry.seq, broken));
        }
        steps.push(step(&mut lead, entry));
    }
    if let Some(seq) = differs(&run.entries) {
        let broken = "the state differs when it is made a second time".to_owned();
        problem.get_or_insert_with(|| found(&run, seq, broken));
    }
    if context.wants_json() {
        return Ok(answer_json(&run, args, &steps, problem.as_ref()));
    }
    let is_watched = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !tell(&steps, args.step, args.step && is_watched)? {
        return Ok(Output::Text(String::new()));
    }
    let text = verdict(&run, problem.as_ref());
    Ok(if problem.is_none() { Output::Text(text) } else { Output::Findings(text) })
}

fn found(run: &Run, seq: u64, problem: String) -> Problem {
    Problem { seq, file: run.dir.journal().display().to_string(), line: seq + 1, problem }
}

/// Makes an event part of the state, and notes what it changed.
fn step(lead: &mut Lead, entry: &Entry) -> Step {
    let text = entry.event.explained(lead).map(|text| fit(&text, usize::MAX));
    let touched: Vec<_> = match &entry.event {
        Event::Planned { phases, .. } => phases.iter().map(|spec| spec.number).collect(),
        event => event.phase().into_iter().collect(),
    };
    let status = |lead: &Lead, number| lead.phases.get(number).map(|track| track.status);
    let before: Vec<_> = touched.iter().map(|number| status(lead, number)).collect();
    lead.apply(&entry.event, entry.at);
    let changes = touched.iter().zip(before).filter_map(|(number, from)| {
        let to = status(lead, number).filter(|to| Some(*to) != from)?;
        Some(Change { phase: number.to_string(), from, to })
    });
    let event = serde_json::to_value(&entry.event).unwrap_or_default();
    Step {
        seq: entry.seq,
        at: entry.at,
        event: event["event"].as_str().unwrap_or_default().to_owned(),
        text,
        changes: changes.collect(),
    }
}

/// Makes the state twice, the second time from events that were written and read once more;
/// returns the first record after which the two differ.
fn differs(entries: &[Entry]) -> Option<u64> {
    let (mut first, mut second) = (Lead::default(), Lead::default());
    for entry in entries {
        first.apply(&entry.event, entry.at);
        let again = serde_json::to_vec(&entry.event).ok();
        let Some(again) = again.and_then(|bytes| serde_json::from_slice(&bytes).ok()) else {
            return Some(entry.seq);
        };
        second.apply(&again, entry.at);
    }
    (first != second).then(|| entries.last().map_or(0, |entry| entry.seq))
}

fn answer_json(run: &Run, args: &Args, steps: &[Step], problem: Option<&Problem>) -> Output {
    let shown: Vec<_> = steps.iter().filter(|step| args.step || !step.changes.is_empty()).collect();
    let phases: Vec<_> = run
        .lead
        .phases
        .values()
        .map(|track| {
            let (number, status) = (track.spec.number.to_string(), track.status);
            json!({ "phase": number, "status": status, "attempt": track.attempt })
        })
        .collect();
    let value = json!({
        "run": run.dir.run(), "events": steps.len(), "consistent": problem.is_none(),
        "problem": problem, "standing": run.lead.standing(), "phases": phases, "steps": shown,
    });
    let Output::Text(text) = Output::json_lines(value) else { unreachable!("it is text") };
    if problem.is_none() { Output::Text(text) } else { Output::Findings(text) }
}

/// Prints the steps; returns whether anybody still reads.
fn tell(steps: &[Step], all: bool, wait: bool) -> Result<bool, Failure> {
    for step in steps.iter().filter(|step| all || !step.changes.is_empty()) {
        if !stream(&shown(step, all))? {
            return Ok(false);
        }
        if wait && !enter_pressed() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Waits for Enter; anything else typed before it ends the show.
fn enter_pressed() -> bool {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.is_ok_and(|count| count > 0) && line.trim().is_empty()
}

fn shown(step: &Step, all: bool) -> String {
    let (seq, time) = (step.seq, painted(DIM, &time_of_day(step.at)));
    let mut text = format!("{seq:>5}  {time}  ");
    if all || step.changes.len() != 1 {
        let said = step.text.as_ref().map_or(String::new(), |said| format!("  {said}"));
        let _ = writeln!(text, "{}{said}", painted(BOLD, &step.event));
        for change in &step.changes {
            let _ = writeln!(text, "{:17}{}", "", arrow(change));
        }
    } else {
        let said = step.text.as_ref().map_or(String::new(), |said| format!("   {said}"));
        let changes: String = step.changes.iter().map(arrow).collect();
        let _ = writeln!(text, "{changes}{}", painted(DIM, &said));
    }
    text
}

fn arrow(change: &Change) -> String {
    let from = change.from.map_or("new", Status::name);
    format!("phase {}: {from} → {}", change.phase, change.to.name())
}

fn verdict(run: &Run, problem: Option<&Problem>) -> String {
    let (name, count) = (run.dir.run(), run.entries.len());
    match problem {
        None => format!(
            "\n{}\nThe run stands at: {}.\n",
            painted(GREEN, &format!("Run {name}: {count} events, complete and consistent.")),
            run.standing(),
        ),
        Some(Problem { seq, file, line, problem }) => format!(
            "\n{}\n{file}, line {line}\n",
            painted(RED, &format!("Run {name}: record {seq} breaks the rules: {problem}.")),
        ),
    }
}
