//! Tests how the project is found: directories, links, worktrees, and files that cannot be read.

use serde_json::json;

use crate::sandbox;

const STATE: &str = ".planning/STATE.md";
const BLOCKERS: &str = "## Blockers\n\n- a\n";
const ADD: [&str; 3] = ["state", "add-blocker", "b"];

#[test]
fn the_project_is_found_from_subdirectories_and_by_cwd_flag() {
    let project = sandbox().file(STATE, BLOCKERS).file("src/deep/x.md", "---\na: 1\n---\n");
    let added = json!({ "added": true, "blocker": "b" });
    project.call(ADD).cwd("src/deep").run().prints_json(&added);
    project.call(ADD).cwd(".planning").run().prints_json(&added);
    project.call([&["--cwd", "src"], &ADD[..]].concat()).run().prints_json(&added);
    project.call([&ADD[..], &["--cwd", ".."]].concat()).cwd("src").run().prints_json(&added);
    let root = project.root().to_str().unwrap();
    project.call([&["--cwd", root], &ADD[..]].concat()).cwd("..").run().prints_json(&added);
    assert_eq!(project.text(STATE), format!("{BLOCKERS}{}", "- b\n".repeat(5)));
    // File arguments are relative to the caller's directory, or to the one given with --cwd.
    let get = ["frontmatter", "get", "x.md"];
    project.call(get).cwd("src/deep").run().prints_json(&json!({ "a": "1" }));
    project
        .call([&["--cwd", "src/deep"], &get[..]].concat())
        .run()
        .prints_json(&json!({ "a": "1" }));
    let missing = json!({ "error": "File not found", "path": "x.md" });
    project.call(get).run().prints_json(&missing);
    let file = project.root().join("src/deep/x.md");
    let get = ["frontmatter".as_ref(), "get".as_ref(), file.as_os_str()];
    project.call(get).cwd("..").run().prints_json(&json!({ "a": "1" }));
}

#[test]
fn printed_paths_start_at_the_root() {
    let project = sandbox().file(".planning/phases/03-a/03-01-PLAN.md", "");
    let path = ".planning/phases/03-a/03-STATUS.md";
    project.call(["status", "init", "3", "--raw"]).cwd(".planning/phases").run().prints(path);
    assert!(project.text(path).starts_with("# Phase 03: A"));
}

#[test]
fn outside_of_any_project_nothing_is_created() {
    let project = sandbox();
    project.call(["roadmap", "phases"]).run().refuses("ROADMAP.md not found");
    project.call(["status", "init", "3"]).run().refuses("Phase 3 not found");
    project.call(["state-snapshot"]).run().prints_json(&json!({ "error": "STATE.md not found" }));
    project.call(["state", "active-phases"]).run().prints_json(&json!([]));
    project.call(ADD).run().prints_json(&json!({ "error": "STATE.md not found" }));
    let row = ["state", "update-phase-row", "3", "--name", "N", "--status", "s"];
    project.call(row).run().refuses("STATE.md not found");
    let set = ["frontmatter", "set", "x.md", "--field", "a", "--value", "1"];
    project.call(set).run().prints_json(&json!({ "error": "File not found", "path": "x.md" }));
    let created: Vec<_> = std::fs::read_dir(project.root()).unwrap().collect();
    assert_eq!(created.len(), 0, "{created:?}");
}

#[test]
fn reading_creates_nothing() {
    let project = sandbox().file(STATE, BLOCKERS).file(".planning/ROADMAP.md", "## Phase 1: A\n");
    for call in [
        ["roadmap", "phases"],
        ["roadmap", "analyze"],
        ["roadmap", "graph"],
        ["state", "active-phases"],
    ] {
        let _ = project.call(call).run();
    }
    let names = std::fs::read_dir(project.root().join(".planning")).unwrap();
    assert_eq!(names.count(), 2);
}

/// Makes a repository whose `.planning/` is ignored or committed, with a linked worktree.
fn repository_with_worktree(ignored: bool) -> mow_testkit::sandbox::Sandbox {
    let project = sandbox().file(STATE, BLOCKERS).file("src/a.txt", "");
    if ignored {
        project.write(".gitignore", ".planning/\n");
    }
    project.git(".", &["init", "--quiet", "--initial-branch=main"]);
    project.git(".", &["add", "."]);
    project.git(".", &["commit", "--quiet", "--message=start"]);
    project.git(".", &["worktree", "add", "--quiet", "../linked"]);
    project
}

#[test]
fn a_linked_worktree_without_planning_files_uses_those_of_the_main_checkout() {
    let project = repository_with_worktree(true);
    let added = json!({ "added": true, "blocker": "b" });
    project.call(ADD).cwd("../linked").run().prints_json(&added);
    project.call(ADD).cwd("../linked/src").run().prints_json(&added);
    assert_eq!(project.text(STATE), format!("{BLOCKERS}- b\n- b\n"));
    assert!(!project.root().join("../linked/.planning").exists());
}

#[test]
fn a_linked_worktree_with_planning_files_uses_its_own() {
    let project = repository_with_worktree(false);
    let added = json!({ "added": true, "blocker": "b" });
    project.call(ADD).cwd("../linked/src").run().prints_json(&added);
    assert_eq!(project.text(STATE), BLOCKERS);
    assert_eq!(project.text("../linked/.planning/STATE.md"), format!("{BLOCKERS}- b\n"));
    // Locks and engine files are not in the worktree.
    assert_eq!(project.git("../linked", &["status", "--porcelain"]), " M .planning/STATE.md\n");
    assert_eq!(project.git(".", &["status", "--porcelain"]), "");
}

