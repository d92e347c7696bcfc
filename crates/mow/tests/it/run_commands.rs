//! Tests the commands that show and control a run that no lead executes.
//!
//! They are `log`, `replay`, `events`, `inbox`, `answer`, `approve`, `deny`, `ps`, and `mow` alone.
#![expect(clippy::disallowed_methods, reason = "the tests read logs and damage journals")]

use std::fs;

use mow_core::lead::{Event, Reason, RunScope, Status};
use mow_core::phase::PhaseNumber;
use mow_store::journal::Journal;
use mow_store::run_files::RunDir;
use mow_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::run_fixture::{commit, journal, json_of, planned, run_all};
use crate::sandbox;

const FAILS_UNTIL_FIXED: &str = "test -e ../../../fixed || { echo boom >&2; exit 3; }";

/// Makes a project with a run in which phase 1 is merged, phase 2 failed and phase 3 waits for it.
fn project_with_failed_run() -> Sandbox {
    let project = planned(&[(&[], "true"), (&[1], FAILS_UNTIL_FIXED), (&[2], "true")]);
    let ran = run_all(&project);
    assert_eq!(ran.status.code(), Some(1), "{}", ran.transcript());
    project
}

#[test]
fn log_and_ps_give_the_reason_of_each_event() {
    let project = project_with_failed_run();
    let text = project.call(["log"]).run().stdout_on_success();
    for expected in [
        "the roadmap has 3 phases: 1 at once; 2 after 1; 3 after 2",
        "phase 1 starts (attempt 1): it has no dependencies",
        "phase 1 is merging: wave 1 is closed",
        "phase 2 starts (attempt 1): merged before it: 1",
        "; blocks 3",
        "main is fast-forwarded to ",
        "/journal.ndjson",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let text = project.call(["log", "3"]).run().stdout_on_success();
    assert!(text.contains("Phase 3 Part 3 is waiting: it waits for 2 (failed)"), "{text}");
    let log = json_of(&project, &["log", "02"]);
    assert_eq!((&log["phase"], &log["status"]), (&json!("2"), &json!("failed")));
    let events = log["events"].as_array().unwrap();
    assert!(events.iter().all(|event| event["phase"] == "2"), "{log}");
    let is_failure = |event: &&Value| event["source"] == "worker" && event["log"].is_string();
    let failure = events.iter().find(is_failure).expect("the failure names its log");
    assert!(failure["text"].as_str().unwrap().contains("boom"), "{failure}");
    assert!(fs::read_to_string(failure["log"].as_str().unwrap()).unwrap().contains("boom"));
    let sources: Vec<_> = events.iter().map(|event| event["source"].as_str().unwrap()).collect();
    assert!(sources.contains(&"lead") && sources.contains(&"worker"));
    let ps = json_of(&project, &["ps"]);
    let statuses: Vec<_> = ps["phases"].as_array().unwrap().iter().map(|p| &p["status"]).collect();
    assert_eq!(json!(statuses), json!(["merged", "failed", "waiting"]));
    assert_eq!(ps["phases"][2]["waits_for"], json!(["2"]));
    assert_eq!((&ps["lead"], &ps["next"]), (&json!(null), &json!("mow run --all")));
    let text = project.call(["ps"]).run().stdout_on_success();
    assert!(text.contains("stopped") && text.contains("mow answer 1"), "{text}");
    project.call(["log", "9"]).run().refuses("has no phase `9`");
    project.call(["log", "--run", "../x"]).run().refuses("there is no run `../x`");
}

#[test]
fn an_answer_counts_once_and_the_run_continues() {
    let project = project_with_failed_run();
    let inbox = json_of(&project, &["inbox"]);
    let question = &inbox["questions"][0];
    assert_eq!(question["kind"], "failed", "{inbox}");
    assert_eq!(question["choices"], json!(["retry", "give up"]));
    assert_eq!(question["command"], "mow answer 1 retry");
    assert_eq!((&question["state"], &question["answer"]), (&json!("open"), &json!(null)));
    project.call(["answer", "7", "retry"]).run().refuses("there is no question 7");
    project.call(["answer", "1", "perhaps"]).run().refuses("retry, give up");
    let agent = project.call(["approve", "1"]).env("MOW_ROLE", "worker");
    agent.run().refuses("an agent of a run cannot decide");
    project.call(["resume"]).run().refuses("there is nothing to resume: 1 of 3 merged, 1 failed");
    fs::write(project.outer_dir().join("fixed"), "").unwrap();
    let output = project.call(["approve", "1"]).run().stdout_on_success();
    assert_eq!(
        output,
        "Answered question 1: retry. The run is stopped. Continue with `mow run --all`.\n"
    );
    project.call(["deny", "1"]).run().refuses("question 1 is already answered: retry");
    assert_eq!(json_of(&project, &["inbox"])["questions"][0]["state"], "pending");
    let ran = run_all(&project);
    assert!(ran.status.success(), "{}", ran.transcript());
    project.call(["answer", "1", "retry"]).run().refuses("question 1 is already answered: retry");
    let text = project.call(["inbox"]).run().stdout_on_success();
    assert!(text.starts_with("No question waits for you."), "{text}");
    let all = json_of(&project, &["inbox", "--all"]);
    assert_eq!(all["questions"][0]["state"], "answered");
    assert_eq!(json_of(&project, &["ps"])["over"], true);
    assert!(project.call(["ps"]).run().stdout_on_success().contains(", over: 3 of 3 merged"));
    let replay = json_of(&project, &["replay"]);
    assert_eq!((&replay["consistent"], &replay["standing"]), (&json!(true), &json!("done")));
}

#[test]
fn events_prints_every_journal_event_once_and_in_order() {
    let project = project_with_failed_run();
    let text = project.call(["events", "--json"]).run().stdout_on_success();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lines = fs::read_to_string(journal(&project)).unwrap();
    let records: Vec<Value> = lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    // A record holds all events of one decision.
    let written = records[1..].iter().flat_map(|record| {
        let all = record["body"].as_array().expect("a list of events").iter();
        all.map(move |event| (&record["seq"], &record["at"], event["event"] == "moved"))
    });
    let is_status = |event: &Value| event["kind"] == "status_changed";
    let printed = events.iter().map(|event| (&event["seq"], &event["at"], is_status(event)));
    assert!(printed.eq(written), "{text}\n{lines}");
    let words = project.call(["events"]).run().stdout_on_success();
    assert!(words.contains("phase 1 is merged: its work is merged into the target ref"), "{words}");
}

#[test]
fn a_stage_gate_waits_for_a_person_and_every_command_shows_it() {
    let project = planned(&[(&[], "true")]);
    project.write(
        ".planning/config.json",
        r#"{ "workflow": { "research": false }, "worker": { "stage_gates": "before_execute" } }"#,
    );
    commit(&project);
    assert_eq!(run_all(&project).status.code(), Some(5));
    let overview = project.call([""; 0]).run().stdout_on_success();
    for expected in ["Questions  1 Phase 1: plan is complete", "mow inbox", "mow run --all"] {
        assert!(overview.contains(expected), "{expected}\n{overview}");
    }
    let overview = json_of(&project, &[]);
    assert_eq!(overview["run"]["questions"], json!([1]));
    assert_eq!(overview["run"]["lead"], json!(null));
    let doctor = project.call(["doctor"]).run();
    assert!(doctor.stdout.contains("is unfinished and stopped"), "{}", doctor.stdout);
    let drawn = project.call(["dashboard"]).run().stdout_on_success();
    assert!(drawn.contains("stopped, continue with `mow run --all`"), "{drawn}");
    project.call(["resume", "1"]).run().refuses("phase 1 is parked: there is nothing to resume");
    project.call(["close-shop", "--yes"]).run().refuses("not merged: 1 (parked)");
    let left = json_of(&project, &["deny", "1"]);
    let command = json!({ "command": "answer", "item": 1, "text": "reject" });
    assert_eq!((&left["command"], &left["lead"]), (&command, &json!(null)));
}

#[test]
fn replay_names_the_damaged_line() {
    let project = project_with_failed_run();
    let text = project.call(["replay"]).run().stdout_on_success();
    assert!(text.contains("phase 2: running → failed"), "{text}");
    assert!(text.contains("complete and consistent"), "{text}");
    let all = project.call(["replay", "--step"]).run().stdout_on_success();
    assert!(all.lines().count() > text.lines().count() && all.contains("intended"), "{all}");
    let path = journal(&project);
    let mut bytes = fs::read(&path).unwrap();
    let fifth = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').nth(3).unwrap().0;
    bytes[fifth + 40] ^= 1;
    fs::write(&path, bytes).unwrap();
    for words in [&["replay"][..], &["log"], &["events"], &["ps"], &["inbox"], &["pause"]] {
        let ran = project.call(words).run();
        let place = format!("{} is damaged in line 5", path.display());
        assert_eq!(ran.status.code(), Some(3), "{}", ran.transcript());
        assert!(ran.stderr.contains(&place), "{}", ran.transcript());
    }
    let doctor = project.call(["doctor"]).run();
    assert_eq!(doctor.status.code(), Some(1));
    assert!(doctor.stdout.contains("damaged in line 5"), "{}", doctor.stdout);
}

#[test]
fn replay_names_the_first_record_that_violates_a_rule() {
    let project = planned(&[(&[], "true")]);
    let dir = RunDir::new(&project.root().join(".git/mow"), "20260101-000000-0000").unwrap();
    dir.create().unwrap();
    let (mut journal, _) = Journal::open(&dir.journal(), &dir.header()).unwrap();
    let number = PhaseNumber::parse("1").unwrap();
    let spec = json!({ "number": number, "name": "One", "depends_on": [], "done": false });
    let phases = vec![serde_json::from_value(spec).unwrap()];
    let (run, target, tip) = (dir.run().to_owned(), "main".to_owned(), "c".to_owned());
    let moved = |to| Event::StatusChanged {
        phase: number,
        attempt: 0,
        to,
        why: Reason::Chosen,
        ahead: None,
    };
    let events = [
        Event::Begun { run, target, tip },
        Event::RoadmapRead { scope: RunScope::All, phases },
        moved(Status::Running),
        moved(Status::Merged),
    ];
    journal.append(1, &events.map(|event| [event])).unwrap();
    let ran = project.call(["replay"]).run();
    assert_eq!(ran.status.code(), Some(1), "{}", ran.transcript());
    let problem = "record 3 breaks a rule: phase 1 goes from waiting to running";
    assert!(ran.stdout.contains(problem) && ran.stdout.contains(", line 4"), "{}", ran.stdout);
    let ran = project.call(["replay", "--json"]).run();
    assert_eq!(ran.status.code(), Some(1));
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&answer["consistent"], &answer["problem"]["seq"]), (&json!(false), &json!(3)));
}

#[test]
fn every_command_is_refused_if_there_was_no_run() {
    let project = sandbox().file(".planning/STATE.md", "# State\n");
    project.git(".", &["init", "-q"]);
    for words in [
        &["log"][..],
        &["replay"],
        &["events"],
        &["inbox"],
        &["answer", "1", "yes"],
        &["approve", "1"],
        &["deny", "1"],
        &["pause"],
        &["resume"],
        &["cancel", "--yes"],
        &["ps"],
        &["close-shop", "--yes"],
    ] {
        project.call(words).run().refuses("no run was started here yet");
    }
    assert!(!project.root().join(".git/mow").exists(), "reading creates nothing");
}
