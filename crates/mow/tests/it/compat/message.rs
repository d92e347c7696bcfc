//! Tests of `message format` and `message parse`.

use mow_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::sandbox;
use crate::table::{Answer, Case, check, mask_now};

const STATUS: &str = ".planning/phases/03-user-auth/03-STATUS.md";
const ROWS: &str = "# Phase 03: User Auth -- Status

## Plan Progress

| Plan | Status | Started | Duration | Commit | Tasks |
|------|--------|---------|----------|--------|-------|
| 03-01 | complete | 10:00 | 12min | abc1234 | 3/3 |
| 03-02 | complete | 10:20 | 1h 5m | -- | 1/3 |
| 03-03 | not started | -- | -- | -- | 0/3 |
";

/// Runs `message format … --raw` and returns the message with its time masked.
fn format(project: &Sandbox, words: &str) -> String {
    let words: Vec<_> = words.split(' ').collect();
    let call = [&["message", "format"], words.as_slice(), &["--raw"]].concat();
    mask_now(&project.call(call).run().stdout_on_success())
}

#[test]
fn message_format_prints_the_message_and_its_size() {
    let project = sandbox();
    let words = ["message", "format", "plan_started", "--phase", "3", "--plan", "03-01"];
    let answer = project.call([&words[..], &["--summary"]].concat()).run().stdout_on_success();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let message = answer["message"].as_str().unwrap();
    let masked = r#"{"v":2,"type":"plan_started","ts":"NOW","phase":"3","plan":"03-01","summary":"Phase 3: plan 03-01 started"}"#;
    assert_eq!(mask_now(message), masked);
    assert_eq!(answer["size"], message.len());
    let keys: Vec<_> = answer.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["message", "size", "type"]);
    assert_eq!(answer["type"], "plan_started");
    assert_eq!(project.files().len(), 0, "nothing is written");
}

#[test]
fn message_format_keeps_the_order_of_free_fields() {
    let project = sandbox();
    assert_eq!(
        format(&project, "plan_created stray --zeta-key z --plan 1 --phase 3 more --alpha -1"),
        r#"{"v":2,"type":"plan_created","ts":"NOW","zeta_key":"z","plan":"1","phase":"3","alpha":"-1"}"#
    );
    let long = "x".repeat(50);
    let cut = format(&project, &format!("plan_started --phase 3 --plan 1 --activity {long}"));
    assert!(cut.contains(&format!("\"activity\":\"{}\"", "x".repeat(40))), "{cut}");
}

#[test]
fn message_format_refuses_unknown_types_and_missing_fields() {
    let refused = |words: &[&str], message: &str| {
        let call = [&["message", "format"], words].concat();
        sandbox().call(call).run().refuses(message);
    };
    let types = "plan_started, plan_complete, phase_complete, error, blocker, state_change, ack, \
                 task_claimed, commit_made, task_complete, stage_transition, input_needed, \
                 plan_created";
    for words in [&[][..], &["toString"], &["--phase", "3"]] {
        refused(words, "Unknown event type");
        refused(words, types);
    }
    refused(&["plan_started"], "Missing required fields for plan_started: phase, plan");
    refused(&["error", "--phase", "3"], "Missing required fields for error: plan, error");
    refused(&["ack", "--ref-type", "plan"], "Missing required fields for ack: ref_plan");
    refused(&["phase_complete"], "phase_complete: phase, plans_completed, total_duration_min");
}

#[test]
fn message_format_warns_and_still_prints() {
    let warned = |words: &[&str]| {
        let ran = sandbox().call([&["message", "format"], words].concat()).run();
        assert!(ran.status.success() && ran.stdout.starts_with('{'), "{}", ran.transcript());
        ran.stderr
    };
    let long = "é".repeat(600);
    let large = warned(&["plan_started", "--phase", "3", "--plan", "1", "--detail", &long]);
    assert!(large.contains("Warning") && large.contains("1KB"), "{large}");
    let ask =
        |word| warned(&["input_needed", "--phase", "3", "--input-type", word, "--detail", ""]);
    assert!(ask("riddle").contains("Unrecognized input_type"));
    for word in [
        "discussion_prompt",
        "permission_prompt",
        "error_resolution",
        "worker_failed",
        "verification_question",
        "planning_approval",
        "stage_gate",
    ] {
        assert_eq!(ask(word), "");
    }
}

