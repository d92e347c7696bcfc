//! Tests of `validate consistency` and `validate health`.

use mow_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::sandbox;
use crate::table::{Answer, Case, Files, check};

const ROADMAP: &str = ".planning/ROADMAP.md";
const STATE: &str = ".planning/STATE.md";
const CONFIG: &str = ".planning/config.json";

const WAVE: &str = "---\nwave: 1\n---\n";

const DANGLING: &str = "### Phase 1: A\n**Depends on:** Phase 2\n\n\
                        ### Phase 2: B\n**Depends on:** Phase 1\n\n\
                        ### Phase 3: C\n**Depends on:** Phase 77\n";

#[test]
fn cycles_and_dangling_references_are_errors_that_name_the_line() {
    let project = sandbox().file(ROADMAP, DANGLING);
    let report = project.call(["validate", "consistency"]).run().json();
    assert_eq!(report["passed"], false);
    let errors = [
        "ROADMAP.md:2: the dependencies form a cycle: 1 → 2 → 1",
        "ROADMAP.md:8: phase 3 depends on phase 77, which the roadmap does not have",
    ];
    assert_eq!(report["errors"], json!(errors));
}

#[test]
fn d24_d49_validate_consistency_reports_mismatches() {
    let files: Files<'_> = &[
        (ROADMAP, "### Phase 1: A\n### Phase 2: B\n### Phase 3: C\n### Phase 5: E\n"),
        (".planning/milestones/v1.0-phases/02-b/x", ""),
        (".planning/phases/01-a/01-01-PLAN.md", WAVE),
        (".planning/phases/01-a/01-99-PLAN.md", WAVE),
        (".planning/phases/01-a/01-100-PLAN.md", "no block"),
        (".planning/phases/01-a/01-02-SUMMARY.md", ""),
        (".planning/phases/03.1-x/y", ""),
        (".planning/phases/05-e/y", ""),
    ];
    let warnings = [
        "Phase 3 is in ROADMAP.md but has no directory",
        "Phase 03.1 is on disk but not in ROADMAP.md (03.1-x)",
        "Gap in phase numbering: 1 → 5",
        "Gap in plan numbering in 01-a: 1 → 99",
        "01-a/01-02-SUMMARY.md is a summary without a plan",
        "01-a/01-100-PLAN.md has no `wave` in its frontmatter",
    ];
    let case = |about, files, call, answer| Case { about, files, call, answer, after: &[] };
    let missing = json!({ "passed": false, "errors": ["ROADMAP.md not found"], "warnings": [] });
    check(&[
        case(
            "warnings",
            files,
            &["validate", "consistency"],
            Answer::Json(json!({
                "passed": true, "errors": [], "warnings": warnings, "warning_count": 6,
            })),
        ),
        case("raw", files, &["validate", "consistency", "--raw"], Answer::Text("passed")),
        case(
            "dangling references and cycles",
            &[(ROADMAP, DANGLING)],
            &["validate", "consistency", "--raw"],
            Answer::Text("failed"),
        ),
        case("no roadmap", &[(STATE, "")], &["validate", "consistency"], Answer::Json(missing)),
        case("raw", &[(STATE, "")], &["validate", "consistency", "--raw"], Answer::Text("failed")),
        case(
            "all well",
            &[(ROADMAP, "# R\n")],
            &["validate", "consistency"],
            Answer::Json(json!({
                "passed": true, "errors": [], "warnings": [], "warning_count": 0,
            })),
        ),
    ]);
}

