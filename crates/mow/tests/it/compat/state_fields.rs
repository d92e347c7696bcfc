//! Tests of `state load`, `get`, `update`, `patch`, `advance-plan`, `update-progress` and
//! `record-session`.

use serde_json::{Value, json};

use crate::sandbox;
use crate::table::{Answer, Case, Files, check, mask_now};

const STATE: &str = ".planning/STATE.md";

/// A STATE.md in the bold dialect: `**Field:** value`.
const BOLD: &str = "# Project State

**Current Phase:** 03
**Current Plan:** 2
**Total Plans in Phase:** 3
**Status:** Executing
**Progress:** 10%
**Last Activity:** 2020-01-01
**Paused At:**

## Decisions Made

| Phase | Decision | Rationale |
|-------|----------|-----------|

## Session

**Last Date:** 2020-01-01
**Stopped At:** somewhere
**Resume File:** old.md
";

/// A STATE.md in the plain dialect of the template: `Field: value`.
const PLAIN: &str = "# Project State

## Current Position

Phase: 3 of 7 (Search)
Plan: 2 of 3 in current phase
Status: Executing
Last activity: 2020-01-01 — Started
Progress: [█░░░░░░░░░] 10%

## Accumulated Context

Intro.

### Decisions

- one

## Session Continuity

Last session: 2020-01-01
Stopped at: somewhere
Resume file: old.md
";

pub(crate) fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

fn error(text: &str) -> Answer<'static> {
    Answer::Json(json!({ "error": text }))
}

fn case<'a>(
    about: &'a str,
    files: Files<'a>,
    call: &'a [&'a str],
    answer: Answer<'a>,
    after: Files<'a>,
) -> Case<'a> {
    Case { about, files, call, answer, after }
}

#[test]
fn state_load_answers_even_if_files_are_missing() {
    let settings = json!({
        "model_profile": "balanced", "commit_docs": true, "search_gitignored": false,
        "branching_strategy": "none", "phase_branch_template": "mow/phase-{phase}-{slug}",
        "milestone_branch_template": "mow/{milestone}-{slug}", "research": true,
        "plan_checker": true, "verifier": true, "parallelization": true, "brave_search": false,
        "max_task_attempts": 5,
    });
    let answer = |state: &str, roadmap: bool, config: bool| {
        Answer::Json(json!({
            "config": settings, "state_raw": state, "state_exists": !state.is_empty(),
            "roadmap_exists": roadmap, "config_exists": config,
        }))
    };
    let one: Files<'_> = &[(STATE, "x"), (".planning/ROADMAP.md", "")];
    let call = &["state", "load"];
    check(&[
        case("state load", one, call, answer("x", true, false), &[]),
        case("load is the default", one, &["state"], answer("x", true, false), &[]),
        case("no project", &[], call, answer("", false, false), &[]),
        case("an empty file does not exist", &[(STATE, "")], call, answer("", false, false), &[]),
    ]);
    let raw = "model_profile=quality\ncommit_docs=false\nbranching_strategy=phase\n\
               phase_branch_template=p\nmilestone_branch_template=mow/{milestone}-{slug}\n\
               parallelization=false\nresearch=true\nplan_checker=false\nverifier=true\n\
               config_exists=true\nroadmap_exists=false\nstate_exists=false";
    let config = r#"{"model_profile": "quality", "planning": {"commit_docs": false},
        "git": {"branching_strategy": "phase", "phase_branch_template": "p"},
        "parallelization": {"enabled": false}, "workflow": {"plan_check": false}}"#;
    let files: Files<'_> = &[(".planning/config.json", config)];
    check(&[case("raw", files, &["state", "load", "--raw"], Answer::Text(raw), &[])]);
}

#[test]
fn an_unknown_state_subcommand_answers_like_load() {
    let project = sandbox().file(STATE, "x\n").file(".planning/config.json", "not json");
    for call in [&["state", "bogus"][..], &["state", "bogus", "--flag", "value"]] {
        let ran = project.call(call).run();
        assert!(ran.status.success() && ran.stderr.contains("bogus"), "{}", ran.transcript());
        let value: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(value["state_raw"], "x\n");
        assert_eq!(value["config"]["model_profile"], "balanced");
    }
}

