//! Tests of `worktree create`, `create-native`, the manifest, `migrate`, `stash` and `prune`.

use std::fs;
use std::thread;

use mow_testkit::program_call::ProgramCall;
use mow_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::sandbox;
use crate::worktree_fixture::{answer, call, mow, remove_dir, repository};

/// Prepares a call in a project that keeps its worktrees in `.claude/worktrees`.
fn claude(project: &Sandbox, arguments: &[&str]) -> ProgramCall {
    let call = call(project, ".", arguments);
    call.env("MOW_WORKTREE__ROOT", ".claude/worktrees").env("MOW_WORKTREE__NAME", "phase-{NN}")
}

fn manifest(project: &Sandbox, home: &str) -> Value {
    let text = project.text(&format!("{home}/manifest.json"));
    serde_json::from_str(&text).expect("the manifest is JSON")
}

#[test]
fn worktree_create_creates_a_checkout_for_a_phase() {
    let project = repository();
    let path = project.root().join(".worktrees/p03").display().to_string();
    mow(&project, ".", &["worktree", "create", "3"]).prints_json(
        &json!({ "path": path, "branch": "phase-03", "phase": "03", "reused": false }),
    );
    assert_eq!(project.git(".worktrees/p03", &["branch", "--show-current"]).trim(), "phase-03");
    assert!(project.text(".worktrees/p03/.planning/phases/03-auth/03-STATUS.md").contains("03-01"));
    let manifest = manifest(&project, ".worktrees");
    assert_eq!((&manifest["version"], &manifest["project"]), (&json!("1.0"), &json!("project")));
    let entry = manifest["worktrees"]["p03"].as_object().unwrap();
    let keys: Vec<_> = entry.keys().map(String::as_str).collect();
    let expected = [
        "path",
        "branch",
        "phase",
        "phase_name",
        "created",
        "status",
        "stash_ref",
        "last_commit",
        "merged",
        "merged_at",
    ];
    assert_eq!(keys, expected);
    assert_eq!(entry["path"], ".worktrees/p03");
    assert_eq!((&entry["phase"], &entry["phase_name"]), (&json!("03"), &json!("Auth")));
    assert_eq!((&entry["status"], &entry["merged"]), (&json!("active"), &json!(false)));
    // The worktree directory is ignored by git without a change to the user's files.
    assert_eq!(project.git(".", &["status", "--porcelain"]), "");
    assert!(!project.root().join(".gitignore").exists());
    answer(mow(&project, ".", &["worktree", "create", "4"]));
    let exclude = project.text(".git/info/exclude");
    assert_eq!(exclude.matches("/.worktrees/\n").count(), 1, "{exclude}");
}

#[test]
fn worktree_create_uses_the_configured_directory() {
    let project = repository();
    let path = project.root().join(".claude/worktrees/phase-09").display().to_string();
    let made = json!({ "path": path, "branch": "phase-09", "phase": "09", "reused": false });
    let ran = claude(&project, &["worktree", "create-native", "--name", "phase-9"]).run();
    assert_eq!(answer(ran), made);
    assert_eq!(
        manifest(&project, ".claude/worktrees")["worktrees"]["phase-09"]["branch"],
        "phase-09"
    );
    // An existing worktree directory stays in use, with its naming scheme.
    let again = mow(&project, ".", &["worktree", "create", "10"]);
    assert!(answer(again)["path"].as_str().unwrap().ends_with("/.claude/worktrees/phase-10"));
    assert!(!project.root().join(".worktrees").exists());
}

#[test]
fn worktree_create_native_also_creates_worktrees_without_a_phase() {
    let project = repository();
    let path = project.root().join(".worktrees/feature").display().to_string();
    mow(&project, ".", &["worktree", "create-native", "--name", "feature"])
        .prints_json(&json!({ "path": path, "branch": "feature", "phase": null, "reused": false }));
    assert!(!project.root().join(".worktrees/manifest.json").exists());
    mow(&project, ".", &["worktree", "create-native", "--name", "feature"]).refuses("feature");
    for name in ["../x", "a/b", "-x", "", ".git", "a\nb"] {
        mow(&project, ".", &["worktree", "create-native", "--name", name]).refuses("name");
    }
    mow(&project, ".", &["worktree", "create"]).refuses("--name");
    mow(&project, ".", &["worktree", "create-native"]).refuses("--name");
    mow(&sandbox(), ".", &["worktree", "create", "3"]).refuses("git repository");
}

