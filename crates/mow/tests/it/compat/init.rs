//! Tests of `init …`: the facts that workflows read before they start.

use mow_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::sandbox;
use crate::table::mask_now;

const ROADMAP: &str = "\
# Roadmap: Ship

## Milestones

- ✅ **v1.0 MVP** - Phases 1-2 (shipped 2026-01-01)
- 🚧 **v1.1 Next Thing** - Phases 3-5 (in progress)

## Phases

### 🚧 v1.1 Next Thing (In Progress)

- [x] **Phase 3: Auth** - log in
- [ ] **Phase 4: Api** - routes
- [ ] **Phase 5: Web** - pages

## Phase Details

### Phase 3: Auth
**Goal**: log in
**Requirements**: [AUTH-01, AUTH-02b] <!-- all of them -->

### Phase 4: Api
**Goal**: routes
**Depends on**: Phase 3
**Requirements**: API-01, R2

### Phase 5: Web
**Goal**: pages
**Depends on**: Phase 4
";

fn project() -> Sandbox {
    let phase = ".planning/phases/03-user-auth";
    sandbox()
        .file(".planning/ROADMAP.md", ROADMAP)
        .file(".planning/STATE.md", "# State\n\n**Paused At:** task 2\n")
        .file(".planning/config.json", "{\"model_profile\": \"quality\"}")
        .file(&format!("{phase}/03-01-PLAN.md"), "plan\n")
        .file(&format!("{phase}/03-01-SUMMARY.md"), "summary\n")
        .file(&format!("{phase}/03-02-PLAN.md"), "plan\n")
        .file(&format!("{phase}/03-CONTEXT.md"), "context\n")
        .file(&format!("{phase}/03-VERIFICATION.md"), "verified\n")
        .file(".planning/phases/04-api/04-RESEARCH.md", "research\n")
        .file(".planning/phases/02.1-fix/02.1-01-PLAN.md", "plan\n")
        .file(".planning/phases/02.1-fix/02.1-01-SUMMARY.md", "summary\n")
}

/// Checks the answer of a call and the order of its keys, with and without `--raw`.
fn check_answer(project: &Sandbox, call: &[&str], expected: &Value) {
    for raw in [&[][..], &["--raw"]] {
        let ran = project.call(call.iter().chain(raw)).run();
        let today = project.call(["current-timestamp", "date", "--raw"]).run().stdout_on_success();
        let printed = mask_now(&ran.stdout_on_success()).replace(&today, "TODAY");
        let pretty = serde_json::to_string_pretty(expected).expect("JSON can be printed");
        assert_eq!(printed, pretty, "{call:?}");
    }
}

#[test]
fn init_execute_phase() {
    let expected = json!({
        "executor_model": "inherit",
        "verifier_model": "sonnet",
        "commit_docs": true,
        "parallelization": true,
        "branching_strategy": "none",
        "phase_branch_template": "mow/phase-{phase}-{slug}",
        "milestone_branch_template": "mow/{milestone}-{slug}",
        "verifier_enabled": true,
        "phase_found": true,
        "phase_dir": ".planning/phases/03-user-auth",
        "phase_number": "03",
        "phase_name": "user-auth",
        "phase_slug": "user-auth",
        "plans": ["03-01-PLAN.md", "03-02-PLAN.md"],
        "summaries": ["03-01-SUMMARY.md"],
        "incomplete_plans": ["03-02-PLAN.md"],
        "plan_count": 2,
        "incomplete_count": 1,
        "branch_name": null,
        "milestone_version": "v1.1",
        "milestone_name": "Next Thing",
        "milestone_slug": "next-thing",
        "state_exists": true,
        "roadmap_exists": true,
        "config_exists": true,
        "phase_requirement_ids": ["AUTH-01", "AUTH-02b"],
        "max_task_attempts": 5,
        "agent_teams_enabled": false,
        "agent_teams_nudge_dismissed": false,
    });
    let project = project();
    check_answer(&project, &["init", "execute-phase", "3"], &expected);
    let mut more = expected;
    more["state_content"] = json!("# State\n\n**Paused At:** task 2\n");
    more["config_content"] = json!("{\"model_profile\": \"quality\"}");
    let call = ["init", "execute-phase", "03", "--include", "config,state, nope"];
    check_answer(&project, &call, &more);
    project.call(["init", "execute-phase"]).run().refuses("required");
    let gone = project.call(["init", "execute-phase", "9"]).run().json();
    assert_eq!((&gone["phase_found"], &gone["phase_dir"]), (&json!(false), &Value::Null));
    assert_eq!((&gone["plans"], &gone["plan_count"]), (&json!([]), &json!(0)));
}

