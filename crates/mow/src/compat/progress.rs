//! `mow progress` prints how many plans of each phase have a summary.

use std::fmt::Write;

use clap::Args;
use mow_store::phase_dirs::{PhaseDir, PhaseDirs, PhaseFileKind};
use mow_store::roadmap::milestone::{CurrentMilestone, current_milestone};
use serde::Serialize;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::phase_places::PhasePlaces;
use crate::runs::{Run, notice_live_run};
use crate::wire::ps::RunSummaryJson;
use crate::worktrees::claims::load_assignments;

/// The arguments of `progress`.
#[derive(Debug, Args)]
pub(crate) struct ProgressArgs {
    /// The output form: `table`, `bar`, or any other word for JSON
    form: Option<String>,
}

#[derive(Serialize)]
struct PhaseProgressJson {
    number: String,
    name: String,
    plans: usize,
    summaries: usize,
    status: &'static str,
}

struct PlanTotals {
    done: usize,
    all: usize,
    percent: usize,
}

impl ProgressArgs {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let dirs = PhaseDirs::load(&context.project.planning);
        let places = PhasePlaces::load(context);
        let counted = dirs.iter().map(|dir| {
            places.with_more_summaries(dir).map_or_else(|| phase_json(dir), |dir| phase_json(&dir))
        });
        let phases: Vec<_> = counted.collect();
        notice_live_run(context);
        let all: usize = phases.iter().map(|phase| phase.plans).sum();
        let done: usize = phases.iter().map(|phase| phase.summaries).sum();
        let percent = if all == 0 { 0 } else { ((200 * done + all) / (2 * all)).min(100) };
        let totals = PlanTotals { done, all, percent };
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
            answer["run"] = json!(RunSummaryJson::of(&run.view()));
        }
        answer["worktrees"] = json!(load_assignments(context)?);
        Ok(Output::json(answer))
    }
}

fn phase_json(dir: &PhaseDir) -> PhaseProgressJson {
    let (plans, summaries) = (dir.count(PhaseFileKind::Plan), dir.count(PhaseFileKind::Summary));
    let status = match (plans, summaries) {
        (0, _) => "Pending",
        _ if summaries >= plans => "Complete",
        (_, 1..) => "In Progress",
        _ => "Planned",
    };
    let number = dir.written().unwrap_or(&dir.name).to_owned();
    let name = dir.label().unwrap_or("").replace('-', " ");
    PhaseProgressJson { number, name, plans, summaries, status }
}

impl PlanTotals {
    /// Draws `[███░░] 3/5 plans (60%)`.
    fn line(&self, cells: usize) -> String {
        let filled = (self.percent * cells + 50) / 100;
        let bar = "█".repeat(filled) + &"░".repeat(cells - filled);
        format!("[{bar}] {}/{} plans ({}%)", self.done, self.all, self.percent)
    }
}

fn table(
    milestone: &CurrentMilestone,
    totals: &PlanTotals,
    phases: &[PhaseProgressJson],
) -> String {
    let mut text = format!("# {} {}\n\n", milestone.version, milestone.name);
    let _ = writeln!(text, "**Progress:** {}\n", totals.line(10));
    text.push_str("| Phase | Name | Plans | Status |\n|-------|------|-------|--------|\n");
    for PhaseProgressJson { number, name, plans, summaries, status } in phases {
        let _ = writeln!(text, "| {number} | {name} | {summaries}/{plans} | {status} |");
    }
    text
}
