//! Tests of `find-phase`, `phases list`, `phase-plan-index`, `phase next-decimal`, `progress`.

use serde_json::{Value, json};

use crate::table::{Answer, Case, Files, check};

const PLAN: &str = "---
wave: 2
autonomous: false
objective: Do it
files_modified: [a.rs, b.rs]
depends_on: [03-01]
gap_closure: true
---
<task type=\"auto\"><name>x</name></task>
<task type=\"auto\"><name>y</name></task>
";

const OLD_PLAN: &str = "---\nfiles-modified: [c.rs]\n---\n## Task 1: a\n\n## Task 2: b\n";

const FILES: Files<'_> = &[
    (".planning/phases/03-auth/03-01-PLAN.md", OLD_PLAN),
    (".planning/phases/03-auth/03-01-SUMMARY.md", ""),
    (".planning/phases/03-auth/03-02-PLAN.md", PLAN),
    (".planning/phases/03-auth/03-CONTEXT.md", ""),
    (".planning/phases/06.2-b/x", ""),
    (".planning/phases/06.9-c/x", ""),
    (".planning/phases/06.10-d/x", ""),
    (".planning/phases/06.11-e/x", ""),
    (".planning/phases/07.1-only/x", ""),
    (".planning/milestones/v1.0-phases/01-base/01-01-PLAN.md", ""),
    (".planning/milestones/v1.0-phases/01-base/01-01-SUMMARY.md", ""),
];

fn cases(rows: Vec<(&'static str, &'static [&'static str], Answer<'static>)>) {
    for (about, call, answer) in rows {
        check(&[Case { about, files: FILES, call, answer, after: &[] }]);
    }
}

fn not_found() -> Value {
    json!({
        "found": false, "directory": null, "phase_number": null, "phase_name": null, "plans": [],
        "summaries": [],
    })
}

#[test]
fn d17_d33_find_phase_matches_the_exact_number_and_searches_archives() {
    let auth = || {
        json!({
            "found": true, "directory": ".planning/phases/03-auth", "phase_number": "03",
            "phase_name": "auth", "plans": ["03-01-PLAN.md", "03-02-PLAN.md"],
            "summaries": ["03-01-SUMMARY.md"],
        })
    };
    let archived = json!({
        "found": true, "directory": ".planning/milestones/v1.0-phases/01-base",
        "phase_number": "01", "phase_name": "base", "plans": ["01-01-PLAN.md"],
        "summaries": ["01-01-SUMMARY.md"], "archived": "v1.0",
    });
    cases(vec![
        ("number", &["find-phase", "3"], Answer::Json(auth())),
        ("padded", &["find-phase", "03"], Answer::Json(auth())),
        ("with a name", &["find-phase", "3-auth"], Answer::Json(auth())),
        ("raw", &["find-phase", "3", "--raw"], Answer::Text(".planning/phases/03-auth")),
        ("d17 not a decimal", &["find-phase", "7"], Answer::Json(not_found())),
        ("d33 archived", &["find-phase", "1"], Answer::Json(archived)),
        ("outside", &["find-phase", "../phases/03-auth"], Answer::Json(not_found())),
        ("raw without a find", &["find-phase", "9", "--raw"], Answer::Text("")),
        ("no argument", &["find-phase"], Answer::Refused("PHASE")),
    ]);
}

#[test]
fn d16_d33_phases_list_is_in_numeric_order() {
    let all = ["03-auth", "06.2-b", "06.9-c", "06.10-d", "06.11-e", "07.1-only"];
    let mut with_archive = vec!["01-base [v1.0]"];
    with_archive.extend(all);
    let missing = json!({ "files": [], "count": 0, "phase_dir": null, "error": "Phase not found" });
    cases(vec![
        ("names", &["phases", "list"], Answer::Json(json!({ "directories": all, "count": 6 }))),
        (
            "raw",
            &["phases", "list", "--raw"],
            Answer::Text("03-auth\n06.2-b\n06.9-c\n06.10-d\n06.11-e\n07.1-only"),
        ),
        (
            "archived",
            &["phases", "list", "--include-archived"],
            Answer::Json(json!({ "directories": with_archive, "count": 7 })),
        ),
        (
            "d33 files of archived ones",
            &["phases", "list", "--type", "plans", "--include-archived"],
            Answer::Json(json!({
                "files": ["01-01-PLAN.md", "03-01-PLAN.md", "03-02-PLAN.md"], "count": 3,
                "phase_dir": null,
            })),
        ),
        (
            "one phase",
            &["phases", "list", "--type", "summaries", "--phase", "3"],
            Answer::Json(json!({
                "files": ["03-01-SUMMARY.md"], "count": 1, "phase_dir": "auth",
            })),
        ),
        (
            "any other type",
            &["phases", "list", "--type", "other", "--phase", "03", "--raw"],
            Answer::Text("03-01-PLAN.md\n03-01-SUMMARY.md\n03-02-PLAN.md\n03-CONTEXT.md"),
        ),
        (
            "one",
            &["phases", "list", "--phase", "6.10"],
            Answer::Json(json!({
                "directories": ["06.10-d"], "count": 1,
            })),
        ),
        ("unknown", &["phases", "list", "--type", "plans", "--phase", "8"], Answer::Json(missing)),
    ]);
    let call: &[&str] = &["phases", "list"];
    let answer = Answer::Json(json!({ "directories": [], "count": 0 }));
    check(&[Case { about: "nothing", files: &[], call, answer, after: &[] }]);
    let answer = Answer::Json(json!({ "files": [], "count": 0, "phase_dir": null }));
    let call: &[&str] = &["phases", "list", "--type", "plans", "--phase", "1"];
    check(&[Case { about: "no files", files: &[], call, answer, after: &[] }]);
}

#[test]
fn d31_phase_plan_index_lists_plans_and_waves() {
    let plans = json!({
        "phase": "03",
        "plans": [
            {
                "id": "03-01", "wave": 1, "autonomous": true, "objective": null,
                "files_modified": ["c.rs"], "task_count": 2, "has_summary": true,
                "depends_on": [], "gap_closure": false,
            },
            {
                "id": "03-02", "wave": 2, "autonomous": false, "objective": "Do it",
                "files_modified": ["a.rs", "b.rs"], "task_count": 2, "has_summary": false,
                "depends_on": ["03-01"], "gap_closure": true,
            },
        ],
        "waves": { "1": ["03-01"], "2": ["03-02"] },
        "incomplete": ["03-02"],
        "has_checkpoints": true,
    });
    let none = json!({
        "phase": "09", "error": "Phase not found", "plans": [], "waves": {}, "incomplete": [],
        "has_checkpoints": false,
    });
    let archived = json!({
        "phase": "01",
        "plans": [{
            "id": "01-01", "wave": 1, "autonomous": true, "objective": null, "files_modified": [],
            "task_count": 0, "has_summary": true, "depends_on": [], "gap_closure": false,
        }],
        "waves": { "1": ["01-01"] }, "incomplete": [], "has_checkpoints": false,
    });
    cases(vec![
        ("plans", &["phase-plan-index", "3"], Answer::Json(plans)),
        ("unknown", &["phase-plan-index", "9"], Answer::Json(none)),
        ("d33 archived", &["phase-plan-index", "1"], Answer::Json(archived)),
        ("no argument", &["phase-plan-index"], Answer::Refused("PHASE")),
    ]);
}

#[test]
fn d16_d47_phase_next_decimal_prints_the_next_free_number() {
    cases(vec![
        (
            "d16 not 06.10 again",
            &["phase", "next-decimal", "6"],
            Answer::Json(json!({
                "found": false, "base_phase": "06", "next": "06.12",
                "existing": ["06.2", "06.9", "06.10", "06.11"],
            })),
        ),
        (
            "none yet",
            &["phase", "next-decimal", "03"],
            Answer::Json(json!({
                "found": true, "base_phase": "03", "next": "03.1", "existing": [],
            })),
        ),
        ("raw", &["phase", "next-decimal", "7", "--raw"], Answer::Text("07.2")),
        ("d47 no argument", &["phase", "next-decimal"], Answer::Refused("PHASE")),
        ("no number", &["phase", "next-decimal", "x"], Answer::Refused("not a phase number")),
    ]);
}

const DONE: Files<'_> = &[
    (
        ".planning/ROADMAP.md",
        "- ✅ **v1.0 MVP** - Phases 1-2 (shipped 2025-01-01)\n- 🚧 **v1.1 Next Thing** - Phase 3\n",
    ),
    (".planning/phases/01-set-up/01-01-PLAN.md", ""),
    (".planning/phases/01-set-up/01-01-SUMMARY.md", ""),
    (".planning/phases/02-mid/02-01-PLAN.md", ""),
    (".planning/phases/02-mid/02-02-PLAN.md", ""),
    (".planning/phases/02-mid/02-01-SUMMARY.md", ""),
    (".planning/phases/03-new/03-01-PLAN.md", ""),
    (".planning/phases/10-far/x", ""),
];

