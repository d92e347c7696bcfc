//! Tests the commands that show and control a live run: `ps`, `pause`, `resume`, `cancel`,
//! `events`.
#![expect(clippy::disallowed_methods, reason = "the tests look into worktrees")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ExitStatus};

use mow_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::run_fixture::{GATED, Gate, json_of, planned, run_all};

/// Makes a project whose first phase waits at a gate. The second depends on it.
fn project_at_gate() -> (Sandbox, Gate) {
    let project = planned(&[(&[], GATED), (&[1], "true")]);
    let gate = Gate::new(&project);
    (project, gate)
}

fn start(project: &Sandbox) -> Child {
    project.call(["run", "--all", "--yes", "--plain"]).spawn()
}

/// Waits for the exit of a run and returns its output.
fn wait_for_exit(mut child: Child) -> (ExitStatus, String) {
    let mut text = String::new();
    let mut stdout = child.stdout.take().expect("it is a pipe");
    let mut stderr = child.stderr.take().expect("it is a pipe");
    stdout.read_to_string(&mut text).expect("programs print UTF-8");
    stderr.read_to_string(&mut text).expect("programs print UTF-8");
    (child.wait().expect("it is our child"), text)
}

#[test]
fn a_live_run_is_shown_paused_and_resumed_while_events_are_followed() {
    let (project, gate) = project_at_gate();
    // The follower starts before the run.
    let mut follower = project.call(["events", "--follow", "--json"]).spawn();
    let run = start(&project);
    gate.reached();
    let ps = json_of(&project, &["ps"]);
    assert_eq!(ps["lead"], run.id(), "{ps}");
    let (first, second) = (&ps["phases"][0], &ps["phases"][1]);
    assert_eq!((&first["status"], &first["alive"]), (&json!("running"), &json!(true)), "{ps}");
    assert!(first["worker"].is_u64() && first["worker"] != ps["lead"], "{ps}");
    assert_eq!(second["why"], "it waits for 1 (running)");
    assert_commands_read_the_worktree(&project);
    project.call(["close-shop", "--yes"]).run().refuses("is still running");
    let output = project.call(["pause"]).run().stdout_on_success();
    let lead = run.id();
    assert_eq!(
        output,
        format!(
            "Requested: pause 2 phases. Running workers finish their current task first. The run (process {lead}) will process it.\n"
        )
    );
    gate.open();
    let (status, text) = wait_for_exit(run);
    assert_eq!(status.code(), Some(5), "{text}");
    let ps = json_of(&project, &["ps"]);
    assert_eq!((&ps["lead"], &ps["pending_commands"]), (&json!(null), &json!(0)));
    let statuses = [&ps["phases"][0]["status"], &ps["phases"][1]["status"]];
    assert_eq!(json!(statuses), json!(["paused", "paused"]), "{ps}");
    project.call(["pause", "1"]).run().refuses("phase 1 is paused: there is nothing to pause");
    project.call(["pause", "x"]).run().refuses("has no phase `x`");
    let output = project.call(["resume"]).run().stdout_on_success();
    assert_eq!(
        output,
        "Requested: resume 2 phases. The run is stopped. Continue with `mow run --all`.\n"
    );
    project.call(["resume"]).run().refuses("already queued");
    let ran = run_all(&project);
    assert!(ran.status.success(), "{}", ran.transcript());
    // The follower printed all events of both leads.
    let lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let events: Vec<Value> =
        lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert!(follower.wait().unwrap().success());
    let log = json_of(&project, &["log"]);
    assert_eq!(json!(events), log["events"], "every event once and in order");
    let leads = events.iter().filter(|event| event["kind"] == "lead_started").count();
    assert_eq!(leads, 2);
    let last = events.last().unwrap();
    assert!(last["text"].as_str().unwrap().starts_with("main is fast-forwarded to "), "{last}");
}

#[test]
fn the_number_of_workers_of_a_live_run_can_be_changed() {
    let project = planned(&[(&[], GATED), (&[], "true")]);
    let gate = Gate::new(&project);
    let run = project.call(["run", "--all", "--yes", "--plain", "--max-workers", "1"]).spawn();
    gate.reached();
    // The follower ends with the run; it shows that phase 2 starts while phase 1 waits.
    let mut follower = project.call(["events", "--follow", "--json"]).spawn();
    project.call(["workers", "0"]).run().refuses("0 is not in 1..=1000");
    let output = project.call(["workers", "2"]).run().stdout_on_success();
    assert!(output.starts_with("Requested: at most 2 workers. The run (process "), "{output}");
    let lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let events = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let mut complete =
        events.filter(|event| event["phase"] == "2" && event["status"] == "complete");
    assert!(complete.next().is_some(), "phase 2 completes while phase 1 waits");
    gate.open();
    assert_eq!(complete.count(), 0, "all events are read, so that the follower can end");
    let (status, text) = wait_for_exit(run);
    assert_eq!(status.code(), Some(0), "{text}");
    project.call(["workers", "3"]).run().refuses("the run is over");
    assert!(follower.wait().unwrap().success());
}