#[test]
fn state_get_reads_fields_and_sections() {
    let bold: Files<'_> = &[(STATE, BOLD)];
    let plain: Files<'_> = &[(STATE, PLAIN)];
    let get = |name: &'static str| ["state", "get", name];
    check(&[
        case(
            "a bold field",
            bold,
            &get("status"),
            Answer::Json(json!({"status": "Executing"})),
            &[],
        ),
        case("raw", bold, &["state", "get", "Status", "--raw"], Answer::Text("Executing"), &[]),
        case(
            "a plain field",
            plain,
            &get("Status"),
            Answer::Json(json!({"Status": "Executing"})),
            &[],
        ),
        case(
            "a section",
            plain,
            &get("decisions"),
            Answer::Json(json!({"decisions": "- one"})),
            &[],
        ),
        case(
            "a section, raw",
            plain,
            &["state", "get", "Decisions", "--raw"],
            Answer::Text("- one"),
            &[],
        ),
        case(
            "neither",
            plain,
            &get("No$Such (thing"),
            error("Section or field \"No$Such (thing\" not found"),
            &[],
        ),
        case("neither, raw", plain, &["state", "get", "Nope", "--raw"], Answer::Text(""), &[]),
        case("no STATE.md", &[], &get("Status"), Answer::Refused("STATE.md not found"), &[]),
        case(
            "no STATE.md, no name",
            &[],
            &["state", "get"],
            Answer::Refused("STATE.md not found"),
            &[],
        ),
    ]);
    let project = sandbox().file(STATE, BOLD);
    project.call(["state", "get"]).run().prints_json(&json!({ "content": BOLD }));
    project.call(["state", "get", "--raw"]).run().prints(BOLD);
}

#[test]
fn d59_a_section_contains_its_subsections() {
    let files: Files<'_> = &[(STATE, PLAIN)];
    let value = json!({ "Accumulated Context": "Intro.\n\n### Decisions\n\n- one" });
    let call = &["state", "get", "Accumulated Context"];
    check(&[case("to the next heading of its level", files, call, Answer::Json(value), &[])]);
}

#[test]
fn d4_an_empty_field_does_not_take_the_next_line_as_value() {
    let files: Files<'_> = &[(STATE, BOLD)];
    let after = BOLD.replace("**Paused At:**", "**Paused At:** here");
    check(&[
        case(
            "read",
            files,
            &["state", "get", "Paused At"],
            Answer::Json(json!({"Paused At": ""})),
            &[],
        ),
        case(
            "written",
            files,
            &["state", "update", "Paused At", "here"],
            Answer::Json(json!({"updated": true})),
            &[(STATE, &after)],
        ),
    ]);
}

#[test]
fn state_update_changes_one_field() {
    let bold: Files<'_> = &[(STATE, BOLD)];
    let done = || Answer::Json(json!({ "updated": true }));
    let after = |text: &str| text.replace("Executing", "Done");
    let not = |reason: &str| Answer::Json(json!({ "updated": false, "reason": reason }));
    let call = &["state", "update", "status", "Done"];
    check(&[
        case("bold", bold, call, done(), &[(STATE, &after(BOLD))]),
        case("plain [D26]", &[(STATE, PLAIN)], call, done(), &[(STATE, &after(PLAIN))]),
        case(
            "raw has no effect",
            bold,
            &["state", "update", "status", "Done", "--raw"],
            done(),
            &[(STATE, &after(BOLD))],
        ),
        case(
            "no such field",
            bold,
            &["state", "update", "Nope", "x"],
            not("Field \"Nope\" not found in STATE.md"),
            &[],
        ),
        case("no STATE.md", &[], call, not("STATE.md not found"), &[]),
        case("no value", bold, &["state", "update", "Status"], Answer::Refused("<VALUE>"), &[]),
        case("no field", bold, &["state", "update"], Answer::Refused("<FIELD>"), &[]),
        case(
            "an empty name",
            bold,
            &["state", "update", "", "x"],
            Answer::Refused("field name"),
            &[],
        ),
    ]);
}

#[test]
fn d5_values_are_taken_literally() {
    for value in ["$& $1 $` \\1 \\n", "--status", "a | b", "- x", "  blanks  kept"] {
        let after = BOLD.replace("Executing", value);
        check(&[case(
            value,
            &[(STATE, BOLD)],
            &["state", "update", "Status", value],
            Answer::Json(json!({ "updated": true })),
            &[(STATE, &after)],
        )]);
    }
}

#[test]
fn state_patch_changes_several_fields() {
    let files: Files<'_> = &[(STATE, BOLD)];
    let after = BOLD.replace("Executing", "--x").replace("Plan:** 2", "Plan:** 3 $&");
    let lists = |updated: &[&str], failed: &[&str]| {
        Answer::Json(json!({ "updated": updated, "failed": failed }))
    };
    let two = &["state", "patch", "--Status", "--x", "--Current Plan", "3 $&"];
    check(&[
        case(
            "state patch",
            files,
            two,
            lists(&["Status", "Current Plan"], &[]),
            &[(STATE, &after)],
        ),
        case(
            "without dashes, and one that is missing",
            files,
            &["state", "patch", "Status", "--x", "--Nope", "1", "Current Plan", "3 $&"],
            lists(&["Status", "Current Plan"], &["Nope"]),
            &[(STATE, &after)],
        ),
        case("raw", files, &["--raw", "state", "patch", "--Nope", "1"], Answer::Text("false"), &[]),
        case(
            "raw, updated",
            files,
            &["state", "patch", "--Status", "--x", "--Current Plan", "3 $&", "--raw"],
            Answer::Text("true"),
            &[(STATE, &after)],
        ),
        case(
            "a name without a value",
            files,
            &["state", "patch", "--Status"],
            lists(&[], &["Status"]),
            &[],
        ),
        case("nothing", files, &["state", "patch"], lists(&[], &[]), &[]),
        case("no STATE.md", &[], two, Answer::Refused("STATE.md not found"), &[]),
    ]);
}

