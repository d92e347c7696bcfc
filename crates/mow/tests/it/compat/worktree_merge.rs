//! Tests of `worktree merge` and `worktree merge-state`.

use mow_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::sandbox;
use crate::worktree_fixture::{STATE, answer, mow, repository};

/// A repository whose phase 3 has a commit that changes a file.
fn with_work(file: &str, text: &str) -> Sandbox {
    let project = repository();
    answer(mow(&project, ".", &["worktree", "create", "3"]));
    project.git(".worktrees/p03", &["checkout", "-q", "."]);
    project.git(".worktrees/p03", &["clean", "-qfd"]);
    project.write(&format!(".worktrees/p03/{file}"), text);
    project.git(".worktrees/p03", &["add", "."]);
    project.git(".worktrees/p03", &["commit", "-qm", "work"]);
    project
}

fn entry(project: &Sandbox) -> Value {
    let text = project.text(".worktrees/manifest.json");
    let manifest: Value = serde_json::from_str(&text).expect("the manifest is JSON");
    manifest["worktrees"]["p03"].clone()
}

fn done() -> Value {
    json!({ "merged": true, "conflicts": false })
}

fn conflict() -> Value {
    json!({ "merged": false, "conflicts": true, "conflict_files": ["code.txt"] })
}

#[test]
fn worktree_merge_merges_a_branch_in_the_main_root() {
    let project = with_work("new.txt", "new\n");
    mow(&project, ".", &["worktree", "merge", "3"]).prints_json(&done());
    assert_eq!(project.text("new.txt"), "new\n");
    let subject = project.git(".", &["log", "-1", "--format=%s %p"]);
    assert!(subject.starts_with("merge: phase 3 into main "), "{subject}");
    assert_eq!(subject.trim().split(' ').count(), 7, "a merge has two parents: {subject}");
    let entry = entry(&project);
    assert_eq!((&entry["merged"], &entry["status"]), (&json!(true), &json!("merged")));
    assert!(entry["merged_at"].is_string());
    mow(&project, ".", &["worktree", "merge", "9"]).refuses("phase-09");
    mow(&project, ".", &["worktree", "merge"]).refuses("");
}

#[test]
fn worktree_merge_leaves_conflicts_in_progress() {
    let project = with_work("code.txt", "theirs\n");
    project.write("code.txt", "ours\n");
    project.git(".", &["commit", "-qam", "ours"]);
    let head = project.git(".", &["rev-parse", "HEAD"]);
    mow(&project, ".", &["worktree", "merge", "3", "--abort-on-conflict"]).prints_json(&conflict());
    assert_eq!(project.git(".", &["status", "--porcelain"]), "");
    mow(&project, ".", &["worktree", "merge", "3"]).prints_json(&conflict());
    assert!(project.root().join(".git/MERGE_HEAD").exists());
    assert_eq!(project.git(".", &["rev-parse", "HEAD"]), head);
    assert_eq!(entry(&project)["merged"], false);
}

#[test]
fn d13_worktree_merge_merges_into_the_named_branch() {
    let project = with_work("new.txt", "new\n");
    project.git(".", &["branch", "release"]);
    let head = project.git(".", &["rev-parse", "main"]);
    mow(&project, ".", &["worktree", "merge", "3", "--into", "release"]).prints_json(&done());
    assert_eq!(project.git(".", &["rev-parse", "main"]), head);
    assert_eq!(project.git(".", &["show", "release:new.txt"]), "new\n");
    assert!(!project.root().join("new.txt").exists());
    mow(&project, ".", &["worktree", "merge", "3", "--into", "nowhere"]).refuses("nowhere");
    mow(&project, ".", &["worktree", "merge", "3", "--into", "--all"]).refuses("--all");
    project.git(".", &["checkout", "-q", "--detach"]);
    mow(&project, ".", &["worktree", "merge", "3"]).refuses("target is not known");
}

