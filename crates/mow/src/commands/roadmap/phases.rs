//! `mow roadmap phases`: lists every phase that the roadmap declares, including archived ones.

use std::fmt::Write;

use mow_core::phase::PhaseNumber;
use mow_core::roadmap::RoadmapPhase;
use mow_store::roadmap;
use serde::Serialize;

use super::no_roadmap;
use crate::commands::plural::counted;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn run(context: &Context) -> Result<Output, Failure> {
    let bytes = context.load("ROADMAP.md")?.ok_or_else(no_roadmap)?;
    let roadmap = roadmap::parse(&bytes);
    let phases: Vec<_> = roadmap.entries.iter().map(|entry| &entry.phase).collect();
    Ok(if context.wants_json() {
        Output::pretty_json(phases.iter().map(|phase| describe(phase)).collect::<Vec<_>>())
    } else {
        Output::Text(table(&phases))
    })
}

/// A phase in the JSON output.
#[derive(Serialize)]
struct PhaseDetails<'a> {
    number: String,
    name: &'a str,
    completed: bool,
    completed_certain: bool,
    depends_on: Vec<String>,
    depends_stated: bool,
    sources: String,
    archived: bool,
    line: usize,
}

fn describe(phase: &RoadmapPhase) -> PhaseDetails<'_> {
    PhaseDetails {
        number: phase.number.canonical(),
        name: &phase.name,
        completed: phase.completion.done,
        completed_certain: phase.completion.certain,
        depends_on: phase.depends_on.iter().map(PhaseNumber::canonical).collect(),
        depends_stated: phase.depends_stated,
        sources: phase.sources.letters(),
        archived: phase.archived,
        line: phase.line,
    }
}

fn table(phases: &[&RoadmapPhase]) -> String {
    let mut text = String::new();
    let width = phases.iter().map(|phase| phase.written.len()).max().unwrap_or(0);
    for phase in phases {
        let mark = match (phase.completion.done, phase.completion.certain) {
            (true, true) => 'x',
            (false, true) => ' ',
            (_, false) => '?',
        };
        let dependencies: Vec<_> = phase.depends_on.iter().map(ToString::to_string).collect();
        let needs = match dependencies.as_slice() {
            [] => String::new(),
            numbers => format!("  needs {}", numbers.join(", ")),
        };
        let _ = writeln!(text, "[{mark}] {:>width$}  {}{needs}", phase.written, phase.name);
    }
    let done = phases.iter().filter(|phase| phase.completion.done).count();
    let contradictory = phases.iter().filter(|phase| !phase.completion.certain).count();
    let _ = writeln!(text, "\n{}, {done} done", counted(phases.len(), "phase"));
    if contradictory > 0 {
        let _ = writeln!(
            text,
            "[?] the roadmap marks {} as both done and not done (checkbox against table or status)",
            counted(contradictory, "phase")
        );
    }
    text
}
