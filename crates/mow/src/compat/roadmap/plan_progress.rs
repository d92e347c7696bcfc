//! `mow roadmap update-plan-progress` writes the plan and summary counts of a phase into the
//! roadmap.

use mow_store::disk;
use mow_store::phase_dirs::PhaseFileKind;
use mow_store::roadmap::edit::{self, RoadmapProgress};
use serde_json::json;

use crate::context::{Context, today};
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn run(context: &Context, phase: &str) -> Result<Output, Failure> {
    let dir = context.phase_dir(phase).ok_or_else(|| {
        Failure::refused(format!("Phase {phase} not found in .planning/phases/"))
            .hint("mow phases list shows the phases that have a directory")
    })?;
    let (plans, done) = (dir.count(PhaseFileKind::Plan), dir.count(PhaseFileKind::Summary));
    let not_updated = |reason: &str, raw: &str| {
        let value = json!({
            "updated": false, "reason": reason, "plan_count": plans, "summary_count": done,
        });
        Output::with_raw(value, raw)
    };
    if plans == 0 {
        let value = json!({
            "updated": false, "reason": "No plans found", "plan_count": 0, "summary_count": 0,
        });
        return Ok(Output::with_raw(value, "no plans"));
    }
    if context.load("ROADMAP.md")?.is_none() {
        return Ok(not_updated("ROADMAP.md not found", "no roadmap"));
    }
    let complete = done >= plans;
    let status = match done {
        _ if complete => "Complete",
        1.. => "In Progress",
        0 => "Planned",
    };
    let (counts, today) = (format!("{done}/{plans}"), today());
    let progress = RoadmapProgress {
        plans: Some(&counts),
        status,
        section_plans: &format!(
            "{counts} plans {}",
            if complete { "complete" } else { "executed" }
        ),
        completed: complete.then_some(&today),
    };
    disk::update(&context.project, &context.planning("ROADMAP.md"), |old| {
        let edited =
            old.zip(dir.number).map(|(old, number)| edit::set_progress(old, &number, &progress));
        Ok::<_, Failure>(edited)
    })?;
    let value = json!({
        "updated": true,
        "phase": phase,
        "plan_count": plans,
        "summary_count": done,
        "status": status,
        "complete": complete,
    });
    Ok(Output::with_raw(value, format!("{counts} {status}")))
}
