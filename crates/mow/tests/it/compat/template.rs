//! Tests of `template select`, `template fill` and `scaffold`.

use serde_json::{Value, json};

use crate::sandbox;
use crate::table::{Answer, Case, Files, check, check_as_written, mask_now};

fn case<'a>(about: &'a str, files: Files<'a>, call: &'a [&'a str], answer: Answer<'a>) -> Case<'a> {
    Case { about, files, call, answer, after: &[] }
}

fn selected(kind: &str, tasks: usize, files: usize, decisions: bool) -> Answer<'static> {
    Answer::Json(json!({
        "template": format!("templates/summary-{kind}.md"), "type": kind, "taskCount": tasks,
        "fileCount": files, "hasDecisions": decisions,
    }))
}

#[test]
fn template_select_chooses_by_the_size_of_the_plan() {
    let files: Files<'_> = &[
        ("small.md", "### Task 1\n\n`src/a.rs` `src/a.rs` `b.rs`\n"),
        ("medium.md", "### Task 1\n### Task 2\n### Task 3\n"),
        ("many.md", "`a/1.r` `a/2.r` `a/3.r` `a/4.r` `a/5.r` `a/6.r` `a/7.r`\n"),
        ("decided.md", "A Decision.\n"),
    ];
    let gone = json!({
        "template": "templates/summary-standard.md", "type": "standard", "error": "File not found",
    });
    check(&[
        case("small", files, &["template", "select", "small.md"], selected("minimal", 1, 1, false)),
        case(
            "medium",
            files,
            &["template", "select", "medium.md"],
            selected("standard", 3, 0, false),
        ),
        case(
            "decided",
            files,
            &["template", "select", "decided.md"],
            selected("complex", 0, 0, true),
        ),
        case("gone", files, &["template", "select", "gone.md"], Answer::Json(gone)),
        case(
            "raw",
            files,
            &["template", "select", "small.md", "--raw"],
            Answer::Text("templates/summary-minimal.md"),
        ),
        case("no plan", files, &["template", "select"], Answer::Refused("required")),
    ]);
}

#[test]
fn d31_template_select_counts_tasks_in_tags() {
    let task = "<task type=\"auto\">\n<name>x</name>\n</task>\n";
    let text = format!("<tasks>\n{}</tasks>\n", task.repeat(6));
    let files: Files<'_> = &[("p.md", &text)];
    check(&[case(
        "tags",
        files,
        &["template", "select", "p.md"],
        selected("complex", 6, 0, false),
    )]);
}

const DIR: &str = ".planning/phases/03-user-auth/.gitkeep";

#[test]
fn template_fill_writes_a_valid_plan() {
    let project = sandbox().file(DIR, "");
    let path = ".planning/phases/03-user-auth/03-02-PLAN.md";
    let call =
        ["template", "fill", "plan", "--phase", "3", "--plan", "2", "--wave", "2", "--type", "tdd"];
    let created = json!({ "created": true, "path": path, "template": "plan" });
    project
        .call(call.iter().chain(&["--fields", "{\"depends_on\": [\"03-01\"]}"]))
        .run()
        .prints_json(&created);
    let block = "---\nphase: 03-user-auth\nplan: 02\ntype: tdd\nwave: 2\ndepends_on: [03-01]\n\
        files_modified: []\nautonomous: true\nuser_setup: []\nmust_haves:\n  truths: []\n  \
        artifacts: []\n  key_links: []\n---\n\n# ";
    let text = project.text(path);
    assert!(text.starts_with(block), "{text}");
    for heading in ["Objective", "Context", "Tasks", "Verification", "Success Criteria"] {
        assert!(text.contains(&format!("\n## {heading}\n")), "{heading}");
    }
    let check = project.call(["verify", "plan-structure", path]).run().json();
    assert_eq!((&check["valid"], &check["task_count"]), (&json!(true), &json!(1)));
    let again = json!({ "error": "File already exists", "path": path });
    project.call(call).run().prints_json(&again);
    assert_eq!(project.text(path), text);
}

