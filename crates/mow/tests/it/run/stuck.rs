//! Commands and workers that show no sign of life: they are noticed, named with numbers, and a person
//! decides.
#![expect(clippy::disallowed_methods, reason = "tests hold the other end of pipes")]

use std::fs;
use std::process::Command;

use mow_testkit::field::{ALL, Field, go_on, marked, phase, plan, stop, task};

use super::{answer, field_with, sown};

/// Stuck after a second or so.
const SOON: &str = r#""multi_phase": {"stuck_after_min": 0.02}"#;

/// The one question that is open, by its kind.
#[track_caller]
fn asked(field: &Field, kind: &str) -> serde_json::Value {
    let events = field.events();
    let of_kind =
        |event: &&serde_json::Value| event["event"] == "asked" && event["item"]["kind"] == kind;
    let found: Vec<_> = events.iter().filter(of_kind).map(|e| e["item"].clone()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

#[test]
fn a_silent_command_is_stuck_and_begun_again_when_a_person_says_so() {
    let field = field_with(SOON, &[sown("1", &[], "test -e ../../rain || sleep 1000")]);
    // Without a terminal a run ends when nothing moves any more; the worker stays.
    let ran = field.ends(&ALL, 5);
    let item = asked(&field, "stuck");
    let question = item["question"].as_str().unwrap();
    for sign in
        ["plan 01-01, task 1 seems stuck: no output for ", "no file change for ", "CPU 0.0 s in "]
    {
        assert!(question.contains(sign) && ran.contains(sign), "{sign}: {ran}");
    }
    let shown = field.ends(&["ps"], 0);
    assert!(shown.contains("seems stuck"), "{shown}");
    let log = field.ends(&["log", "1"], 0);
    assert!(log.contains("plan 01-01, task 1 seems stuck: no output for"), "{log}");
    let status = field.text(".worktrees/p01/.planning/phases/01-field-1/01-STATUS.md");
    assert!(status.contains("seems stuck"), "{status}");
    field.write("rain", "");
    answer(&field, &item["id"], "retry");
    field.run_all();
    field.inspect();
    assert!(!field.run_dir().unwrap().join("01-2.ndjson").exists(), "the worker itself went on");
}

#[test]
fn a_command_that_a_person_gives_up_fails_its_phase() {
    let field = field_with(SOON, &[sown("1", &[], "test -e ../../rain || sleep 1000")]);
    field.ends(&ALL, 5);
    answer(&field, &asked(&field, "stuck")["id"], "fail");
    let ran = field.ends(&ALL, 1);
    assert!(ran.contains("it was stuck, and a person gave it up"), "{ran}");
    field.write("rain", "");
    field.run_all();
    field.inspect();
}

#[test]
fn a_command_that_moves_again_takes_its_question_back() {
    let field = field_with(SOON, &[sown("1", &[], "cat ../../../pipe")]);
    let pipe = field.sandbox.outside().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    field.ends(&ALL, 5);
    let item = asked(&field, "stuck");
    fs::write(pipe, "on\n").unwrap();
    field.run_all();
    field.inspect();
    let withdrawn =
        |event: &serde_json::Value| event["event"] == "withdrawn" && event["item"] == item["id"];
    assert!(field.events().iter().any(withdrawn));
}

#[test]
fn the_same_error_over_and_over_is_stuck() {
    let script = "i=0\nwhile [ ! -e ../../rain ]; do i=$((i+1)); echo \"error $i: drought\"; sleep 0.1; done";
    let field = field_with(SOON, &[sown("1", &[], script)]);
    field.ends(&ALL, 5);
    let item = asked(&field, "stuck");
    let question = item["question"].as_str().unwrap();
    assert!(question.contains("the same error 10 times (`error "), "{question}");
    field.write("rain", "");
    let moves = |record: &mow_store::journal::Record| record.body.contains("\"moving\"");
    field.until("it moves", || field.records("01-1.ndjson").iter().any(moves).then_some(()));
    field.run_all();
    field.inspect();
}

#[test]
fn a_worker_that_is_stopped_is_noticed_and_ended_by_cancel() {
    let config = r#""multi_phase": {"stuck_after_min": 0.1}"#;
    let first =
        plan(vec![task("echo 1 > crop-1"), task("echo half > crop-2\nmeet 1\necho 2 > crop-2")]);
    let field = field_with(config, &[phase("1", &[]).with(first), sown("2", &[], "meet 2")]);
    let lead = field.start(&ALL);
    field.reached("1");
    field.reached("2");
    let run = field.run_id();
    let of_first = |pid: &u32| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environ).contains("MOW_PHASE=1\0")
    };
    let stopped: Vec<_> = marked(&run).into_iter().filter(of_first).collect();
    assert!(stopped.contains(&field.worker("01", 1)) && stopped.len() > 1, "{stopped:?}");
    stopped.iter().for_each(|pid| stop(*pid));
    field.until_event("the question", |e| e["event"] == "asked" && e["item"]["kind"] == "hung");
    let item = asked(&field, "hung");
    let question = item["question"].as_str().unwrap();
    assert!(question.contains("its process has been stopped for "), "{question}");
    field.ends(&["cancel", "1"], 0);
    field.until_moved("1", "cancelled");
    // Whoever comes back from the dead changes nothing any more.
    stopped.iter().for_each(|pid| go_on(*pid));
    field.until("the end of all that was stopped", || {
        marked(&run).iter().all(|pid| !stopped.contains(pid)).then_some(())
    });
    field.open("1");
    field.ends(&["resume", "1"], 0);
    field.until_moved("1", "complete");
    field.open("2");
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    field.inspect();
    assert_eq!(field.trailers("Mow-Task").len(), 3);
    assert_eq!(field.git(&["show", "main:crop-2"]), "2\n");
}