#[test]
fn d26_advance_plan_works_in_both_dialects() {
    let today = today();
    let call = &["state", "advance-plan"];
    let next = || {
        Answer::Json(json!({
            "advanced": true, "previous_plan": 2, "current_plan": 3, "total_plans": 3,
        }))
    };
    let bold = BOLD
        .replace("Plan:** 2", "Plan:** 3")
        .replace("Executing", "Ready to execute")
        .replace("Activity:** 2020-01-01", &format!("Activity:** {today}"));
    let plain = PLAIN
        .replace("2 of 3", "3 of 3")
        .replace("Executing", "Ready to execute")
        .replace("2020-01-01 — Started", &format!("{today} — Plan 2 complete"));
    let last = || {
        Answer::Json(json!({
            "advanced": false, "reason": "last_plan", "current_plan": 3, "total_plans": 3,
            "status": "ready_for_verification",
        }))
    };
    let done = bold.replace("Ready to execute", "Phase complete — ready for verification");
    check(&[
        case("state advance-plan", &[(STATE, BOLD)], call, next(), &[(STATE, &bold)]),
        case("the template's dialect", &[(STATE, PLAIN)], call, next(), &[(STATE, &plain)]),
        case("the last plan", &[(STATE, &bold)], call, last(), &[(STATE, &done)]),
        case(
            "raw",
            &[(STATE, BOLD)],
            &["state", "advance-plan", "--raw"],
            Answer::Text("true"),
            &[(STATE, &bold)],
        ),
        case(
            "raw, the last plan",
            &[(STATE, &bold)],
            &["state", "advance-plan", "--raw"],
            Answer::Text("false"),
            &[(STATE, &done)],
        ),
    ]);
}

#[test]
fn a_plan_that_is_not_a_number_is_an_error_with_exit_code_0() {
    let text = BOLD.replace("Plan:** 2", "Plan:** Not started");
    let unknown = || error("Cannot parse Current Plan or Total Plans in Phase from STATE.md");
    let raw = &["state", "advance-plan", "--raw"];
    check(&[
        case("not started", &[(STATE, &text)], &["state", "advance-plan"], unknown(), &[]),
        case("raw is the same", &[(STATE, &text)], raw, unknown(), &[]),
        case("no STATE.md", &[], raw, error("STATE.md not found"), &[]),
    ]);
}

#[test]
fn d26_update_progress_counts_plans_in_both_dialects() {
    let plans = [
        (".planning/phases/01-a/01-01-PLAN.md", ""),
        (".planning/phases/01-a/01-02-plan.md", ""),
        (".planning/phases/01-a/01-01-SUMMARY.md", ""),
        (".planning/phases/01-a/PLAN.md", ""),
        (".planning/phases/02-b/02-01-PLAN.md", ""),
        (".planning/phases/02-b/02-01-Summary.md", ""),
        (".planning/milestones/v1.0-phases/00-x/00-01-PLAN.md", ""),
    ];
    let bar = "[███████░░░] 67%";
    let answer = || {
        Answer::Json(
            json!({ "updated": true, "percent": 67, "completed": 2, "total": 3, "bar": bar }),
        )
    };
    let call = &["state", "update-progress"];
    for (about, text, old) in
        [("state update-progress", BOLD, "10%"), ("the template's", PLAIN, "[█░░░░░░░░░] 10%")]
    {
        let files = [&plans[..], &[(STATE, text)]].concat();
        let after = text.replace(old, bar);
        let raw = &["state", "update-progress", "--raw"];
        check(&[
            case(about, &files, call, answer(), &[(STATE, &after)]),
            case(about, &files, raw, Answer::Text(bar), &[(STATE, &after)]),
        ]);
    }
    let none = json!({ "updated": true, "percent": 0, "completed": 0, "total": 0, "bar": "[░░░░░░░░░░] 0%" });
    let zero = BOLD.replace("10%", "[░░░░░░░░░░] 0%");
    let absent = json!({ "updated": false, "reason": "Progress field not found in STATE.md" });
    check(&[
        case("no plans", &[(STATE, BOLD)], call, Answer::Json(none), &[(STATE, &zero)]),
        case("no field", &[(STATE, "# S\n")], call, Answer::Json(absent), &[]),
        case(
            "no field, raw",
            &[(STATE, "# S\n")],
            &["state", "update-progress", "--raw"],
            Answer::Text("false"),
            &[],
        ),
        case("no STATE.md", &[], call, error("STATE.md not found"), &[]),
    ]);
}

