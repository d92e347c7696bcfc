//! Tests of `state record-metric`, `add-decision`, `resolve-blocker` and `next-unblockable`.

use serde_json::json;

use crate::table::{Answer, Case, Files, check};

const STATE: &str = ".planning/STATE.md";
const TAIL: &str = "\n## Session Continuity\n\nLast session: x\n";

fn case<'a>(
    about: &'a str,
    files: Files<'a>,
    call: &'a [&'a str],
    answer: Answer<'a>,
    after: Files<'a>,
) -> Case<'a> {
    Case { about, files, call, answer, after }
}

fn error(text: &str) -> Answer<'static> {
    Answer::Json(json!({ "error": text }))
}

const METRIC: &[&str] =
    &["state", "record-metric", "--phase", "3", "--plan", "01", "--duration", "5 $& min"];

fn recorded() -> Answer<'static> {
    Answer::Json(json!({ "recorded": true, "phase": "3", "plan": "01", "duration": "5 $& min" }))
}

const PLANS: &str = "| Plan | Duration | Tasks | Files |\n|------|----------|-------|-------|\n";
const ROW: &str = "| Phase 3 P01 | 5 $& min | - tasks | - files |\n";

#[test]
fn state_record_metric_adds_a_row() {
    let file = |body: &str| format!("# S\n\n## Performance Metrics\n\n{body}{TAIL}");
    let before = file(&format!("{PLANS}| Phase 1 P01 | 1 | 2 tasks | 3 files |\n"));
    let after = before.replace("3 files |\n", &format!("3 files |\n{ROW}"));
    let counted = after.replace("- tasks | - files", "4 tasks | 5 files");
    let none = file(&format!("{PLANS}None yet\n"));
    let first = file(&format!("{PLANS}{ROW}"));
    let with_counts = [METRIC, &["--tasks", "4", "--files", "5"]].concat();
    let with_raw = [METRIC, &["--raw"]].concat();
    check(&[
        case("state record-metric", &[(STATE, &before)], METRIC, recorded(), &[(STATE, &after)]),
        case("with counts", &[(STATE, &before)], &with_counts, recorded(), &[(STATE, &counted)]),
        case("raw", &[(STATE, &before)], &with_raw, Answer::Text("true"), &[(STATE, &after)]),
        case("in place of None yet", &[(STATE, &none)], METRIC, recorded(), &[(STATE, &first)]),
        case(
            "d7: an empty table",
            &[(STATE, &file(PLANS))],
            METRIC,
            recorded(),
            &[(STATE, &first)],
        ),
    ]);
}

#[test]
fn d28_plans_have_a_table_of_their_own() {
    let phases = "# S\n\n## Performance Metrics\n\n**Velocity:**\n- fast\n\n**By Phase:**\n\n\
                  | Phase | Plans | Total | Avg/Plan |\n|-------|-------|-------|----------|\n\
                  | 1 | 2 | 3m | 1m |\n\n**Recent Trend:**\n- steady\n";
    let before = format!("{phases}{TAIL}");
    let after = format!("{phases}\n**By Plan:**\n\n{PLANS}{ROW}{TAIL}");
    let second = after.replace(ROW, &format!("{ROW}{ROW}"));
    check(&[
        case(
            "made at the end of the section",
            &[(STATE, &before)],
            METRIC,
            recorded(),
            &[(STATE, &after)],
        ),
        case("then used", &[(STATE, &after)], METRIC, recorded(), &[(STATE, &second)]),
    ]);
}

#[test]
fn a_metric_that_cannot_be_recorded_is_reported_with_exit_code_0() {
    let absent = || {
        let reason = "Performance Metrics section not found in STATE.md";
        Answer::Json(json!({ "recorded": false, "reason": reason }))
    };
    let missing = || error("phase, plan, and duration required");
    let prose = "## Performance Metrics\n\nFast.\n";
    let files: Files<'_> = &[(STATE, prose)];
    check(&[
        case("no section", &[(STATE, "# S\n")], METRIC, absent(), &[]),
        case("no table", files, METRIC, absent(), &[]),
        case("raw", files, &[METRIC, &["--raw"]].concat(), Answer::Text("false"), &[]),
        case("no duration", files, &METRIC[..6], missing(), &[]),
        case("a flag without its value", files, &METRIC[..7], missing(), &[]),
        case("nothing", files, &METRIC[..2], missing(), &[]),
        case("no STATE.md", &[], METRIC, error("STATE.md not found"), &[]),
    ]);
}

#[test]
fn state_add_decision_adds_a_line() {
    let file = |heading: &str, body: &str| format!("# S\n\n{heading}\n\n{body}{TAIL}");
    let call =
        &["state", "add-decision", "--phase", "3", "--summary", "Use $1", "--rationale", "r"];
    let line = "- [Phase 3]: Use $1 — r";
    let added = |line: &str| Answer::Json(json!({ "added": true, "decision": line }));
    for heading in ["### Decisions", "## Decisions Made", "## Accumulated Decisions"] {
        for (body, wanted) in [
            ("None yet.\n", format!("{line}\n")),
            ("No decisions yet.\n", format!("{line}\n")),
            ("- old\n", format!("- old\n{line}\n")),
        ] {
            let (before, after) = (file(heading, body), file(heading, &wanted));
            check(&[case(heading, &[(STATE, &before)], call, added(line), &[(STATE, &after)])]);
        }
    }
    let before = file("### Decisions", "- old\n");
    let bare = file("### Decisions", "- old\n- [Phase ?]: s\n");
    let files: Files<'_> = &[(STATE, &before)];
    let short = &["state", "add-decision", "--summary", "s"];
    let reason = "Decisions section not found in STATE.md";
    let absent = json!({ "added": false, "reason": reason });
    let nowhere: Files<'_> = &[(STATE, "# S\n")];
    check(&[
        case("no phase, no reason", files, short, added("- [Phase ?]: s"), &[(STATE, &bare)]),
        case(
            "raw",
            files,
            &[&short[..], &["--raw"]].concat(),
            Answer::Text("true"),
            &[(STATE, &bare)],
        ),
        case("no section", nowhere, short, Answer::Json(absent), &[]),
        case(
            "no section, raw",
            nowhere,
            &[&short[..], &["--raw"]].concat(),
            Answer::Text("false"),
            &[],
        ),
        case("no summary", files, &short[..2], error("summary required"), &[]),
        case("a flag without its value", files, &short[..3], error("summary required"), &[]),
        case("no STATE.md", &[], short, error("STATE.md not found"), &[]),
    ]);
}