#[test]
fn d8_planning_files_in_a_new_worktree_equal_those_in_the_root() {
    let project = repository();
    project.write(".planning/STATE.md", "# Changed\n");
    project.write(".planning/new/NOTE.md", "new\n");
    project.git(".", &["rm", "-q", "--cached", ".planning/ROADMAP.md"]);
    project.git(".", &["clean", "-qf", ".planning/ROADMAP.md"]);
    answer(mow(&project, ".", &["worktree", "create", "3"]));
    let in_tree = |file: &str| project.root().join(".worktrees/p03/.planning").join(file);
    assert_eq!(fs::read_to_string(in_tree("STATE.md")).unwrap(), "# Changed\n");
    assert_eq!(fs::read_to_string(in_tree("new/NOTE.md")).unwrap(), "new\n");
    assert!(!in_tree("ROADMAP.md").exists() && !in_tree(".planning").exists());
}

#[test]
fn d42_a_worktree_has_no_manifest_of_its_own() {
    let project = repository();
    answer(mow(&project, ".", &["worktree", "create", "3"]));
    let made = answer(mow(&project, ".worktrees/p03", &["worktree", "create", "4"]));
    let path = project.root().join(".worktrees/p04").display().to_string();
    assert_eq!(made["path"], json!(path));
    assert!(!project.root().join(".worktrees/p03/.worktrees").exists());
    let listed = answer(mow(&project, ".worktrees/p03", &["worktree", "list-manifest"]));
    let names: Vec<_> = listed["worktrees"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["p03", "p04"]);
}

#[test]
fn d43_worktrees_are_created_for_decimals_and_existing_branches() {
    let project = repository();
    project.make_dir(".planning/phases/03.1-fix");
    project.git(".", &["branch", "phase-03.1"]);
    let made = answer(mow(&project, ".", &["worktree", "create", "3.1"]));
    assert_eq!((&made["branch"], &made["phase"]), (&json!("phase-03.1"), &json!("03.1")));
    assert_eq!(manifest(&project, ".worktrees")["worktrees"]["p03.1"]["phase"], "03.1");
    assert!(
        project.root().join(".worktrees/p03.1/.planning/phases/03.1-fix/03.1-STATUS.md").exists()
    );
}

#[test]
fn d43_an_existing_branch_keeps_its_phase_files() {
    let project = repository();
    project.git(".", &["checkout", "-qb", "phase-03"]);
    project.write(".planning/phases/03-auth/03-STATUS.md", "# own\n");
    project.git(".", &["add", "."]);
    project.git(".", &["commit", "-qm", "status"]);
    project.git(".", &["checkout", "-q", "main"]);
    answer(mow(&project, ".", &["worktree", "create", "3"]));
    let status = project.text(".worktrees/p03/.planning/phases/03-auth/03-STATUS.md");
    assert_eq!(status, "# own\n");
    assert_eq!(project.git(".worktrees/p03", &["status", "--porcelain"]), "");
}

#[test]
fn an_existing_worktree_is_reused_and_its_stash_restored() {
    let project = repository();
    answer(mow(&project, ".", &["worktree", "create", "3"]));
    project.git(".worktrees/p03", &["add", "."]);
    project.git(".worktrees/p03", &["commit", "-qm", "status"]);
    mow(&project, ".", &["worktree", "stash", "3"]).prints_json(&json!({
        "stashed": false, "phase": "03", "stash_ref": null, "reason": "nothing to stash"
    }));
    project.write(".worktrees/p03/code.txt", "work\n");
    project.write(".worktrees/p03/new.txt", "new\n");
    let stashed = answer(mow(&project, ".", &["worktree", "stash", "03"]));
    let hash = stashed["stash_ref"].as_str().unwrap().to_owned();
    assert_eq!((&stashed["stashed"], hash.len()), (&json!(true), 40));
    assert_eq!(project.text(".worktrees/p03/code.txt"), "one\n");
    // A newer stash on top of the list must not be taken for this one.
    project.write("code.txt", "other\n");
    project.git(".", &["stash", "push", "-q", "-m", "mine"]);
    let ran = mow(&project, ".", &["worktree", "create", "3"]);
    assert!(ran.stderr.starts_with("MOW: "), "{}", ran.transcript());
    let path = project.root().join(".worktrees/p03").display().to_string();
    assert_eq!(
        answer(ran),
        json!({ "path": path, "branch": "phase-03", "phase": "03", "reused": true,
                "stash_restored": true })
    );
    assert_eq!(project.text(".worktrees/p03/code.txt"), "work\n");
    assert_eq!(project.text(".worktrees/p03/new.txt"), "new\n");
    assert_eq!(project.git(".", &["stash", "list", "--format=%gs"]).trim(), "On main: mine");
    // The staged version may differ from the restored one, so the stash is kept.
    let kept = project.git(".", &["for-each-ref", "--format=%(objectname)", "refs/mow/rescue"]);
    assert_eq!(kept.trim(), hash);
    assert_eq!(manifest(&project, ".worktrees")["worktrees"]["p03"]["stash_ref"], Value::Null);
    mow(&project, ".", &["worktree", "stash", "9"]).refuses("no worktree");
}

