//! Tests `mow logs` with shell tasks: what they print is shown while they run, and wrong calls are
//! explained.
#![expect(clippy::disallowed_methods, reason = "tests damage files")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use mow_testkit::planned_project::{ALL, PlannedProject, kill, phase, plan, task};
use serde_json::Value;

use super::{one_task_phase, project};

fn json_lines(project: &PlannedProject, arguments: &[&str]) -> Vec<Value> {
    let text = project.run(arguments).stdout_on_success();
    text.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect()
}

fn activity_file(project: &PlannedProject, name: &str) -> PathBuf {
    project.run_dir().expect("there is a run").join("logs").join(name)
}

#[test]
fn a_follower_sees_the_output_of_a_task_and_its_check_while_they_run() {
    let script = "echo sown; meet task; echo 1 > crop-1";
    let check = task(script).check("echo looking; test -e crop-1");
    let project = project(&[phase("1", &[]).with(plan(vec![check]))]);
    let run = project.start(&ALL);
    project.wait_for_point("task");
    let mut follower = project.call(&["logs", "1", "--follow"]).on_terminal();
    follower.wait_for("Phase 1 Field 1, attempt 1");
    follower.wait_for("executor 01-01/1");
    follower.wait_for("| sown");
    project.release_point("task");
    assert!(run.end().0.success());
    for shown in
        ["ended: exit 0", "check 01-01/1", "test -e crop-1", "| looking", "phase 1 is merged"]
    {
        follower.wait_for(shown);
    }
    assert!(follower.end().0.success());
}

#[test]
fn a_follower_continues_with_the_next_attempt() {
    let project = project(&[one_task_phase("1", &[], "echo begun; meet 1")]);
    let run = project.start(&ALL);
    project.wait_for_point("1");
    let mut follower = project.call(&["logs", "1", "--follow"]).on_terminal();
    follower.wait_for("attempt 1");
    follower.wait_for("| begun");
    kill(project.worker_pid("01", 1));
    follower.wait_for("attempt 2");
    follower.wait_for("| begun");
    project.release_point("1");
    assert!(run.end().0.success());
    follower.wait_for("phase 1 is merged");
    assert!(follower.end().0.success());
    let first = json_lines(&project, &["logs", "1", "--attempt", "1", "--json"]);
    assert!(!first.is_empty() && first.iter().all(|line| line["attempt"] == 1), "{first:?}");
    let newest = json_lines(&project, &["logs", "1", "--json"]);
    assert!(newest.iter().all(|line| line["attempt"] == 2 && line["v"] == 1), "{newest:?}");
    project.call(&["logs", "1", "--attempt", "7"]).run().refuses("phase 1 has no attempt 7");
}

#[test]
fn a_reader_that_goes_away_ends_the_follower() {
    let project = project(&[one_task_phase("1", &[], "echo first; meet 1; echo second")]);
    let run = project.start(&ALL);
    project.wait_for_point("1");
    let mut child = project.call(&["logs", "1", "--follow", "--json"]).spawn();
    let mut reader = BufReader::with_capacity(16, child.stdout.take().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert!(line.contains("command_started"), "{line}");
    drop(reader);
    project.release_point("1");
    run.end();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn wrong_calls_are_explained() {
    let project =
        project(&[one_task_phase("1", &[], "true"), one_task_phase("2", &["1"], "exit 1")]);
    project.call(&["logs", "1"]).run().refuses("no run was started here yet");
    project.call(&["logs", "1", "--follow"]).run().refuses("no run was started here yet");
    project.exits_with(&["run", "1", "--yes", "--plain"], 0);
    project.call(&["logs", "77"]).run().refuses("has no phase `77`");
    project.call(&["logs", "field"]).run().refuses("has no phase `field`");
    project.call(&["logs", "1", "--run", "none"]).run().refuses("there is no run `none`");
    assert_eq!(project.run(&["logs"]).status.code(), Some(1));
    assert_eq!(project.run(&["logs", "1", "--attempt", "0"]).status.code(), Some(1));
    let all = json_lines(&project, &["logs", "1", "--json"]);
    let last = json_lines(&project, &["logs", "1", "--json", "--tail", "1"]);
    assert_eq!(last, all[all.len() - 1..]);
    fs::remove_file(activity_file(&project, "01-1.activity.ndjson")).unwrap();
    let old = project.run(&["logs", "1"]);
    assert!(old.stderr.contains("an older mow ran it; `mow log 1`"), "{}", old.stderr);
    old.refuses("there is no activity of phase 1, attempt 1");
}

#[test]
fn a_flood_of_output_is_bounded_and_delays_nothing() {
    let project = project(&[one_task_phase("1", &[], "seq 1 2000000")]);
    project.run_all();
    let files = ["01-1.activity.ndjson", "01-1.activity.old.ndjson"];
    let sizes = files.map(|name| fs::metadata(activity_file(&project, name)).unwrap().len());
    assert!(sizes.iter().all(|size| *size <= 4 << 20), "{sizes:?}");
    let lines = json_lines(&project, &["logs", "1", "--json", "--tail", "100000"]);
    assert!(lines.iter().any(|line| line["text"] == "2000000"), "the end is kept");
}

#[test]
fn activity_that_cannot_be_written_fails_nothing() {
    let project =
        project(&[one_task_phase("1", &[], "meet 1"), one_task_phase("2", &["1"], "echo lost")]);
    let run = project.start(&ALL);
    project.wait_for_point("1");
    fs::create_dir(activity_file(&project, "02-1.activity.ndjson")).unwrap();
    project.release_point("1");
    assert!(run.end().0.success());
    assert!(activity_file(&project, "02-1.activity.ndjson").is_dir());
}
