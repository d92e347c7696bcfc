//! Tests of `worktree claim`, `release`, `status`, `update-plan`, `clean` and `verify-result`.

use std::fs;
use std::path::Path;
use std::sync::Barrier;
use std::thread;

use serde_json::json;

use crate::sandbox;
use crate::table::mask_now;
use crate::worktree_fixture::{STATE, add_worktree, answer, call, mow, remove_dir, repository};

const FILE: &str = ".planning/STATE.md";
const HEADER: &str = "| Worktree | Branch | Phase | Plan | Status | Started | Agent |\n\
                      |----------|--------|-------|------|--------|---------|-------|\n";

#[test]
fn worktree_claim_adds_a_row_and_commits_it() {
    let project = repository();
    let top = project.root().display().to_string();
    mow(&project, ".", &["worktree", "claim", "3"]).prints_json(&json!({
        "claimed": true, "already_claimed": false, "worktree": top, "phase": "3",
        "branch": "main", "agent": "here",
    }));
    let row = format!("| {top} | main | 3 | — | executing | NOW | here |\n");
    let section = format!("## Worktree Assignments\n\n{HEADER}{row}\n## Session");
    assert_eq!(mask_now(&project.text(FILE)), STATE.replace("## Session", &section));
    let subject = project.git(".", &["log", "-1", "--format=%s"]);
    assert_eq!(subject.trim(), "chore: claim phase 3 for worktree project");
    assert_eq!(project.git(".", &["status", "--porcelain"]), "");
    let before = project.files();
    mow(&project, ".planning", &["worktree", "claim", "03", "--raw"]).prints_json(&json!({
        "claimed": true, "already_claimed": true, "worktree": top, "phase": "03",
    }));
    assert_eq!(project.files(), before);
}

#[test]
fn worktree_claim_leaves_staged_files_out_of_its_commit() {
    let project = repository();
    project.write("code.txt", "two\n");
    project.git(".", &["add", "code.txt"]);
    answer(mow(&project, ".", &["worktree", "claim", "3"]));
    assert_eq!(project.git(".", &["diff", "--cached", "--name-only"]).trim(), "code.txt");
}

#[test]
fn worktree_claim_without_commit_docs_makes_no_commit() {
    let project = repository().file(".planning/config.json", "{\"commit_docs\": false}");
    answer(mow(&project, ".", &["worktree", "claim", "3"]));
    assert_eq!(project.git(".", &["log", "--format=%s"]).trim(), "first");
}

#[test]
fn worktree_claim_works_outside_of_git() {
    let project = sandbox().file(FILE, STATE);
    let top = project.root().display().to_string();
    let claimed = answer(
        call(&project, ".", &["worktree", "claim", "3"]).env("CLAUDE_SESSION_ID", "session").run(),
    );
    assert_eq!((&claimed["branch"], &claimed["agent"]), (&json!("unknown"), &json!("session")));
    let other = format!("| /other | b | 4 | — | executing | then | x |\n| {top}");
    project.write(FILE, project.text(FILE).replace(&format!("| {top}"), &other));
    mow(&project, ".", &["worktree", "claim", "04"]).refuses("Cannot claim the same phase");
    let clean = answer(mow(&project, ".", &["worktree", "clean"]));
    assert_eq!(clean["cleaned"], 0);
    assert!(clean["error"].is_string(), "{clean}");
}

#[test]
fn bad_calls_are_refused() {
    let project = repository();
    let before = project.files();
    for call in [
        &["worktree", "claim"][..],
        &["worktree", "release"],
        &["worktree", "update-plan", "3"],
        &["worktree", "verify-result", "3", "--tier", "1"],
        &["worktree", "claim", "../3"],
        &["worktree", "claim", "three"],
        &["worktree", "claim", ""],
    ] {
        mow(&project, ".", call).refuses("");
    }
    assert_eq!(project.files(), before);
    let empty = sandbox();
    for call in [
        &["worktree", "claim", "3"][..],
        &["worktree", "release", "3"],
        &["worktree", "update-plan", "3", "03-01"],
        &["worktree", "verify-result", "3", "--tier", "1", "--result", "pass"],
    ] {
        mow(&empty, ".", call).refuses("STATE.md not found");
    }
    mow(&empty, ".", &["worktree", "status"]).prints_json(&json!([]));
    mow(&empty, ".", &["worktree", "clean"]).prints_json(&json!({ "cleaned": 0, "released": [] }));
    assert_eq!(empty.files().len(), 0);
}

