//! Tests of `state-snapshot`: both dialects of STATE.md, the frontmatter, and missing fields.

use serde_json::{Value, json};

use crate::table::{Answer, Case, check};

const STATE: &str = ".planning/STATE.md";
const CALL: &[&str] = &["state-snapshot"];

fn nothing() -> Value {
    json!({
        "current_phase": null, "current_phase_name": null, "total_phases": null,
        "current_plan": null, "total_plans_in_phase": null, "status": null,
        "progress_percent": null, "last_activity": null, "last_activity_desc": null,
        "decisions": [], "blockers": [], "paused_at": null,
        "session": { "last_date": null, "stopped_at": null, "resume_file": null },
    })
}

const BOLD: &str = "# Project State

**Current Phase:** 03
**Current Phase Name:** API $& `x` | 🎉
**Total Phases:** 8
**Current Plan:** 03-02
**Total Plans in Phase:** 3
**Status:** In progress
**Progress:** 45%
**Last Activity:** 2026-01-02
**Last Activity Description:** Finished 03-01
**Paused At:** Task 2

## Decisions Made

| Phase | Decision | Rationale |
|-------|----------|-----------|
| 1 | Use A \\| B | $1 fits |
| 2 | No reason |  |

## Blockers

- First
- Second `x`

## Session

**Last Date:** 2026-01-02
**Stopped At:** Half way
**Resume File:** .planning/phases/03-api/.continue-here.md
";

const PLAIN: &str = "# Project State

## Current Position

Phase: 3 of 8 (API)
Plan: 2 of 3 in current phase
Status: In progress
Last activity: 2026-01-02 — Finished 03-01
Progress: [████░░░░░░] 40%

## Accumulated Context

### Decisions

- [Phase 1]: Use A — it fits
- [Phase 2]: No reason

### Blockers/Concerns

- First

## Session Continuity

Last session: 2026-01-02
Stopped at: Half way
Resume file: None
";

fn bold() -> Value {
    json!({
        "current_phase": "03", "current_phase_name": "API $& x | 🎉", "total_phases": 8,
        "current_plan": "03-02", "total_plans_in_phase": 3, "status": "In progress",
        "progress_percent": 45, "last_activity": "2026-01-02",
        "last_activity_desc": "Finished 03-01",
        "decisions": [
            { "phase": "1", "summary": "Use A | B", "rationale": "$1 fits" },
            { "phase": "2", "summary": "No reason", "rationale": null },
        ],
        "blockers": ["First", "Second `x`"],
        "paused_at": "Task 2",
        "session": {
            "last_date": "2026-01-02", "stopped_at": "Half way",
            "resume_file": ".planning/phases/03-api/.continue-here.md",
        },
    })
}

fn plain() -> Value {
    json!({
        "current_phase": "3", "current_phase_name": "API", "total_phases": 8,
        "current_plan": "2", "total_plans_in_phase": 3, "status": "In progress",
        "progress_percent": 40, "last_activity": "2026-01-02",
        "last_activity_desc": "Finished 03-01",
        "decisions": [
            { "phase": "1", "summary": "Use A", "rationale": "it fits" },
            { "phase": "2", "summary": "No reason", "rationale": null },
        ],
        "blockers": ["First"],
        "paused_at": null,
        "session": {
            "last_date": "2026-01-02", "stopped_at": "Half way", "resume_file": "None",
        },
    })
}

#[test]
fn every_dialect_gives_the_same_keys() {
    let case = |about, files, answer| Case { about, files, call: CALL, answer, after: &[] };
    let empty_field = "**Paused At:**\n## Next\n\n**Status:**\n\n**Progress:** [██░] 12.5%\n";
    check(&[
        case("bold fields", &[(STATE, BOLD)], Answer::Json(bold())),
        case("plain fields", &[(STATE, PLAIN)], Answer::Json(plain())),
        case("an empty file", &[(STATE, "")], Answer::Json(nothing())),
        case("an empty value ends with its line", &[(STATE, empty_field)], {
            let mut expected = nothing();
            expected["progress_percent"] = json!(12);
            Answer::Json(expected)
        }),
        case(
            "fences and comments say nothing",
            &[(STATE, "```\n**Status:** a\n```\n<!--\n**Status:** b\n-->\n")],
            Answer::Json(nothing()),
        ),
        case("no file", &[], Answer::Json(json!({ "error": "STATE.md not found" }))),
        Case {
            about: "raw is the same",
            files: &[(STATE, PLAIN)],
            call: &["state-snapshot", "--raw"],
            answer: Answer::Json(plain()),
            after: &[],
        },
    ]);
}

#[test]
fn the_frontmatter_supplies_fields_that_the_text_lacks() {
    let state = "---\nmilestone: v1.0\ncurrent_phase: 4\ncurrent_phase_name: Four\nstatus: executing\n\
                 stopped_at: Half way\nlast_activity: 2026-01-02\nprogress:\n  total_phases: 6\n  percent: 33\n---\n\n# State\n";
    let mut expected = nothing();
    for (key, value) in [
        ("current_phase", json!("4")),
        ("current_phase_name", json!("Four")),
        ("total_phases", json!(6)),
        ("status", json!("executing")),
        ("progress_percent", json!(33)),
        ("last_activity", json!("2026-01-02")),
    ] {
        expected[key] = value;
    }
    expected["session"]["stopped_at"] = json!("Half way");
    check(&[Case {
        about: "frontmatter",
        files: &[(STATE, state)],
        call: CALL,
        answer: Answer::Json(expected),
        after: &[],
    }]);
}
