//! Tests of `roadmap analyze-dag` and `roadmap graph`.

use serde_json::{Value, json};

use crate::sandbox;
use crate::table::{Answer, Case, check};

const ROADMAP: &str = ".planning/ROADMAP.md";
const DAG: &[&str] = &["roadmap", "analyze-dag"];
const RAW: &[&str] = &["roadmap", "analyze-dag", "--raw"];

/// A diamond of phases; one depends on a phase that is not in the roadmap.
const DIAMOND: &str = "# Roadmap

### Phase 1: Base

### Phase 2: Left
**Depends on**: Phase 1

### Phase 3: Right
**Depends on**: Phase 01
**Parallel with**: Phase 2

### Phase 4: Join
**Depends on**: Phases 2 and 3, Phase 42
";

const DIAMOND_FILES: &[(&str, &str)] = &[
    (ROADMAP, DIAMOND),
    (".planning/phases/01-base/01-01-PLAN.md", ""),
    (".planning/phases/01-base/01-01-SUMMARY.md", ""),
    (".planning/phases/02-left/02-01-PLAN.md", ""),
    (".planning/phases/03-right/03-RESEARCH.md", ""),
];

fn diamond() -> Value {
    json!({
        "phases": [
            {
                "number": "1", "name": "Base", "depends_on": [], "depended_by": ["2", "3"],
                "disk_status": "complete", "parallel_with": [],
            },
            {
                "number": "2", "name": "Left", "depends_on": ["1"], "depended_by": ["4"],
                "disk_status": "planned", "parallel_with": [],
            },
            {
                "number": "3", "name": "Right", "depends_on": ["1"], "depended_by": ["4"],
                "disk_status": "empty", "parallel_with": ["2"],
            },
            {
                "number": "4", "name": "Join", "depends_on": ["2", "3"], "depended_by": [],
                "disk_status": "no_directory", "parallel_with": [],
            },
        ],
        "waves": [
            { "wave": 1, "phases": ["1"] },
            { "wave": 2, "phases": ["2", "3"] },
            { "wave": 3, "phases": ["4"] },
        ],
        "ready": ["2", "3"],
        "blocked": [{ "phase": "4", "waiting_on": ["2", "3"] }],
        "completed": ["1"],
        "validation": {
            "is_dag": true, "cycle_error": null,
            "missing_refs": [{ "phase": "4", "references": "42" }],
            "fully_sequential": false, "contradictions": [],
        },
        "critical_path": ["2", "4"],
        "widest_wave": 2,
        "speedup_bound": 1.5,
    })
}

const DIAMOND_TEXT: &str = "Dependencies of 4 phases

Wave 1: Phase 1 (complete)
Wave 2: Phase 2, Phase 3
Wave 3: Phase 4

Ready to execute: Phase 2, Phase 3
Blocked: Phase 4 (waiting on Phase 2, Phase 3)

Warnings:
  - Phase 4 depends on Phase 42, which is not in the roadmap
";

#[test]
fn analyze_dag_prints_waves_ready_and_blocked_phases() {
    check(&[
        Case {
            about: "a diamond",
            files: DIAMOND_FILES,
            call: RAW,
            answer: Answer::Json(diamond()),
            after: &[],
        },
        Case {
            about: "text without --raw",
            files: DIAMOND_FILES,
            call: DAG,
            answer: Answer::Text(DIAMOND_TEXT),
            after: &[],
        },
        Case {
            about: "no roadmap answers JSON in both modes",
            files: &[],
            call: DAG,
            answer: Answer::Json(json!({ "error": "ROADMAP.md not found" })),
            after: &[],
        },
        Case {
            about: "no roadmap, raw",
            files: &[],
            call: RAW,
            answer: Answer::Json(json!({ "error": "ROADMAP.md not found" })),
            after: &[],
        },
    ]);
}

fn dag_of(files: &[(&str, &str)]) -> Value {
    let mut project = sandbox();
    for (path, text) in files {
        project = project.file(path, text);
    }
    project.call(RAW).run().json()
}

#[test]
fn a_cycle_is_named_and_has_no_waves() {
    let roadmap = "### Phase 1: A\n\n### Phase 2: B\n**Depends on**: Phase 3\n\n### Phase 3: C\n\
                   **Depends on**: Phase 2\n\n### Phase 4: D\n**Depends on**: Phase 3\n";
    let dag = dag_of(&[(ROADMAP, roadmap)]);
    assert_eq!(dag["waves"], Value::Null);
    assert_eq!(dag["validation"]["is_dag"], false);
    assert_eq!(dag["validation"]["fully_sequential"], Value::Null);
    let error = dag["validation"]["cycle_error"].as_str().unwrap();
    for number in ["2", "3", "4"] {
        assert!(error.contains(number), "{error}");
    }
    let text = sandbox().file(ROADMAP, roadmap).call(DAG).run().stdout_on_success();
    assert_eq!(text.lines().filter(|line| line.starts_with("ERROR: ")).count(), 1, "{text}");
    assert!(!text.contains("Wave "), "{text}");
}