#[test]
fn template_fill_writes_a_summary_and_a_verification() {
    let project = sandbox().file(DIR, "");
    let fill = |kind: &str| {
        project.call(["template", "fill", kind, "--phase", "03", "--raw"]).run().stdout_on_success()
    };
    let summary = fill("summary");
    assert_eq!(summary, ".planning/phases/03-user-auth/03-01-SUMMARY.md");
    let verification = fill("verification");
    assert_eq!(verification, ".planning/phases/03-user-auth/03-VERIFICATION.md");
    for (path, schema) in [(&summary, "summary"), (&verification, "verification")] {
        let call = ["frontmatter", "validate", path, "--schema", schema, "--raw"];
        project.call(call).run().prints("valid");
    }
    let text = mask_now(&project.text(&verification));
    let block = "---\nphase: 03-user-auth\nverified: \"NOW\"\nstatus: pending\nscore: 0/0 must-haves verified\n---\n";
    assert!(text.starts_with(block), "{text}");
    for table in [
        "Observable Truths",
        "Required Artifacts",
        "Key Link Verification",
        "Requirements Coverage",
        "Result",
    ] {
        assert!(text.contains(&format!("\n## {table}\n")), "{table}");
    }
}

#[test]
fn template_fill_prints_a_checkpoint() {
    let project = sandbox().file(DIR, "");
    let call = ["template", "fill", "checkpoint", "--phase", "3"];
    let answer = project.call(call).run().json();
    assert_eq!((&answer["filled"], &answer["template"]), (&json!(true), &json!("checkpoint")));
    let content = mask_now(answer["content"].as_str().unwrap());
    let block = "---\nphase: 03-user-auth\nplan: 01\nstatus: failed\nworker: unknown\nworktree: \
        .worktrees/p03\ntimestamp: NOW\nreason: error\ncircuit_breaker_hit: false\n---\n";
    assert!(content.starts_with(block), "{content}");
    assert!(content.contains("**Plan:** 03-01\n"));
    assert_eq!(project.files().len(), 1, "nothing is written");
    project.make_dir(".claude/worktrees/phase-03");
    let content = project.call(call.iter().chain(&["--raw"])).run().stdout_on_success();
    assert!(content.contains("worktree: .claude/worktrees/phase-03\n"), "{content}");
    project.write("mowism/templates/checkpoint.md", "{worker-name} {reason} {status} {own}\n");
    let more = ["--worker", "w $1", "--reason", "--x", "--status", "paused", "--raw"];
    project.call(call.iter().chain(&more)).run().prints("w $1 --x paused {own}\n");
}

