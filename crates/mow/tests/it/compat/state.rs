//! Tests of `state active-phases`, `state update-phase-row` and `state add-blocker`.

use serde_json::{Value, json};

use crate::sandbox;
use crate::table::{Answer, Case, check};

const STATE: &str = ".planning/STATE.md";
const ROWS: &[&str] = &["state", "active-phases"];

const HEAD: &str = "# Project State

## Active Phases

| Phase | Name | Status | Worker | Plans | Last Update |
|-------|------|--------|--------|-------|-------------|
";
const TAIL: &str = "
## Performance Metrics

| Phase | Plans | Total | Avg/Plan |
|-------|-------|-------|----------|
| 7 | 1 | 2m | 2m |
";

/// Returns a STATE.md with some rows and a next-unblockable line.
fn table(rows: &[&str], next: &str) -> String {
    let rows: String = rows.iter().map(|row| format!("{row}\n")).collect();
    format!("{HEAD}{rows}\n**Next unblockable:** {next}\n{TAIL}")
}

fn row(cells: [&str; 6]) -> Value {
    let [phase, name, status, worker, plans, last_update] = cells;
    json!({
        "phase": phase, "name": name, "status": status, "worker": worker, "plans": plans,
        "last_update": last_update,
    })
}

#[test]
fn active_phases_are_listed_in_file_order() {
    let two = table(
        &["| 7 | A \\| B | executing | w1 | 1/3 |  |", "| 6.1 |  | -- | -- | 0/0 | x |"],
        "--",
    );
    check(&[
        Case {
            about: "empty cells are cells, escaped pipes are pipes",
            files: &[(STATE, &two)],
            call: ROWS,
            answer: Answer::Json(json!([
                row(["7", "A | B", "executing", "w1", "1/3", ""]),
                row(["6.1", "", "--", "--", "0/0", "x"]),
            ])),
            after: &[],
        },
        Case {
            about: "an empty table is not the next section's",
            files: &[(STATE, &table(&[], "--"))],
            call: &["state", "active-phases", "--raw"],
            answer: Answer::Json(json!([])),
            after: &[],
        },
        Case {
            about: "an empty table right above the next heading",
            files: &[(STATE, &format!("{HEAD}{TAIL}"))],
            call: ROWS,
            answer: Answer::Json(json!([])),
            after: &[],
        },
        Case {
            about: "no section is an object",
            files: &[(STATE, "# State\n")],
            call: ROWS,
            answer: Answer::Json(json!({
                "warning": "STATE.md has no Active Phases section", "rows": [],
            })),
            after: &[],
        },
        Case {
            about: "no file is an empty list",
            files: &[],
            call: ROWS,
            answer: Answer::Json(json!([])),
            after: &[],
        },
    ]);
}

fn updated(phase: &str, fields: &[&str]) -> Answer<'static> {
    Answer::Json(json!({ "updated": true, "phase": phase, "fields_changed": fields }))
}

const INSERTED: &[&str] = &["name", "status", "worker", "plans", "last_update"];
const UPDATE: [&str; 2] = ["state", "update-phase-row"];

/// Returns the arguments of a call of `state update-phase-row`.
fn update<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&UPDATE, arguments].concat()
}

#[test]
fn update_phase_row_changes_only_its_row() {
    let before =
        table(&["| 7 | Old |executing| w1 | 1/3 | then |", "| 8 |  | x | -- | 0/0 |  |"], "--");
    let one = before.replace("|executing| w1 | 1/3 | then |", "|complete| w1 | 1/3 | NOW |");
    let all = before.replace(
        "| 7 | Old |executing| w1 | 1/3 | then |",
        "| 7 | $& \\| `n` 🎉 |--worker| $1 | 3/3 | today |",
    );
    let files = [(STATE, before.as_str())];
    let case = |about, call, answer, after| Case { about, files: &files, call, answer, after };
    check(&[
        case(
            "the given cell and the time, padding ignored, the argument echoed",
            &update(&["07", "--status", "complete"]),
            updated("07", &["status", "last_update"]),
            &[(STATE, &one)],
        ),
        case(
            "every cell, the values taken literally",
            &update(&[
                "7",
                "--name",
                "$& | `n` 🎉",
                "--status",
                "--worker",
                "--worker",
                "$1",
                "--plans",
                "3/3",
                "--last-update",
                "today",
            ]),
            updated("7", &["status", "worker", "plans", "name", "last_update"]),
            &[(STATE, &all)],
        ),
        case(
            "raw is the same, and counts in the middle",
            &update(&["7", "--raw", "--status", "complete"]),
            updated("7", &["status", "last_update"]),
            &[(STATE, &one)],
        ),
    ]);
}

