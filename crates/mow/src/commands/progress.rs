//! `mow progress`: how far the phases on disk are.

use std::fmt::Write;

use clap::Args;
use mow_store::phase_dirs::{Artifact, PhaseDir, PhaseDirs};
use mow_store::roadmap::milestone::{CurrentMilestone, current_milestone};
use serde::Serialize;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::{Active, Run, tell_live};

/// The arguments of `progress`.
#[derive(Debug, Args)]
pub(crate) struct Progress {
    /// `table`, `bar`, or any other word for JSON
    form: Option<String>,
}

#[derive(Serialize)]
struct PhaseJson {
    number: String,
    name: String,
    plans: usize,
    summaries: usize,
    status: &'static str,
}

struct Totals {
    done: usize,
    all: usize,
    percent: usize,
}

impl Progress {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let dirs = PhaseDirs::load(&context.project.planning);
        let active = Active::load(context);
        // What a live run has come to in a phase stands in the worktree of the phase.
        let counted = dirs.iter().map(|dir| {
            let there = dir.number.as_ref().and_then(|number| active.dir(number));
            there.map_or_else(|| phase(dir), |there| phase(&there))
        });
        let phases: Vec<_> = counted.collect();
        tell_live(context);
        let all: usize = phases.iter().map(|phase| phase.plans).sum();
        let done: usize = phases.iter().map(|phase| phase.summaries).sum();
        let percent = if all == 0 { 0 } else { ((200 * done + all) / (2 * all)).min(100) };
        let totals = Totals { done, all, percent };
        if self.form.as_deref() == Some("bar") {
            let bar = totals.line(20);
            let value = json!({ "bar": bar, "percent": percent, "completed": done, "total": all });
            return Ok(Output::with_raw(value, bar));
        }
        let milestone = current_milestone(&context.load("ROADMAP.md")?.unwrap_or_default());
        if self.form.as_deref() == Some("table") {
            let rendered = table(&milestone, &totals, &phases);
            return Ok(Output::with_raw(json!({ "rendered": rendered }), rendered));
        }
        let mut answer = json!({
            "milestone_version": milestone.version,
            "milestone_name": milestone.name,
            "phases": phases,
            "total_plans": all,
            "total_summaries": done,
            "percent": percent,
        });
        if let Some(run) = Run::live(context) {
            answer["run"] = json!(run.brief());
        }
        Ok(Output::json(answer))
    }
}

fn phase(dir: &PhaseDir) -> PhaseJson {
    let (plans, summaries) = (dir.count(Artifact::Plan), dir.count(Artifact::Summary));
    let status = match (plans, summaries) {
        (0, _) => "Pending",
        _ if summaries >= plans => "Complete",
        (_, 1..) => "In Progress",
        _ => "Planned",
    };
    let number = dir.written().unwrap_or(&dir.name).to_owned();
    let name = dir.label().unwrap_or("").replace('-', " ");
    PhaseJson { number, name, plans, summaries, status }
}

impl Totals {
    /// Draws `[███░░] 3/5 plans (60%)`.
    fn line(&self, cells: usize) -> String {
        let filled = (self.percent * cells + 50) / 100;
        let bar = "█".repeat(filled) + &"░".repeat(cells - filled);
        format!("[{bar}] {}/{} plans ({}%)", self.done, self.all, self.percent)
    }
}

fn table(milestone: &CurrentMilestone, totals: &Totals, phases: &[PhaseJson]) -> String {
    let mut text = format!("# {} {}\n\n", milestone.version, milestone.name);
    let _ = writeln!(text, "**Progress:** {}\n", totals.line(10));
    text.push_str("| Phase | Name | Plans | Status |\n|-------|------|-------|--------|\n");
    for PhaseJson { number, name, plans, summaries, status } in phases {
        let _ = writeln!(text, "| {number} | {name} | {summaries}/{plans} | {status} |");
    }
    text
}
