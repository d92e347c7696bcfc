//! `mow ps`: shows the status of the newest run, whether its lead runs or not.

use std::fmt::Write;

use mow_core::lead::Status;
use mow_core::view::{FastForwardRefusal, PhaseView, RunView};

use super::plural::counted;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::{Run, format_age, resume_command};
use crate::terminal::{BOLD, CYAN, GREEN, RED, YELLOW, fit_line, styled, toned, width};
use crate::wire::ps::PsJson;

pub(super) fn run(context: &Context) -> Result<Output, Failure> {
    let mut view = Run::load(context, None)?.full_view()?;
    if view.is_closed {
        // Nothing of a closed run is active; `mow log` has its history.
        view.phases.clear();
        (view.phases_left_out, view.refusal) = (0, None);
    }
    if context.wants_json() {
        return Ok(Output::pretty_json(PsJson::of(&view)));
    }
    Ok(Output::Text(render(&view)))
}

fn render(run: &RunView) -> String {
    if run.is_closed {
        let (run, progress) = (&run.run, run.progress());
        return format!(
            "No run is active. Run {run} is closed: {progress}. `mow log` shows what it did.\n"
        );
    }
    let mut text = headline(run);
    let name_width = run.phases.iter().map(|phase| phase.name.chars().count()).max().unwrap_or(0);
    for phase in &run.phases {
        write_row(&mut text, phase, name_width.clamp(4, 28), run.now);
    }
    if run.phases_left_out > 0 {
        let _ = writeln!(text, "  … and {}", counted(run.phases_left_out, "more phase"));
    }
    write_footer(&mut text, run);
    if run.lead.is_none() && !run.is_over {
        let _ = writeln!(text, "\n{}  continues the run", styled(CYAN, &resume_command(run)));
    }
    text
}

/// Returns the first line: run, branch, lead, progress.
fn headline(run: &RunView) -> String {
    let title = format!("Run {} into {}", run.run, run.target);
    let state = match run.lead {
        Some(_) => styled(GREEN, &run.lead_text()),
        None if run.is_over => run.lead_text(),
        None => styled(YELLOW, &run.lead_text()),
    };
    format!("{}, {state}: {}\n", styled(BOLD, &title), run.progress())
}

/// Describes the current work: stage, plans, tasks, worker.
fn activity(phase: &PhaseView) -> String {
    let mut parts = Vec::new();
    if phase.status.holds_slot() {
        parts.extend(phase.stage.map(|stage| stage.name().to_owned()));
    }
    if phase.plans > 0 {
        parts.push(format!("plans {}/{}", phase.plans_done, phase.plans));
    }
    let plans = phase.open_plans.iter();
    parts.extend(plans.map(|open| format!("{} task {}/{}", open.plan, open.task(), open.tasks)));
    if phase.is_stuck {
        parts.push("seems stuck".to_owned());
    }
    let worker = phase.worker.unwrap_or_default();
    match (worker.pid, worker.is_alive) {
        (Some(pid), _) => parts.push(format!("worker {pid}")),
        (None, true) => parts.push("worker alive".to_owned()),
        (None, false) if phase.status == Status::Running => parts.push("worker died".to_owned()),
        (None, false) => {}
    }
    parts.join(", ")
}

fn write_row(text: &mut String, phase: &PhaseView, name_width: usize, now: u64) {
    let name = fit_line(&phase.name, name_width);
    let pad = " ".repeat(name_width.saturating_sub(name.chars().count()));
    let status = format!("{:<9}", phase.word());
    let attempt = if phase.attempt > 1 { format!("#{} ", phase.attempt) } else { String::new() };
    let activity = activity(phase);
    let why = if phase.status == Status::Merged { "" } else { phase.why.as_str() };
    let separator = if activity.is_empty() || why.is_empty() { "" } else { "; " };
    let rest = format!("{attempt}{activity}{separator}{why}");
    let columns = width().saturating_sub(name_width + 22);
    let _ = writeln!(
        text,
        "{:>5} {name}{pad} {} {:>4} {}",
        phase.number.to_string(),
        toned(phase.tone(), &status),
        format_age(phase.since, now),
        fit_line(&rest, columns)
    );
}

/// Writes the open questions and the state of the run below the phases.
fn write_footer(text: &mut String, run: &RunView) {
    for question in &run.questions {
        let line = fit_line(&question.question, width().saturating_sub(24));
        let command = format!("mow answer {} …", question.id);
        let _ = writeln!(text, "{} {line}  {}", styled(YELLOW, "?"), styled(CYAN, &command));
    }
    if run.questions_left_out > 0 {
        let _ = writeln!(text, "and {}", counted(run.questions_left_out, "more question"));
    }
    if run.breaker_open {
        let line = "No new phase starts until you answer the open question or run `mow resume`.";
        let _ = writeln!(text, "{}", styled(RED, line));
    }
    if run.queued_commands > 0 {
        let verb = if run.queued_commands == 1 { "waits" } else { "wait" };
        let commands = counted(run.queued_commands, "command");
        let _ = writeln!(text, "{commands} {verb} until the run continues.");
    }
    if let Some(FastForwardRefusal { reason, command }) = &run.refusal {
        let target = &run.target;
        let _ = writeln!(text, "{target} was not fast-forwarded: {reason}\nTo finish: {command}");
    }
}