#[test]
fn d53_a_new_row_is_inserted_in_numeric_order() {
    let before = table(
        &["| 6.2 | A | complete | -- | 1/1 | x |", "| 6.10 | B | blocked (6.2,7) | -- | 0/0 | x |"],
        "--",
    );
    let next = "Phase 6.10 (B) -- 2 dep(s) remaining";
    let waiting = "Phase 6.10 (B) -- 1 dep(s) remaining";
    let between = before
        .replace("x |\n| 6.10", "x |\n| 6.3 | New \\| $& | executing | -- | 0/0 | NOW |\n| 6.10")
        .replace(":** --", &format!(":** {waiting}"));
    let last = before
        .replace("x |\n\n", "x |\n| 7 | N | complete | w | 1/2 | t |\n\n")
        .replace(":** --", ":** Phase 6.10 (B) -- ready to unblock");
    let reopened = before
        .replace("| 6.2 | A | complete | -- | 1/1 | x |", "| 6.2 | A | failed | -- | 1/1 | NOW |")
        .replace(":** --", &format!(":** {next}"));
    let files = [(STATE, before.as_str())];
    let case = |about, call, answer, after| Case { about, files: &files, call, answer, after };
    check(&[
        case(
            "decimals sort as integers; worker and plans have defaults",
            &update(&["6.3", "--name", "New | $&", "--status", "executing"]),
            updated("6.3", INSERTED),
            &[(STATE, &between)],
        ),
        case(
            "at the end, with the blank line kept and the next line counted anew",
            &update(&[
                "7",
                "--name",
                "N",
                "--status",
                "complete",
                "--worker",
                "w",
                "--plans",
                "1/2",
                "--last-update",
                "t",
            ]),
            updated("7", INSERTED),
            &[(STATE, &last)],
        ),
        case(
            "a dependency that is no longer complete counts again",
            &update(&["06.2", "--status", "failed"]),
            updated("06.2", &["status", "last_update"]),
            &[(STATE, &reopened)],
        ),
        case(
            "a new row needs a name",
            &update(&["9", "--status", "executing"]),
            Answer::Refused("phase 9"),
            &[],
        ),
        case(
            "a new row needs a status",
            &update(&["9", "--name", "Nine"]),
            Answer::Refused("--status"),
            &[],
        ),
    ]);
}

#[test]
fn update_phase_row_refuses_a_missing_phase_file_or_section() {
    let case = |about, files, call, message| Case {
        about,
        files,
        call,
        answer: Answer::Refused(message),
        after: &[],
    };
    let whole = &["state", "update-phase-row", "3", "--name", "N", "--status", "s"];
    check(&[
        case("no phase", &[(STATE, HEAD)], &UPDATE, "<PHASE>"),
        case("no STATE.md", &[(".planning/ROADMAP.md", "")], whole, "STATE.md not found"),
        case("no project", &[], whole, "STATE.md not found"),
        case("no section", &[(STATE, "# State\n")], whole, "Active Phases"),
    ]);
}

#[test]
fn the_first_row_creates_the_table() {
    let before = "# State\n\n## Active Phases\n\n## Session\n";
    let after = "# State\n\n## Active Phases\n\n\
                 | Phase | Name | Status | Worker | Plans | Last Update |\n\
                 |-------|------|--------|--------|-------|-------------|\n\
                 | 3 | N | s | -- | 0/0 | NOW |\n\n\
                 **Next unblockable:** --\n\n## Session\n";
    let filled =
        format!("{HEAD}| 3 | N | s | -- | 0/0 | NOW |\n\n**Next unblockable:** --\n{TAIL}");
    let call = &["state", "update-phase-row", "3", "--name", "N", "--status", "s"];
    let case =
        |about, files, after| Case { about, files, call, answer: updated("3", INSERTED), after };
    check(&[
        case("below a bare heading", &[(STATE, before)], &[(STATE, after)]),
        case(
            "into an empty table, not into the next section's",
            &[(STATE, &format!("{HEAD}{TAIL}"))],
            &[(STATE, &filled)],
        ),
    ]);
}

const TEXT: &str = "Nonexistent $& | `x` $1 \\ 🎉 of none";