#[test]
fn state_resolve_blocker_removes_bullets() {
    let file = |body: &str| format!("# S\n\n### Blockers/Concerns\n\n{body}{TAIL}- api\n");
    let resolved = |text: &str, removed: usize| {
        Answer::Json(json!({ "resolved": true, "blocker": text, "removed": removed }))
    };
    let before = file("- The API is down\n- Nonexistent index\n");
    let files: Files<'_> = &[(STATE, &before)];
    let one = file("- Nonexistent index\n");
    let none = file("None\n");
    let call = &["state", "resolve-blocker", "--text", "the api"];
    let absent = json!({ "resolved": false, "reason": "Blockers section not found in STATE.md" });
    check(&[
        case("state resolve-blocker", files, call, resolved("the api", 1), &[(STATE, &one)]),
        case(
            "as a positional",
            files,
            &["state", "resolve-blocker", "the api"],
            resolved("the api", 1),
            &[(STATE, &one)],
        ),
        case(
            "raw",
            files,
            &["state", "resolve-blocker", "--text", "the api", "--raw"],
            Answer::Text("true"),
            &[(STATE, &one)],
        ),
        case(
            "the last one leaves None",
            files,
            &["state", "resolve-blocker", "--text", "e"],
            resolved("e", 2),
            &[(STATE, &none)],
        ),
        case(
            "nothing matches",
            files,
            &["state", "resolve-blocker", "--text", "a.*"],
            resolved("a.*", 0),
            &[],
        ),
        case("no section", &[(STATE, "# S\n")], call, Answer::Json(absent), &[]),
        case("no text", files, &call[..2], error("text required"), &[]),
        case("blank text", files, &["state", "resolve-blocker", " "], error("text required"), &[]),
        case("no STATE.md", &[], call, error("STATE.md not found"), &[]),
    ]);
}

#[test]
fn d11_only_whole_lines_are_placeholders() {
    let file = |body: &str| format!("# S\n\n## Blockers\n\n{body}{TAIL}");
    let before = file("- Nonexistent index\n- None yet of the parts\n");
    let after = file("- Nonexistent index\n- None yet of the parts\n- new\n");
    check(&[case(
        "words that begin like one stay",
        &[(STATE, &before)],
        &["state", "add-blocker", "--text", "new"],
        Answer::Json(json!({ "added": true, "blocker": "new" })),
        &[(STATE, &after)],
    )]);
}

#[test]
fn d54_a_blocker_may_be_a_positional_argument() {
    let files: Files<'_> = &[(STATE, "## Blockers\n\nNone\n")];
    check(&[case(
        "state add-blocker",
        files,
        &["state", "add-blocker", "--x is down"],
        Answer::Json(json!({ "added": true, "blocker": "--x is down" })),
        &[(STATE, "## Blockers\n\n- --x is down\n")],
    )]);
}

#[test]
fn state_next_unblockable_prints_the_candidate() {
    let table = |rows: &str| {
        format!(
            "# S\n\n## Active Phases\n\n| Phase | Name | Status | Worker | Plans | Last Update |\n\
             |-|-|-|-|-|-|\n{rows}\n**Next unblockable:** stale\n"
        )
    };
    let text = table(
        "| 7 | A | complete | -- | 1/1 | x |\n| 8 | B | executing | -- | 0/1 | x |\n\
         | 9 | C | blocked (7-8,10) | -- | 0/1 | x |\n| 10 | D | blocked (07, 08) | -- | 0/1 | x |\n",
    );
    let found = json!({
        "phase": "10", "name": "D", "waits_for": ["08"], "ready": false,
        "text": "Phase 10 (D) -- 1 dep(s) remaining",
    });
    let none = || {
        let value = json!({
            "phase": null, "name": null, "waits_for": [], "ready": false, "text": "--",
        });
        Answer::Json(value)
    };
    let ready =
        table("| 7 | A | complete | -- | 1/1 | x |\n| 9 | C | blocked (7) | -- | 0/1 | x |\n");
    let call = &["state", "next-unblockable"];
    let raw = &["state", "next-unblockable", "--raw"];
    check(&[
        case("the one with the fewest left", &[(STATE, &text)], call, Answer::Json(found), &[]),
        case(
            "raw",
            &[(STATE, &text)],
            raw,
            Answer::Text("Phase 10 (D) -- 1 dep(s) remaining"),
            &[],
        ),
        case(
            "ready",
            &[(STATE, &ready)],
            raw,
            Answer::Text("Phase 9 (C) -- ready to unblock"),
            &[],
        ),
        case("nobody waits", &[(STATE, &table(""))], call, none(), &[]),
        case("no STATE.md", &[], call, none(), &[]),
        case("no STATE.md, raw", &[], raw, Answer::Text("--"), &[]),
    ]);
}