#[test]
fn a_worktree_whose_directory_is_missing_is_created_again() {
    let project = repository();
    answer(mow(&project, ".", &["worktree", "create", "3"]));
    project.write(".worktrees/p03/code.txt", "work\n");
    answer(mow(&project, ".", &["worktree", "stash", "3"]));
    remove_dir(&project.root().join(".worktrees/p03"));
    let made = answer(mow(&project, ".", &["worktree", "create", "3"]));
    assert_eq!(made["reused"], false);
    assert_eq!(project.text(".worktrees/p03/code.txt"), "work\n");
}

#[test]
fn worktree_list_manifest_prints_the_file() {
    let project = repository();
    let none = json!({ "version": "1.0", "worktrees": {}, "updated": null });
    mow(&project, ".", &["worktree", "list-manifest"]).prints_json(&none);
    let text = r#"{"version": "1.0", "project": "x", "worktrees": {"phase-03": {"own": 1}}}"#;
    project.write(".claude/worktrees/manifest.json", text);
    mow(&project, ".", &["worktree", "list-manifest", "--raw"])
        .prints_json(&serde_json::from_str(text).unwrap());
    project.write(".claude/worktrees/manifest.json", "{");
    mow(&project, ".", &["worktree", "list-manifest"]).refuses("manifest.json");
}

#[test]
fn worktree_remove_manifest_deletes_merged_entries_and_marks_others() {
    let project = repository();
    let file = ".claude/worktrees/manifest.json";
    let text = r#"{"version": "1.0", "worktrees": {
        "phase-03": {"phase": "03", "merged": true, "status": "merged"},
        "phase-4": {"phase": "04", "merged": false, "own": [1]}}}"#;
    project.write(file, text);
    let remove = |phase: &str| mow(&project, ".", &["worktree", "remove-manifest", phase]);
    remove("3")
        .prints_json(&json!({ "removed": true, "key": "phase-03", "action": "deleted_entry" }));
    remove("04").prints_json(
        &json!({ "removed": true, "key": "phase-4", "action": "marked_removed_unmerged" }),
    );
    remove("3").prints_json(
        &json!({ "removed": false, "reason": "no manifest entry", "key": "phase-03" }),
    );
    mow(&project, ".", &["worktree", "remove-manifest"]).refuses("");
    let left = manifest(&project, ".claude/worktrees");
    let entry = json!({ "phase": "04", "merged": false, "own": [1], "status": "removed_unmerged" });
    assert_eq!(left["worktrees"], json!({ "phase-4": entry }));
}

#[test]
fn worktree_migrate_moves_the_entries_of_the_older_directory() {
    let project = repository();
    let none = json!({ "migrated": false, "reason": "no migration needed" });
    claude(&project, &["worktree", "migrate"]).run().prints_json(&none);
    project.write(
        ".worktrees/manifest.json",
        r#"{"version": "1.0", "project": "x", "updated": null,
            "worktrees": {"p03": {"path": ".worktrees/p03", "phase": "03", "own": 1}}}"#,
    );
    project.write(".worktrees/p03/left.txt", "left\n");
    // Without a setting the existing worktree directory is the right one.
    mow(&project, ".", &["worktree", "migrate"]).prints_json(&none);
    claude(&project, &["worktree", "migrate"]).run().prints_json(
        &json!({ "migrated": true, "entries_migrated": 1, "backup_path": ".worktrees.bak" }),
    );
    let moved = manifest(&project, ".claude/worktrees");
    let entry = json!({ "path": ".claude/worktrees/phase-03", "phase": "03", "own": 1 });
    assert_eq!(moved["worktrees"], json!({ "phase-03": entry }));
    assert_eq!(project.text(".worktrees.bak/p03/left.txt"), "left\n");
    claude(&project, &["worktree", "migrate"]).run().prints_json(&none);
    let cleaned = json!({ "cleaned": true, "path": ".worktrees.bak" });
    mow(&project, ".", &["worktree", "clean-backup"]).prints_json(&cleaned);
    assert!(!project.root().join(".worktrees.bak").exists());
    let none = json!({ "cleaned": false, "reason": "no backup found" });
    mow(&project, ".", &["worktree", "clean-backup"]).prints_json(&none);
}