#[test]
fn frontmatter_fields_are_updated_where_they_exist() {
    let head = "---\nstatus: executing # keep\nprogress:\n  total_plans: 9\n  percent: 10\n---\n\n";
    let text = format!("{head}{PLAIN}");
    let status = text.replace("Executing", "Done").replace("executing", "Done");
    let progress = text
        .replace("[█░░░░░░░░░] 10%", "[░░░░░░░░░░] 0%")
        .replace("plans: 9", "plans: 0")
        .replace("percent: 10", "percent: 0");
    let bar = "[░░░░░░░░░░] 0%";
    check(&[
        case(
            "the status",
            &[(STATE, &text)],
            &["state", "update", "Status", "Done"],
            Answer::Json(json!({ "updated": true })),
            &[(STATE, &status)],
        ),
        case(
            "the counts",
            &[(STATE, &text)],
            &["state", "update-progress", "--raw"],
            Answer::Text(bar),
            &[(STATE, &progress)],
        ),
    ]);
}

#[test]
fn d26_record_session_writes_the_existing_fields() {
    let recorded = |names: &[&str]| Answer::Json(json!({ "recorded": true, "updated": names }));
    let resume = &["state", "record-session", "--stopped-at", "$1 here", "--resume", "new.md"];
    let file = &["state", "record-session", "--stopped-at", "$1 here", "--resume-file", "new.md"];
    let ended = |text: &str| {
        text.replace("Date:** 2020-01-01", "Date:** NOW")
            .replace("session: 2020-01-01", "session: NOW")
            .replace("somewhere", "$1 here")
            .replace("old.md", "new.md")
    };
    let only = PLAIN.replace("session: 2020-01-01", "session: NOW").replace("old.md", "None");
    let three = ["Last Date", "Stopped At", "Resume File"];
    let plain = ["Last session", "Stopped At", "Resume File"];
    check(&[
        case(
            "state record-session",
            &[(STATE, BOLD)],
            file,
            recorded(&three),
            &[(STATE, &ended(BOLD))],
        ),
        case(
            "the template's",
            &[(STATE, PLAIN)],
            file,
            recorded(&plain),
            &[(STATE, &ended(PLAIN))],
        ),
        case(
            "[D54] --resume",
            &[(STATE, PLAIN)],
            resume,
            recorded(&plain),
            &[(STATE, &ended(PLAIN))],
        ),
        case(
            "without arguments",
            &[(STATE, PLAIN)],
            &["state", "record-session"],
            recorded(&["Last session", "Resume File"]),
            &[(STATE, &only)],
        ),
        case(
            "raw",
            &[(STATE, PLAIN)],
            &["state", "record-session", "--raw"],
            Answer::Text("true"),
            &[(STATE, &only)],
        ),
        case(
            "no fields",
            &[(STATE, "# S\n")],
            file,
            Answer::Json(
                json!({ "recorded": false, "reason": "No session fields found in STATE.md" }),
            ),
            &[],
        ),
        case(
            "no fields, raw",
            &[(STATE, "# S\n")],
            &["--raw", "state", "record-session"],
            Answer::Text("false"),
            &[],
        ),
        case("no STATE.md", &[], file, error("STATE.md not found"), &[]),
    ]);
}

#[test]
fn d27_the_snapshot_reads_what_the_commands_wrote() {
    let project = sandbox().file(STATE, PLAIN);
    for call in [
        &["state", "advance-plan"][..],
        &["state", "update-progress"],
        &["state", "add-decision", "--summary", "s", "--phase", "3", "--rationale", "r"],
        &["state", "record-session", "--stopped-at", "here"],
    ] {
        project.call(call).run().json();
    }
    let text = project.call(["state-snapshot"]).run().stdout_on_success();
    let snapshot: Value = serde_json::from_str(&mask_now(&text)).unwrap();
    assert_eq!(snapshot["current_plan"], "3");
    assert_eq!(snapshot["status"], "Ready to execute");
    assert_eq!(snapshot["progress_percent"], 0);
    assert_eq!(snapshot["last_activity"], today());
    assert_eq!(snapshot["decisions"][1], json!({ "phase": "3", "summary": "s", "rationale": "r" }));
    let session = json!({ "last_date": "NOW", "stopped_at": "here", "resume_file": "None" });
    assert_eq!(snapshot["session"], session);
}