#[test]
fn init_execute_phase_names_the_branch() {
    let project = project();
    let branch = |config: &str, phase: &str| {
        project.write(".planning/config.json", config);
        project.call(["init", "execute-phase", phase]).run().json()["branch_name"].clone()
    };
    let by_phase = "{\"git\": {\"branching_strategy\": \"phase\", \"phase_branch_template\": \"gsd/{phase}/{slug}\"}}";
    assert_eq!(branch(by_phase, "3"), json!("gsd/03/user-auth"));
    assert_eq!(branch(by_phase, "2.1"), json!("gsd/02.1/fix"));
    assert_eq!(branch(by_phase, "9"), Value::Null);
    let by_milestone = "{\"branching_strategy\": \"milestone\"}";
    assert_eq!(branch(by_milestone, "3"), json!("mow/v1.1-next-thing"));
}

#[test]
fn init_plan_phase() {
    let expected = json!({
        "researcher_model": "inherit",
        "planner_model": "inherit",
        "checker_model": "sonnet",
        "research_enabled": true,
        "plan_checker_enabled": true,
        "commit_docs": true,
        "phase_found": true,
        "phase_dir": ".planning/phases/03-user-auth",
        "phase_number": "03",
        "phase_name": "user-auth",
        "phase_slug": "user-auth",
        "padded_phase": "03",
        "has_research": false,
        "has_context": true,
        "has_plans": true,
        "plan_count": 2,
        "phase_requirement_ids": ["AUTH-01", "AUTH-02b"],
        "planning_exists": true,
        "roadmap_exists": true,
    });
    let project = project();
    check_answer(&project, &["init", "plan-phase", "3"], &expected);
    let mut more = expected;
    more["requirements_content"] = Value::Null;
    more["context_content"] = json!("context\n");
    more["verification_content"] = json!("verified\n");
    let call =
        ["init", "plan-phase", "3", "--include", "requirements,context,research,verification,uat"];
    check_answer(&project, &call, &more);
    project.call(["init", "plan-phase"]).run().refuses("required");
}

#[test]
fn init_phase_op() {
    let op = |project: &Sandbox, call: &[&str]| project.call(call).run().json();
    let expected = json!({
        "commit_docs": true,
        "brave_search": false,
        "phase_found": true,
        "phase_dir": null,
        "phase_number": "5",
        "phase_name": "Web",
        "phase_slug": "web",
        "padded_phase": "05",
        "has_research": false,
        "has_context": false,
        "has_plans": false,
        "has_verification": false,
        "plan_count": 0,
        "summary_count": 0,
        "phase_requirement_ids": [],
        "roadmap_exists": true,
        "planning_exists": true,
    });
    let project = project();
    check_answer(&project, &["init", "phase-op", "5"], &expected);
    let found = op(&project, &["init", "phase-op", "03"]);
    assert_eq!((&found["has_verification"], &found["summary_count"]), (&json!(true), &json!(1)));
    assert_eq!(found["phase_dir"], json!(".planning/phases/03-user-auth"));
    for call in [&["init", "phase-op"][..], &["init", "phase-op", "0"], &["init", "phase-op", ""]] {
        let none = op(&project, call);
        assert_eq!((&none["phase_found"], &none["padded_phase"]), (&json!(false), &Value::Null));
    }
}

#[test]
fn d34_requirement_ids_of_any_shape_are_kept() {
    let project = project();
    let ids = |phase: &str| {
        project.call(["init", "phase-op", phase]).run().json()["phase_requirement_ids"].clone()
    };
    assert_eq!(ids("3"), json!(["AUTH-01", "AUTH-02b"]));
    assert_eq!(ids("4"), json!(["API-01", "R2"]));
    assert_eq!(ids("5"), json!([]));
}

#[test]
fn d35_a_phase_argument_is_never_a_regular_expression() {
    let project = project();
    for phase in [".*", "0.", "3|4", "[0-9]+", "(", "../phases/03"] {
        let found = project.call(["init", "phase-op", phase]).run().json();
        assert_eq!(found["phase_found"], json!(false), "{phase}");
        assert_eq!(found["phase_requirement_ids"], json!([]), "{phase}");
    }
}