#[test]
fn d44_claims_exclude_each_other_across_worktrees() {
    let project = repository();
    let other = add_worktree(&project, "other");
    let top = project.root().display().to_string();
    answer(mow(&project, ".", &["worktree", "claim", "3"]));
    let refused = mow(&project, "../other", &["worktree", "claim", "03"]);
    assert!(refused.stderr.contains(&top) && refused.stderr.contains("since 20"));
    refused.refuses("Cannot claim the same phase");
    // The refused worktree sees the claim, although its own STATE.md has no row for it.
    let seen = answer(mow(&project, "../other", &["worktree", "status"]));
    assert_eq!((&seen[0]["worktree"], &seen[0]["phase"]), (&json!(top), &json!("3")));
    mow(&project, "../other", &["worktree", "release", "3"])
        .prints_json(&json!({ "released": false, "worktree": other, "phase": "3" }));
    mow(&project, ".", &["worktree", "release", "03"])
        .prints_json(&json!({ "released": true, "worktree": top, "phase": "03" }));
    assert_eq!(answer(mow(&project, "../other", &["worktree", "claim", "3"]))["claimed"], true);
}

#[test]
fn d44_a_row_counts_while_its_worktree_exists() {
    let project = repository();
    let other = add_worktree(&project, "other");
    let row = |path: &str| {
        let rows = format!("{HEADER}| {path} | b | 3 | — | executing | then | a |\n\n## Session");
        STATE.replace("## Session", &format!("## Worktree Assignments\n\n{rows}"))
    };
    project.write(FILE, row(&other));
    mow(&project, ".", &["worktree", "claim", "3"]).refuses("since then");
    // A worktree with the same directory name elsewhere is a different worktree.
    project.write(FILE, row("/elsewhere/other"));
    let ran = mow(&project, ".", &["worktree", "claim", "3"]);
    assert!(ran.stderr.starts_with("MOW: ") && ran.stderr.contains("/elsewhere/other"));
    assert_eq!(answer(ran)["already_claimed"], false);
    assert!(!project.text(FILE).contains("/elsewhere"));
}

#[test]
fn worktree_release_removes_only_its_row() {
    let project = repository().file(".planning/config.json", "{\"commit_docs\": false}");
    answer(mow(&project, ".", &["worktree", "claim", "3"]));
    answer(mow(&project, ".", &["worktree", "claim", "4"]));
    let top = project.root().display().to_string();
    mow(&project, ".", &["worktree", "update-plan", "04", "04-02"])
        .prints_json(&json!({ "updated": true, "worktree": top, "phase": "04", "plan": "04-02" }));
    assert_eq!(
        answer(mow(&project, ".", &["worktree", "update-plan", "5", "x"]))["updated"],
        false
    );
    answer(mow(&project, ".", &["worktree", "release", "3"]));
    let left = answer(mow(&project, ".", &["worktree", "status", "--raw"]));
    let keys: Vec<_> = left[0].as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["worktree", "branch", "phase", "plan", "status", "started", "agent"]);
    assert_eq!((left.as_array().unwrap().len(), &left[0]["plan"]), (1, &json!("04-02")));
    answer(mow(&project, ".", &["worktree", "release", "4"]));
    let section = format!("## Worktree Assignments\n\n{HEADER}\n## Session");
    assert_eq!(project.text(FILE), STATE.replace("## Session", &section));
    assert_eq!(answer(mow(&project, ".", &["worktree", "release", "4"]))["released"], false);
}

