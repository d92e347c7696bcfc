//! `mow roadmap phases`: every phase the roadmap declares, archived ones included.

use std::fmt::Write;

use mow_core::phase::PhaseNumber;
use mow_core::roadmap::Phase;
use mow_store::roadmap;
use serde::Serialize;

use super::no_roadmap;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn run(context: &Context) -> Result<Output, Failure> {
    let bytes = context.load("ROADMAP.md")?.ok_or_else(no_roadmap)?;
    let roadmap = roadmap::parse(&bytes);
    let phases: Vec<_> = roadmap.entries.iter().map(|entry| &entry.phase).collect();
    Ok(if context.wants_json() {
        Output::json_lines(phases.iter().map(|phase| describe(phase)).collect::<Vec<_>>())
    } else {
        Output::Text(table(&phases))
    })
}

#[derive(Serialize)]
struct Described<'a> {
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

fn describe(phase: &Phase) -> Described<'_> {
    Described {
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

fn table(phases: &[&Phase]) -> String {
    let mut text = String::new();
    let width = phases.iter().map(|phase| phase.written.len()).max().unwrap_or(0);
    for phase in phases {
        let mark = match (phase.completion.done, phase.completion.certain) {
            (true, true) => 'x',
            (false, true) => ' ',
            (_, false) => '?',
        };
        let needs: Vec<_> = phase.depends_on.iter().map(ToString::to_string).collect();
        let needs =
            if needs.is_empty() { String::new() } else { format!("  needs {}", needs.join(", ")) };
        let _ = writeln!(text, "[{mark}] {:>width$}  {}{needs}", phase.written, phase.name);
    }
    let done = phases.iter().filter(|phase| phase.completion.done).count();
    let unsure = phases.iter().filter(|phase| !phase.completion.certain).count();
    let _ = writeln!(text, "\n{} phases, {done} done", phases.len());
    if unsure > 0 {
        let _ = writeln!(
            text,
            "[?] the roadmap contradicts itself about {unsure} of them (box against table or status)"
        );
    }
    text
}
