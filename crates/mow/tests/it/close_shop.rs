//! Tests `mow close-shop`: ideas become todos once, claims are released, planning files committed.

use std::fs;

use mow_testkit::sandbox::Sandbox;
use serde_json::json;

use crate::run_fixture::{journal, json_of, planned, run_all};
use crate::today;

fn project_with_complete_run() -> Sandbox {
    let project = planned(&[(&[], "true"), (&[], "true")]);
    let ran = run_all(&project);
    assert!(ran.status.success(), "{}", ran.transcript());
    project
}

/// Asserts that no phase and no question of the run is shown any more, and no next step.
fn assert_nothing_is_active(project: &Sandbox) {
    let ps = json_of(project, &["ps"]);
    assert_eq!((&ps["phases"], &ps["questions"]), (&json!([]), &json!([])), "{ps}");
    assert_eq!((&ps["over"], &ps["next"]), (&json!(true), &json!(null)), "{ps}");
    assert_eq!(json_of(project, &["inbox"])["questions"], json!([]));
}

#[test]
fn a_run_is_closed_and_each_deferred_idea_becomes_one_todo() {
    let project = project_with_complete_run();
    project.call(["close-shop"]).run().refuses("nothing was closed");
    let team = ["team-update", "--action", "start", "--team-name", "crew"];
    let _ = project.call(team).run().stdout_on_success();
    project.write(".planning/chat-logs/phase-01-to-phase-02.ndjson", "{}\n");
    let closed = json_of(&project, &["close-shop", "--yes"]);
    let file = |n: u32| format!(".planning/todos/pending/{}-idea-{n}-later-maybe.md", today());
    assert_eq!(
        closed["todos"],
        json!([
            { "file": file(1), "title": "Idea 1: later maybe.", "phase": "1" },
            { "file": file(2), "title": "Idea 2: later maybe.", "phase": "2" },
        ])
    );
    assert_eq!((&closed["open"], &closed["team_stopped"]), (&json!([]), &json!(true)));
    assert_eq!(closed["commit"]["committed"], true, "{closed}");
    assert_eq!(closed["worktrees"].as_array().unwrap().len(), 2, "{closed}");
    assert_eq!(project.git(".", &["status", "--porcelain"]), "");
    let text = project.text(&file(1));
    assert!(text.contains("phase 1 (Part 1)") && text.contains("**later** maybe."), "{text}");
    let todos = project.call(["list-todos"]).run().json();
    assert_eq!((&todos["count"], &todos["todos"][0]["area"]), (&json!(2), &json!("general")));
    // One todo is started and one is completed. Neither is created again.
    let name = |n: u32| file(n).rsplit('/').next().unwrap().to_owned();
    let _ = project.call(["todo", "start", &name(1)]).run().stdout_on_success();
    let _ = project.call(["todo", "complete", &name(2)]).run().stdout_on_success();
    let again = json_of(&project, &["close-shop", "--yes"]);
    assert_eq!((&again["todos"], &again["team_stopped"]), (&json!([]), &json!(false)));
    assert_nothing_is_active(&project);
    let state = project.text(".planning/STATE.md");
    assert!(state.contains("closed: 2 of 2 phases merged\n"), "{state}");
    assert!(!project.root().join(".planning/chat-logs/phase-01-to-phase-02.ndjson").exists());
    let pending = fs::read_dir(project.root().join(".planning/todos/pending")).unwrap();
    assert_eq!(pending.count(), 0);
}

#[test]
fn planning_files_stay_uncommitted_if_commit_docs_is_false() {
    let project = planned(&[(&[], "true")]);
    project.write(
        ".planning/config.json",
        r#"{ "commit_docs": false, "workflow": { "research": false } }"#,
    );
    project.git(".", &["commit", "-q", "-a", "-m", "set"]);
    let ran = run_all(&project);
    assert!(ran.status.success(), "{}", ran.transcript());
    let head = project.git(".", &["rev-parse", "HEAD"]);
    let closed = json_of(&project, &["close-shop", "--yes"]);
    assert_eq!(closed["commit"]["reason"], "skipped_commit_docs_false", "{closed}");
    assert_eq!(closed["todos"].as_array().unwrap().len(), 1);
    assert_eq!(project.git(".", &["rev-parse", "HEAD"]), head);
}

#[test]
fn unmerged_phases_are_named() {
    let project = planned(&[(&[], "exit 1"), (&[], "true")]);
    assert_eq!(run_all(&project).status.code(), Some(1));
    project.call(["close-shop", "--yes"]).run().refuses("not merged: 1 (failed)");
    let closed = json_of(&project, &["close-shop", "--yes", "--force"]);
    assert_eq!(closed["open"], json!(["1"]));
    let kept = &closed["kept"][0];
    assert_eq!((&kept["phase"], &kept["branch"]), (&json!("1"), &json!("phase-01")), "{closed}");
    assert!(kept["worktree"].as_str().unwrap().ends_with(".worktrees/p01"), "{closed}");
    let claims = project.call(["worktree", "status"]).run().json();
    assert_eq!(claims, json!([]), "claims are released");
    assert_nothing_is_active(&project);
    assert_eq!(project.git(".", &["rev-parse", "--verify", "-q", "phase-01"]).trim().len(), 40);
    let journal = fs::read_to_string(journal(&project)).unwrap();
    assert!(journal.contains("\"event\":\"withdrawn\"") && journal.contains("run_closed"));
    // The next run is a new one.
    assert_eq!(run_all(&project).status.code(), Some(1));
    assert_eq!(fs::read_dir(project.root().join(".git/mow/runs")).unwrap().count(), 2);
}
