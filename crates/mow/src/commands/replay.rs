//! `mow replay`: replays a run from its journal in memory and verifies every event.
//!
//! The command only reads the journal. It starts nothing and writes nothing.

use std::fmt::Write;
use std::io::{BufRead, IsTerminal};

use mow_core::lead::{Event, Lead, Status};
use mow_core::machine::Machine;
use mow_engine::clock::time_of_day;
use serde::Serialize;
use serde_json::json;

use super::plural::counted;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, stream};
use crate::runs::{JournalEntry, Run};
use crate::terminal::{BOLD, DIM, GREEN, RED, fit_line, styled};
use crate::wire::ps::standing;

/// The arguments of `replay`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The id of the run; default: the newest run
    run: Option<String>,
    /// Show every event; on a terminal, wait for Enter after each one
    #[arg(long)]
    step: bool,
}

/// A phase whose status an event changed.
#[derive(Debug, Serialize)]
struct StatusChange {
    phase: String,
    /// `None` for a new phase.
    from: Option<Status>,
    to: Status,
}

/// An event and the status changes it caused; `seq` is the number of its journal record.
#[derive(Debug, Serialize)]
struct ReplayStep {
    seq: u64,
    at: u64,
    event: String,
    text: Option<String>,
    changes: Vec<StatusChange>,
}

/// The first record that breaks a rule, with its place in the journal file.
#[derive(Debug, Serialize)]
struct JournalProblem {
    seq: u64,
    file: String,
    line: u64,
    problem: String,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let run = Run::load(context, args.run.as_deref())?;
    let (mut lead, mut steps, mut problem) = (Lead::default(), Vec::new(), None);
    for entry in &run.entries {
        if let Err(rule) = lead.check(&entry.event) {
            problem.get_or_insert_with(|| problem_at(&run, entry.seq, rule));
        }
        steps.push(apply_step(&mut lead, entry));
    }
    if let Some(seq) = first_divergence(&run.entries) {
        let rule = "a second replay gives a different state".to_owned();
        problem.get_or_insert_with(|| problem_at(&run, seq, rule));
    }
    if context.wants_json() {
        return Ok(answer_json(&run, args, &steps, problem.as_ref()));
    }
    let is_interactive = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !print_steps(&steps, args.step, args.step && is_interactive)? {
        return Ok(Output::Text(String::new()));
    }
    let text = conclusion(&run, problem.as_ref());
    Ok(if problem.is_none() { Output::Text(text) } else { Output::Findings(text) })
}

fn problem_at(run: &Run, seq: u64, problem: String) -> JournalProblem {
    JournalProblem { seq, file: run.dir.journal().display().to_string(), line: seq + 1, problem }
}

/// Applies an event to the state, and returns what it changed.
fn apply_step(lead: &mut Lead, entry: &JournalEntry) -> ReplayStep {
    let text = entry.event.describe(lead).map(|text| fit_line(&text, usize::MAX));
    let affected: Vec<_> = match &entry.event {
        Event::RoadmapRead { phases, .. } => phases.iter().map(|spec| spec.number).collect(),
        event => event.phase().into_iter().collect(),
    };
    let status = |lead: &Lead, number| lead.phases.get(number).map(|phase| phase.status);
    let before: Vec<_> = affected.iter().map(|number| status(lead, number)).collect();
    lead.apply(&entry.event, entry.at);
    let changes = affected.iter().zip(before).filter_map(|(number, from)| {
        let to = status(lead, number).filter(|to| Some(*to) != from)?;
        Some(StatusChange { phase: number.to_string(), from, to })
    });
    let event = serde_json::to_value(&entry.event).unwrap_or_default();
    ReplayStep {
        seq: entry.seq,
        at: entry.at,
        event: event["event"].as_str().unwrap_or_default().to_owned(),
        text,
        changes: changes.collect(),
    }
}

/// Builds the state twice, the second time from events that were serialized and parsed again.
///
/// Returns the record where the two states diverge.
fn first_divergence(entries: &[JournalEntry]) -> Option<u64> {
    let (mut first, mut second) = (Lead::default(), Lead::default());
    for entry in entries {
        first.apply(&entry.event, entry.at);
        let reparsed = serde_json::to_vec(&entry.event).ok();
        let Some(reparsed) = reparsed.and_then(|bytes| serde_json::from_slice(&bytes).ok()) else {
            return Some(entry.seq);
        };
        second.apply(&reparsed, entry.at);
    }
    (first != second).then(|| entries.last().map_or(0, |entry| entry.seq))
}

fn answer_json(
    run: &Run,
    args: &Args,
    steps: &[ReplayStep],
    problem: Option<&JournalProblem>,
) -> Output {
    let shown: Vec<_> = steps.iter().filter(|step| args.step || !step.changes.is_empty()).collect();
    let view = run.view();
    let phases: Vec<_> = view
        .phases
        .iter()
        .map(|phase| {
            let (number, status) = (phase.number.to_string(), phase.word());
            json!({ "phase": number, "status": status, "attempt": phase.attempt })
        })
        .collect();
    let value = json!({
        "run": run.dir.run(), "events": steps.len(), "consistent": problem.is_none(),
        "problem": problem, "standing": standing(view.status), "phases": phases, "steps": shown,
    });
    let Output::Text(text) = Output::pretty_json(value) else {
        unreachable!("pretty_json creates text")
    };
    if problem.is_none() { Output::Text(text) } else { Output::Findings(text) }
}

/// Prints the steps; returns `false` when the reader has closed the pipe or stopped.
fn print_steps(steps: &[ReplayStep], all: bool, wait: bool) -> Result<bool, Failure> {
    for step in steps.iter().filter(|step| all || !step.changes.is_empty()) {
        if !stream(&render_step(step, all))? {
            return Ok(false);
        }
        if wait && !enter_pressed() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Waits for Enter; returns `false` when other text was typed or the input has ended.
fn enter_pressed() -> bool {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.is_ok_and(|count| count > 0) && line.trim().is_empty()
}

fn render_step(step: &ReplayStep, all: bool) -> String {
    let (seq, time) = (step.seq, styled(DIM, &time_of_day(step.at)));
    let mut text = format!("{seq:>5}  {time}  ");
    if all || step.changes.len() != 1 {
        let description = step.text.as_ref().map_or(String::new(), |text| format!("  {text}"));
        let _ = writeln!(text, "{}{description}", styled(BOLD, &step.event));
        for change in &step.changes {
            let _ = writeln!(text, "{:17}{}", "", describe_change(change));
        }
    } else {
        let description = step.text.as_ref().map_or(String::new(), |text| format!("   {text}"));
        let changes: String = step.changes.iter().map(describe_change).collect();
        let _ = writeln!(text, "{changes}{}", styled(DIM, &description));
    }
    text
}

fn describe_change(change: &StatusChange) -> String {
    let from = change.from.map_or("new", Status::name);
    format!("phase {}: {from} → {}", change.phase, change.to.name())
}

fn conclusion(run: &Run, problem: Option<&JournalProblem>) -> String {
    let (name, count) = (run.dir.run(), counted(run.entries.len(), "event"));
    match problem {
        None => format!(
            "\n{}\nState of the run: {}.\n",
            styled(GREEN, &format!("Run {name}: {count}, complete and consistent.")),
            run.progress(),
        ),
        Some(JournalProblem { seq, file, line, problem }) => format!(
            "\n{}\n{file}, line {line}\n",
            styled(RED, &format!("Run {name}: record {seq} breaks a rule: {problem}.")),
        ),
    }
}
