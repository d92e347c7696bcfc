//! Tests of `status init`, `read`, `write` and `aggregate`.

use serde_json::{Value, json};

use crate::sandbox;
use crate::table::{Answer, Case, Files, check, check_as_written, mask_now};

const DIR: &str = ".planning/phases/03-user-auth";
const STATUS: &str = ".planning/phases/03-user-auth/03-STATUS.md";
const PLAN: &str = ".planning/phases/03-user-auth/03-01-PLAN.md";
const PLAN_2: &str = ".planning/phases/03-user-auth/03-02-PLAN.md";
const TASKS: &str = "<tasks>\n<task type=\"auto\">\n</task>\n<task>\n</task>\n\
                     <task type=\"checkpoint:decision\">\n</task>\n</tasks>\n";

const FRESH: &str = "# Phase 03: User Auth -- Status

**Phase:** 03
**Status:** not started
**Worker:** --
**Worktree:** --
**Started:** --
**Last update:** --
**Blocker mode:** --

## Plan Progress

| Plan | Status | Started | Duration | Commit | Tasks |
|------|--------|---------|----------|--------|-------|
| 03-01 | not started | -- | -- | -- | 0/3 |
| 03-02 | not started | -- | -- | -- | 0/0 |

## Aggregate

**Plans:** 0 complete, 0 in progress, 2 not started, 0 failed
**Commits:** --

## Blockers

None.

## Decisions

None.

## Context

None.
";

#[test]
fn init_writes_one_row_for_each_plan() {
    let files = &[(PLAN, TASKS), (PLAN_2, "# Plan\n")];
    let created = || Answer::Json(json!({ "created": true, "path": STATUS, "plans": 2 }));
    let over = &[(PLAN, TASKS), (PLAN_2, "# Plan\n"), (STATUS, "# Old\n")];
    let after = &[(STATUS, FRESH)];
    let case = |about, files, call, answer| Case { about, files, call, answer, after };
    check_as_written(&[
        case("a new file", files, &["status", "init", "3"], created()),
        case("padded", files, &["status", "init", "03"], created()),
        case("with trailing text", files, &["status", "init", "3-auth"], created()),
        case("over an old file", over, &["status", "init", "3"], created()),
        case("raw is the path", files, &["status", "init", "3", "--raw"], Answer::Text(STATUS)),
    ]);
}

#[test]
fn the_template_of_the_project_overrides_that_of_the_user() {
    let of_project = "# {phase_number} {phase_name} of the project\n";
    let of_user = "# {phase_number} {phase_name} of the user\n";
    let project = sandbox().file(PLAN, TASKS);
    let template = project.home().join(".claude/mowism/templates/status.md");
    project.write(template.to_str().unwrap(), of_user);
    let title = || {
        project.call(["status", "init", "3"]).run().json();
        project.text(STATUS).lines().next().unwrap().to_owned()
    };
    assert_eq!(title(), "# 03 User Auth of the user");
    project.write("mowism/templates/status.md", of_project);
    assert_eq!(title(), "# 03 User Auth of the project");
}

fn refused<'a>(
    about: &'a str,
    files: Files<'a>,
    call: &'a [&'a str],
    message: &'a str,
) -> Case<'a> {
    Case { about, files, call, answer: Answer::Refused(message), after: &[] }
}

#[test]
fn bad_calls_and_missing_files_are_refused() {
    let none: &[(&str, &str)] = &[(".planning/phases/03.1-fix/.gitkeep", "")];
    let dir_only = &[(PLAN, TASKS)];
    let fresh = &[(STATUS, FRESH)];
    for verb in ["init", "read", "write", "aggregate"] {
        let (bare, decimal) = (["status", verb], ["status", verb, "3", "--raw"]);
        check(&[
            refused("no phase", dir_only, &bare, "<PHASE>"),
            refused("a decimal's directory is not it", none, &decimal, "Phase 3 not found"),
        ]);
    }
    let write = |plan| ["status", "write", "3", "--plan", plan, "--status", "complete"];
    check(&[
        refused("no file to read", dir_only, &["status", "read", "3"], STATUS),
        refused("no file to write", dir_only, &write("03-01"), STATUS),
        refused("no file to count", dir_only, &["status", "aggregate", "3"], STATUS),
        refused("no plan", fresh, &["status", "write", "3"], "--plan"),
        refused("unknown plan", fresh, &write("09-09"), "03-01, 03-02"),
        refused("unknown plan, named", fresh, &write("09-09"), "09-09"),
        refused(
            "unknown field",
            fresh,
            &["status", "write", "3", "--field", "colour", "--value", "x"],
            "colour",
        ),
        refused(
            "a field without a value",
            fresh,
            &["status", "write", "3", "--field", "status"],
            "--value",
        ),
    ]);
}