#[test]
fn worktree_clean_releases_claims_of_missing_worktrees() {
    let project = repository();
    let other = add_worktree(&project, "other");
    answer(mow(&project, "../other", &["worktree", "claim", "4"]));
    answer(mow(&project, ".", &["worktree", "claim", "3"]));
    mow(&project, ".", &["worktree", "clean"])
        .prints_json(&json!({ "cleaned": 0, "released": [] }));
    remove_dir(Path::new(&other));
    let ran = mow(&project, ".", &["worktree", "clean"]);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.transcript());
    assert!(ran.stderr.starts_with("MOW: "), "{}", ran.transcript());
    assert_eq!(answer(ran), json!({ "cleaned": 1, "released": [other] }));
    let left = answer(mow(&project, ".", &["worktree", "status"]));
    assert_eq!(left.as_array().unwrap().len(), 1);
    assert_eq!(answer(mow(&project, ".", &["worktree", "claim", "4"]))["already_claimed"], false);
}

#[test]
fn worktree_verify_result_keeps_one_row_for_each_tier() {
    let project = repository();
    let call = ["worktree", "verify-result", "3", "--tier", "1", "--result", "pass"];
    let recorded = answer(mow(&project, ".", &call));
    let date = recorded["date"].as_str().unwrap().to_owned();
    assert_eq!(
        recorded,
        json!({ "recorded": true, "phase": "3", "tier": "1", "result": "pass", "date": date,
                "blockers": "none" })
    );
    let call = ["worktree", "verify-result", "03", "--tier", "1", "--result", "fail"];
    answer(mow(&project, ".", &[&call[..], &["--blockers", "--slow | disk"]].concat()));
    let section = format!(
        "## Worktree Assignments\n\n{HEADER}\n### Verification Results\n\n\
         | Phase | Tier | Result | Date | Blockers |\n\
         |-------|------|--------|------|----------|\n\
         | 3 | 1 | fail | {date} | --slow \\| disk |\n\n## Session"
    );
    assert_eq!(project.text(FILE), STATE.replace("## Session", &section));
}

#[test]
fn a_broken_claims_file_refuses_claims_and_is_named_in_the_error() {
    let project = repository().file(".git/mow/claims.json", "{");
    mow(&project, ".", &["worktree", "claim", "3"]).refuses("claims.json");
    assert_eq!(project.text(FILE), STATE);
}

/// Of sixteen worktrees that claim one phase concurrently, exactly one succeeds, in every round.
#[test]
fn claim_storm_has_one_winner() {
    const WORKTREES: usize = 16;
    const ROUNDS: usize = 100;
    let project = repository().file(".planning/config.json", "{\"commit_docs\": false}");
    project.git(".", &["add", "."]);
    project.git(".", &["commit", "-qm", "settings"]);
    let folders: Vec<_> = (0..WORKTREES).map(|n| format!("w{n}")).collect();
    for folder in &folders {
        add_worktree(&project, folder);
    }
    let barrier = Barrier::new(WORKTREES);
    let (project, barrier) = (&project, &barrier);
    let outcomes: Vec<Vec<bool>> = thread::scope(|scope| {
        let claimants: Vec<_> = folders
            .iter()
            .map(|folder| {
                scope.spawn(move || {
                    let folder = format!("../{folder}");
                    let claim = |round: usize| {
                        barrier.wait();
                        let ran = mow(project, &folder, &["worktree", "claim", &round.to_string()]);
                        let lost = ran.stderr.contains("Cannot claim the same phase");
                        assert!(ran.status.success() != lost, "{}", ran.transcript());
                        ran.status.success()
                    };
                    (1..=ROUNDS).map(claim).collect()
                })
            })
            .collect();
        claimants.into_iter().map(|claimant| claimant.join().unwrap()).collect()
    });
    for round in 0..ROUNDS {
        let winners = outcomes.iter().filter(|outcome| outcome[round]).count();
        assert_eq!(winners, 1, "round {round}");
    }
    let held = answer(mow(project, ".", &["worktree", "status"]));
    assert_eq!(held.as_array().unwrap().len(), ROUNDS);
    for (folder, outcome) in folders.iter().zip(&outcomes) {
        let own = project.root().with_file_name(folder).display().to_string();
        let state = fs::read_to_string(format!("{own}/{FILE}")).unwrap();
        let won = outcome.iter().filter(|won| **won).count();
        assert_eq!(state.matches(&format!("| {own} |")).count(), won, "the table shows the truth");
    }
}