#[test]
fn d22_progress_prints_all_forms() {
    let phase = |number: &str, name: &str, plans: usize, summaries: usize, status: &str| {
        json!({
            "number": number, "name": name, "plans": plans, "summaries": summaries,
            "status": status,
        })
    };
    let json = || {
        Answer::Json(json!({
            "milestone_version": "v1.1",
            "milestone_name": "Next Thing",
            "phases": [
                phase("01", "set up", 1, 1, "Complete"),
                phase("02", "mid", 2, 1, "In Progress"),
                phase("03", "new", 1, 0, "Planned"),
                phase("10", "far", 0, 0, "Pending"),
            ],
            "total_plans": 4,
            "total_summaries": 2,
            "percent": 50,
            "worktrees": [],
        }))
    };
    let table = "# v1.1 Next Thing\n\n**Progress:** [█████░░░░░] 2/4 plans (50%)\n\n\
                 | Phase | Name | Plans | Status |\n|-------|------|-------|--------|\n\
                 | 01 | set up | 1/1 | Complete |\n| 02 | mid | 1/2 | In Progress |\n\
                 | 03 | new | 0/1 | Planned |\n| 10 | far | 0/0 | Pending |\n";
    let bar = "[██████████░░░░░░░░░░] 2/4 plans (50%)";
    let case = |about, call, answer| Case { about, files: DONE, call, answer, after: &[] };
    check(&[
        case("default", &["progress"], json()),
        case("json", &["progress", "json", "--raw"], json()),
        case("any word", &["progress", "pie"], json()),
        case("table", &["progress", "table"], Answer::Json(json!({ "rendered": table }))),
        case("raw table", &["progress", "table", "--raw"], Answer::Text(table)),
        case(
            "bar",
            &["progress", "bar"],
            Answer::Json(json!({
                "bar": bar, "percent": 50, "completed": 2, "total": 4,
            })),
        ),
        case("raw bar", &["progress", "bar", "--raw"], Answer::Text(bar)),
        Case {
            about: "nothing there",
            files: &[],
            call: &["progress"],
            answer: Answer::Json(json!({
                "milestone_version": "v1.0", "milestone_name": "milestone", "phases": [],
                "total_plans": 0, "total_summaries": 0, "percent": 0, "worktrees": [],
            })),
            after: &[],
        },
    ]);
}