fn fresh_read() -> Value {
    let row = |plan: &str, tasks: &str| {
        json!({
            "plan": plan, "status": "not started", "started": "--", "duration": "--",
            "commit": "--", "tasks": tasks,
        })
    };
    json!({
        "phase": "03", "status": "not started", "worker": "--", "worktree": "--", "started": "--",
        "last_update": "--", "blocker_mode": "--",
        "plans": [row("03-01", "0/3"), row("03-02", "0/0")],
        "aggregate": { "complete": 0, "in_progress": 0, "not_started": 2, "failed": 0 },
        "commits": [], "blockers": [], "decisions": [], "context": [],
    })
}

#[test]
fn read_counts_from_the_rows() {
    let stale =
        FRESH.replace("0 complete, 0 in progress, 2 not", "7 complete, 0 in progress, 9 not");
    let busy = FRESH
        .replace(
            "| 03-01 | not started | -- | -- | -- | 0/3 |",
            "| 03-01 | executing | 10:00 |  | a\\|b | 1/3 |",
        )
        .replace("## Blockers\n\nNone.", "## Blockers\n\n- First $&\n- Second");
    let mut expected = fresh_read();
    expected["plans"][0]["status"] = json!("executing");
    expected["plans"][0]["started"] = json!("10:00");
    expected["plans"][0]["commit"] = json!("a|b");
    expected["plans"][0]["tasks"] = json!("1/3");
    expected["aggregate"]["in_progress"] = json!(1);
    expected["aggregate"]["not_started"] = json!(1);
    expected["commits"] = json!(["a|b"]);
    expected["blockers"] = json!(["First $&", "Second"]);
    let case = |about, files, call, answer| Case { about, files, call, answer, after: &[] };
    check(&[
        case(
            "stale counts are not believed",
            &[(STATUS, &stale)],
            &["status", "read", "3"],
            Answer::Json(fresh_read()),
        ),
        case(
            "raw is the same",
            &[(STATUS, FRESH)],
            &["status", "read", "03", "--raw"],
            Answer::Json(fresh_read()),
        ),
        case(
            "executing is in progress; an empty cell is unset",
            &[(STATUS, &busy)],
            &["status", "read", "3"],
            Answer::Json(expected),
        ),
    ]);
}

#[test]
fn aggregate_writes_the_counts() {
    let stale = FRESH
        .replace("| 03-02 | not started | -- | -- | -- |", "| 03-02 | failed | -- | -- | abc |")
        .replace("## Aggregate\n\n", "## Aggregate\n\nBy hand.\n");
    let counted = stale
        .replace("2 not started, 0 failed", "1 not started, 1 failed")
        .replace("**Commits:** --", "**Commits:** abc");
    check(&[Case {
        about: "the two lines and nothing else",
        files: &[(STATUS, &stale)],
        call: &["status", "aggregate", "3"],
        answer: Answer::Json(json!({
            "complete": 0, "in_progress": 0, "not_started": 1, "failed": 1, "commits": ["abc"],
        })),
        after: &[(STATUS, &counted)],
    }]);
}

