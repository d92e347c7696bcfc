//! `mow roadmap analyze-dag` prints the waves of the dependency graph, the phases that are ready,
//! and the blocked phases with the phases they wait for.

use std::fmt::Write;

use mow_core::graph::Graph;
use mow_core::phase::PhaseNumber;
use mow_store::phase_dirs::DiskStatus;
use mow_store::project_phases::{ProjectPhase, ProjectPhases};
use serde::Serialize;
use serde_json::{Value, json};

use crate::commands::roadmap::load;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn run(context: &Context) -> Result<Output, Failure> {
    let Some(project_phases) = load(context)? else {
        return Ok(Output::json(json!({ "error": "ROADMAP.md not found" })));
    };
    let phases = project_phases.scheduled();
    let graph = project_phases.graph(&context.project.planning, &phases);
    let dag = Dag { phases: &phases, graph: &graph };
    Ok(if context.wants_json() { Output::json(dag.to_json()) } else { Output::Text(dag.to_text()) })
}

/// Returns the JSON of `analyze-dag`, for answers that contain it.
pub(crate) fn dag_json(context: &Context, project_phases: &ProjectPhases) -> Value {
    let phases = project_phases.scheduled();
    let graph = project_phases.graph(&context.project.planning, &phases);
    json!(Dag { phases: &phases, graph: &graph }.to_json())
}

#[derive(Serialize)]
struct DagJson<'a> {
    phases: Vec<DagPhaseJson<'a>>,
    waves: Option<Vec<WaveJson<'a>>>,
    ready: Vec<&'a str>,
    blocked: Vec<BlockedJson<'a>>,
    completed: Vec<&'a str>,
    validation: ValidationJson<'a>,
    critical_path: Vec<&'a str>,
    widest_wave: usize,
    speedup_bound: f64,
}

#[derive(Serialize)]
struct DagPhaseJson<'a> {
    number: &'a str,
    name: &'a str,
    depends_on: Vec<&'a str>,
    depended_by: Vec<&'a str>,
    disk_status: &'static str,
    parallel_with: Vec<&'a str>,
}

#[derive(Serialize)]
struct WaveJson<'a> {
    wave: usize,
    phases: Vec<&'a str>,
}

#[derive(Serialize)]
struct BlockedJson<'a> {
    phase: &'a str,
    waiting_on: Vec<&'a str>,
}

#[derive(Serialize)]
struct MissingRefJson<'a> {
    phase: &'a str,
    references: PhaseNumber,
}

#[derive(Serialize)]
struct ValidationJson<'a> {
    is_dag: bool,
    cycle_error: Option<String>,
    missing_refs: Vec<MissingRefJson<'a>>,
    fully_sequential: Option<bool>,
    contradictions: Vec<&'a str>,
}

struct Dag<'a> {
    phases: &'a [&'a ProjectPhase],
    graph: &'a Graph,
}

impl Dag<'_> {
    fn number(&self, index: usize) -> &str {
        &self.phases[index].entry.phase.written
    }

    fn numbers(&self, indexes: &[usize]) -> Vec<&str> {
        indexes.iter().map(|index| self.number(*index)).collect()
    }

    fn to_json(&self) -> DagJson<'_> {
        let waves = self.graph.waves();
        let numbered = |(index, wave): (usize, &Vec<usize>)| WaveJson {
            wave: index + 1,
            phases: self.numbers(wave),
        };
        let waiting = |(index, on): &(usize, Vec<usize>)| BlockedJson {
            phase: self.number(*index),
            waiting_on: self.numbers(on),
        };
        let missing = self.graph.missing_refs().iter().map(|missing| MissingRefJson {
            phase: self.number(missing.from),
            references: missing.to,
        });
        DagJson {
            phases: (0..self.phases.len()).map(|index| self.phase_json(index)).collect(),
            waves: waves.ok().map(|waves| waves.iter().enumerate().map(numbered).collect()),
            ready: self.numbers(&self.graph.ready()),
            blocked: self.graph.blocked().iter().map(waiting).collect(),
            completed: self.numbers(&self.graph.completed()),
            validation: ValidationJson {
                is_dag: waves.is_ok(),
                cycle_error: waves.err().map(ToString::to_string),
                missing_refs: missing.collect(),
                fully_sequential: waves.ok().map(|waves| waves.iter().all(|wave| wave.len() == 1)),
                contradictions: self.contradictions(),
            },
            critical_path: self.numbers(&self.graph.critical_path()),
            widest_wave: self.graph.widest_wave(),
            speedup_bound: (self.graph.speedup_bound() * 100.0).round() / 100.0,
        }
    }

    fn phase_json(&self, index: usize) -> DagPhaseJson<'_> {
        let phase = &self.phases[index].entry.phase;
        DagPhaseJson {
            number: &phase.written,
            name: &phase.name,
            depends_on: self.numbers(self.graph.dependencies(index)),
            depended_by: self.numbers(self.graph.dependents(index)),
            disk_status: match self.phases[index].disk_status() {
                DiskStatus::Researched | DiskStatus::Discussed => DiskStatus::Empty.word(),
                status => status.word(),
            },
            parallel_with: self.numbers(self.graph.parallel_with(index)),
        }
    }

    /// Returns the phases that the roadmap marks both complete and not complete.
    fn contradictions(&self) -> Vec<&str> {
        let contradictory =
            self.phases.iter().filter(|phase| !phase.entry.phase.completion.certain);
        contradictory.map(|phase| phase.entry.phase.written.as_str()).collect()
    }

    fn to_text(&self) -> String {
        let mut text = format!("Dependencies of {} phases\n\n", self.phases.len());
        match self.graph.waves() {
            Ok(waves) => {
                for (index, wave) in waves.iter().enumerate() {
                    let phases: Vec<_> =
                        wave.iter().map(|index| self.phase_label(*index)).collect();
                    let _ = writeln!(text, "Wave {}: {}", index + 1, phases.join(", "));
                }
            }
            Err(cyclic) => {
                let _ = writeln!(text, "ERROR: {cyclic}");
            }
        }
        let ready = self.graph.ready();
        let ready: Vec<_> =
            ready.iter().map(|index| format!("Phase {}", self.number(*index))).collect();
        let none = "nothing".to_owned();
        let _ = writeln!(
            text,
            "\nReady to execute: {}",
            if ready.is_empty() { none } else { ready.join(", ") }
        );
        for (index, on) in self.graph.blocked() {
            let on: Vec<_> = on.iter().map(|on| format!("Phase {}", self.number(*on))).collect();
            let _ = writeln!(
                text,
                "Blocked: Phase {} (waiting on {})",
                self.number(index),
                on.join(", ")
            );
        }
        self.write_warnings(&mut text);
        text
    }

    fn phase_label(&self, index: usize) -> String {
        let done = if self.phases[index].is_done() { " (complete)" } else { "" };
        format!("Phase {}{done}", self.number(index))
    }

    fn write_warnings(&self, text: &mut String) {
        let missing = self.graph.missing_refs().iter().map(|missing| {
            format!(
                "Phase {} depends on Phase {}, which is not in the roadmap",
                self.number(missing.from),
                missing.to
            )
        });
        let contradictions = self.contradictions().into_iter().map(|number| {
            format!("Phase {number}: the roadmap says both done and not done (box against table or status)")
        });
        let warnings: Vec<_> = missing.chain(contradictions).collect();
        if !warnings.is_empty() {
            let _ = writeln!(text, "\nWarnings:");
        }
        for warning in warnings {
            let _ = writeln!(text, "  - {warning}");
        }
    }
}