#[test]
fn worktree_migrate_works_in_both_directions_and_stops_at_active_worktrees() {
    let project = repository();
    answer(mow(&project, ".", &["worktree", "create", "3"]));
    let ran = mow(&project, ".", &["worktree", "migrate", "--to", ".claude/worktrees"]);
    assert!(ran.stderr.contains("p03"), "{}", ran.transcript());
    let active = json!([{ "name": "p03", "branch": "refs/heads/phase-03" }]);
    let expected = json!({ "migrated": false, "reason": "active_worktrees", "active": active });
    assert_eq!(answer(ran), expected);
    project.git(".", &["worktree", "remove", "--force", ".worktrees/p03"]);
    let moved = mow(&project, ".", &["worktree", "migrate", "--to", ".claude/worktrees"]);
    assert_eq!(answer(moved)["entries_migrated"], 1);
    let back = answer(mow(&project, ".", &["worktree", "migrate", "--to", ".worktrees"]));
    assert_eq!(back["backup_path"], ".claude/worktrees.bak");
    let entry = &manifest(&project, ".worktrees")["worktrees"]["p03"];
    assert_eq!(entry["path"], ".worktrees/p03");
}

#[test]
fn worktree_prune_removes_only_merged_and_clean_worktrees() {
    let project = repository();
    for phase in ["3", "4", "5", "6"] {
        answer(mow(&project, ".", &["worktree", "create", phase]));
    }
    for (tree, file) in [("p03", "a"), ("p04", "b"), ("p05", "c")] {
        let folder = format!(".worktrees/{tree}");
        project.write(&format!("{folder}/{file}.txt"), "work\n");
        project.git(&folder, &["add", "."]);
        project.git(&folder, &["commit", "-qm", "work"]);
    }
    for phase in ["3", "5"] {
        let merged = mow(&project, ".", &["worktree", "merge", phase]);
        assert_eq!(answer(merged)["merged"], true);
    }
    project.write(".worktrees/p05/unsaved.txt", "work\n");
    let fates = |ran| {
        let value = answer(ran);
        let all = value["worktrees"].as_array().unwrap().clone();
        let fate = |one: &Value| (one["kept"].as_str().map(str::to_owned), one["removed"] == true);
        all.iter().map(fate).collect::<Vec<_>>()
    };
    let kept = |reason: &str| (Some(reason.to_owned()), false);
    let rest =
        [kept("not merged into main"), kept("has uncommitted work"), kept("not merged into main")];
    let shown = fates(mow(&project, ".", &["worktree", "prune", "--json"]));
    assert_eq!(shown, [&[(None, false)], &rest[..]].concat());
    assert!(project.root().join(".worktrees/p03").exists());
    let removed = fates(mow(&project, ".", &["worktree", "prune", "--yes", "--json"]));
    assert_eq!(removed, [&[(None, true)], &rest[..]].concat());
    assert!(!project.root().join(".worktrees/p03").exists());
    assert!(project.root().join(".worktrees/p05/unsaved.txt").exists());
    let text = mow(&project, ".", &["worktree", "prune"]).stdout_on_success();
    assert!(!text.contains("p03") && text.contains("p04"), "{text}");
}

#[test]
fn worktree_prune_keeps_planning_files_that_exist_only_in_the_worktree() {
    let project = repository().file(".gitignore", ".planning/\n");
    project.git(".", &["rm", "-rq", "--cached", ".planning"]);
    project.git(".", &["add", ".gitignore"]);
    project.git(".", &["commit", "-qm", "ignore"]);
    answer(mow(&project, ".", &["worktree", "create", "3"]));
    let summary = ".planning/phases/03-auth/03-01-SUMMARY.md";
    project.write(&format!(".worktrees/p03/{summary}"), "done\n");
    project.write(".worktrees/p03/new.txt", "work\n");
    project.git(".worktrees/p03", &["add", "new.txt"]);
    project.git(".worktrees/p03", &["commit", "-qm", "work"]);
    answer(mow(&project, ".", &["worktree", "merge", "3"]));
    let prune = || mow(&project, ".", &["worktree", "prune", "--yes"]).stdout_on_success();
    let kept = prune();
    assert!(kept.contains("03-01-SUMMARY.md is not in the main root"), "{kept}");
    let status = ".planning/phases/03-auth/03-STATUS.md";
    for file in [summary, status] {
        project.write(file, project.text(&format!(".worktrees/p03/{file}")));
    }
    assert!(prune().contains("removed"));
    assert!(!project.root().join(".worktrees/p03").exists());
}