#[test]
fn write_changes_its_row_and_the_derived_fields() {
    let updated = |plan: &str, status: &str| {
        Answer::Json(json!({ "updated": true, "plan": plan, "new_status": status }))
    };
    let stamped = FRESH.replace("**Last update:** --", "**Last update:** NOW");
    let done = stamped
        .replace(
            "| 03-01 | not started | -- | -- | -- | 0/3 |",
            "| 03-01 | complete | -- | 5m \\| $& | abc | 3/3 |",
        )
        .replace("0 complete, 0 in progress, 2 not", "1 complete, 0 in progress, 1 not")
        .replace("**Commits:** --", "**Commits:** abc");
    let failed = stamped
        .replace("| 03-02 | not started |", "| 03-02 | failed |")
        .replace("**Status:** not started", "**Status:** failed")
        .replace("2 not started, 0 failed", "1 not started, 1 failed");
    let same = stamped.replace("0/3 |", "1/3 |");
    let case =
        |about, call, answer, after| Case { about, files: &[(STATUS, FRESH)], call, answer, after };
    check(&[
        case(
            "one of two complete leaves the phase as it is",
            &[
                "status",
                "write",
                "03",
                "--plan",
                "03-01",
                "--status",
                "complete",
                "--commit",
                "abc",
                "--duration",
                "5m | $&",
                "--tasks",
                "3/3",
            ],
            updated("03-01", "complete"),
            &[(STATUS, &done)],
        ),
        case(
            "one failed plan fails the phase",
            &["--raw", "status", "write", "3", "--plan", "03-02", "--status", "failed"],
            updated("03-02", "failed"),
            &[(STATUS, &failed)],
        ),
        case(
            "without a status the old one is printed",
            &["status", "write", "3", "--plan", "03-01", "--tasks", "1/3"],
            updated("03-01", "not started"),
            &[(STATUS, &same)],
        ),
    ]);
    let last = done
        .replace("NOW", "earlier")
        .replace("| 03-02 | not started |", "| 03-02 | in progress |");
    let all = last
        .replace("earlier", "NOW")
        .replace("| 03-02 | in progress |", "| 03-02 | complete |")
        .replace("**Status:** not started", "**Status:** complete")
        .replace("1 complete, 0 in progress, 1 not", "2 complete, 0 in progress, 0 not");
    check(&[Case {
        about: "the last complete plan completes the phase",
        files: &[(STATUS, &last)],
        call: &["status", "write", "3", "--plan", "03-02", "--status", "complete"],
        answer: updated("03-02", "complete"),
        after: &[(STATUS, &all)],
    }]);
}

/// The start time is in UTC like all other times, whatever the time zone of the caller.
#[test]
fn a_plan_that_starts_gets_a_start_time() {
    for word in ["in progress", "executing"] {
        let project = sandbox().file(STATUS, FRESH);
        let write = ["status", "write", "3", "--plan", "03-01", "--status", word];
        project.call(write).env("TZ", "Asia/Tokyo").run().json();
        let after = project.call(["status", "read", "3"]).run().json();
        let time = after["last_update"].as_str().unwrap()[11..16].to_owned();
        assert_eq!(after["plans"][0]["started"], time, "{after}");
        assert_eq!(after["status"], "executing");
        let text = mask_now(&project.text(STATUS));
        let expected = FRESH
            .replace("**Last update:** --", "**Last update:** NOW")
            .replace("**Status:** not started", "**Status:** executing")
            .replace("| 03-01 | not started | -- |", &format!("| 03-01 | {word} | {time} |"))
            .replace("0 in progress, 2 not", "1 in progress, 1 not");
        assert_eq!(text, expected);
        // A second change does not reset the start time.
        let text = project
            .text(STATUS)
            .replace(&format!("| {word} | {time} |"), &format!("| {word} | 00:01 |"));
        project.write(STATUS, text);
        project.call(write).run().json();
        let after = project.call(["status", "read", "3"]).run().json();
        assert_eq!(after["plans"][0]["started"], "00:01");
    }
}

#[test]
fn fields_of_the_phase_can_be_written() {
    let updated = |field: &str, value: &str| {
        Answer::Json(json!({ "updated": true, "field": field, "value": value }))
    };
    let stamped = FRESH.replace("**Last update:** --", "**Last update:** NOW");
    let status = stamped.replace("**Status:** not started", "**Status:** verifying $&");
    let count = stamped.replace("mode:** --\n", "mode:** --\n**Plans completed:** 2\n");
    let case =
        |about, call, answer, after| Case { about, files: &[(STATUS, FRESH)], call, answer, after };
    check(&[
        case(
            "a field that is there",
            &["status", "write", "3", "--field", "status", "--value", "verifying $&"],
            updated("status", "verifying $&"),
            &[(STATUS, &status)],
        ),
        case(
            "a field that is not there yet",
            &["status", "write", "3", "--field", "plans_completed", "--value", "2"],
            updated("plans_completed", "2"),
            &[(STATUS, &count)],
        ),
    ]);
}

#[test]
fn a_phase_without_plans_has_an_empty_table() {
    let project = sandbox().file(&format!("{DIR}/.gitkeep"), "");
    project
        .call(["status", "init", "3"])
        .run()
        .prints_json(&json!({ "created": true, "path": STATUS, "plans": 0 }));
    let read = project.call(["status", "read", "3"]).run().json();
    assert_eq!(read["plans"], json!([]));
    project
        .call(["status", "write", "3", "--plan", "03-01", "--status", "complete"])
        .run()
        .refuses("plan 03-01 not found");
}
