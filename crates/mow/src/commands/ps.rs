//! `mow ps`: shows the status of the newest run, whether its lead runs or not.

use std::fmt::Write;

use mow_core::lead::{PhaseState, Status};
use serde::Serialize;
use serde_json::json;

use super::plural::counted;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::{Run, format_age, format_utc};
use crate::terminal::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, fit_line, styled, width};

/// The row of one phase. Field names are JSON keys unless renamed.
#[derive(Serialize)]
struct PsRow {
    phase: String,
    name: String,
    status: Status,
    attempt: u32,
    stage: Option<&'static str>,
    /// Whether the worker only does look-ahead work.
    looks_ahead: bool,
    plans_done: usize,
    plans: usize,
    /// The first open plan, its current task counted from 1, and its number of tasks.
    plan: Option<String>,
    task: Option<usize>,
    tasks: Option<usize>,
    /// All open plans.
    #[serde(rename = "at")]
    open_plans: Vec<OpenPlan>,
    /// The most agents that the phase may run at the same time; 0 without a worker.
    agents: usize,
    /// Whether the worker or its command is stuck.
    stuck: bool,
    /// The process id of the worker; `None` when it is not alive.
    worker: Option<u32>,
    /// Whether the worker or any process it started is alive.
    alive: bool,
    since: String,
    why: String,
    waits_for: Vec<String>,
    #[serde(skip)]
    since_ms: u64,
}

/// A plan in progress, with its current task.
#[derive(Clone, Serialize)]
struct OpenPlan {
    plan: String,
    task: usize,
    tasks: usize,
}

impl PsRow {
    fn new(run: &Run, phase: &PhaseState) -> Self {
        let number = |n: &mow_core::phase::PhaseNumber| n.to_string();
        let is_open = |n: &&mow_core::phase::PhaseNumber| {
            run.lead.phases.get(n).is_some_and(|other| other.status != Status::Merged)
        };
        // Open plans are meaningful only while a worker works on them.
        let has_worker = phase.status.holds_slot();
        let open_plans: Vec<_> = phase
            .open_plans
            .iter()
            .filter(|_| has_worker)
            .map(|(plan, &(done, tasks))| OpenPlan {
                plan: plan.clone(),
                task: (done + 1).min(tasks),
                tasks,
            })
            .collect();
        Self {
            phase: phase.spec.number.to_string(),
            name: phase.spec.name.clone(),
            status: phase.status,
            attempt: phase.attempt,
            stage: phase.stage.map(mow_core::stage::Stage::name),
            looks_ahead: phase.looks_ahead(),
            plans_done: phase.plans.0,
            plans: phase.plans.1,
            plan: open_plans.first().map(|open| open.plan.clone()),
            task: open_plans.first().map(|open| open.task),
            tasks: open_plans.first().map(|open| open.tasks),
            open_plans,
            agents: if has_worker { phase.agents } else { 0 },
            stuck: run.lead.is_stuck(phase.spec.number),
            worker: run.worker_pid(phase),
            alive: phase.attempt > 0 && run.worker_is_alive(phase),
            since: format_utc(phase.since),
            why: run.lead.explain_status(phase),
            waits_for: phase.spec.depends_on.iter().filter(is_open).map(number).collect(),
            since_ms: phase.since,
        }
    }

    /// Describes the current work: stage, plans, tasks, worker.
    fn activity(&self) -> String {
        let mut parts = Vec::new();
        if self.status.holds_slot() {
            parts.extend(self.stage.map(str::to_owned));
        }
        if self.plans > 0 {
            parts.push(format!("plans {}/{}", self.plans_done, self.plans));
        }
        let open_plans = self.open_plans.iter();
        parts.extend(
            open_plans.map(|OpenPlan { plan, task, tasks }| format!("{plan} task {task}/{tasks}")),
        );
        if self.stuck {
            parts.push("seems stuck".to_owned());
        }
        match (self.worker, self.alive) {
            (Some(pid), _) => parts.push(format!("worker {pid}")),
            (None, true) => parts.push("worker alive".to_owned()),
            (None, false) if self.status == Status::Running => {
                parts.push("worker died".to_owned());
            }
            (None, false) => {}
        }
        parts.join(", ")
    }
}