#[test]
fn a_chain_of_phases_is_fully_sequential() {
    let dag = dag_of(&[(ROADMAP, "### Phase 1: A\n\n### Phase 2: B\n**Depends on**: Phase 1\n")]);
    assert_eq!(dag["validation"]["fully_sequential"], true);
    assert_eq!(dag["validation"]["is_dag"], true);
}

#[test]
fn shipped_phases_block_no_other_phase() {
    let roadmap = "- [x] Phase 1: Ticked\n\n### Phase 1: Ticked\n\n### Phase 2: Archived\n\
                   **Depends on**: Phase 0\n\n### Phase 3: Next\n**Depends on**: Phases 1 and 2\n";
    let dag = dag_of(&[
        (ROADMAP, roadmap),
        (".planning/milestones/v1.0-phases/00-start/00-01-PLAN.md", ""),
        (".planning/milestones/v1.0-phases/02-archived/02-01-PLAN.md", ""),
        (".planning/milestones/v1.0-phases/02-archived/02-01-SUMMARY.md", ""),
    ]);
    assert_eq!(dag["completed"], json!(["1", "2"]));
    assert_eq!(dag["ready"], json!(["3"]));
    assert_eq!(dag["blocked"], json!([]));
    // The disk status is reported as found; phase 0 has only an archived directory.
    assert_eq!(dag["phases"][0]["disk_status"], "no_directory");
    assert_eq!(dag["validation"]["missing_refs"], json!([]));
}

/// Where numbering restarts, an archived directory with the same number belongs to another phase.
#[test]
fn an_archived_directory_with_another_name_does_not_complete_a_phase() {
    let archive = ".planning/milestones/v1.0-phases";
    let dag = dag_of(&[
        (ROADMAP, "### Phase 1: Billing\n\n### Phase 2: 支付\n\n### Phase 3: Mail\n"),
        (&format!("{archive}/01-login/01-01-SUMMARY.md"), ""),
        (&format!("{archive}/02/02-01-SUMMARY.md"), ""),
        (&format!("{archive}/03-mail-and-more/03-01-SUMMARY.md"), ""),
        (".planning/phases/03-mail/03-01-PLAN.md", ""),
    ]);
    assert_eq!(dag["completed"], json!([]));
    assert_eq!(dag["ready"], json!(["1", "2", "3"]));
}

#[test]
fn a_decimal_directory_completes_its_own_phase_only() {
    let dag = dag_of(&[
        (ROADMAP, "### Phase 3: A\n\n### Phase 3.1: B\n"),
        (".planning/phases/03.1-b/03.1-01-PLAN.md", ""),
        (".planning/phases/03.1-b/03.1-01-SUMMARY.md", ""),
    ]);
    assert_eq!(dag["completed"], json!(["3.1"]));
    assert_eq!(dag["phases"][0]["disk_status"], "no_directory");
}

#[test]
fn graphs_show_every_phase() {
    let mut project = sandbox();
    for (path, text) in DIAMOND_FILES {
        project = project.file(path, text);
    }
    let draw = |arguments: &[&str]| {
        let call = [&["roadmap", "graph"], arguments].concat();
        project.call(call).run().stdout_on_success()
    };
    let formats = [
        (&["--format", "dot"][..], "digraph", "}\n"),
        (&["--format", "mermaid"], "flowchart", "\n"),
        (&["--format", "svg"], "<svg", "</svg>\n"),
        (&[], "Wave 1", "\n"),
        (&["--ascii"], "Wave 1", "\n"),
    ];
    for (arguments, start, end) in formats {
        let drawing = draw(arguments);
        assert!(drawing.starts_with(start) && drawing.ends_with(end), "{drawing}");
        for name in ["Base", "Left", "Right", "Join"] {
            assert!(drawing.contains(name), "{drawing}");
        }
    }
    assert!(draw(&["--ascii"]).is_ascii(), "{}", draw(&["--ascii"]));
    assert!(!draw(&["--open"]).contains("Base"));
}

#[test]
fn a_graph_without_phases_says_so() {
    let graph = &["roadmap", "graph"];
    check(&[
        Case {
            about: "no roadmap",
            files: &[],
            call: graph,
            answer: Answer::Refused("ROADMAP.md not found"),
            after: &[],
        },
        Case {
            about: "no phases",
            files: &[(ROADMAP, "# Empty\n")],
            call: graph,
            answer: Answer::Text("The roadmap declares no phases.\n"),
            after: &[],
        },
        Case {
            about: "nothing open",
            files: &[(ROADMAP, "- [x] Phase 1: A\n")],
            call: &["roadmap", "graph", "--open"],
            answer: Answer::Text("Every phase is done.\n"),
            after: &[],
        },
    ]);
}