#[test]
fn the_number_of_workers_of_a_stopped_run_is_left_to_the_next_start() {
    let project = planned(&[(&[], "false")]);
    assert!(!run_all(&project).status.success());
    project.call(["workers", "3"]).run().refuses("the run is stopped");
}

/// Checks that `status read`, `progress` and others read the worktree and report the live run.
fn assert_commands_read_the_worktree(project: &Sandbox) {
    let progress = project.call(["progress", "json"]).run().json();
    assert_eq!(progress["run"]["standing"], "0 of 2 merged, 1 running", "{progress}");
    let team = project.call(["team-status"]).run().json();
    assert_eq!(team["run"]["run"], progress["run"]["run"]);
    let doctor = project.call(["doctor"]).run();
    assert!(doctor.stdout.contains("is running (process "), "{}", doctor.stdout);
    let worktrees = project.call(["worktree", "status"]).run().json();
    let worktree = worktrees[0]["worktree"].as_str().expect("the run has claimed it").to_owned();
    let dir = format!("{worktree}/.planning/phases/01-part-1");
    std::fs::write(format!("{dir}/01-01-SUMMARY.md"), "# Done\n").expect("it can be written");
    let phases = project.call(["progress", "json"]).run().json();
    assert_eq!(phases["phases"][0]["summaries"], 1, "the worktree has a summary");
    std::fs::remove_file(format!("{dir}/01-01-SUMMARY.md")).expect("it was just written");
    let status = project.call(["status", "read", "1"]).run().json();
    assert_eq!(status["plans"].as_array().map(Vec::len), Some(1), "{status}");
    assert!(!project.root().join(".planning/phases/01-part-1/01-STATUS.md").exists());
}

#[test]
fn cancelling_all_phases_needs_a_confirmation() {
    let (project, gate) = project_at_gate();
    let run = start(&project);
    gate.reached();
    project.call(["cancel"]).run().refuses("nothing was cancelled");
    let mut terminal = project.call(["cancel"]).on_terminal();
    terminal.wait_for("Cancel 2 phases?");
    terminal.type_in("n\n");
    terminal.wait_for("nothing was cancelled");
    assert_eq!(json_of(&project, &["ps"])["pending_commands"], 0);
    let queued = json_of(&project, &["cancel", "--yes", "--now"]);
    assert_eq!(queued["lead"], run.id(), "{queued}");
    let (status, text) = wait_for_exit(run);
    assert!(status.success(), "{text}");
    let ps = json_of(&project, &["ps"]);
    let statuses = [&ps["phases"][0]["status"], &ps["phases"][1]["status"]];
    assert_eq!(json!(statuses), json!(["cancelled", "cancelled"]), "{ps}");
    assert_eq!(ps["over"], true);
    project.call(["cancel", "1"]).run().refuses("phase 1 is cancelled: there is nothing to cancel");
    project
        .call(["resume"])
        .run()
        .refuses("there is nothing to resume: 0 of 2 merged, 2 cancelled");
    assert!(project.call(["events", "--follow"]).run().status.success(), "the run is over");
}

#[test]
fn a_run_without_its_lead_is_still_shown() {
    let (project, gate) = project_at_gate();
    let mut run = start(&project);
    gate.reached();
    let mut terminal = project.call(["worktree", "status"]).on_terminal();
    terminal.wait_for("is live: 0 of 2 merged, 1 running");
    run.kill().expect("it is our child");
    run.wait().expect("it is our child");
    let ps = json_of(&project, &["ps"]);
    let first = &ps["phases"][0];
    assert_eq!((&ps["lead"], &ps["next"]), (&json!(null), &json!("mow run --all")), "{ps}");
    assert_eq!((&first["status"], &first["alive"]), (&json!("running"), &json!(true)), "{ps}");
    let text = project.call(["ps"]).run().stdout_on_success();
    assert!(text.contains("stopped") && text.contains("worker "), "{text}");
    project.call(["close-shop", "--yes"]).run().refuses("the worker of phase 1 is still running");
    assert!(
        project.call(["log", "1"]).run().stdout_on_success().contains("plan 01-01: task 1 begins")
    );
    gate.open();
    let ran = run_all(&project);
    assert!(ran.status.success(), "{}", ran.transcript());
    let ps = json_of(&project, &["ps"]);
    assert_eq!(ps["phases"][0]["attempt"], 1, "the worker was adopted");
    assert_eq!(json_of(&project, &["replay"])["consistent"], true);
}
