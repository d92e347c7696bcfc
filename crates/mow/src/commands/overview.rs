//! `mow` alone: where the project stands, and what to do next.
//!
//! Only reads. Outside of a project it says what mow is and how to begin.

mod advice;
mod standing;

use std::fmt::Write;

use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::terminal::{BOLD, CYAN, DIM, GREEN, RED, Screen, YELLOW, fit, painted};
use advice::Step;
use standing::{PhaseLine, Position, Standing};

/// How many phases of a kind are shown; the rest is counted.
const SHOWN_MAX: usize = 5;
/// The column that values start in.
const INDENT: usize = 10;

pub(super) fn run(context: &Context) -> Result<Output, Failure> {
    if !context.project.planned {
        return Ok(stranger(context));
    }
    let standing = Standing::load(context)?;
    Ok(if context.wants_json() {
        Output::json_lines(&standing)
    } else {
        Output::Text(text(&standing, &Screen::here()))
    })
}

/// The answer outside of a project.
fn stranger(context: &Context) -> Output {
    let steps = advice::outside(&context.project);
    if context.wants_json() {
        return Output::json_lines(json!({ "planned": false, "next": steps }));
    }
    let mut text = format!(
        "{}\n\n\
         mow runs the phases of a planned project with coding agents, each phase in its\n\
         own git worktree, as many at once as the plan allows. The plan is Markdown in\n\
         .planning/. There is none in this directory or above it.\n",
        painted(BOLD, "mow"),
    );
    write_steps(&mut text, &steps, &Screen::here());
    Output::Text(text)
}

fn text(standing: &Standing, screen: &Screen) -> String {
    let mut text = headline(standing, screen);
    if let Some(position) = &standing.position {
        row(&mut text, "Now", &now(position), screen);
        if let Some(status) = &position.status {
            row(&mut text, "Status", status, screen);
        }
        if let Some(activity) = &position.last_activity {
            row(&mut text, "Last", activity, screen);
        }
    }
    if let Some(run) = &standing.run {
        let brief = &run.brief;
        let led = brief.lead.map_or("no lead is running".to_owned(), |pid| format!("led by {pid}"));
        row(&mut text, "Run", &format!("{led}: {} ({})", brief.standing, brief.run), screen);
        for (at, ask) in run.asks.iter().take(SHOWN_MAX).enumerate() {
            let label = if at == 0 { "Asks you" } else { "" };
            row(&mut text, label, &format!("{} {}", ask.id, ask.question), screen);
        }
    }
    for (at, phase) in standing.running.iter().take(SHOWN_MAX).enumerate() {
        let label = if at == 0 { "Running" } else { "" };
        row(&mut text, label, &running(phase), screen);
    }
    for (at, phase) in standing.held.iter().take(SHOWN_MAX).enumerate() {
        let label = if at == 0 { "In the run" } else { "" };
        row(&mut text, label, &format!("{} {} ({})", phase.number, phase.name, phase.how), screen);
    }
    if standing.held.len() > SHOWN_MAX {
        row(&mut text, "", &format!("and {} more", standing.held.len() - SHOWN_MAX), screen);
    }
    rows(&mut text, "Ready", &standing.ready, screen);
    rows(&mut text, "Blocked", &standing.blocked, screen);
    for (at, blocker) in standing.blockers.iter().take(SHOWN_MAX).enumerate() {
        row(&mut text, if at == 0 { "In the way" } else { "" }, blocker, screen);
    }
    for problem in &standing.problems {
        let _ = writeln!(text, "{}", painted(RED, &fit(&format!("! {problem}"), screen.width)));
    }
    write_steps(&mut text, &standing.next, screen);
    text
}

fn headline(standing: &Standing, screen: &Screen) -> String {
    let mut title = standing.project.clone();
    if let Some(milestone) = &standing.milestone {
        let _ = write!(title, ", {milestone}");
    }
    let counts = standing.phases;
    let mut text = format!("{}\n", painted(BOLD, &fit(&title, screen.width)));
    if counts.total == 0 {
        return text + "The roadmap declares no phases yet.\n\n";
    }
    let width = if screen.width < 60 { 10 } else { 20 };
    let cells = width * counts.done / counts.total;
    let (full, empty) = screen.bar();
    let _ = writeln!(
        text,
        "{}{}  {} of {} phases done\n",
        painted(GREEN, &full.repeat(cells)),
        painted(DIM, &empty.repeat(width - cells)),
        counts.done,
        counts.total,
    );
    text
}

fn now(position: &Position) -> String {
    let mut parts = Vec::new();
    if let Some(phase) = &position.phase {
        let total = position.total_phases.map_or(String::new(), |total| format!(" of {total}"));
        let name = position.phase_name.as_ref().map_or(String::new(), |name| format!(": {name}"));
        parts.push(format!("Phase {phase}{total}{name}"));
    }
    // A phase that is not planned yet has a plan 0 of 0.
    if let Some(plan) = position.plan.as_ref().filter(|plan| *plan != "0") {
        let total = position.total_plans.map_or(String::new(), |total| format!(" of {total}"));
        parts.push(if plan.eq_ignore_ascii_case("not started") {
            "no plan started".to_owned()
        } else {
            format!("plan {plan}{total}")
        });
    }
    if parts.is_empty() { "no phase is named".to_owned() } else { parts.join(", ") }
}

fn running(phase: &mow_store::state::active::ActivePhase) -> String {
    let worker = match phase.worker.trim() {
        "" | "--" => String::new(),
        worker => format!(", {worker}"),
    };
    format!("{} {} ({}), plans {}{worker}", phase.phase, phase.name, phase.status, phase.plans)
}

fn rows(text: &mut String, label: &str, phases: &[PhaseLine], screen: &Screen) {
    for (at, phase) in phases.iter().take(SHOWN_MAX).enumerate() {
        let waits = match phase.waiting_on.as_slice() {
            [] => String::new(),
            on => format!(" (waits for {})", on.join(", ")),
        };
        let line = format!("{} {}{waits}", phase.number, phase.name);
        row(text, if at == 0 { label } else { "" }, &line, screen);
    }
    if phases.len() > SHOWN_MAX {
        row(text, "", &format!("and {} more", phases.len() - SHOWN_MAX), screen);
    }
}

fn row(text: &mut String, label: &str, value: &str, screen: &Screen) {
    let style = match label {
        "Ready" | "Asks you" => YELLOW,
        "In the way" => RED,
        _ => DIM,
    };
    // Padding stands outside of the colour, so that it is the same without.
    let pad = " ".repeat(INDENT + 1 - label.len());
    let label = if label.is_empty() { String::new() } else { painted(style, label) };
    let _ = writeln!(text, "{label}{pad}{}", fit(value, screen.width - INDENT - 1));
}

/// Writes commands to paste. A command is never cut: what does not fit beside it goes below.
fn write_steps(text: &mut String, steps: &[Step], screen: &Screen) {
    let _ = writeln!(text, "\n{}", painted(BOLD, "Next"));
    let lengths = steps.iter().map(|step| step.command.chars().count());
    let column = lengths.filter(|length| *length <= screen.width / 2).max().unwrap_or(0);
    for step in steps {
        let length = step.command.chars().count();
        let command = painted(CYAN, &step.command);
        if length <= column && column + 4 + step.why.chars().count() <= screen.width {
            let pad = " ".repeat(column - length);
            let _ = writeln!(text, "  {command}{pad}  {}", painted(DIM, &step.why));
        } else {
            let why = painted(DIM, &fit(&step.why, screen.width - 6));
            let _ = writeln!(text, "  {command}\n      {why}");
        }
    }
}
