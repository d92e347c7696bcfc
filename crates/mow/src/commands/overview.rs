//! `mow` without a command: shows the progress of the project and what to do next.
//!
//! Only reads. Outside of a project it says what mow does and how to start.

mod advice;
mod project_overview;

use std::fmt::Write;

use mow_core::view::RunView;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::terminal::{BOLD, CYAN, DIM, GREEN, RED, Screen, YELLOW, fit_line, styled};
use crate::wire::overview::{NoPlanJson, PositionJson, RoadmapPhaseJson, StepJson};
use project_overview::ProjectOverview;

/// How many lines of one kind are shown.
const SHOWN_MAX: usize = 5;
/// The width of the labels.
const LABEL_WIDTH: usize = 10;

pub(super) fn run(context: &Context) -> Result<Output, Failure> {
    if !context.project.planned {
        return Ok(outside_project(context));
    }
    let overview = ProjectOverview::load(context)?;
    Ok(if context.wants_json() {
        Output::pretty_json(overview.to_json())
    } else {
        Output::Text(render(&overview, &Screen::current()))
    })
}

/// Returns the output outside of a project.
fn outside_project(context: &Context) -> Output {
    let steps = advice::outside_project(&context.project);
    if context.wants_json() {
        return Output::pretty_json(NoPlanJson::new(steps));
    }
    let mut text = format!(
        "{}\n\n\
         mow runs the phases of a project with coding agents: each phase in its own git\n\
         worktree, as many in parallel as their dependencies allow. The plan is Markdown\n\
         in `.planning/`. This directory and those above it have no plan yet.\n",
        styled(BOLD, "mow"),
    );
    write_steps(&mut text, &steps, &Screen::current());
    Output::Text(text)
}

fn render(overview: &ProjectOverview, screen: &Screen) -> String {
    let mut text = headline(overview, screen);
    if let Some(position) = &overview.position {
        write_row(&mut text, "Now", &position_text(position), screen);
        if let Some(status) = &position.status {
            write_row(&mut text, "Status", status, screen);
        }
        if let Some(activity) = &position.last_activity {
            write_row(&mut text, "Last", activity, screen);
        }
    }
    if let Some(run) = &overview.run {
        write_run(&mut text, run, screen);
    }
    for (index, phase) in overview.running.iter().take(SHOWN_MAX).enumerate() {
        let label = if index == 0 { "Running" } else { "" };
        write_row(&mut text, label, &running_text(phase), screen);
    }
    for (index, phase) in overview.in_run.iter().take(SHOWN_MAX).enumerate() {
        let label = if index == 0 { "In run" } else { "" };
        write_row(
            &mut text,
            label,
            &format!("{} {} ({})", phase.number, phase.name, phase.how),
            screen,
        );
    }
    if overview.in_run.len() > SHOWN_MAX {
        write_row(
            &mut text,
            "",
            &format!("and {} more", overview.in_run.len() - SHOWN_MAX),
            screen,
        );
    }
    write_phase_rows(&mut text, "Ready", &overview.ready, screen);
    write_phase_rows(&mut text, "Blocked", &overview.blocked, screen);
    for (index, blocker) in overview.blockers.iter().take(SHOWN_MAX).enumerate() {
        write_row(&mut text, if index == 0 { "Blockers" } else { "" }, blocker, screen);
    }
    for problem in &overview.problems {
        let _ = writeln!(text, "{}", styled(RED, &fit_line(&format!("! {problem}"), screen.width)));
    }
    write_steps(&mut text, &overview.next, screen);
    text
}

fn write_run(text: &mut String, run: &RunView, screen: &Screen) {
    let line = format!("{}: {} ({})", run.lead_text(), run.progress(), run.run);
    write_row(text, "Run", &line, screen);
    for (index, question) in run.questions.iter().take(SHOWN_MAX).enumerate() {
        let label = if index == 0 { "Questions" } else { "" };
        write_row(text, label, &format!("{} {}", question.id, question.question), screen);
    }
}

