//! Tests of `chat-log append`, `read` and `prune`.

use std::thread;

use mow_testkit::sandbox::Sandbox;
use serde_json::json;

use crate::sandbox;
use crate::table::{Answer, Case, check_as_written, mask_now};

const LOG: &str = ".planning/chat-logs/phase-03-to-phase-04.ndjson";
const PAIR: [&str; 4] = ["--from", "phase-04", "--to", "phase-03"];

fn call(project: &Sandbox, verb: &str, more: &[&str]) -> mow_testkit::program_call::ProgramCall {
    project.call([&["chat-log", verb], &PAIR[..], more].concat())
}

fn planned() -> Sandbox {
    sandbox().file(".planning/STATE.md", "# State\n")
}

#[test]
fn chat_log_append_adds_a_line_to_the_log_of_both_workers() {
    let project = planned();
    let answer = call(&project, "append", &["--msg", "--really?"]).run().json();
    let line = r#"{"from":"phase-04","to":"phase-03","ts":"NOW","msg":"--really?"}"#;
    assert_eq!(mask_now(&project.text(LOG)), format!("{line}\n"));
    let path = project.root().join(LOG);
    let size = project.bytes(LOG).len();
    assert_eq!(answer, json!({ "appended": true, "path": path, "entry_size": size }));
    let back = ["chat-log", "append", "--from", "phase-03", "--to", "phase-04", "--msg", "yes"];
    let raw = project.call([&back[..], &["--raw"]].concat()).run().stdout_on_success();
    assert!(raw.starts_with(r#"{"appended":true,"path":""#), "{raw}");
    assert_eq!(project.text(LOG).lines().count(), 2);
}

#[test]
fn chat_log_append_cuts_a_long_message() {
    let project = planned();
    call(&project, "append", &["--msg", &"é\n".repeat(300)]).run().json();
    let entries = call(&project, "read", &[]).run().json();
    assert_eq!(entries[0]["msg"], "é\n".repeat(250));
}

#[test]
fn chat_log_append_keeps_the_last_two_hundred_entries() {
    let lines: String = (0..200).map(|n| format!("{{\"msg\":\"{n}\"}}\n")).collect();
    let project = sandbox().file(LOG, lines);
    call(&project, "append", &["--msg", "new"]).run().json();
    let entries = call(&project, "read", &[]).run().json();
    let entries = entries.as_array().unwrap();
    assert_eq!((entries.len(), &entries[0]["msg"]), (200, &json!("1")));
    assert_eq!(entries[199]["msg"], "new");
}

#[test]
fn chat_log_read_skips_invalid_lines() {
    let lines = "{\"msg\":\"a\"}\nnonsense\n\n{\"msg\":\"b\"}\n{\"msg\":";
    let files: &[(&str, &str)] = &[(LOG, lines)];
    let read = ["chat-log", "read", "--from", "phase-03", "--to", "phase-04"];
    let raw = [&read[..], &["--raw"]].concat();
    let case = |about, files, call, answer| Case { about, files, call, answer, after: &[] };
    check_as_written(&[
        case("entries in order", files, &read, Answer::Json(json!([{"msg":"a"},{"msg":"b"}]))),
        case("raw", files, &raw, Answer::Text(r#"[{"msg":"a"},{"msg":"b"}]"#)),
        case("no file", &[], &read, Answer::Text("[]")),
        case("no file, raw", &[], &raw, Answer::Text("[]")),
    ]);
}

#[test]
fn chat_log_prune_keeps_the_last_lines() {
    let files: &[(&str, &str)] = &[(LOG, "1\n2\n\n3\n")];
    let prune = |keep: &'static str| {
        let call = ["chat-log", "prune", "--from", "phase-03", "--to", "phase-04", "--keep", keep];
        call.to_vec()
    };
    let pruned =
        |after: usize| Answer::Json(json!({ "pruned": true, "before": 3, "after": after }));
    let all = &prune("2")[..6];
    let raw = [&prune("1")[..], &["--raw"]].concat();
    let none = Answer::Json(json!({ "pruned": false, "reason": "File not found" }));
    let raw_answer = Answer::Text(r#"{"pruned":true,"before":3,"after":1}"#);
    let case = |call, answer, files, after| Case { about: "prune", files, call, answer, after };
    check_as_written(&[
        case(all, pruned(3), files, &[]),
        case(&prune("2"), pruned(2), files, &[(LOG, "2\n3\n")]),
        case(&raw, raw_answer, files, &[(LOG, "3\n")]),
        case(&prune("2"), none, &[], &[]),
    ]);
}

#[test]
fn d39_chat_log_refuses_path_names_and_a_keep_that_is_not_a_number() {
    let project = sandbox().file(LOG, "1\n2\n");
    let before = project.files();
    for name in ["../x", "a/b", "..", "a\\b", ".hidden", "-x", "", "a\nb"] {
        for verb in ["append", "read", "prune"] {
            let mut words = vec!["chat-log", verb, "--from", name, "--to", "phase-03"];
            words.extend((verb == "append").then_some(["--msg", "x"]).iter().flatten());
            let ran = project.call(words).run();
            assert_eq!((ran.status.code(), ran.stdout.as_str()), (Some(1), ""), "{name:?}");
        }
    }
    for keep in ["x", "-1", "", "1.5"] {
        call(&project, "prune", &["--keep", keep]).run().refuses("--keep");
    }
    assert_eq!(project.files(), before);
    call(&project, "prune", &["--keep", "0"]).run().json();
    assert_eq!(project.text(LOG), "");
}

#[test]
fn chat_log_needs_both_workers_and_a_message() {
    let refused = |words: &[&str], message| {
        planned().call([&["chat-log"], words].concat()).run().refuses(message);
    };
    refused(&["append", "--from", "a", "--to", "b"], "--msg");
    refused(&["append", "--from", "a", "--to", "b", "--msg", ""], "--msg");
    refused(&["append", "--from", "a", "--msg", "x"], "--to");
    refused(&["read", "--to", "b"], "--from");
    refused(&["prune"], "--from");
    refused(&[], "append, read, prune");
}

#[test]
fn storm_of_chat_log_appends_loses_no_entry() {
    let project = planned();
    project.git(".", &["init", "-q"]);
    thread::scope(|scope| {
        for caller in 0..50 {
            let project = &project;
            scope.spawn(move || {
                call(project, "append", &["--msg", &caller.to_string()]).run().stdout_on_success();
            });
        }
    });
    let entries = call(&project, "read", &[]).run().json();
    let messages = entries.as_array().unwrap().iter().map(|entry| entry["msg"].as_str().unwrap());
    let mut numbers: Vec<usize> = messages.map(|msg| msg.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..50).collect::<Vec<_>>());
}

#[test]
fn chat_logs_are_stored_in_the_main_worktree() {
    let project = planned();
    project.git(".", &["init", "-q"]);
    project.git(".", &["add", "."]);
    project.git(".", &["commit", "-qm", "x"]);
    project.git(".", &["worktree", "add", "-q", ".worktrees/p03", "-b", "phase-03"]);
    let answer = call(&project, "append", &["--msg", "hi"]).cwd(".worktrees/p03").run().json();
    assert_eq!(answer["path"], json!(project.root().join(LOG)));
    assert_eq!(call(&project, "read", &[]).run().json()[0]["msg"], "hi");
    assert!(!project.root().join(".worktrees/p03/.planning/chat-logs").exists());
}
