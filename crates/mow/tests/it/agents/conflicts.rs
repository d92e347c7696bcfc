//! An agent settles the conflicts of a merge. What it leaves is looked at before it is merged.

use mow_testkit::agents::Agent;
use mow_testkit::field::{ALL, phase, plan, task};
use mow_testkit::llm::{Script, Step};
use serde_json::json;

use super::{Casting, Scene, role};

/// Two phases that write the same file, and an agent that settles that.
fn scene(script: Script) -> Scene {
    let sows = |number: &str, crop: &str| {
        let task = task(&format!("echo {crop} > both")).check(&format!("grep -q {crop} both"));
        phase(number, &[]).with(plan(vec![task]))
    };
    let roles = [("conflict-resolver", Agent::Claude)];
    let more = json!({ "workflow": { "research": false } });
    Scene::new(
        &Casting { roles: &roles, more },
        &[sows("1", "rye"), sows("2", "oats")],
        vec![script],
    )
}

fn settles(cmd: &str) -> Script {
    role("conflict-resolver").step(Step::sh(cmd)).says("both: I kept what I could.")
}

#[test]
fn what_an_agent_settles_is_merged() {
    let scene = scene(settles("printf 'rye\\noats\\n' > both"));
    scene.field.run_all();
    scene.field.inspect();
    assert_eq!(scene.field.git(&["show", "main:both"]), "rye\noats\n");
    let merges = scene.field.git(&["log", "--format=%s", "--merges", "main"]);
    assert_eq!(merges.lines().filter(|line| *line == "Merge phase 2").count(), 1, "{merges}");
    assert_eq!(scene.field.trailers("Mow-Task").len(), 2);
    assert!(scene.asked().is_empty(), "{:?}", scene.asked());
    let cost = scene.field.run(&["cost", "--json"]).json();
    assert_eq!(cost["roles"][0]["role"], "conflict-resolver", "{cost}");
    assert!(cost["total"]["output_tokens"].as_u64() > Some(0), "{cost}");
    // It was told paths, and not what stands in the files.
    let told = &scene.llm.requests()[0].user;
    assert!(told.contains("merge-conflicts.txt") && !told.contains("rye"), "{told}");
}

/// Checks that a merge is refused for a reason, that a person is told how to settle it, and does.
fn is_refused(script: Script, why: &str) {
    let scene = scene(script);
    let said = scene.field.ends(&ALL, 5);
    let words =
        ["cannot be merged: conflicts in both", "the conflict-resolver did not settle it", why];
    for words in words.into_iter().chain(["to settle them: git -C", "mow resume 2"]) {
        assert!(said.contains(words), "{words}: {said}");
    }
    scene.field.inspect();
    assert_eq!(scene.field.git(&["show", "main:README.md"]), "A field.\n");
    let open = scene.open();
    assert_eq!((open.len(), &open[0]["kind"]), (1, &json!("conflict")), "{open:?}");
    let target = format!("refs/mow/run/{}/target", scene.field.run_id());
    scene.field.git(&["-C", ".worktrees/p02", "merge", "--quiet", "-X", "ours", &target]);
    scene.field.write(".worktrees/p02/both", "rye and oats\n");
    scene.field.git(&["-C", ".worktrees/p02", "commit", "-q", "-a", "-m", "Settle it"]);
    scene.field.ends(&["resume", "2"], 0);
    scene.field.run_all();
    assert_eq!(scene.field.git(&["show", "main:both"]), "rye and oats\n");
}

#[test]
fn marks_that_an_agent_leaves_are_left_to_a_person() {
    is_refused(role("conflict-resolver").says("both: I cannot decide."), "still has the marks");
}

#[test]
fn what_loses_the_work_of_the_other_phase_is_not_merged() {
    is_refused(settles("echo oats > both"), "`grep -q rye both` of phase 1 fails on it");
}

#[test]
fn what_an_agent_changes_beside_the_conflict_is_not_merged() {
    let changes = settles("printf 'rye\\noats\\n' > both; echo mine > README.md");
    is_refused(changes, "it changed README.md, which is not its business (it says: both: I kept");
}

#[test]
fn a_merge_that_an_agent_makes_itself_is_not_taken() {
    let commits = settles("printf 'rye\\noats\\n' > both; git add both; git commit -q -m Mine");
    is_refused(commits, "it committed or gave up the merge");
}

#[test]
fn settings_of_git_that_an_agent_changes_are_told() {
    let changes = settles("printf 'rye\\noats\\n' > both; git config core.hooksPath /dev/null");
    is_refused(changes, "it changed git's own settings: core.hookspath; undo that");
}
