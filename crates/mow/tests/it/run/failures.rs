//! Tests failing tasks, roles that are shell commands, and git hooks that refuse a commit.
#![expect(clippy::disallowed_methods, reason = "the tests write the user's hooks")]

use std::fs;

use mow_testkit::planned_project::{
    ALL, PlanFixture, PlannedProject, ProjectOptions, kill, phase, plan, processes_of_run, task,
};

use super::{one_task_phase, project, project_with_config};

const PLAN: &str = ".planning/phases/01-field-1/01-01-PLAN.md";

#[test]
fn a_failed_task_leaves_a_checkpoint_and_resumes_when_its_plan_is_fixed() {
    let tasks = vec![task("echo 1 > a"), task("echo 2 > b").check("grep -q 3 b")];
    let project = project(&[phase("1", &[]).with(plan(tasks)), one_task_phase("2", &["1"], "")]);
    let ran = project.exits_with(&ALL, 1);
    let words = "plan 01-01, task 2: its check `grep -q 3 b` failed, exit 1; blocks 2";
    assert!(ran.contains(words), "{ran}");
    let checkpoint = ".worktrees/p01/.planning/phases/01-field-1/01-CHECKPOINT.md";
    assert!(project.text(checkpoint).contains("failed"), "{}", project.text(checkpoint));
    project.edit(PLAN, "echo 2 > b", "echo 3 > b");
    project.run_all();
    project.assert_consistent();
    let again = project.records("01-2.ndjson");
    assert!(!again.iter().any(|r| r.body.contains("\"run_task\",\"plan\":\"01-01\",\"task\":1")));
    assert_eq!(project.git(&["show", "main:b"]), "3\n");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    assert!(project.git(&["show", &format!("main:{PLAN}")]).contains("echo 3 > b"));
}

/// The kernel kills processes when memory runs out, which says nothing about the code.
#[test]
fn a_killed_check_is_retried_once() {
    let check = "grep -q 1 a && echo - >> ../../checked && test -e ../../spared || kill -9 $$";
    let once = check.replace("test -e ../../spared", "mkdir ../../spared 2>&- && kill -9 $$; true");
    let spared = project(&[phase("1", &[]).with(plan(vec![task("echo 1 > a").check(&once)]))]);
    spared.run_all();
    spared.assert_consistent();
    assert_eq!(spared.text("checked").lines().count(), 2);
    let project = project(&[phase("1", &[]).with(plan(vec![task("echo 1 > a").check(check)]))]);
    let ran = project.exits_with(&ALL, 1);
    let words = "failed, ended by signal 9 (it was killed before that, and run again)";
    assert!(ran.contains(words), "{ran}");
    assert_eq!(project.text("checked").lines().count(), 2);
}

#[test]
fn a_retried_check_does_not_see_files_of_the_killed_one() {
    let check = "test -e left || { echo 1 > left; kill -9 $$; }";
    let project = project(&[phase("1", &[]).with(plan(vec![task("echo 1 > a").check(check)]))]);
    let ran = project.exits_with(&ALL, 1);
    assert!(ran.contains("run again) (in a fresh checkout of"), "{ran}");
}

#[test]
fn two_failures_open_the_circuit_breaker_until_a_person_decides() {
    let fails = "meet drought\ntest -e ../../rain";
    let phases = [
        one_task_phase("1", &[], fails),
        one_task_phase("2", &[], fails),
        phase("3", &[]).with(plan(vec![task("meet 3\necho 1 > crop-3"), task("echo 2 >> crop-3")])),
    ];
    let project = project(&[&phases[..], &[one_task_phase("4", &["3"], "")]].concat());
    let lead = project.start(&ALL);
    project.wait_for_point("3");
    project.release_point("drought");
    project.wait_for_event("the breaker", |event| event["event"] == "breaker");
    project.release_point("3");
    let (status, output) = lead.end();
    assert_eq!(status.code(), Some(1), "{output}");
    assert!(
        output.contains("the circuit breaker is open: no more phases are started")
            && !output.contains("phase 4 starts"),
        "{output}"
    );
    let asked = project.events().into_iter().find(|event| event["item"]["kind"] == "breaker");
    let item = asked.expect("a person is asked")["item"]["id"].to_string();
    let continues = format!("`mow answer {item} continue`");
    assert!(output.contains(&continues), "{output}");
    let checkpoint = ".worktrees/p03/.planning/phases/03-field-3/03-CHECKPOINT.md";
    let text = project.text(checkpoint);
    assert!(
        text.contains("circuit_breaker_hit: true") && text.contains("status: paused"),
        "{text}"
    );
    assert!(text.contains("the circuit breaker opened: 2 phases failed"), "{text}");
    project.write("rain", "");
    let refused = project.exits_with(&ALL, 1);
    assert!(refused.contains("the circuit breaker is open: 2 phases failed"), "{refused}");
    assert!(refused.contains(&continues), "{refused}");
    assert!(!refused.contains("(attempt 2)"), "{refused}");
    project.exits_with(&["answer", &item, "continue"], 0);
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.trailers("Mow-Plan").len(), 4);
}