pub(super) fn run(context: &Context) -> Result<Output, Failure> {
    let run = Run::load(context, None)?;
    let lead = run.lead_pid()?;
    let rows: Vec<_> = run.lead.phases.values().map(|phase| PsRow::new(&run, phase)).collect();
    let pending = run.pending_commands()?.len();
    let over = crate::runs::is_over(&run.lead);
    if context.wants_json() {
        return Ok(Output::pretty_json(json!({
            "run": run.dir.run(),
            "target": run.lead.target.branch,
            "lead": lead,
            "standing": run.lead.status(),
            "over": over,
            "breaker": run.lead.starts.breaker_open,
            "phases": rows,
            "questions": run.lead.inbox.open().collect::<Vec<_>>(),
            "pending_commands": pending,
            "follow_refused": run.lead.target.refusal,
            "next": (lead.is_none() && !over).then(|| run.resume_command()),
        })));
    }
    let mut text = headline(&run, lead);
    let name_width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    for row in &rows {
        write_row(&mut text, row, name_width.clamp(4, 28));
    }
    write_footer(&mut text, &run, pending);
    if lead.is_none() && !over {
        let _ = writeln!(text, "\n{}  continues the run", styled(CYAN, &run.resume_command()));
    }
    Ok(Output::Text(text))
}

/// Returns the first line: run, branch, lead, progress.
fn headline(run: &Run, lead: Option<u32>) -> String {
    let title = format!("Run {} into {}", run.dir.run(), run.lead.target.branch);
    let state = match lead {
        Some(pid) => styled(GREEN, &format!("running as process {pid}")),
        None if crate::runs::is_over(&run.lead) => "over".to_owned(),
        None => styled(YELLOW, "stopped"),
    };
    format!("{}, {state}: {}\n", styled(BOLD, &title), run.progress())
}

fn write_row(text: &mut String, row: &PsRow, name_width: usize) {
    let style = match row.status {
        Status::Merged | Status::Complete | Status::Merging => GREEN,
        Status::Failed => RED,
        Status::Parked | Status::Paused => YELLOW,
        _ if row.stuck => YELLOW,
        status if status.holds_slot() => CYAN,
        _ => DIM,
    };
    let name = fit_line(&row.name, name_width);
    let pad = " ".repeat(name_width.saturating_sub(name.chars().count()));
    let status = format!("{:<9}", row.status.name());
    let attempt = if row.attempt > 1 { format!("#{} ", row.attempt) } else { String::new() };
    let activity = row.activity();
    let why = if row.status == Status::Merged { "" } else { row.why.as_str() };
    let separator = if activity.is_empty() || why.is_empty() { "" } else { "; " };
    let rest = format!("{attempt}{activity}{separator}{why}");
    let columns = width().saturating_sub(name_width + 22);
    let _ = writeln!(
        text,
        "{:>5} {name}{pad} {} {:>4} {}",
        row.phase,
        styled(style, &status),
        format_age(row.since_ms),
        fit_line(&rest, columns)
    );
}

/// Writes the open questions and the state of the run below the phases.
fn write_footer(text: &mut String, run: &Run, pending: usize) {
    for item in run.lead.inbox.open() {
        let question = fit_line(&item.ask.question, width().saturating_sub(24));
        let command = format!("mow answer {} …", item.id);
        let _ = writeln!(text, "{} {question}  {}", styled(YELLOW, "?"), styled(CYAN, &command));
    }
    if run.lead.starts.breaker_open {
        let line = "No new phase starts until you answer the open question or run `mow resume`.";
        let _ = writeln!(text, "{}", styled(RED, line));
    }
    if pending > 0 {
        let verb = if pending == 1 { "waits" } else { "wait" };
        let commands = counted(pending, "command");
        let _ = writeln!(text, "{commands} {verb} until the run continues.");
    }
    if let Some((reason, command)) = &run.lead.target.refusal {
        let target = &run.lead.target.branch;
        let _ = writeln!(text, "{target} was not fast-forwarded: {reason}\nTo finish: {command}");
    }
}