#[test]
fn init_verify_work() {
    let project = project();
    let expected = json!({
        "planner_model": "inherit",
        "checker_model": "sonnet",
        "commit_docs": true,
        "phase_found": true,
        "phase_dir": ".planning/phases/03-user-auth",
        "phase_number": "03",
        "phase_name": "user-auth",
        "has_verification": true,
    });
    check_answer(&project, &["init", "verify-work", "3"], &expected);
    project.call(["init", "verify-work"]).run().refuses("required");
}

#[test]
fn init_new_project() {
    let empty = json!({
        "researcher_model": "sonnet",
        "synthesizer_model": "sonnet",
        "roadmapper_model": "sonnet",
        "commit_docs": true,
        "project_exists": false,
        "has_codebase_map": false,
        "planning_exists": false,
        "has_existing_code": false,
        "has_package_file": false,
        "is_brownfield": false,
        "needs_codebase_map": false,
        "has_git": false,
        "brave_search_available": false,
        "agent_teams_enabled": false,
        "agent_teams_nudge_dismissed": false,
    });
    let project =
        sandbox().file("node_modules/x/a.js", "").file("a/b/c/deep.rs", "").file("README.md", "");
    check_answer(&project, &["init", "new-project"], &empty);
    project.write("a/b/shallow.rs", "");
    project.git(".", &["init", "--quiet"]);
    project.write("../home/.mowism/brave_api_key", "k");
    let mut brown = empty;
    for key in [
        "has_existing_code",
        "is_brownfield",
        "needs_codebase_map",
        "has_git",
        "brave_search_available",
    ] {
        brown[key] = json!(true);
    }
    check_answer(&project, &["init", "new-project"], &brown);
    project.write(".planning/codebase/STACK.md", "");
    let mapped = project.call(["init", "new-project"]).run().json();
    assert_eq!(
        (&mapped["has_codebase_map"], &mapped["needs_codebase_map"]),
        (&json!(true), &json!(false))
    );
    let packaged = sandbox().file("go.mod", "");
    let found = packaged.call(["init", "new-project"]).run().json();
    assert_eq!((&found["has_package_file"], &found["is_brownfield"]), (&json!(true), &json!(true)));
}

#[test]
fn init_reports_whether_agent_teams_are_enabled() {
    let project = sandbox();
    let variable = "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS";
    let call = || project.call(["init", "resume"]);
    let on = |answer: Value| answer["agent_teams_enabled"].clone();
    assert_eq!(on(call().env(variable, "TRUE").run().json()), json!(true));
    assert_eq!(on(call().env(variable, "yes").run().json()), json!(false));
    for (value, expected) in [("1", true), ("true", true), ("\"True\"", true), ("\"0\"", false)] {
        let settings = format!("{{\"env\": {{\"{variable}\": {value}}}}}");
        project.write("../home/.claude/settings.json", settings);
        assert_eq!(on(call().run().json()), json!(expected), "{value}");
    }
    project.write("../home/.claude/settings.json", "{");
    assert_eq!(on(call().run().json()), json!(false));
}

#[test]
fn init_new_milestone() {
    let expected = json!({
        "researcher_model": "inherit",
        "synthesizer_model": "sonnet",
        "roadmapper_model": "inherit",
        "commit_docs": true,
        "research_enabled": true,
        "current_milestone": "v1.1",
        "current_milestone_name": "Next Thing",
        "project_exists": false,
        "roadmap_exists": true,
        "state_exists": true,
    });
    check_answer(&project(), &["init", "new-milestone"], &expected);
}

#[test]
fn init_quick() {
    let mut expected = json!({
        "planner_model": "inherit",
        "executor_model": "sonnet",
        "checker_model": "sonnet",
        "verifier_model": "sonnet",
        "commit_docs": true,
        "next_num": 11,
        "slug": "fix-the-login-button-of-the-page-that-is",
        "description": "Fix the --login button of the page that is broken",
        "date": "TODAY",
        "timestamp": "NOW",
        "quick_dir": ".planning/quick",
        "task_dir": ".planning/quick/11-fix-the-login-button-of-the-page-that-is",
        "roadmap_exists": false,
        "planning_exists": true,
    });
    let project = sandbox()
        .file(".planning/quick/9-old/9-PLAN.md", "")
        .file(".planning/quick/10-older/10-PLAN.md", "")
        .file(".planning/quick/notes/x", "");
    let words = "init quick Fix the --login button of the page that is broken";
    check_answer(&project, &words.split(' ').collect::<Vec<_>>(), &expected);
    for key in ["slug", "description", "task_dir"] {
        expected[key] = Value::Null;
    }
    check_answer(&project, &["init", "quick"], &expected);
}