#[test]
fn a_cherry_pick_left_in_progress_does_not_block_the_next_attempt() {
    // The cherry-pick stops with a conflict, and the task fails.
    let picks = "test -e ../../rain || { echo other > README.md; git stash -q; git checkout -q -b x; \
        git stash pop -q; git commit -q -a -m Other; git checkout -q phase-01; echo mine > README.md; \
        git commit -q -a -m Mine; git cherry-pick x || exit 1; }";
    let project = project(&[one_task_phase("1", &[], picks)]);
    project.exits_with(&ALL, 1);
    project.write("rain", "");
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.text("crop-1"), "1\n");
}

#[test]
fn leftover_files_are_rescued_even_if_git_status_hides_untracked_files() {
    let project =
        project(&[one_task_phase("1", &[], "test -e ../../rain || { echo junk > junk; exit 1; }")]);
    project.git(&["config", "status.showUntrackedFiles", "no"]);
    project.exits_with(&ALL, 1);
    project.write("rain", "");
    project.run_all();
    assert!(!project.target_files().contains_key("junk"), "{:?}", project.target_files());
    assert!(project.exits_with(&["rescue", "list"], 0).contains("junk"));
}

#[test]
fn a_task_may_replace_a_file_by_a_directory() {
    let tasks = vec![task("echo 1 > swap"), task("rm swap; mkdir swap; echo 2 > swap/x")];
    let project = project(&[phase("1", &[]).with(plan(tasks))]);
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.text("swap/x"), "2\n");
}

#[test]
fn a_task_may_replace_a_directory_by_a_file_if_git_commits() {
    let tasks = vec![task("mkdir swap; echo 1 > swap/x"), task("rm -r swap; echo 2 > swap")];
    let project = project(&[phase("1", &[]).with(plan(tasks))]);
    project.hook("pre-commit", "true");
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.git(&["show", "main:swap"]), "2\n");
}

#[test]
fn a_sparse_worktree_is_checked_in_place() {
    let work = "git add --all; mkdir -p node_modules; echo 1 > node_modules/dep";
    let tasks = vec![
        task(&format!("echo 1 > crop-1; {work}")).check("test -e node_modules/dep"),
        task(&format!("echo 2 > crop-1; {work}"))
            .check("test -e node_modules/dep && grep 2 crop-1"),
    ];
    let project = project(&[phase("1", &[]).with(plan(tasks))]);
    project.write(".gitignore", "node_modules\n");
    project.write("far/away", "1\n");
    project.git(&["add", "--all"]);
    project.git(&["commit", "-q", "-m", "More"]);
    project.git(&["sparse-checkout", "set", "--no-cone", "/*", "!/far/"]);
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.git(&["show", "main:crop-1"]), "2\n");
}

#[test]
fn a_hook_that_removes_trailers_fails_the_task_until_it_is_fixed() {
    let project = project(&[one_task_phase("1", &[], "")]);
    project.hook("commit-msg", "printf '\nPROJ-12\n' >> \"$1\"");
    let output = project.exits_with(&ALL, 1);
    assert!(output.contains("a hook changed the message of a commit"), "{output}");
    project.hook("commit-msg", "true");
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.text("crop-1"), "1\n");
}

#[test]
fn planning_files_renamed_below_a_directory_with_an_umlaut_are_committed() {
    let project = project(&[one_task_phase("1", &[], "")]);
    project.write(".planning/notes/\u{fc}ber/a.md", "one\ntwo\nthree\n");
    project.git(&["add", "--all"]);
    project.git(&["commit", "-q", "-m", "Notes"]);
    project.git(&["mv", ".planning/notes/\u{fc}ber/a.md", ".planning/notes/\u{fc}ber/b.md"]);
    let output = project.run_all();
    assert!(!output.contains("the staged version is saved"), "{output}");
    project.assert_consistent();
}

