//! Tests of `commit`: which files are committed, and the answer when there is nothing to commit.

use mow_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::sandbox;

/// A repository with one commit and its own author identity.
fn repository() -> Sandbox {
    let project = sandbox().file(".planning/STATE.md", "one\n").file("src/a.rs", "a\n");
    project.git(".", &["init", "--quiet", "--initial-branch=main"]);
    project.git(".", &["config", "user.name", "Test"]);
    project.git(".", &["config", "user.email", "t@t"]);
    project.git(".", &["add", "."]);
    project.git(".", &["commit", "--quiet", "-m", "first"]);
    project
}

fn skipped(reason: &str) -> Value {
    json!({ "committed": false, "hash": null, "reason": reason })
}

fn head_files(project: &Sandbox) -> String {
    project.git(".", &["show", "--format=%s", "--name-only", "HEAD"])
}

#[test]
fn commits_the_planning_directory_or_the_named_files() {
    let project = repository();
    project.write(".planning/STATE.md", "two\n");
    project.write(".planning/new.md", "new\n");
    project.write("src/a.rs", "b\n");
    let answer = project.call(["commit", "docs: $1 \"two\" --x"]).run().json();
    let hash = project.git(".", &["rev-parse", "--short", "HEAD"]);
    let hash = hash.trim_end();
    assert_eq!(answer, json!({ "committed": true, "hash": hash, "reason": "committed" }));
    let expected = "docs: $1 \"two\" --x\n\n.planning/STATE.md\n.planning/new.md\n";
    assert_eq!(head_files(&project), expected);
    let raw =
        project.call(["commit", "code", "--files", "src/a.rs", "--raw"]).run().stdout_on_success();
    assert_eq!(raw, project.git(".", &["rev-parse", "--short", "HEAD"]).trim_end());
    assert_eq!(head_files(&project), "code\n\nsrc/a.rs\n");
}

#[test]
fn d45_only_the_named_files_are_committed() {
    let project = repository();
    project.write("src/a.rs", "staged\n");
    project.git(".", &["add", "src/a.rs"]);
    project.write(".planning/STATE.md", "two\n");
    project.write(".planning/other.md", "other\n");
    project.make_dir(".planning/empty");
    let files = [".planning/STATE.md", ".planning/gone.md", ".planning/empty", ".planning/*.md"];
    let ran = project.call(["commit", "docs", "--files"].iter().chain(&files)).run();
    assert!(ran.status.success(), "{}", ran.transcript());
    assert!(ran.stderr.contains("gone.md"), "{}", ran.transcript());
    assert_eq!(head_files(&project), "docs\n\n.planning/STATE.md\n");
    let status = project.git(".", &["status", "--porcelain"]);
    assert_eq!(status, "M  src/a.rs\n?? .planning/other.md\n");
}

#[test]
fn d45_a_git_failure_differs_from_nothing_to_commit() {
    let project = repository();
    let nothing = skipped("nothing_to_commit");
    project.call(["commit", "docs"]).run().prints_json(&nothing);
    project.call(["commit", "docs", "--raw"]).run().prints("nothing");
    project.write(".git/hooks/pre-commit", "#!/bin/sh\necho no such luck >&2\nexit 1\n");
    make_executable(&project, ".git/hooks/pre-commit");
    project.write(".planning/STATE.md", "two\n");
    let ran = project.call(["commit", "docs"]).run();
    assert!(ran.status.success() && ran.stderr.contains("no such luck"), "{}", ran.transcript());
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["reason"], json!("commit_failed"));
    assert_eq!(answer["error"], json!("no such luck"));
    assert_eq!(project.git(".", &["rev-list", "--count", "HEAD"]), "1\n");
    let bare = sandbox().file(".planning/STATE.md", "one\n");
    let ran = bare.call(["commit", "docs", "--raw"]).run();
    assert!(ran.status.success() && ran.stderr.contains("not a git repository"));
    assert_eq!(ran.stdout, "nothing");
}

fn make_executable(project: &Sandbox, path: &str) {
    project.set_mode(path, 0o755);
}

#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
fn remove(project: &Sandbox, path: &str) {
    std::fs::remove_file(project.root().join(path)).expect("it was there");
}

#[test]
fn amend_keeps_the_message_and_the_staged_files() {
    let project = repository();
    project.write("src/a.rs", "staged\n");
    project.git(".", &["add", "src/a.rs"]);
    project.write(".planning/STATE.md", "two\n");
    let answer = project.call(["commit", "--amend"]).run().json();
    assert_eq!(answer["committed"], json!(true));
    assert_eq!(project.git(".", &["rev-list", "--count", "HEAD"]), "1\n");
    assert_eq!(project.git(".", &["show", "--format=", "HEAD:.planning/STATE.md"]), "two\n");
    assert_eq!(project.git(".", &["status", "--porcelain"]), "M  src/a.rs\n");
    // Without changes to the named files, the amend still leaves the staged files alone.
    project.call(["commit", "--amend", "--raw"]).run().stdout_on_success();
    assert_eq!(project.git(".", &["status", "--porcelain"]), "M  src/a.rs\n");
}

#[test]
fn removed_files_are_committed_as_removed() {
    let project = repository();
    remove(&project, ".planning/STATE.md");
    let call = ["commit", "drop", "--files", ".planning/STATE.md"];
    assert_eq!(project.call(call).run().json()["committed"], json!(true));
    assert_eq!(project.git(".", &["ls-files"]), "src/a.rs\n");
}

#[test]
fn file_names_are_relative_to_the_current_directory() {
    let project = repository();
    project.write("src/a.rs", "b\n");
    project.write(".planning/STATE.md", "two\n");
    let call = project.call(["commit", "code", "--files", "a.rs"]).cwd("src");
    assert_eq!(call.run().json()["committed"], json!(true));
    assert_eq!(head_files(&project), "code\n\nsrc/a.rs\n");
    let call = project.call(["commit", "docs"]).cwd("src");
    assert_eq!(call.run().json()["committed"], json!(true));
    assert_eq!(head_files(&project), "docs\n\n.planning/STATE.md\n");
}

#[test]
fn a_project_may_keep_its_planning_files_out_of_git() {
    let project = repository();
    project.write(".planning/STATE.md", "two\n");
    project.write(".planning/config.json", "{\"commit_docs\": false}");
    project.call(["commit", "docs"]).run().prints_json(&skipped("skipped_commit_docs_false"));
    project.call(["commit", "docs", "--raw"]).run().prints("skipped");
    project.write(".planning/config.json", "{}");
    for (pattern, place) in [(".planning/\n", ".gitignore"), (".planning\n", ".git/info/exclude")] {
        project.write(".gitignore", "");
        project.write(place, pattern);
        project.call(["commit", "docs"]).run().prints_json(&skipped("skipped_gitignored"));
    }
}

#[test]
fn d57_an_ignored_planning_directory_is_noticed_despite_tracked_files() {
    let project = repository();
    project.write(".gitignore", ".planning/\n");
    project.write(".planning/STATE.md", "two\n");
    assert!(project.git(".", &["ls-files"]).contains(".planning/STATE.md"));
    project.call(["commit", "docs"]).run().prints_json(&skipped("skipped_gitignored"));
}

#[test]
fn a_missing_message_is_refused() {
    let project = repository();
    project.call(["commit"]).run().refuses("message required");
    project.call(["commit", ""]).run().refuses("message required");
    project.call(["commit", "--files", "a"]).run().refuses("message required");
    project.call(["commit", "--no-verify"]).run().refuses("--no-verify");
}