#[test]
fn d19_dependencies_are_parsed_or_reported_as_unparsed() {
    let roadmap = "### Phase 1: A\n**Depends on:** Nothing\n\n\
                   ### Phase 2: B\n**Depends on:** Phase 1 (nothing else)\n\n\
                   ### Phase 3: C\n**Depends on:** 1, 2\n\n\
                   ### Phase 3.1: D\n**Depends on:** the login\twork\n\n\
                   ### Phase 4: E\n**Depends on:** Phases 03 and 3.1\n";
    let project = sandbox().file(ROADMAP, roadmap);
    for dir in ["01-a", "02-b", "03-c", "03.1-d", "04-e"] {
        project.make_dir(&format!(".planning/phases/{dir}"));
    }
    let analysis = project.call(["roadmap", "analyze"]).run().json();
    let parsed: Vec<_> = analysis["phases"].as_array().expect("phases").iter().collect();
    let parsed: Vec<_> = parsed.iter().map(|phase| &phase["depends_on_parsed"]).collect();
    let expected = [json!([]), json!(["1"]), json!(["1", "2"]), json!([]), json!(["3", "3.1"])];
    assert_eq!(parsed, expected.iter().collect::<Vec<_>>());
    let report = project.call(["validate", "consistency"]).run().json();
    let warning = "Phase 3.1 depends on `the login work`, which names no phase";
    assert_eq!(report["warnings"], json!([warning]));
    let doctor = project.call(["doctor", "--json"]).run();
    assert!(doctor.stdout.contains(warning), "{}", doctor.transcript());
}

/// A project without issues.
fn healthy_project() -> Sandbox {
    sandbox()
        .file(".planning/PROJECT.md", "## What This Is\n\n## Core Value\n\n## Requirements\n")
        .file(ROADMAP, "# R v1.1: Next\n\n### Phase 1: A\n")
        .file(STATE, "# S\n\n**Current Phase:** 1\n**Status:** Executing\n\nSee Phase 44.\n")
        .file(CONFIG, "{\"model_profile\": \"quality\"}")
        .file(".planning/phases/01-a/01-01-PLAN.md", WAVE)
        .file(".planning/phases/01-a/01-01-SUMMARY.md", "")
}

fn health(project: &Sandbox) -> Value {
    project.call(["validate", "health"]).run().json()
}

fn codes(report: &Value) -> Vec<&str> {
    let lists = ["errors", "warnings", "info"];
    let issues = lists.iter().flat_map(|list| report[list].as_array().expect("a list"));
    issues.map(|issue| issue["code"].as_str().expect("a code")).collect()
}

#[test]
fn a_project_without_issues_is_healthy() {
    healthy_project().call(["validate", "health"]).run().prints_json(&json!({
        "status": "healthy", "errors": [], "warnings": [], "info": [], "repairable_count": 0,
    }));
    let project = healthy_project();
    let before = project.files();
    let report = project.call(["validate", "health", "--repair"]).run().json();
    assert_eq!(report["repairs_performed"], Value::Null);
    assert_eq!(project.files(), before, "nothing to repair, nothing written");
}

/// One issue: the file that is changed or (with `None`) removed, and the expected report.
type Flaw<'a> = (&'a str, Option<&'a str>, &'a str, &'a [&'a str], usize);

#[test]
fn validate_health_has_a_code_for_every_issue() {
    let flaws: &[Flaw<'_>] = &[
        (".planning/PROJECT.md", None, "broken", &["E002"], 0),
        (".planning/PROJECT.md", Some("## Core Value\n"), "degraded", &["W001", "W001"], 0),
        (ROADMAP, None, "broken", &["E003"], 0),
        (STATE, None, "broken", &["E004"], 1),
        (STATE, Some("**Current Phase:** 9.5\n"), "degraded", &["W002"], 1),
        (STATE, Some("# S\n\nPhase 99 is the current phase.\n"), "degraded", &["W002"], 1),
        (CONFIG, Some("{oops"), "broken", &["E005"], 1),
        (CONFIG, Some(""), "broken", &["E005"], 1),
        (CONFIG, None, "degraded", &["W003"], 1),
        (CONFIG, Some("{\"model_profile\": \"huge\"}"), "degraded", &["W004"], 0),
        (".planning/phases/bad name/x", Some(""), "degraded", &["W005"], 0),
        (ROADMAP, Some("### Phase 1: A\n### Phase 2: B\n"), "degraded", &["W006"], 0),
        (ROADMAP, Some("# empty\n"), "degraded", &["W007"], 0),
        (".planning/phases/01-a/01-02-PLAN.md", Some(""), "healthy", &["I001"], 0),
    ];
    for (path, text, status, expected, repairable) in flaws {
        let project = healthy_project();
        match text {
            Some(text) => project.write(path, text),
            None => project.remove(path),
        }
        let report = health(&project);
        assert_eq!(report["status"], *status, "{path} {text:?}");
        assert_eq!(codes(&report), *expected, "{path} {text:?}");
        assert_eq!(report["repairable_count"], *repairable, "{path} {text:?}");
    }
    let report = health(&sandbox());
    assert_eq!((codes(&report), &report["status"]), (vec!["E001"], &json!("broken")));
}