#[test]
fn the_staged_version_of_a_planning_file_that_changed_again_is_rescued() {
    let project = project(&[one_task_phase("1", &[], "")]);
    project.write(".planning/NOTES.md", "staged words\n");
    project.git(&["add", ".planning/NOTES.md"]);
    project.write(".planning/NOTES.md", "later words\n");
    let output = project.run_all();
    assert!(
        output.contains("the staged version is saved: mow rescue restore planning/1"),
        "{output}"
    );
    assert_eq!(project.git(&["show", "main:.planning/NOTES.md"]), "later words\n");
    let kept = "refs/mow/rescue/planning/1^2:.planning/NOTES.md";
    assert_eq!(project.git(&["show", kept]), "staged words\n");
}

#[test]
fn a_hook_that_refuses_a_commit_fails_the_plan_with_its_output() {
    let project = project(&[one_task_phase("1", &[], "")]);
    let hook = project.hook("pre-commit", "echo 'no weeds, please' >&2; exit 1");
    let ran = project.exits_with(&ALL, 1);
    assert!(ran.contains("no weeds, please"), "{ran}");
    fs::remove_file(hook).unwrap();
    project.run_all();
    project.assert_consistent();
}

#[test]
fn a_task_without_a_check_is_named_in_the_verification() {
    let text = "---\nphase: 01-field-1\nplan: 01\ntype: execute\nwave: 1\ndepends_on: []\n\
        files_modified: [crop]\nautonomous: true\n---\n\n<tasks>\n\n<task type=\"auto\">\n\
        <name>Sow</name>\n<action>\n```sh\necho 1 > crop\n```\n</action>\n<done>Sown</done>\n\
        </task>\n\n</tasks>\n";
    let project = project(&[phase("1", &[]).with(PlanFixture::from_text(text))]);
    project.run_all();
    let text = project.text(".planning/phases/01-field-1/01-VERIFICATION.md");
    assert!(text.contains("- plan 01-01, task 1 names no command that checks it"), "{text}");
}

#[test]
fn roles_can_be_shell_commands() {
    let plan = phase("1", &[]).with(plan(vec![task("echo 1 > crop-1")]));
    let files = plan.files(std::path::Path::new("/"));
    let (_, text) = files.iter().find(|(path, _)| path.ends_with("PLAN.md")).unwrap();
    let config = r#""roles": {
        "researcher": {"command": "echo found > $MOW_RESEARCH_FILE"},
        "planner": {"command": "cp ../../plan $MOW_PHASE_DIR/01-01-PLAN.md; echo r$MOW_ROUND >> ../../rounds"},
        "plan-checker": {"command": "test $MOW_ROUND = 2 || { echo too thin; exit 1; }"},
        "verifier": {"command": "printf -- '---\nstatus: passed\n---\n' > $MOW_VERIFICATION_FILE"}
    }, "workflow": {"research": true}"#;
    let project = project_with_config("", &[phase("1", &[])]);
    project.write(".planning/config.json", format!("{{{config}}}"));
    project.write("plan", text);
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.text("rounds"), "r0\nr1\nr2\n", "refused twice");
    assert_eq!(project.text(".planning/phases/01-field-1/01-RESEARCH.md"), "found\n");
    assert_eq!(project.text("crop-1"), "1\n");
    assert_eq!(project.git(&["status", "--porcelain"]), "?? plan\n?? rounds\n");
}

#[test]
fn an_incomplete_set_of_plans_is_not_used_by_the_next_run() {
    let whole = phase("1", &[]).with(plan(vec![task("echo 1 > crop-1")]));
    let files = whole.files(std::path::Path::new("/"));
    let (_, text) = files.iter().find(|(path, _)| path.ends_with("PLAN.md")).unwrap();
    // The planner writes the first of two plans and kills its worker, at every attempt. The
    // planning files are ignored by git, so the plan stays in the worktree.
    let planner = "cp ../../plan $MOW_PHASE_DIR/01-01-PLAN.md; test -e ../../whole || { kill -9 $PPID; exit; }; \
        cp ../../plan $MOW_PHASE_DIR/01-02-PLAN.md; sed -i s/crop-1/crop-2/ $MOW_PHASE_DIR/01-02-PLAN.md";
    let roles = serde_json::json!({ "planner": { "command": planner } });
    let config = format!("\"commit_docs\": false, \"roles\": {roles}");
    let options =
        ProjectOptions { config: &config, ignore: ".planning/\n", ..ProjectOptions::default() };
    let project = PlannedProject::with_options(super::MOW, &options, &[phase("1", &[])]);
    project.write("plan", text);
    project.exits_with(&ALL, 1);
    assert!(
        project.root().join(".worktrees/p01/.planning/phases/01-field-1/01-01-PLAN.md").exists()
    );
    project.write("whole", "");
    let first = project.run_id();
    project.exits_with(&["cancel", "--yes"], 0);
    project.exits_with(&ALL, 0); // this run only applies the cancellation
    project.run_all();
    assert_ne!(project.run_id(), first, "it is another run");
    project.assert_consistent();
    assert_eq!(project.text("crop-1"), "1\n");
    assert!(project.root().join("crop-2").exists(), "both plans are there");
}