#[test]
fn template_fill_refuses_bad_calls() {
    let files: Files<'_> = &[(DIR, "")];
    let missing = json!({ "error": "Phase not found", "phase": "9" });
    let fill = |words: &[&'static str]| [&["template", "fill"], words].concat();
    check(&[
        case("no type", files, &fill(&["--phase", "3"]), Answer::Refused("required")),
        case("no phase", files, &fill(&["plan"]), Answer::Refused("--phase")),
        case("unknown type", files, &fill(&["poem", "--phase", "3"]), Answer::Refused("poem")),
        case("unknown phase", files, &fill(&["plan", "--phase", "9"]), Answer::Json(missing)),
        case(
            "a plan that leads elsewhere",
            files,
            &fill(&["plan", "--phase", "3", "--plan", "../../x"]),
            Answer::Refused("not the number of a plan"),
        ),
    ]);
}

#[test]
fn d47_template_fill_refuses_fields_that_are_not_json() {
    let files: Files<'_> = &[(DIR, "")];
    let call = ["template", "fill", "plan", "--phase", "3", "--fields", "{x"];
    let list = ["template", "fill", "plan", "--phase", "3", "--fields", "[1]"];
    check(&[
        case("no JSON", files, &call, Answer::Refused("--fields is not a JSON object")),
        case("no object", files, &list, Answer::Refused("--fields is not a JSON object")),
    ]);
}

#[test]
fn scaffold_context_uat_and_verification() {
    let project = sandbox().file(DIR, "");
    let today = project.call(["current-timestamp", "date", "--raw"]).run().stdout_on_success();
    let rows = [
        (
            "context",
            "CONTEXT",
            "Context",
            "",
            &["Decisions", "Discretion Areas", "Deferred Ideas"][..],
        ),
        (
            "uat",
            "UAT",
            "User Acceptance Testing",
            "status: pending\n",
            &["Test Results", "Summary"],
        ),
        (
            "verification",
            "VERIFICATION",
            "Verification",
            "status: pending\n",
            &["Goal-Backward Verification", "Checks", "Result"],
        ),
    ];
    for (kind, file, title, status, headings) in rows {
        let path = format!(".planning/phases/03-user-auth/03-{file}.md");
        let call = ["scaffold", kind, "--phase", "3", "--name", "User", "Auth", "--x"];
        project.call(call).run().prints_json(&json!({ "created": true, "path": path }));
        let head = format!(
            "---\nphase: \"03\"\nname: \"User Auth --x\"\ncreated: {today}\n{status}---\n\n# Phase 3: User Auth --x — {title}\n"
        );
        let text = project.text(&path);
        assert!(text.starts_with(&head), "{text}");
        for heading in headings {
            assert!(text.contains(&format!("\n## {heading}\n")), "{heading}");
        }
        let absolute = project.root().join(&path).display().to_string();
        let exists = json!({ "created": false, "reason": "already_exists", "path": absolute });
        project.call(["scaffold", kind, "--phase", "3"]).run().prints_json(&exists);
        project.call(["scaffold", kind, "--phase", "3", "--raw"]).run().prints("exists");
        assert_eq!(project.text(&path), text);
    }
}

#[test]
fn scaffold_takes_the_name_from_the_directory_and_prints_the_path() {
    let project = sandbox().file(DIR, "");
    let path = |file: &str| format!(".planning/phases/03-user-auth/03-{file}.md");
    let context = ["scaffold", "context", "--phase", "03", "--raw"];
    project.call(context).run().prints(&path("CONTEXT"));
    let verification = ["scaffold", "verification", "--raw", "--phase", "03"];
    project.call(verification).run().prints(&path("VERIFICATION"));
    assert!(project.text(&path("CONTEXT")).contains("\nname: \"user-auth\"\n"));
    let text = project.text(&path("VERIFICATION"));
    assert!(text.contains("\n# Phase 03: user-auth — Verification\n"), "{text}");
    assert!(text.contains("\n| # | Requirement | Status | Evidence |\n"), "{text}");
}

#[test]
fn scaffold_phase_dir_creates_the_directory_once() {
    let project = sandbox();
    let path = ".planning/phases/03.1-hot-fix";
    let absolute = project.root().join(path).display().to_string();
    let answer = json!({ "created": true, "directory": path, "path": absolute });
    let call = ["scaffold", "phase-dir", "--phase", "3.1", "--name", "Hot", "Fix!"];
    project.call(call).run().prints_json(&answer);
    assert!(project.root().join(path).is_dir());
    project.call(call).run().prints_json(&answer);
    project.call(["--raw"].iter().chain(&call)).run().prints(&absolute);
}

#[test]
fn d47_scaffold_without_a_phase_is_refused() {
    let files: Files<'_> = &[(DIR, "")];
    let scaffold = |words: &[&'static str]| [&["scaffold"], words].concat();
    let refused = |words: &[&'static str], message| (scaffold(words), message);
    let rows: [(Vec<&str>, &str); 9] = [
        refused(&["context"], "--phase"),
        refused(&["uat"], "--phase"),
        refused(&["verification"], "--phase"),
        refused(&["context", "--phase", "9"], "not found"),
        refused(&["phase-dir", "--phase", "4"], "name required"),
        refused(&["phase-dir", "--name", "x", "--phase", "4"], "--phase"),
        refused(&["phase-dir", "--phase", "../x", "--name", "x"], "not the number of a phase"),
        refused(&["phase-dir", "--phase", "4", "--name", "..", "/"], "no letters"),
        refused(&["poem", "--phase", "3"], "poem"),
    ];
    for (call, message) in &rows {
        check_as_written(&[case("refused", files, call, Answer::Refused(message))]);
    }
}

#[test]
fn names_with_quotes_are_escaped_in_the_frontmatter() {
    let project = sandbox().file(DIR, "");
    let name = "Say \"hi\": # $1";
    project.call(["scaffold", "uat", "--phase", "3", "--name", name]).run().stdout_on_success();
    let file = ".planning/phases/03-user-auth/03-UAT.md";
    let block: Value = project.call(["frontmatter", "get", file]).run().json();
    assert_eq!(block["name"], json!(name));
}
