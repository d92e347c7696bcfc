//! Tests that STATE.md shows a run while it lives and where it stopped afterwards.

use mow_testkit::planned_project::{ALL, PlannedProject};
use serde_json::Value;

use super::{one_task_phase, project};

const STATE: &str = "# Project State\n\n## Current Position\n\nPhase: 1 of 2 (Field 1)\n\n\
    ## Performance Metrics\n\n| Plan | Duration | Tasks | Files |\n|---|---|---|---|\n\n\
    ## Session Continuity\n\nLast session: then\nStopped at: planning\nResume file: None\n";

/// Returns a project of two phases, the second after the first; both stop at a point.
fn indexed_project() -> PlannedProject {
    let project =
        project(&[one_task_phase("1", &[], "meet 1"), one_task_phase("2", &["1"], "meet 2")]);
    project.write(".planning/STATE.md", STATE);
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "-m", "state"]);
    project
}

fn state(project: &PlannedProject) -> String {
    project.text(".planning/STATE.md")
}

fn wait_for_text(project: &PlannedProject, text: &str) -> String {
    project.wait_for(text, || Some(state(project)).filter(|state| state.contains(text)))
}

fn json(project: &PlannedProject, arguments: &[&str]) -> Value {
    project.run(arguments).json()
}

#[test]
fn a_live_run_shows_its_phases_worktrees_team_and_session() {
    let project = indexed_project();
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    let text = wait_for_text(&project, "| 01-01 | executing |");
    assert!(text.contains("| 1 | Field 1 | executing | phase-01-worker | 0/1 |"), "{text}");
    assert!(text.contains("| 2 | Field 2 | blocked (1) | -- | 0/1 |"), "{text}");
    let next = "Phase 2 (Field 2) -- 1 dep(s) remaining";
    assert!(text.contains(&format!("**Next unblockable:** {next}\n")), "{text}");
    assert_eq!(json(&project, &["state", "next-unblockable"])["text"], next);
    assert!(text.contains("is running\nResume file: None\nResume: mow run --all\n"), "{text}");
    let team = json(&project, &["team-status"]);
    assert_eq!(team["teammates"][0]["name"], "phase-01-worker", "{team}");
    assert_eq!(team["teammates"][0]["color"], "green");
    let worktrees = &json(&project, &["progress"])["worktrees"];
    assert_eq!(
        (&worktrees[0]["branch"], &worktrees[0]["plan"]),
        (&"phase-01".into(), &"01-01".into())
    );
    project.release_point("1");
    project.release_point("2");
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    let text = state(&project);
    assert!(text.contains("finished: 2 of 2 phases merged\n"), "{text}");
    assert!(text.contains("| Phase 1 P01 |") && text.contains("| Phase 2 P01 |"), "{text}");
    assert!(!text.contains("phase-0") && !text.contains("Agent Team"), "no worker is left: {text}");
    assert_eq!(project.git(&["status", "--porcelain"]), "", "the last commit has this form");
    project.assert_consistent();
}

#[test]
fn a_killed_lead_leaves_rows_that_the_next_one_corrects() {
    let project = indexed_project();
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    wait_for_text(&project, "| 01-01 | executing |");
    lead.kill();
    project.edit(".planning/STATE.md", "| 2 | Field 2 | blocked (1) | --", "| 2 | Field 2 | x | y");
    project.release_point("1");
    let lead = project.start(&ALL);
    project.wait_for_point("2");
    let text = wait_for_text(&project, "| 02-01 | executing |");
    assert!(text.contains("| 1 | Field 1 | complete | -- | 1/1 |"), "{text}");
    assert!(!text.contains("phase-01-worker"), "{text}");
    assert_eq!(text.matches("| Phase 1 P01 |").count(), 1, "{text}");
    lead.interrupt();
    project.wait_for_event("the hold", |event| event["event"] == "held");
    project.release_point("2");
    lead.end();
    let text = state(&project);
    assert!(text.contains("finished: 2 of 2 phases merged\n"), "{text}");
}

#[test]
fn a_stopped_run_says_which_command_continues_it() {
    let project = indexed_project();
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    lead.interrupt();
    project.wait_for_event("the hold", |event| event["event"] == "held");
    project.release_point("1");
    lead.end();
    let text = state(&project);
    assert!(text.contains("was stopped: 1 of 2 phases merged\n"), "{text}");
    assert!(text.contains("Resume: mow run --all\n"), "{text}");
    assert!(!text.contains("-worker"), "no worker is left: {text}");
}
