//! Tests of `roadmap get-phase` and `roadmap update-plan-progress`.

use serde_json::json;

use crate::table::{Answer, Case, Files, check};

const ROADMAP: &str = ".planning/ROADMAP.md";

const TEXT: &str = "# Roadmap

- [ ] **Phase 1: Base** - ground
- [ ] **Phase 3: Listed** - only here

### Phase 1: Base
**Goal**: Stand $& firm
**Success Criteria** (what must be TRUE):
  1. It stands
  2. It stays

### Phase 10: Late (INSERTED)

```
### Phase 7: in code
- [ ] **Phase 8: in code**
```

## Progress
";

const FILES: Files<'_> = &[(ROADMAP, TEXT)];

#[test]
fn roadmap_get_phase_prints_the_section() {
    let section = "### Phase 1: Base\n**Goal**: Stand $& firm\n\
                   **Success Criteria** (what must be TRUE):\n  1. It stands\n  2. It stays";
    let found = |typed: &str| {
        json!({
            "found": true, "phase_number": typed, "phase_name": "Base", "goal": "Stand $& firm",
            "success_criteria": ["It stands", "It stays"], "section": section,
        })
    };
    let case = |about, call, answer| Case { about, files: FILES, call, answer, after: &[] };
    check(&[
        case("JSON", &["roadmap", "get-phase", "1"], Answer::Json(found("1"))),
        case("d18 padding", &["roadmap", "get-phase", "01"], Answer::Json(found("01"))),
        case("raw", &["roadmap", "get-phase", "1", "--raw"], Answer::Text(section)),
        case(
            "d35 no pattern",
            &["roadmap", "get-phase", "."],
            Answer::Json(json!({
                "found": false, "phase_number": ".",
            })),
        ),
        case("another phase", &["roadmap", "get-phase", "9", "--raw"], Answer::Text("")),
        case("no argument", &["roadmap", "get-phase"], Answer::Refused("PHASE")),
        case("an empty argument", &["roadmap", "get-phase", ""], Answer::Refused("phase required")),
    ]);
}

#[test]
fn d20_d21_get_phase_stops_at_the_end_of_the_section_and_ignores_code() {
    let case = |about, call, answer| Case { about, files: FILES, call, answer, after: &[] };
    check(&[
        case(
            "d21",
            &["roadmap", "get-phase", "7"],
            Answer::Json(json!({
                "found": false, "phase_number": "7",
            })),
        ),
        case(
            "d20",
            &["roadmap", "get-phase", "10"],
            Answer::Json(json!({
                "found": true, "phase_number": "10", "phase_name": "Late (INSERTED)", "goal": null,
                "success_criteria": [],
                "section": "### Phase 10: Late (INSERTED)\n\n```\n### Phase 7: in code\n\
                            - [ ] **Phase 8: in code**\n```",
            })),
        ),
    ]);
}

#[test]
fn get_phase_reports_a_missing_section_or_file() {
    check(&[
        Case {
            about: "only listed",
            files: FILES,
            call: &["roadmap", "get-phase", "3"],
            answer: Answer::Json(json!({
                "found": false, "phase_number": "3", "phase_name": "Listed",
                "error": "malformed_roadmap",
                "message": "Phase 3 is in the summary list, but its detail section \
                            (### Phase 3: …) is missing",
            })),
            after: &[],
        },
        Case {
            about: "no file",
            files: &[],
            call: &["roadmap", "get-phase", "3"],
            answer: Answer::Json(json!({ "found": false, "error": "ROADMAP.md not found" })),
            after: &[],
        },
    ]);
}

const TABLE: &str = "- [ ] **Phase 1: A** - x

### Phase 1: A
**Plans:** 2 plans

| Phase | Milestone | Plans Complete | Status | Completed |
|---|---|---|---|---|
| 1. A | v1.1 | 0/2 | Not started | - |
";