/// Returns the project, its milestone and a progress bar.
fn headline(overview: &ProjectOverview, screen: &Screen) -> String {
    let mut title = overview.project.clone();
    if let Some(milestone) = &overview.milestone {
        let _ = write!(title, ", {milestone}");
    }
    let counts = overview.phases;
    let mut text = format!("{}\n", styled(BOLD, &fit_line(&title, screen.width)));
    if counts.total == 0 {
        return text + "The roadmap declares no phases yet.\n\n";
    }
    let width = if screen.width < 60 { 10 } else { 20 };
    let cells = width * counts.done / counts.total;
    let (full, empty) = screen.bar();
    let _ = writeln!(
        text,
        "{}{}  {} of {} phases done\n",
        styled(GREEN, &full.repeat(cells)),
        styled(DIM, &empty.repeat(width - cells)),
        counts.done,
        counts.total,
    );
    text
}

fn position_text(position: &PositionJson) -> String {
    let mut parts = Vec::new();
    if let Some(phase) = &position.phase {
        let total = position.total_phases.map_or(String::new(), |total| format!(" of {total}"));
        let name = position.phase_name.as_ref().map_or(String::new(), |name| format!(": {name}"));
        parts.push(format!("Phase {phase}{total}{name}"));
    }
    // STATE.md says plan 0 of 0 for a phase that has no plans yet.
    if let Some(plan) = position.plan.as_ref().filter(|plan| *plan != "0") {
        let total = position.total_plans.map_or(String::new(), |total| format!(" of {total}"));
        parts.push(if plan.eq_ignore_ascii_case("not started") {
            "no plan started".to_owned()
        } else {
            format!("plan {plan}{total}")
        });
    }
    if parts.is_empty() { "no current phase".to_owned() } else { parts.join(", ") }
}

fn running_text(phase: &mow_store::state::active_phases::ActivePhase) -> String {
    let worker = match phase.worker.trim() {
        "" | "--" => String::new(),
        worker => format!(", {worker}"),
    };
    format!("{} {} ({}), plans {}{worker}", phase.phase, phase.name, phase.status, phase.plans)
}

fn write_phase_rows(text: &mut String, label: &str, phases: &[RoadmapPhaseJson], screen: &Screen) {
    for (index, phase) in phases.iter().take(SHOWN_MAX).enumerate() {
        let waiting_on = match phase.waiting_on.as_slice() {
            [] => String::new(),
            numbers => format!(" (waits for {})", numbers.join(", ")),
        };
        let line = format!("{} {}{waiting_on}", phase.number, phase.name);
        write_row(text, if index == 0 { label } else { "" }, &line, screen);
    }
    if phases.len() > SHOWN_MAX {
        write_row(text, "", &format!("and {} more", phases.len() - SHOWN_MAX), screen);
    }
}

fn write_row(text: &mut String, label: &str, value: &str, screen: &Screen) {
    let style = match label {
        "Ready" | "Questions" => YELLOW,
        "Blockers" => RED,
        _ => DIM,
    };
    // The padding is outside of the colour codes, so that it is the same without colours.
    let pad = " ".repeat(LABEL_WIDTH + 1 - label.len());
    let label = if label.is_empty() { String::new() } else { styled(style, label) };
    let _ = writeln!(text, "{label}{pad}{}", fit_line(value, screen.width - LABEL_WIDTH - 1));
}

/// Writes commands to paste.
///
/// A command is never cut. A reason that does not fit beside its command goes below it.
fn write_steps(text: &mut String, steps: &[StepJson], screen: &Screen) {
    let _ = writeln!(text, "\n{}", styled(BOLD, "Next"));
    let lengths = steps.iter().map(|step| step.command.chars().count());
    let column = lengths.filter(|length| *length <= screen.width / 2).max().unwrap_or(0);
    for step in steps {
        let length = step.command.chars().count();
        let command = styled(CYAN, &step.command);
        if length <= column && column + 4 + step.why.chars().count() <= screen.width {
            let pad = " ".repeat(column - length);
            let _ = writeln!(text, "  {command}{pad}  {}", styled(DIM, &step.why));
        } else {
            let reason = styled(DIM, &fit_line(&step.why, screen.width - 6));
            let _ = writeln!(text, "  {command}\n      {reason}");
        }
    }
}
