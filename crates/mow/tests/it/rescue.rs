//! Tests `mow rescue list` and `mow rescue restore`: restoring overwrites nothing.

use std::fs;

use mow_host::git::Git;
use mow_host::rescue::rescue_uncommitted;
use mow_testkit::sandbox::Sandbox;
use serde_json::json;

use crate::sandbox;

/// Makes a repository with a rescue of a changed and a new file.
fn repository_with_rescue() -> Sandbox {
    let project = sandbox().file("a", "one\n").file(".planning/STATE.md", "# State\n");
    project.git(".", &["init", "-q", "-b", "main"]);
    project.git(".", &["add", "--all"]);
    project.git(".", &["commit", "-q", "-m", "first"]);
    project.write("a", "two\n");
    project.write("new file", "new\n");
    let kept = rescue_uncommitted(&Git::new(project.root()), "20260101-000000-0000/03-paused");
    assert!(kept.is_ok_and(|kept| kept.is_some()));
    project.git(".", &["reset", "-q", "--hard"]);
    project.git(".", &["clean", "-q", "-f", "-d"]);
    project
}

const NAME: &str = "20260101-000000-0000/03-paused/1";

#[test]
fn rescued_work_is_listed_and_restored() {
    let project = repository_with_rescue();
    let list = project.call(["rescue", "list", "--json"]).run().json();
    let kept = &list["rescues"][0];
    assert_eq!((&kept["name"], &kept["phase"]), (&json!(NAME), &json!("3")), "{list}");
    assert_eq!(kept["files"], json!(["a", "new file"]));
    assert_eq!(kept["uncommitted"], true);
    let text = project.call(["rescue", "list"]).run().stdout_on_success();
    assert!(text.contains("uncommitted work, phase 3") && text.contains("new file"), "{text}");
    let answer = project.call(["rescue", "restore", NAME, "--json"]).run().json();
    assert_eq!((&answer["here"], &answer["reason"]), (&json!(true), &json!(null)), "{answer}");
    assert_eq!(project.text("a"), "two\n");
    assert_eq!(project.text("new file"), "new\n");
    let list = project.call(["rescue", "list", "--json"]).run().json();
    assert_eq!(list["rescues"].as_array().unwrap().len(), 1, "the rescue stays");
}

#[test]
fn a_checkout_with_changes_is_not_touched() {
    let project = repository_with_rescue();
    project.write("a", "mine\n");
    let answer = project.call(["rescue", "restore", NAME, "--json"]).run().json();
    assert_eq!(answer["here"], false, "{answer}");
    assert_eq!(answer["reason"], "some of its files have uncommitted changes here");
    assert_eq!(project.text("a"), "mine\n");
    assert!(!project.root().join("new file").exists());
    let directory = answer["into"].as_str().unwrap();
    assert_eq!(fs::read_to_string(format!("{directory}/a")).unwrap(), "two\n");
    let status = project.git(directory, &["status", "--porcelain"]);
    assert_eq!(status, " M a\n?? \"new file\"\n", "the work is uncommitted, as before");
    project.call(["rescue", "restore", NAME]).run().refuses("already exists");
}

#[test]
fn work_that_no_longer_applies_is_restored_into_another_directory() {
    let project = repository_with_rescue();
    project.write("a", "other\n");
    project.git(".", &["commit", "-q", "-a", "-m", "other"]);
    let answer = project.call(["rescue", "restore", NAME, "--json"]).run().json();
    assert_eq!(answer["reason"], "its files have changed since then", "{answer}");
    assert_eq!(project.text("a"), "other\n");
    let answer = project.call(["rescue", "restore", NAME, "--into", "look", "--json"]).run().json();
    assert_eq!(answer["into"], json!(project.root().join("look")));
    assert_eq!(project.text("look/a"), "two\n");
}

#[test]
fn an_unknown_rescue_is_refused() {
    let project = repository_with_rescue();
    for name in ["nothing/1", "../../heads/main", "-x", ""] {
        let ran = project.call(["rescue", "restore", "--", name]).run();
        ran.refuses("there is no saved work named");
    }
    let agent = project.call(["rescue", "restore", NAME]).env("MOW_ROLE", "worker");
    agent.run().refuses("an agent of a run");
    let bare = sandbox();
    bare.call(["rescue", "list"]).run().refuses("there is no git repository here");
    bare.git(".", &["init", "-q"]);
    bare.call(["rescue", "list"]).run().prints("No saved work.\n");
}