const PLANS: [(&str, &str); 2] =
    [(".planning/phases/01-a/01-01-PLAN.md", ""), (".planning/phases/01-a/01-02-PLAN.md", "")];
const ONE: (&str, &str) = (".planning/phases/01-a/01-01-SUMMARY.md", "");
const TWO: (&str, &str) = (".planning/phases/01-a/01-02-SUMMARY.md", "");

fn updated(phase: &str, done: usize, status: &str) -> Answer<'static> {
    Answer::Json(json!({
        "updated": true, "phase": phase, "plan_count": 2, "summary_count": done, "status": status,
        "complete": done == 2,
    }))
}

#[test]
fn d3_d18_roadmap_update_plan_progress_writes_cells_by_their_header() {
    let today = crate::today();
    let row = |plans: &str, status: &str, date: &str| {
        TABLE.replace("| 0/2 | Not started | - |", &format!("| {plans} | {status} | {date} |"))
    };
    let planned = row("0/2", "Planned    ", " ").replace("2 plans", "0/2 plans executed");
    let some = row("1/2", "In Progress", " ").replace("2 plans", "1/2 plans executed");
    let all = row("2/2", "Complete   ", &today).replace("2 plans", "2/2 plans complete").replace(
        "- [ ] **Phase 1: A** - x",
        &format!("- [x] **Phase 1: A** - x (completed {today})"),
    );
    let call: &[&str] = &["roadmap", "update-plan-progress", "1"];
    check(&[
        Case {
            about: "planned",
            files: &[(ROADMAP, TABLE), PLANS[0], PLANS[1]],
            call,
            answer: updated("1", 0, "Planned"),
            after: &[(ROADMAP, &planned)],
        },
        Case {
            about: "some",
            files: &[(ROADMAP, TABLE), PLANS[0], PLANS[1], ONE],
            call: &["roadmap", "update-plan-progress", "01"],
            answer: updated("01", 1, "In Progress"),
            after: &[(ROADMAP, &some)],
        },
        Case {
            about: "all",
            files: &[(ROADMAP, TABLE), PLANS[0], PLANS[1], ONE, TWO],
            call: &["roadmap", "update-plan-progress", "1", "--raw"],
            answer: Answer::Text("2/2 Complete"),
            after: &[(ROADMAP, &all)],
        },
        Case {
            about: "nothing to edit",
            files: &[(ROADMAP, "# R\n"), PLANS[0], PLANS[1]],
            call,
            answer: updated("1", 0, "Planned"),
            after: &[],
        },
    ]);
}

#[test]
fn update_plan_progress_reports_missing_files_and_phases() {
    let empty: Files<'_> = &[(ROADMAP, TABLE), (".planning/phases/01-a/.gitkeep", "")];
    let call: &[&str] = &["roadmap", "update-plan-progress", "1"];
    let none = json!({
        "updated": false, "reason": "No plans found", "plan_count": 0, "summary_count": 0,
    });
    let no_file = json!({
        "updated": false, "reason": "ROADMAP.md not found", "plan_count": 2, "summary_count": 0,
    });
    let case = |about, files, call, answer| Case { about, files, call, answer, after: &[] };
    check(&[
        case("no plans", empty, call, Answer::Json(none)),
        case(
            "raw",
            empty,
            &["roadmap", "update-plan-progress", "1", "--raw"],
            Answer::Text("no plans"),
        ),
        case("no roadmap", &PLANS, call, Answer::Json(no_file)),
        case(
            "raw",
            &PLANS,
            &["roadmap", "update-plan-progress", "1", "--raw"],
            Answer::Text("no roadmap"),
        ),
        case(
            "no directory",
            empty,
            &["roadmap", "update-plan-progress", "2"],
            Answer::Refused("not found"),
        ),
        case("no argument", empty, &["roadmap", "update-plan-progress"], Answer::Refused("PHASE")),
    ]);
}
