//! `mow log`: describes the events of a run, and the work of one phase's workers.

mod worker;

use std::fmt::Write;

use mow_core::view::{EventView, PhaseView, RunView};
use mow_engine::clock::time_of_day;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::{Run, local_date};
use crate::terminal::{BOLD, DIM, fit_line, styled, toned};
use crate::wire::event::EventJson;
use crate::wire::log::{LogFiles, LogJson};

/// The arguments of `log`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show only this phase, with the journals of its workers
    phase: Option<String>,
    /// The id of the run; default: the newest run
    #[arg(long, value_name = "ID")]
    run: Option<String>,
}

/// A line of the log: an event of the lead or of a worker.
#[derive(Debug)]
struct LogLine {
    event: EventView,
    is_of_worker: bool,
    /// The log file of the command that failed.
    log: Option<String>,
}

impl LogLine {
    fn render(&self) -> Option<String> {
        let indent = if self.is_of_worker { "  " } else { "" };
        let mut shown = render_indented(&self.event, indent)?;
        if let Some(log) = &self.log {
            let _ = write!(shown, "\n{:10}{indent}log: {log}", "");
        }
        Some(shown)
    }

    fn to_json(&self, run: &str) -> EventJson {
        let source = if self.is_of_worker { "worker" } else { "lead" };
        EventJson::new(run, source, &self.event, self.log.clone())
    }
}

/// Returns an event as a line of text; `None` for an event without a description.
pub(super) fn render_event(event: &EventView) -> Option<String> {
    render_indented(event, "")
}

fn render_indented(event: &EventView, indent: &str) -> Option<String> {
    let text = fit_line(event.text.as_ref()?, usize::MAX);
    let time = styled(DIM, &time_of_day(event.at));
    Some(format!("{time}  {indent}{}", toned(event.tone, &text)))
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let run = Run::load(context, args.run.as_deref())?;
    let number = args.phase.as_deref().map(|word| run.phase(word)).transpose()?;
    let view = run.view();
    let phase = number.and_then(|number| view.phase(number));
    let lead_line = |event| LogLine { event, is_of_worker: false, log: None };
    let mut lines: Vec<_> = run.events().into_iter().map(lead_line).collect();
    let mut logs = Vec::new();
    if let Some(phase) = phase {
        logs = worker::log_files(&run, phase);
        let (own, attempts_read) = worker::journal_lines(&run, phase, &logs);
        // A worker's reports are also in its own journal, if that still exists.
        let is_duplicate = |event: &EventView| {
            event.is_report && event.attempt.is_some_and(|n| attempts_read.contains(&n))
        };
        let is_of_phase = |event: &EventView| event.phase == Some(phase.number);
        lines.retain(|line| is_of_phase(&line.event) && !is_duplicate(&line.event));
        lines.extend(own);
        lines.sort_by_key(|line| line.event.at);
    }
    let journal = run.dir.journal().display().to_string();
    let log_dir = run.dir.path().join("logs").display().to_string();
    if context.wants_json() {
        let events = lines.iter().map(|line| line.to_json(&view.run)).collect();
        let files = LogFiles { journal, log_dir, logs };
        return Ok(Output::pretty_json(LogJson::new(&view.run, phase, files, events)));
    }
    let mut text = headline(&view, phase);
    write_lines(&mut text, &lines);
    let _ = writeln!(text, "\n{}\n  {journal}\n  {log_dir}/", styled(BOLD, "Files"));
    if phase.is_some() {
        for log in &logs {
            let _ = writeln!(text, "  {log}");
        }
        text.push_str(&styled(DIM, "`mow logs PHASE` shows what its agents say and do\n"));
    } else {
        text.push_str(&styled(DIM, "`mow log PHASE` shows the work of one phase\n"));
    }
    Ok(Output::Text(text))
}

fn headline(run: &RunView, phase: Option<&PhaseView>) -> String {
    let title = format!("Run {} into {}: {}", run.run, run.target, run.progress());
    let mut text = format!("{}\n", styled(BOLD, &title));
    if let Some(phase) = phase {
        let PhaseView { number, name, why, .. } = phase;
        let line = format!("Phase {number} {name} is {}: {why}", phase.word());
        let _ = writeln!(text, "{}", fit_line(&line, usize::MAX));
    }
    text
}

fn write_lines(text: &mut String, lines: &[LogLine]) {
    let mut today = String::new();
    for line in lines {
        let Some(shown) = line.render() else { continue };
        let day = local_date(line.event.at);
        if day != today {
            let _ = writeln!(text, "\n{}", styled(DIM, &day));
            today = day;
        }
        let _ = writeln!(text, "{shown}");
    }
}