#[test]
fn init_resume() {
    let project = project();
    project.write(".planning/current-agent-id.txt", " agent-7\n");
    project.write(".planning/config.json", "{\"agent_teams_nudge_dismissed\": true}");
    let expected = json!({
        "state_exists": true,
        "roadmap_exists": true,
        "project_exists": false,
        "planning_exists": true,
        "has_interrupted_agent": true,
        "interrupted_agent_id": "agent-7",
        "commit_docs": true,
        "agent_teams_enabled": false,
        "agent_teams_nudge_dismissed": true,
    });
    check_answer(&project, &["init", "resume"], &expected);
    let none = sandbox().call(["init", "resume"]).run().json();
    assert_eq!(none["has_interrupted_agent"], json!(false));
    assert_eq!(none["interrupted_agent_id"], Value::Null);
}

#[test]
fn init_todos() {
    let project = sandbox()
        .file(".planning/todos/pending/a.md", "title: A\narea: api\n")
        .file(".planning/todos/pending/b.md", "title: B\n");
    let a = json!({
        "file": "a.md", "created": "unknown", "title": "A", "area": "api", "state": "pending",
        "path": ".planning/todos/pending/a.md",
    });
    let expected = json!({
        "commit_docs": true,
        "date": "TODAY",
        "timestamp": "NOW",
        "todo_count": 1,
        "in_progress_count": 0,
        "todos": [a],
        "area_filter": "api",
        "pending_dir": ".planning/todos/pending",
        "in_progress_dir": ".planning/todos/in-progress",
        "completed_dir": ".planning/todos/completed",
        "planning_exists": true,
        "todos_dir_exists": true,
        "pending_dir_exists": true,
        "in_progress_dir_exists": false,
    });
    check_answer(&project, &["init", "todos", "api"], &expected);
    let all = project.call(["init", "todos"]).run().json();
    assert_eq!((&all["todo_count"], &all["area_filter"]), (&json!(2), &Value::Null));
}

#[test]
fn d25_init_milestone_op_counts_complete_and_archived_phases() {
    let project = project();
    project.write(".planning/milestones/v1.0-phases/01-base/01-01-PLAN.md", "");
    project.write(".planning/milestones/v0.9-phases/00-x/00-01-PLAN.md", "");
    project.write(".planning/milestones/v1.0-ROADMAP.md", "");
    let expected = json!({
        "commit_docs": true,
        "milestone_version": "v1.1",
        "milestone_name": "Next Thing",
        "milestone_slug": "next-thing",
        "phase_count": 3,
        "completed_phases": 1,
        "all_phases_complete": false,
        "archived_milestones": ["v1.0", "v0.9"],
        "archive_count": 2,
        "project_exists": false,
        "roadmap_exists": true,
        "state_exists": true,
        "archive_exists": true,
        "phases_dir_exists": true,
    });
    check_answer(&project, &["init", "milestone-op"], &expected);
}

#[test]
fn init_map_codebase() {
    let project =
        sandbox().file(".planning/codebase/STACK.md", "").file(".planning/codebase/A.md", "");
    let expected = json!({
        "mapper_model": "haiku",
        "commit_docs": true,
        "search_gitignored": false,
        "parallelization": true,
        "codebase_dir": ".planning/codebase",
        "existing_maps": ["A.md", "STACK.md"],
        "has_maps": true,
        "planning_exists": true,
        "codebase_dir_exists": true,
    });
    check_answer(&project, &["init", "map-codebase"], &expected);
}