#[test]
fn planning_files_above_the_repository_are_not_used() {
    let project = sandbox().file(STATE, BLOCKERS).file("inner/a.txt", "");
    project.git("inner", &["init", "--quiet"]);
    project.call(ADD).cwd("inner").run().prints_json(&json!({ "error": "STATE.md not found" }));
}

#[test]
fn planning_may_be_a_link() {
    let project = sandbox().file("../elsewhere/STATE.md", BLOCKERS);
    project.link(".planning", "../elsewhere");
    project.call(ADD).run().prints_json(&json!({ "added": true, "blocker": "b" }));
    assert_eq!(project.text("../elsewhere/STATE.md"), format!("{BLOCKERS}- b\n"));
    assert!(project.root().join(".planning").is_symlink());
}

#[test]
fn a_file_may_be_a_link_within_the_project() {
    let project = sandbox().file("docs/STATE.md", BLOCKERS);
    project.make_dir(".planning");
    project.link(STATE, "../docs/STATE.md");
    project.call(ADD).run().prints_json(&json!({ "added": true, "blocker": "b" }));
    assert_eq!(project.text("docs/STATE.md"), format!("{BLOCKERS}- b\n"));
    assert!(project.root().join(STATE).is_symlink());
}

#[test]
fn a_file_that_leads_out_of_the_project_is_not_written() {
    let project = sandbox().file("../other/STATE.md", BLOCKERS);
    project.make_dir(".planning");
    project.link(STATE, "../../other/STATE.md");
    project.call(ADD).run().refuses("leads outside");
    assert_eq!(project.text("../other/STATE.md"), BLOCKERS);
}

/// Contract commands know two exit codes. The test uses a directory and a link to itself, because
/// even the superuser cannot read those.
#[test]
fn an_unreadable_file_is_named() {
    let project = sandbox();
    project.make_dir(STATE);
    project.link(".planning/ROADMAP.md", "ROADMAP.md");
    for call in [&["state-snapshot"][..], &["state", "active-phases"], &ADD] {
        project.call(call).run().refuses("STATE.md");
    }
    for call in [["roadmap", "analyze"], ["roadmap", "analyze-dag"]] {
        project.call(call).run().refuses("ROADMAP.md");
    }
    let ran = project.call(["roadmap", "phases"]).run();
    assert_eq!(ran.status.code(), Some(3), "{}", ran.transcript());
}

#[test]
fn commands_work_without_a_home_directory() {
    let project = sandbox().file(STATE, BLOCKERS).file(".planning/phases/03-a/03-01-PLAN.md", "");
    let call = project.call(ADD).without_env("HOME").without_env("PATH").without_env("TMPDIR");
    call.run().prints_json(&json!({ "added": true, "blocker": "b" }));
    let call = project.call(["status", "init", "3", "--raw"]).without_env("HOME");
    call.run().prints(".planning/phases/03-a/03-STATUS.md");
}

/// An edit leaves bytes that are not UTF-8 as they are.
#[test]
fn bytes_that_are_not_text_survive() {
    let before = b"\xef\xbb\xbf# S \xff\n\n## Blockers\n\n- a \xc3\n\n## \xfe Last\n".as_slice();
    let project = sandbox().file(STATE, before);
    project.call(ADD).run().prints_json(&json!({ "added": true, "blocker": "b" }));
    let after =
        b"\xef\xbb\xbf# S \xff\n\n## Blockers\n\n- a \xc3\n- b\n\n## \xfe Last\n".as_slice();
    assert_eq!(project.bytes(STATE), after);
}

#[test]
fn the_mode_of_a_file_stays() {
    use std::os::unix::fs::PermissionsExt;
    let project = sandbox().file(STATE, BLOCKERS);
    let path = project.root().join(STATE);
    let mode = |wanted: Option<u32>| {
        if let Some(wanted) = wanted {
            project.set_mode(STATE, wanted);
        }
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777
    };
    mode(Some(0o640));
    project.call(ADD).run().prints_json(&json!({ "added": true, "blocker": "b" }));
    assert_eq!(mode(None), 0o640);
}

#[test]
fn a_read_only_project_can_be_read() {
    let project = sandbox().file(".planning/STATE.md", "# State\n\n## Blockers\n\nNone\n");
    project.call(["dashboard"]).run().prints("No active phases\n");
    for (path, mode) in [(".planning/STATE.md", 0o444), (".planning", 0o555), (".", 0o555)] {
        project.set_mode(path, mode);
    }
    let call = |words: &[&str]| project.call(words).unprivileged().run();
    call(&["dashboard"]).prints("No active phases\n");
    assert!(call(&["state", "get"]).stdout_on_success().contains("Blockers"));
    let report = call(&["doctor", "--json"]);
    assert!(report.stdout.contains("cannot be written"), "{}", report.transcript());
    let refused = call(&["state", "add-blocker", "x"]);
    assert!(
        refused.stderr.contains("Hint: mow has no write permission there"),
        "{}",
        refused.transcript()
    );
    refused.refuses("permission denied");
    project.set_mode(".", 0o755);
}