#[test]
fn d48_w002_concerns_only_the_current_phase_and_accepts_archived_ones() {
    let project = healthy_project();
    project.write(STATE, "**Current Phase:** 0.5\n\nPhase 7 and Phase 8 come later.\n");
    project.write(".planning/milestones/v0.9-phases/00.5-old/x", "");
    assert_eq!(codes(&health(&project)), Vec::<&str>::new());
}

#[test]
fn d48_a_readable_state_is_repaired_in_place() {
    let project = healthy_project();
    let text = "# S\n\n**Current Phase:** 9\n**Status:** Executing\n\n## Decisions\n\n- kept\n";
    project.write(STATE, text);
    project.write(ROADMAP, "### Phase 1: A\n### Phase 2: B\n");
    let report = project.call(["validate", "health", "--repair"]).run().json();
    let done = report["repairs_performed"].as_array().expect("repairs");
    assert_eq!(done[0]["action"], "backup");
    assert_eq!(done[0]["files"], json!(["STATE.md", "ROADMAP.md"]));
    let backup = done[0]["dir"].as_str().expect("a directory");
    assert_eq!(project.text(&format!("{backup}/STATE.md")), text);
    assert_eq!(
        done[1],
        json!({
            "action": "regenerateState", "success": true, "path": STATE,
            "diff_lines": [{ "line": 3, "old": "**Current Phase:** 9", "new": "**Current Phase:** 02" }],
            "diff_formatted": "- **Current Phase:** 9\n+ **Current Phase:** 02",
        })
    );
    assert_eq!(project.text(STATE), text.replace("Phase:** 9", "Phase:** 02"));
}

#[test]
fn health_repair_creates_missing_files() {
    let project = healthy_project();
    for file in [STATE, CONFIG] {
        project.remove(file);
    }
    let report = project.call(["validate", "health", "--repair"]).run().json();
    let done = report["repairs_performed"].as_array().expect("repairs");
    let actions: Vec<_> = done.iter().map(|repair| repair["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["backup", "regenerateState", "createConfig"]);
    assert_eq!(done[2], json!({ "action": "createConfig", "success": true, "path": CONFIG }));
    let state = project.text(STATE);
    assert!(
        state.starts_with("# Session State\n") && state.contains("**Milestone:** v1.1 Next\n"),
        "{state}"
    );
    let config: Value = serde_json::from_str(&project.text(CONFIG)).unwrap();
    let keys: Vec<_> = config.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "model_profile",
            "commit_docs",
            "search_gitignored",
            "branching_strategy",
            "research",
            "plan_checker",
            "verifier",
            "parallelization",
        ]
    );
    assert!(!project.text(CONFIG).ends_with('\n'));
    assert_eq!(codes(&health(&project)), Vec::<&str>::new());
}

#[test]
fn a_broken_config_is_backed_up_before_it_is_reset() {
    let project = healthy_project();
    project.write(CONFIG, "{\"mode\": \"yolo\",");
    let report = project.call(["validate", "health", "--repair"]).run().json();
    let backup = report["repairs_performed"][0]["dir"].as_str().expect("a directory");
    assert_eq!(project.text(&format!("{backup}/config.json")), "{\"mode\": \"yolo\",");
    assert_eq!(report["repairs_performed"][1]["action"], "resetConfig");
}

#[test]
fn many_backups_cause_a_cleanup_suggestion() {
    let project = healthy_project();
    for index in 0..5 {
        project.make_dir(&format!(".planning/backups/2026-01-0{index}T00-00-00Z"));
    }
    let report = health(&project);
    assert!(report["cleanup_suggestion"].as_str().is_some_and(|text| text.contains("5 backups")));
}