#[test]
fn init_progress() {
    let phase = |number: &str, name: &str, status: &str, counts: [usize; 2]| {
        json!({
            "number": number, "name": name, "directory": format!(".planning/phases/{number}-{name}"),
            "status": status, "plan_count": counts[0], "summary_count": counts[1],
            "has_research": status == "researched",
        })
    };
    let current = phase("03", "user-auth", "in_progress", [2, 1]);
    let project = project();
    project.write(".planning/phases/10-last/.gitkeep", "");
    let expected = json!({
        "executor_model": "inherit",
        "planner_model": "inherit",
        "commit_docs": true,
        "milestone_version": "v1.1",
        "milestone_name": "Next Thing",
        "phases": [
            phase("02.1", "fix", "complete", [1, 1]),
            current,
            phase("04", "api", "researched", [0, 0]),
            phase("10", "last", "pending", [0, 0]),
        ],
        "phase_count": 4,
        "completed_count": 1,
        "in_progress_count": 1,
        "current_phase": current,
        "next_phase": phase("10", "last", "pending", [0, 0]),
        "paused_at": "task 2",
        "has_work_in_progress": true,
        "project_exists": false,
        "roadmap_exists": true,
        "state_exists": true,
        "project_content": null,
    });
    check_answer(&project, &["init", "progress", "--include", "project"], &expected);
    let none = sandbox().call(["init", "progress"]).run().json();
    assert_eq!((&none["phases"], &none["milestone_version"]), (&json!([]), &json!("v1.0")));
    assert_eq!((&none["current_phase"], &none["paused_at"]), (&Value::Null, &Value::Null));
}

#[test]
fn init_auto() {
    let project = project();
    let found = project.call(["init", "auto", "--raw"]).run().json();
    let keys: Vec<_> = found.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "planning_exists",
            "auto_advance_active",
            "dag",
            "milestone_version",
            "milestone_name",
            "milestone_phases",
            "completed_count",
            "remaining_count",
            "total_phase_count",
            "first_ready_phase",
            "agent_teams_enabled",
            "commit_docs",
        ]
    );
    let dag = project.call(["roadmap", "analyze-dag", "--raw"]).run().json();
    assert_eq!(found["dag"], dag);
    assert_eq!(found["milestone_phases"], json!(["3", "4", "5"]));
    assert_eq!((&found["completed_count"], &found["remaining_count"]), (&json!(1), &json!(2)));
    assert_eq!(
        (&found["total_phase_count"], &found["first_ready_phase"]),
        (&json!(3), &json!("4"))
    );
    let text = project.call(["init", "auto"]).run().stdout_on_success();
    assert_eq!(
        text,
        "Milestone: v1.1 Next Thing\nPhases: 3, 4, 5\nCompleted: 1 of 3\nRemaining: 2\nNext: Phase 4\n\
         Auto-advance: off\nAgent teams: off\n"
    );
    sandbox().call(["init", "auto"]).run().refuses(".planning");
    let bare = sandbox().file(".planning/STATE.md", "");
    bare.call(["init", "auto"]).run().refuses("ROADMAP.md not found");
}

#[test]
fn d50_long_answers_go_to_files_with_unpredictable_names() {
    let project = project();
    project.write(".planning/STATE.md", "x".repeat(60_000));
    let spill = || {
        let printed =
            project.call(["init", "progress", "--include", "state"]).run().stdout_on_success();
        printed.strip_prefix("@file:").expect("a long answer goes to a file").to_owned()
    };
    let (first, second) = (spill(), spill());
    assert_ne!(first, second);
    let text = std::fs::read_to_string(&first).unwrap();
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["state_content"].as_str().unwrap().len(), 60_000);
    assert!(first.starts_with(project.home().join(".cache/mow").to_str().unwrap()), "{first}");
}

#[test]
fn init_lists_its_subcommands_for_an_unknown_one() {
    sandbox().call(["init", "nothing"]).run().refuses("execute-phase");
}

#[test]
fn every_subcommand_except_auto_releases_claims_of_missing_worktrees() {
    let state = "# State\n\n## Worktree Assignments\n\n\
        | Worktree | Branch | Phase | Plan | Status | Started | Agent |\n\
        |---|---|---|---|---|---|---|\n\
        | /gone/p03 | phase-03 | 3 | — | executing | 2026-01-02T03:04:05.000Z | a |\n";
    let project = project();
    project.git(".", &["init", "--quiet"]);
    project.write(".planning/STATE.md", state);
    assert!(project.call(["init", "auto"]).run().status.success());
    assert_eq!(project.text(".planning/STATE.md"), state);
    assert!(project.call(["init", "resume"]).run().status.success());
    assert!(!project.text(".planning/STATE.md").contains("/gone/p03"));
}