#[test]
fn projects_of_one_repository_have_their_own_planning_in_a_worktree() {
    let project = repository();
    for folder in ["a", "b"] {
        project.write(&format!("{folder}/.planning/STATE.md"), format!("# {folder}\n"));
    }
    project.git(".", &["add", "."]);
    project.git(".", &["commit", "-qm", "two"]);
    project.write("a/.planning/STATE.md", "# changed\n");
    for (folder, own, [other, committed]) in
        [("a", "# changed\n", ["b", "# b\n"]), ("b", "# b\n", ["a", "# a\n"])]
    {
        let made = answer(mow(&project, folder, &["worktree", "create", "3"]));
        let path = made["path"].as_str().expect("the answer has a path");
        let below = path.strip_prefix(&format!("{}/", project.root().display())).unwrap_or(path);
        assert!(below.starts_with(&format!(".worktrees/{folder}-")), "{below}");
        let text = |folder: &str| project.text(&format!("{below}/{folder}/.planning/STATE.md"));
        assert_eq!((text(folder), text(other)), (own.to_owned(), committed.to_owned()));
    }
    for folder in ["a", "b"] {
        assert_eq!(answer(mow(&project, folder, &["worktree", "claim", "3"]))["claimed"], true);
    }
}

#[test]
fn invalid_worktree_settings_are_refused() {
    let project = repository();
    for (name, value) in [("ROOT", "../x"), ("ROOT", "."), ("NAME", "p"), ("NAME", "a/{NN}")] {
        let call = call(&project, ".", &["worktree", "create", "3"]);
        call.env(&format!("MOW_WORKTREE__{name}"), value).run().refuses("worktree.");
    }
    assert_eq!(project.git(".", &["worktree", "list"]).lines().count(), 1);
}

#[test]
fn concurrent_worktree_create_calls_all_succeed() {
    let project = repository();
    // Two callers at once create the worktree of each phase.
    let phases = ["3", "4", "5", "6"];
    let answers: Vec<Value> = thread::scope(|scope| {
        let callers: Vec<_> = (0..phases.len() * 2)
            .map(|at| {
                let project = &project;
                scope.spawn(move || {
                    let phase = phases[at % phases.len()];
                    answer(mow(project, ".", &["worktree", "create", phase]))
                })
            })
            .collect();
        callers.into_iter().map(|caller| caller.join().expect("no call fails")).collect()
    });
    for phase in phases {
        let padded = format!("{phase:0>2}");
        let of_phase = answers.iter().filter(|answer| answer["phase"] == padded.as_str());
        let mut reused: Vec<_> = of_phase.map(|answer| answer["reused"] == true).collect();
        reused.sort_unstable();
        assert_eq!(reused, [false, true], "one makes it, the other finds it");
        let roadmap = format!(".worktrees/p{padded}/.planning/ROADMAP.md");
        assert_eq!(project.text(&roadmap), project.text(".planning/ROADMAP.md"));
    }
    let manifest = mow(&project, ".", &["worktree", "list-manifest"]).json();
    let names: Vec<_> = manifest["worktrees"].as_object().expect("entries").keys().collect();
    assert_eq!(names.len(), phases.len(), "{names:?}");
    assert_eq!(project.git(".", &["worktree", "list"]).lines().count(), 1 + phases.len());
}

#[test]
fn a_worktree_needs_a_branch_with_a_commit() {
    let project = sandbox().file("code.txt", "one\n");
    project.git(".", &["init", "-q", "-b", "trunk"]);
    mow(&project, ".", &["worktree", "create", "3"])
        .refuses("a worktree needs a branch with a commit");
    mow(&project, ".", &["worktree", "create-native", "--name", "x"])
        .refuses("a worktree needs a branch with a commit");
    let none = mow(&project, ".", &["worktree", "prune"]).stdout_on_success();
    assert!(none.contains("no worktrees"), "{none}");
    project.git(".", &["add", "."]);
    project.git(".", &["commit", "-qm", "first"]);
    mow(&project, ".", &["worktree", "create", "3"]).stdout_on_success();
    assert_eq!(project.text(".worktrees/p03/code.txt"), "one\n");
    mow(&project, ".", &["worktree", "create-native", "--name", "x"]).stdout_on_success();
    let plain = sandbox();
    plain.call(["worktree", "merge", "3"]).run().refuses("needs a git repository");
}
