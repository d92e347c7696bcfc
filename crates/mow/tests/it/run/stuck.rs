//! Tests stuck detection: a silent command or a stopped worker is reported, and a person decides.
#![expect(clippy::disallowed_methods, reason = "tests hold the other end of pipes")]

use std::fs;
use std::process::Command;

use mow_testkit::planned_project::{
    ALL, PlannedProject, phase, plan, processes_of_run, resume, suspend, task,
};

use super::{answer, one_task_phase, project_with_config};

/// A command counts as stuck after 1.2 seconds.
const STUCK_AFTER_A_SECOND: &str = r#""multi_phase": {"stuck_after_min": 0.02}"#;

/// Returns the only question of a kind.
#[track_caller]
fn question_of_kind(project: &PlannedProject, kind: &str) -> serde_json::Value {
    let events = project.events();
    let of_kind =
        |event: &&serde_json::Value| event["event"] == "asked" && event["item"]["kind"] == kind;
    let found: Vec<_> = events.iter().filter(of_kind).map(|e| e["item"].clone()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

#[test]
fn a_silent_command_is_stuck_and_restarts_after_the_answer_retry() {
    let project = project_with_config(
        STUCK_AFTER_A_SECOND,
        &[one_task_phase("1", &[], "test -e ../../rain || sleep 1000")],
    );
    // Without a terminal, a run exits when it can only wait for a person. The worker keeps running.
    let ran = project.exits_with(&ALL, 5);
    let item = question_of_kind(&project, "stuck");
    let question = item["question"].as_str().unwrap();
    for expected in
        ["plan 01-01, task 1 seems stuck: no output for ", "no file change for ", "CPU 0.0 s in "]
    {
        assert!(question.contains(expected) && ran.contains(expected), "{expected}: {ran}");
    }
    let shown = project.exits_with(&["ps"], 0);
    assert!(shown.contains("seems stuck"), "{shown}");
    let log = project.exits_with(&["log", "1"], 0);
    assert!(log.contains("plan 01-01, task 1 seems stuck: no output for"), "{log}");
    let status = project.text(".worktrees/p01/.planning/phases/01-field-1/01-STATUS.md");
    assert!(status.contains("seems stuck"), "{status}");
    project.write("rain", "");
    answer(&project, &item["id"], "retry");
    project.run_all();
    project.assert_consistent();
    assert!(!project.run_dir().unwrap().join("01-2.ndjson").exists(), "the same worker continued");
}

#[test]
fn a_stuck_command_fails_its_phase_after_the_answer_fail() {
    let project = project_with_config(
        STUCK_AFTER_A_SECOND,
        &[one_task_phase("1", &[], "test -e ../../rain || sleep 1000")],
    );
    project.exits_with(&ALL, 5);
    answer(&project, &question_of_kind(&project, "stuck")["id"], "fail");
    let ran = project.exits_with(&ALL, 1);
    assert!(ran.contains("it was stuck, and a person gave it up"), "{ran}");
    project.write("rain", "");
    project.run_all();
    project.assert_consistent();
}

#[test]
fn a_command_that_becomes_active_again_withdraws_its_question() {
    let project =
        project_with_config(STUCK_AFTER_A_SECOND, &[one_task_phase("1", &[], "cat ../../../pipe")]);
    let pipe = project.sandbox.outer_dir().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    project.exits_with(&ALL, 5);
    let item = question_of_kind(&project, "stuck");
    fs::write(pipe, "on\n").unwrap();
    project.run_all();
    project.assert_consistent();
    let withdrawn =
        |event: &serde_json::Value| event["event"] == "withdrawn" && event["item"] == item["id"];
    assert!(project.events().iter().any(withdrawn));
}

#[test]
fn a_command_that_repeats_the_same_error_is_stuck() {
    let script = "i=0\nwhile [ ! -e ../../rain ]; do i=$((i+1)); echo \"error $i: drought\"; sleep 0.1; done";
    let project = project_with_config(STUCK_AFTER_A_SECOND, &[one_task_phase("1", &[], script)]);
    project.exits_with(&ALL, 5);
    let item = question_of_kind(&project, "stuck");
    let question = item["question"].as_str().unwrap();
    assert!(question.contains("the same error 10 times (`error "), "{question}");
    project.write("rain", "");
    let is_active_again = |record: &mow_store::journal::Record| record.body.contains("\"moving\"");
    project.wait_for("the command is active again", || {
        project.records("01-1.ndjson").iter().any(is_active_again).then_some(())
    });
    project.run_all();
    project.assert_consistent();
}

#[test]
fn a_suspended_worker_is_reported_and_cancel_ends_it() {
    let config = r#""multi_phase": {"stuck_after_min": 0.1}"#;
    let first =
        plan(vec![task("echo 1 > crop-1"), task("echo half > crop-2\nmeet 1\necho 2 > crop-2")]);
    let project = project_with_config(
        config,
        &[phase("1", &[]).with(first), one_task_phase("2", &[], "meet 2")],
    );
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    project.wait_for_point("2");
    let run = project.run_id();
    let belongs_to_phase_1 = |pid: &u32| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environ).contains("MOW_PHASE=1\0")
    };
    let stopped: Vec<_> = processes_of_run(&run).into_iter().filter(belongs_to_phase_1).collect();
    assert!(stopped.contains(&project.worker_pid("01", 1)) && stopped.len() > 1, "{stopped:?}");
    stopped.iter().for_each(|pid| suspend(*pid));
    project
        .wait_for_event("the question", |e| e["event"] == "asked" && e["item"]["kind"] == "hung");
    let item = question_of_kind(&project, "hung");
    let question = item["question"].as_str().unwrap();
    assert!(question.contains("its process has been stopped for "), "{question}");
    project.exits_with(&["cancel", "1"], 0);
    project.wait_for_status("1", "cancelled");
    // Processes that wake up after the cancellation must not change anything.
    stopped.iter().for_each(|pid| resume(*pid));
    project.wait_for("the end of the suspended processes", || {
        processes_of_run(&run).iter().all(|pid| !stopped.contains(pid)).then_some(())
    });
    project.release_point("1");
    project.exits_with(&["resume", "1"], 0);
    project.wait_for_status("1", "complete");
    project.release_point("2");
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    project.assert_consistent();
    assert_eq!(project.trailers("Mow-Task").len(), 3);
    assert_eq!(project.git(&["show", "main:crop-2"]), "2\n");
}