#[test]
fn d40_message_format_protects_the_envelope_keys_and_takes_no_flag_as_value() {
    let call = "plan_started --v 9 --phase 3 --type ack --ts x --plan 1 --raw";
    let call: Vec<_> = ["message", "format"].into_iter().chain(call.split(' ')).collect();
    let ran = sandbox().call(call).run();
    let kept = r#"{"v":2,"type":"plan_started","ts":"NOW","phase":"3","plan":"1"}"#;
    assert_eq!(mask_now(&ran.stdout), kept);
    assert_eq!(ran.stderr.matches("Warning: ").count(), 3, "{}", ran.stderr);
    let swallowed = ["message", "format", "plan_started", "--phase", "--plan", "1"];
    let ran = sandbox().call(swallowed).run();
    assert_eq!((ran.status.code(), ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.contains("Missing required fields for plan_started: phase\n"));
}

#[test]
fn d54_message_format_fills_in_missing_fields_from_planning_files() {
    let dir = ".planning/phases/03-user-auth";
    let summary = "---\nphase: 3\nduration: 7 min\n---\n# Done\n";
    let project = sandbox()
        .file(STATUS, ROWS)
        .file(&format!("{dir}/03-01-PLAN.md"), "")
        .file(&format!("{dir}/03-02-PLAN.md"), "")
        .file(&format!("{dir}/03-01-SUMMARY.md"), summary)
        .file(".planning/phases/04-x/04-01-PLAN.md", "")
        .file(".planning/phases/04-x/04-01-SUMMARY.md", summary);
    for (words, fields) in [
        ("error --phase 3 --detail boom", r#""detail":"boom","error":"boom","plan":"-""#),
        ("phase_complete --phase 3", r#""plans_completed":"1","total_duration_min":"77""#),
        ("phase_complete --phase 04", r#""plans_completed":"1","total_duration_min":"7""#),
        ("phase_complete --phase 9", r#""plans_completed":"0","total_duration_min":"0""#),
        ("phase_complete --phase 3 --plans-completed 9", r#":"9","total_duration_min":"77""#),
        ("plan_complete --phase 3 --plan 03-01", r#""commit":"abc1234","duration_min":"12""#),
        ("plan_complete --phase 3 --plan 1", r#""commit":"abc1234","duration_min":"12""#),
        ("plan_complete --phase 3 --plan 02", r#""commit":"unknown","duration_min":"65""#),
        ("plan_complete --phase 4 --plan 04-01", r#""commit":"unknown","duration_min":"7""#),
        ("plan_complete --phase 3 --plan 1 --commit f", r#""commit":"f","duration_min":"12""#),
        ("ack --ref-type cancel", r#""ref_type":"cancel""#),
    ] {
        let message = format(&project, words);
        assert!(message.ends_with(&format!("{fields}}}")), "{words}\n{message}");
    }
    let bare = project.call(["message", "format", "plan_complete", "--phase", "3"]).run();
    bare.refuses("Missing required fields for plan_complete: plan, commit, duration_min");
}

#[test]
fn d54_message_format_asks_git_for_a_commit_that_status_does_not_name() {
    let project = sandbox().file(STATUS, ROWS);
    project.git(".", &["init", "-q"]);
    project.git(".", &["add", "."]);
    project.git(".", &["commit", "-qm", "x"]);
    let head = project.git(".", &["rev-parse", "--short", "HEAD"]);
    let message = format(&project, "plan_complete --phase 3 --plan 03-02");
    assert!(message.contains(&format!("\"commit\":\"{}\"", head.trim())), "{message}");
    let stated = format(&project, "plan_complete --phase 3 --plan 03-01");
    assert!(stated.contains("\"commit\":\"abc1234\""), "{stated}");
}

#[test]
fn message_parse_reports_validity_with_reasons() {
    let good = r#"{"v":2,"type":"plan_started","ts":"t","plan":"1","phase":3}"#;
    let old = r#"{"v":1,"type":"ack","ref_type":"plan","ref_plan":""}"#;
    let invalid = |error: &str, warnings: &[&str]| {
        Answer::Json(json!({ "valid": false, "error": error, "warnings": warnings }))
    };
    let case = |call, answer| Case { about: "parse", files: &[], call, answer, after: &[] };
    check(&[
        case(
            &["message", "parse", good],
            Answer::Json(json!({
                "valid": true, "v": 2, "type": "plan_started", "ts": "t", "plan": "1", "phase": 3,
            })),
        ),
        case(
            &["message", "parse", old, "--raw"],
            Answer::Text(r#"{"valid":true,"v":1,"type":"ack","ref_type":"plan","ref_plan":""}"#),
        ),
        case(
            &["message", "parse", r#"{"type":"ack","ref_type":"cancel"}"#],
            Answer::Json(json!({
                "valid": true, "type": "ack", "ref_type": "cancel",
                "warnings": ["Missing schema version"],
            })),
        ),
        case(&["message", "parse", r#"{"v":2}"#], invalid("Missing type field", &[])),
        case(
            &["message", "parse", r#"{"v":"2","type":"dance"}"#],
            invalid("Unknown event type: dance", &["Schema version is not a number"]),
        ),
        case(
            &["message", "parse", r#"{"v":2,"type":"plan_complete","phase":1,"plan":2}"#],
            invalid("Missing required fields for plan_complete: commit, duration_min", &[]),
        ),
        case(&["message", "parse"], Answer::Refused("<JSON>")),
    ]);
    let newer = r#"{"v":3,"type":"ack","ref_type":"cancel"}"#;
    let newer = sandbox().call(["message", "parse", newer]).run().json();
    assert_eq!(newer["valid"], true);
    assert!(newer["warnings"][0].as_str().unwrap().starts_with("Unknown schema version 3"));
}

#[test]
fn message_parse_reports_text_that_is_not_json_as_invalid() {
    for text in ["", "{", "-5x", "plan_started"] {
        let answer = sandbox().call(["message", "parse", text]).run().json();
        assert!(answer["error"].as_str().unwrap().starts_with("Invalid JSON"), "{answer}");
        assert_eq!((&answer["valid"], answer.as_object().unwrap().len()), (&json!(false), 2));
    }
}

#[test]
fn d40_d47_message_parse_lets_no_message_set_the_verdict_keys() {
    let parse = |text: &str| sandbox().call(["message", "parse", text]).run().json();
    for text in ["null", "42", "[]", "true", "\"ack\""] {
        assert_eq!(parse(text)["error"], "Missing type field", "{text}");
    }
    for name in ["toString", "__proto__", "constructor"] {
        let answer = parse(&format!(r#"{{"v":2,"type":"{name}"}}"#));
        assert_eq!(answer["error"], format!("Unknown event type: {name}"));
    }
    let text = r#"{"valid":false,"v":2,"type":"plan_started","phase":1,"plan":1,"warnings":["x"]}"#;
    assert_eq!(
        parse(text),
        json!({ "valid": true, "v": 2, "type": "plan_started", "phase": 1, "plan": 1 })
    );
}