#[test]
fn plans_that_are_refused_three_times_fail_the_phase() {
    let config =
        r#""roles": {"planner": {"command": "true"}, "plan-checker": {"command": "exit 1"}}"#;
    let project = project_with_config(config, &[one_task_phase("1", &[], "")]);
    let ran = project.exits_with(&ALL, 1);
    assert!(ran.contains("the plans were refused 3 times"), "{ran}");
    project.assert_consistent();
}

#[test]
fn a_deleted_worktree_is_recreated() {
    let tasks = vec![task("echo 1 > a"), task("echo 2 > b; meet 1")];
    let project = project(&[phase("1", &[]).with(plan(tasks))]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    fs::remove_dir_all(project.root().join(".worktrees/p01")).unwrap();
    project.release_point("1");
    let (status, output) = lead.end();
    assert_eq!(status.code(), Some(1), "{output}");
    assert!(output.contains(".worktrees/p01"), "{output}");
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.trailers("Mow-Task").len(), 2);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_task_cannot_start_a_run_of_its_own() {
    let script = format!("{} run --all --yes --plain && exit 3; meet 1", super::MOW);
    let project = project(&[one_task_phase("1", &[], &script)]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    lead.kill();
    project.release_point("1");
    let call = project.call(&ALL).env("MOW_ROLE", "worker").env("MOW_PHASE", "1");
    let ran = call.env("MOW_RUN", project.run_id()).run();
    assert_eq!(ran.status.code(), Some(1), "{}", ran.transcript());
    assert!(ran.stderr.contains("worker"), "{}", ran.transcript());
    project.run_all();
    project.assert_consistent();
}

#[test]
fn the_hint_after_a_cancellation_names_a_command_that_works() {
    let project = project(&[one_task_phase("1", &[], "meet a"), one_task_phase("2", &["1"], "")]);
    let lead = project.start(&ALL);
    project.wait_for_point("a");
    project.exits_with(&["cancel", "1", "--now"], 0);
    let (_, output) = lead.end();
    assert!(output.contains("continue with `mow run 1`"), "{output}");
    let again = project.exits_with(&ALL, 5);
    assert!(again.contains("continue with `mow run 1`"), "{again}");
    project.release_point("a");
    project.exits_with(&["run", "1", "--yes", "--plain"], 0);
    project.assert_consistent();
}

#[test]
fn a_phase_that_was_cancelled_in_a_live_run_is_resumed_there() {
    let project =
        project(&[one_task_phase("1", &[], "meet a"), one_task_phase("2", &[], "meet b")]);
    let lead = project.start(&ALL);
    project.wait_for_point("a");
    project.wait_for_point("b");
    project.exits_with(&["cancel", "2", "--now"], 0);
    project.wait_for_status("2", "cancelled");
    let refused = project.exits_with(&["run", "2", "--yes"], 4);
    assert!(refused.contains("to continue in that run: `mow resume 2`"), "{refused}");
    project.exits_with(&["resume", "2"], 0);
    ["a", "b"].iter().for_each(|point| project.release_point(point));
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    project.assert_consistent();
}

#[test]
fn temporary_files_are_hidden_and_the_manifest_names_project_and_phase() {
    let project = project(&[one_task_phase("1", &[], "")]);
    project.run_all();
    fs::write(project.root().join(".planning/.mow-tmp-1-0000000000000001"), "half").unwrap();
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    let manifest = project.run(&["worktree", "list-manifest"]).json();
    let root = project.root();
    assert_eq!(manifest["project"], root.file_name().unwrap().to_str().unwrap(), "{manifest}");
    let (_, entry) = manifest["worktrees"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(entry["phase_name"], "Field 1", "{manifest}");
}

#[test]
fn the_claim_of_a_dead_lead_and_worker_is_released_with_a_notice() {
    let project = project(&[one_task_phase("1", &[], "meet a")]);
    let lead = project.start(&ALL);
    project.wait_for_point("a");
    let held = project.exits_with(&["worktree", "claim", "1"], 1);
    assert!(held.contains("Cannot claim the same phase"), "{held}");
    lead.kill();
    project.wait_for("the end of all processes", || {
        let alive = processes_of_run(&project.run_id());
        alive.iter().for_each(|pid| kill(*pid));
        alive.is_empty().then_some(())
    });
    let claimed = project.exits_with(&["worktree", "claim", "1"], 0);
    assert!(claimed.contains("its lead and its worker are dead"), "{claimed}");
}