#[test]
fn add_blocker_changes_only_its_section() {
    let head = "# State\n\n## Accumulated Context\n\n### Blockers/Concerns\n\n";
    let tail = "\n## Session Continuity\n\nLast session: x\n";
    let file = |body: &str| format!("{head}{body}{tail}");
    let entry = format!("- {TEXT}\n");
    let answer = || Answer::Json(json!({ "added": true, "blocker": TEXT }));
    let flag = &["state", "add-blocker", "--text", TEXT];
    let case = |about, before: &'static str, after: String| (about, file(before), file(&after));
    let bodies = [
        case("a placeholder goes", "None yet.\n", entry.clone()),
        case("also without a full stop", "None\n", entry.clone()),
        case(
            "in a longer list",
            "- None at all is known\n",
            format!("- None at all is known\n{entry}"),
        ),
        case(
            "below prose, as a list of its own",
            "Nothing works.\n",
            format!("Nothing works.\n\n{entry}"),
        ),
        case("after a wrapped item", "- one\n  more\n", format!("- one\n  more\n{entry}")),
    ];
    for (about, before, after) in &bodies {
        let files = &[(STATE, before.as_str())];
        check(&[Case { about, files, call: flag, answer: answer(), after: &[(STATE, after)] }]);
    }
    let before = file("- old\n");
    let after = file(&format!("- old\n{entry}"));
    let files = &[(STATE, before.as_str())];
    let after = &[(STATE, after.as_str())];
    let positional = &["state", "add-blocker", TEXT];
    let raw = &["--raw", "state", "add-blocker", "--text", TEXT];
    check(&[
        Case { about: "as a positional", files, call: positional, answer: answer(), after },
        Case { about: "raw", files, call: raw, answer: Answer::Text("true"), after },
    ]);
}

#[test]
fn add_blocker_finds_the_section_by_any_of_its_names() {
    for heading in ["## Blockers", "### Blockers/Concerns", "## Concerns", "### BLOCKERS"] {
        let before =
            format!("# S\n\n```\n## Blockers\n```\n\n{heading}\n\n- old\n\n## Next\n\n- other\n");
        let after = before.replace("- old\n", "- old\n- new\n");
        check(&[Case {
            about: heading,
            files: &[(STATE, &before)],
            call: &["state", "add-blocker", "new"],
            answer: Answer::Json(json!({ "added": true, "blocker": "new" })),
            after: &[(STATE, &after)],
        }]);
    }
}

#[test]
fn a_blocker_that_cannot_be_added_is_reported_with_exit_code_0() {
    let case = |about, files, call, answer| Case { about, files, call, answer, after: &[] };
    let error = |text: &str| Answer::Json(json!({ "error": text }));
    let reason = "Blockers section not found in STATE.md";
    let absent = || Answer::Json(json!({ "added": false, "reason": reason }));
    let state = &[(STATE, "# State\n")];
    let call = &["state", "add-blocker", "x"];
    check(&[
        case("no section", state, call, absent()),
        case(
            "no section, raw",
            state,
            &["state", "add-blocker", "x", "--raw"],
            Answer::Text("false"),
        ),
        case("no text", state, &["state", "add-blocker"], error("text required")),
        case(
            "no text after the flag",
            state,
            &["state", "add-blocker", "--text"],
            error("text required"),
        ),
        case("blank text", state, &["state", "add-blocker", "--text", " "], error("text required")),
        case("no STATE.md", &[(".planning/ROADMAP.md", "")], call, error("STATE.md not found")),
        case("no project", &[], call, error("STATE.md not found")),
    ]);
}

/// After a blocker with Markdown or HTML in its text, the next command still reads the file.
#[test]
fn no_blocker_text_breaks_the_file_for_the_next_command() {
    let markup = [
        "<!-- open",
        "```",
        "~~~ rust",
        "## Blockers",
        "| a |",
        "---",
        "<details>",
        "-",
        "[x] done",
        "a\nb",
    ];
    let before = "# State\n\n## Blockers\n\nNone.\n\n## Active Phases\n\n| Phase | Name | Status | Worker \
                  | Plans | Last Update |\n|--|--|--|--|--|--|\n| 1 | A | s | -- | 0/0 | x |\n\n```\n## Blockers\n```\n";
    for text in markup {
        let project = sandbox().file(STATE, before);
        for text in [text, "second"] {
            let answer = project.call(["state", "add-blocker", "--text", text]).run().json();
            assert_eq!(answer, json!({ "added": true, "blocker": text }));
        }
        let rows = project.call(ROWS).run().json();
        assert_eq!(rows.as_array().map(Vec::len), Some(1), "{text:?}: {rows}");
        let snapshot = project.call(["state-snapshot"]).run().json();
        let blockers = snapshot["blockers"].as_array().unwrap();
        assert_eq!(blockers.last().unwrap(), "second", "{text:?}: {blockers:?}");
        let file = project.text(STATE);
        let (head, rest) = file.split_once("- second\n").expect("the second blocker is a line");
        assert!(before.ends_with(rest), "{text:?}: {file}");
        assert_eq!(head.lines().count(), 5, "{text:?}: one line was added: {file}");
    }
}