#[test]
fn worktree_merge_merges_into_the_milestone_branch() {
    let project = with_work("new.txt", "new\n");
    project.write(".planning/ROADMAP.md", "# Roadmap\n\n## v1.2 Next Thing (In Progress)\n");
    project.write(".planning/config.json", "{\"git\": {\"branching_strategy\": \"milestone\"}}");
    let merge = || mow(&project, ".", &["worktree", "merge", "3"]);
    merge().refuses("there is no branch `mow/v1.2-next-thing`");
    project.git(".", &["branch", "mow/v1.2-next-thing"]);
    let head = project.git(".", &["rev-parse", "main"]);
    project.git(".", &["checkout", "-q", "--detach"]);
    merge().prints_json(&done());
    assert_eq!(project.git(".", &["show", "mow/v1.2-next-thing:new.txt"]), "new\n");
    assert_eq!(project.git(".", &["rev-parse", "main"]), head);
    project.git(".", &["branch", "other"]);
    project.write(
        ".planning/config.json",
        "{\"git\": {\"branching_strategy\": \"milestone\", \"target\": \"other\"}}",
    );
    merge().prints_json(&done());
    assert_eq!(project.git(".", &["show", "other:new.txt"]), "new\n");
}

#[test]
fn d13_a_conflict_outside_of_the_root_leaves_nothing_in_progress() {
    let project = with_work("code.txt", "theirs\n");
    project.git(".", &["checkout", "-qb", "release"]);
    project.write("code.txt", "ours\n");
    project.git(".", &["commit", "-qam", "ours"]);
    project.git(".", &["checkout", "-q", "main"]);
    let before = project.git(".", &["rev-parse", "release"]);
    mow(&project, ".", &["worktree", "merge", "3", "--into", "release"]).prints_json(&conflict());
    assert_eq!(project.git(".", &["rev-parse", "release"]), before);
    assert_eq!(project.git(".", &["status", "--porcelain"]), "");
}

#[test]
fn d13_uncommitted_work_in_the_root_is_never_touched() {
    let project = with_work("code.txt", "theirs\n");
    project.write(".planning/STATE.md", "# mine\n");
    mow(&project, ".", &["worktree", "merge", "3"]).prints_json(&done());
    assert_eq!(project.text("code.txt"), "theirs\n");
    assert_eq!(project.text(".planning/STATE.md"), "# mine\n");
    assert_eq!(project.git(".", &["status", "--porcelain"]), " M .planning/STATE.md\n");

    let project = with_work("code.txt", "theirs\n");
    project.write("code.txt", "mine\n");
    let head = project.git(".", &["rev-parse", "HEAD"]);
    mow(&project, ".", &["worktree", "merge", "3"]).refuses("cannot move");
    assert_eq!(project.text("code.txt"), "mine\n");
    assert_eq!(project.git(".", &["rev-parse", "HEAD"]), head);
    assert_eq!(entry(&project)["merged"], false);
}

#[test]
fn worktree_merge_warns_about_uncommitted_work() {
    let project = with_work("new.txt", "new\n");
    project.write(".worktrees/p03/late.txt", "late\n");
    let ran = mow(&project, ".", &["worktree", "merge", "3"]);
    assert!(ran.stderr.contains("uncommitted work"), "{}", ran.transcript());
    assert_eq!(answer(ran), done());
}

#[test]
fn worktree_merge_state_merges_files() {
    let list = |items: &str| format!("# State\n\n## Blockers\n\n{items}\n## Session\n\nx\n");
    let project = sandbox()
        .file("base.md", list("- a\n"))
        .file("ours.md", list("- a\n- b\n"))
        .file("theirs.md", list("- a\n- c\n"));
    let call = ["worktree", "merge-state", "base.md", "ours.md", "theirs.md"];
    let merged = mow(&project, ".", &call);
    assert_eq!(answer(merged), json!({ "merged": true, "changed": true }));
    assert_eq!(project.text("ours.md"), list("- a\n- b\n- c\n"));
    mow(&project, ".", &["worktree", "merge-state"]).refuses("");
    mow(&project, ".", &["worktree", "merge-state", "base.md"]).refuses("");
    let missing = ["worktree", "merge-state", "none.md", "ours.md", "theirs.md"];
    mow(&project, ".", &missing).refuses("none.md");
}

#[test]
fn worktree_merge_state_merges_the_file_of_a_branch() {
    let theirs = STATE.replace("here", "there").replace("Phase: 3", "Phase: 4");
    let project = with_work(".planning/STATE.md", &theirs);
    let ours = STATE.replace("## Session", "## Notes\n\nMine\n\n## Session");
    project.write(".planning/STATE.md", &ours);
    let merged = mow(&project, ".", &["worktree", "merge-state", "--branch", "phase-03"]);
    assert_eq!(answer(merged)["changed"], true);
    let both = theirs.replace("## Session", "## Notes\n\nMine\n\n## Session");
    assert_eq!(project.text(".planning/STATE.md"), both);
    mow(&project, ".", &["worktree", "merge-state", "--branch", "none"]).refuses("none");
}
