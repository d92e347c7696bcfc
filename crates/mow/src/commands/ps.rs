//! `mow ps`: a run at a glance, with a lead or without one.

use std::fmt::Write;

use mow_core::lead::{Status, Track};
use serde::Serialize;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::{Run, ago, time_text};
use crate::terminal::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, fit, painted, width};

/// A phase as it is listed.
#[derive(Serialize)]
struct Row {
    phase: String,
    name: String,
    status: Status,
    attempt: u32,
    stage: Option<&'static str>,
    /// Whether its worker only looks ahead.
    looks_ahead: bool,
    plans_done: usize,
    plans: usize,
    /// The first of the plans it is at, and which of its tasks.
    plan: Option<String>,
    task: Option<usize>,
    tasks: Option<usize>,
    /// All plans it is at.
    at: Vec<At>,
    /// How many agents it may have at work at a time.
    agents: usize,
    /// Whether the worker, or what it runs, shows no sign of life.
    stuck: bool,
    worker: Option<u32>,
    /// Whether the worker, or anything it started, lives.
    alive: bool,
    since: String,
    why: String,
    waits_for: Vec<String>,
    #[serde(skip)]
    since_ms: u64,
}

/// A plan that a phase is at.
#[derive(Clone, Serialize)]
struct At {
    plan: String,
    task: usize,
    tasks: usize,
}

impl Row {
    fn new(run: &Run, track: &Track) -> Self {
        let number = |n: &mow_core::phase::PhaseNumber| n.to_string();
        let is_open = |n: &&mow_core::phase::PhaseNumber| {
            run.lead.phases.get(n).is_some_and(|other| other.status != Status::Merged)
        };
        // What a phase is at says something only while its worker is at it.
        let is_at_work = track.status.holds_slot();
        let at: Vec<_> = track
            .at
            .iter()
            .filter(|_| is_at_work)
            .map(|(plan, &(done, tasks))| At {
                plan: plan.clone(),
                task: (done + 1).min(tasks),
                tasks,
            })
            .collect();
        Self {
            phase: track.spec.number.to_string(),
            name: track.spec.name.clone(),
            status: track.status,
            attempt: track.attempt,
            stage: track.stage.map(mow_core::stage::Stage::name),
            looks_ahead: track.looks_ahead(),
            plans_done: track.plans.0,
            plans: track.plans.1,
            plan: at.first().map(|at| at.plan.clone()),
            task: at.first().map(|at| at.task),
            tasks: at.first().map(|at| at.tasks),
            at,
            agents: if is_at_work { track.agents } else { 0 },
            stuck: run.lead.is_stuck(track.spec.number),
            worker: run.worker_pid(track),
            alive: track.attempt > 0 && run.worker_is_alive(track),
            since: time_text(track.since),
            why: run.lead.why(track),
            waits_for: track.spec.depends_on.iter().filter(is_open).map(number).collect(),
            since_ms: track.since,
        }
    }

    /// Says what it is doing, in a few words.
    fn doing(&self) -> String {
        let mut parts = Vec::new();
        if self.status.holds_slot() {
            parts.extend(self.stage.map(str::to_owned));
        }
        if self.plans > 0 {
            parts.push(format!("plans {}/{}", self.plans_done, self.plans));
        }
        let at = self.at.iter();
        parts.extend(at.map(|At { plan, task, tasks }| format!("{plan} task {task}/{tasks}")));
        if self.stuck {
            parts.push("seems stuck".to_owned());
        }
        match (self.worker, self.alive) {
            (Some(pid), _) => parts.push(format!("worker {pid}")),
            (None, true) => parts.push("worker alive".to_owned()),
            (None, false) if self.status == Status::Running => {
                parts.push("its worker is gone".to_owned());
            }
            (None, false) => {}
        }
        parts.join(", ")
    }
}

pub(super) fn run(context: &Context) -> Result<Output, Failure> {
    let run = Run::load(context, None)?;
    let lead = run.lead_pid()?;
    let rows: Vec<_> = run.lead.phases.values().map(|track| Row::new(&run, track)).collect();
    let pending = run.pending()?.len();
    let over = crate::runs::is_over(&run.lead);
    if context.wants_json() {
        return Ok(Output::json_lines(json!({
            "run": run.dir.run(),
            "target": run.lead.target,
            "lead": lead,
            "standing": run.lead.standing(),
            "over": over,
            "breaker": run.lead.breaker,
            "phases": rows,
            "questions": run.lead.open_items().collect::<Vec<_>>(),
            "pending_commands": pending,
            "follow_refused": run.lead.follow_refused,
            "next": (lead.is_none() && !over).then(|| run.go_on()),
        })));
    }
    let mut text = headline(&run, lead);
    let name_width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    for row in &rows {
        write_row(&mut text, row, name_width.clamp(4, 28));
    }
    write_rest(&mut text, &run, pending);
    if lead.is_none() && !over {
        let _ = writeln!(text, "\n{}  goes on", painted(CYAN, &run.go_on()));
    }
    Ok(Output::Text(text))
}

fn headline(run: &Run, lead: Option<u32>) -> String {
    let title = format!("Run {} into {}", run.dir.run(), run.lead.target);
    let led = match lead {
        Some(pid) => painted(GREEN, &format!("led by process {pid}")),
        None if crate::runs::is_over(&run.lead) => "over".to_owned(),
        None => painted(YELLOW, "no lead is running"),
    };
    format!("{}, {led}: {}\n", painted(BOLD, &title), run.standing())
}

fn write_row(text: &mut String, row: &Row, name_width: usize) {
    let style = match row.status {
        Status::Merged | Status::Complete | Status::Merging => GREEN,
        Status::Failed => RED,
        Status::Parked | Status::Paused => YELLOW,
        _ if row.stuck => YELLOW,
        status if status.holds_slot() => CYAN,
        _ => DIM,
    };
    let name = fit(&row.name, name_width);
    let pad = " ".repeat(name_width.saturating_sub(name.chars().count()));
    let status = format!("{:<9}", row.status.name());
    let attempt = if row.attempt > 1 { format!("#{} ", row.attempt) } else { String::new() };
    let doing = row.doing();
    let why = if row.status == Status::Merged { "" } else { row.why.as_str() };
    let joint = if doing.is_empty() || why.is_empty() { "" } else { "; " };
    let rest = format!("{attempt}{doing}{joint}{why}");
    let columns = width().saturating_sub(name_width + 22);
    let _ = writeln!(
        text,
        "{:>5} {name}{pad} {} {:>4} {}",
        row.phase,
        painted(style, &status),
        ago(row.since_ms),
        fit(&rest, columns)
    );
}

/// Writes what waits for a person, and what else is to be known.
fn write_rest(text: &mut String, run: &Run, pending: usize) {
    for item in run.lead.open_items() {
        let question = fit(&item.ask.question, width().saturating_sub(24));
        let command = format!("mow answer {} …", item.id);
        let _ = writeln!(text, "{} {question}  {}", painted(YELLOW, "?"), painted(CYAN, &command));
    }
    if run.lead.breaker {
        let line = "Nothing new is started until a person says so.";
        let _ = writeln!(text, "{}", painted(RED, line));
    }
    if pending > 0 {
        let _ = writeln!(text, "{pending} commands wait for the lead.");
    }
    if let Some((reason, command)) = &run.lead.follow_refused {
        let target = &run.lead.target;
        let _ = writeln!(text, "{target} did not follow: {reason}\nTo finish: {command}");
    }
}
