//! Tests that STATUS.md shows what a phase does while it runs, and how it ended.

use mow_testkit::planned_project::{ALL, PlannedProject, kill, phase, plan, task};
use serde_json::Value;

use super::{one_task_phase, project};

/// Returns what `mow status read` prints in the main root.
fn status(project: &PlannedProject, phase: &str) -> Value {
    project.run(&["status", "read", phase]).json()
}

/// Waits until the phase and its plans have these states: `executing, 01-01 in progress 0/1`.
fn wait_for_status(project: &PlannedProject, phase: &str, expected: &str) {
    let mut last = String::new();
    let shown = || {
        let status = status(project, phase);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let plans = status["plans"].as_array().expect("plans are a list").iter();
        let plans = plans.map(|plan| {
            format!(", {} {} {}", text(&plan["plan"]), text(&plan["status"]), text(&plan["tasks"]))
        });
        last = text(&status["status"]) + &plans.collect::<String>();
        (last == expected).then_some(())
    };
    project.wait_for(expected, shown);
}

fn rescue_refs(project: &PlannedProject) -> String {
    project.git(&["for-each-ref", "--format=%(refname)", "refs/mow/rescue"])
}

#[test]
fn plans_and_tasks_are_shown_while_they_run() {
    let first = plan(vec![task("echo 1 > crop-1\nmeet 1"), task("echo 2 > crop-2\nmeet 2")]);
    let second = plan(vec![task("echo 3 > crop-3\nmeet 3")]).wave(2);
    let project = project(&[phase("1", &[]).with(first).with(second)]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    wait_for_status(&project, "1", "executing, 01-01 in progress 0/2, 01-02 not started 0/1");
    let shown = status(&project, "1");
    assert_eq!(shown["blocker_mode"], "skip");
    assert_eq!(shown["worker"], "phase-01-worker");
    assert_eq!(shown["worktree"], ".worktrees/p01");
    assert_ne!(shown["started"], "--");
    assert_eq!(shown["plans"][0]["started"].as_str().unwrap().len(), "10:05".len());
    project.release_point("1");
    project.wait_for_point("2");
    wait_for_status(&project, "1", "executing, 01-01 in progress 1/2, 01-02 not started 0/1");
    project.release_point("2");
    project.wait_for_point("3");
    wait_for_status(&project, "1", "executing, 01-01 complete 2/2, 01-02 in progress 0/1");
    let shown = status(&project, "1");
    assert_ne!(shown["plans"][0]["commit"], "--");
    assert_ne!(shown["plans"][0]["started"], "--");
    project.release_point("3");
    let (code, output) = lead.end();
    assert!(code.success(), "{output}");
    wait_for_status(&project, "1", "complete, 01-01 complete 2/2, 01-02 complete 1/1");
    assert_eq!(status(&project, "1")["commits"].as_array().map(Vec::len), Some(2));
    let dirty = project.git(&["-C", ".worktrees/p01", "status", "--porcelain"]);
    assert_eq!((dirty.as_str(), rescue_refs(&project).as_str()), ("", ""));
    project.assert_consistent();
}

#[test]
fn a_failure_is_shown_wherever_the_status_is_read() {
    let project = project(&[one_task_phase("1", &[], "false"), one_task_phase("2", &[], "")]);
    project.exits_with(&ALL, 1);
    wait_for_status(&project, "1", "failed, 01-01 failed 0/1");
    let progress = project.exits_with(&["progress", "table"], 0);
    assert!(progress.contains("| 1/1 | Complete |"), "phase 2 is merged: {progress}");
    for worktree in [".worktrees/p01", ".worktrees/p02"] {
        let call = project.call(&["status", "read", "1"]).cwd(project.root().join(worktree));
        let shown: Value = call.run().json();
        assert_eq!(shown["status"], "failed", "read in {worktree}");
    }
    assert_eq!(rescue_refs(&project), "");
}

#[test]
fn a_paused_phase_is_shown_and_continued() {
    let tasks = plan(vec![task("echo 1 > crop-1\nmeet 1"), task("echo 2 > crop-2")]);
    let project = project(&[phase("1", &[]).with(tasks)]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    project.exits_with(&["pause", "1"], 0);
    project.wait_for_event("the pause", |event| event["event"] == "halted");
    project.release_point("1");
    lead.end();
    wait_for_status(&project, "1", "paused, 01-01 in progress 1/2");
    project.exits_with(&["cancel", "1"], 0);
    project.exits_with(&["resume", "1"], 0);
    project.run_all();
    wait_for_status(&project, "1", "complete, 01-01 complete 2/2");
    assert_eq!(rescue_refs(&project), "");
    project.assert_consistent();
}

#[test]
fn a_cancelled_phase_and_a_dead_worker_leave_no_plan_in_progress() {
    let project =
        project(&[one_task_phase("1", &[], "meet 1"), one_task_phase("2", &[], "meet 2")]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    project.wait_for_point("2");
    wait_for_status(&project, "1", "executing, 01-01 in progress 0/1");
    project.exits_with(&["cancel", "1", "--now"], 0);
    project.wait_for_status("1", "cancelled");
    wait_for_status(&project, "1", "cancelled, 01-01 not started 0/1");
    // Every worker dies until the lead gives the phase up.
    for attempt in 1.. {
        if project.run_dir().unwrap().join(format!("02-{attempt}.lock")).exists() {
            kill(project.worker_pid("02", attempt));
        }
        let failed = |event: &Value| event["phase"] == "2" && event["to"] == "failed";
        let next = format!("02-{}.lock", attempt + 1);
        let is_over = project.wait_for("the next attempt or the end", || {
            if project.events().iter().any(failed) {
                return Some(true);
            }
            project.run_dir()?.join(&next).exists().then_some(false)
        });
        if is_over {
            break;
        }
    }
    lead.end();
    let shown = status(&project, "2");
    assert_eq!(shown["status"], "failed", "{shown}");
    assert_ne!(shown["plans"][0]["status"], "in progress", "{shown}");
}
