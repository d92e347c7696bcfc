//! Tasks that fail, roles that are played by scripts, and hooks that say no.
#![expect(clippy::disallowed_methods, reason = "the tests write the user's hooks")]

use std::fs;

use mow_testkit::field::{ALL, phase, plan, task};

use super::{field, field_with, sown};

const PLAN: &str = ".planning/phases/01-field-1/01-01-PLAN.md";

#[test]
fn a_failed_task_leaves_a_checkpoint_and_is_resumed_when_its_plan_is_mended() {
    let tasks = vec![task("echo 1 > a"), task("echo 2 > b").check("grep -q 3 b")];
    let field = field(&[phase("1", &[]).with(plan(tasks)), sown("2", &["1"], "")]);
    let ran = field.ends(&ALL, 1);
    let words = "plan 01-01, task 2: its check `grep -q 3 b` failed, exit 1; blocks 2";
    assert!(ran.contains(words), "{ran}");
    let checkpoint = ".worktrees/p01/.planning/phases/01-field-1/01-CHECKPOINT.md";
    assert!(field.text(checkpoint).contains("failed"), "{}", field.text(checkpoint));
    field.edit(PLAN, "echo 2 > b", "echo 3 > b");
    field.run_all();
    field.inspect();
    let again = field.records("01-2.ndjson");
    assert!(!again.iter().any(|r| r.body.contains("\"run_task\",\"plan\":\"01-01\",\"task\":1")));
    assert_eq!(field.git(&["show", "main:b"]), "3\n");
    assert_eq!(field.git(&["status", "--porcelain"]), "");
    assert!(field.git(&["show", &format!("main:{PLAN}")]).contains("echo 3 > b"));
}

#[test]
fn two_failures_stop_all_starts_and_the_next_run_tries_again() {
    let fails = "meet drought\ntest -e ../../rain";
    let phases = [sown("1", &[], fails), sown("2", &[], fails), sown("3", &[], "meet 3")];
    let field = field(&[&phases[..], &[sown("4", &["3"], "")]].concat());
    let lead = field.start(&ALL);
    field.reached("3");
    field.open("drought");
    field.until_event("the breaker", |event| event["event"] == "breaker");
    field.open("3");
    let (status, said) = lead.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("nothing more is started") && !said.contains("phase 4 starts"), "{said}");
    field.write("rain", "");
    field.run_all();
    field.inspect();
    assert_eq!(field.trailers("Mow-Plan").len(), 4);
}

#[test]
fn a_hook_that_says_no_fails_the_plan_with_its_words() {
    let field = field(&[sown("1", &[], "")]);
    let hook = field.top().join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\necho 'no weeds, please' >&2\nexit 1\n").unwrap();
    mow_testkit::sandbox::make_executable(&hook);
    let ran = field.ends(&ALL, 1);
    assert!(ran.contains("no weeds, please"), "{ran}");
    fs::remove_file(hook).unwrap();
    field.run_all();
    field.inspect();
}

#[test]
fn roles_are_played_by_commands() {
    let plan = phase("1", &[]).with(plan(vec![task("echo 1 > crop-1")]));
    let files = plan.files(std::path::Path::new("/"));
    let (_, text) = files.iter().find(|(path, _)| path.ends_with("PLAN.md")).unwrap();
    let config = r#""roles": {
        "researcher": {"command": "echo found > $MOW_RESEARCH_FILE"},
        "planner": {"command": "cp ../../plan $MOW_PHASE_DIR/01-01-PLAN.md; echo r$MOW_ROUND >> ../../rounds"},
        "plan-checker": {"command": "test $MOW_ROUND = 2 || { echo too thin; exit 1; }"},
        "verifier": {"command": "printf -- '---\nstatus: passed\n---\n' > $MOW_VERIFICATION_FILE"}
    }, "workflow": {"research": true}"#;
    let field = field_with("", &[phase("1", &[])]);
    field.write(".planning/config.json", format!("{{{config}}}"));
    field.write("plan", text);
    field.run_all();
    field.inspect();
    assert_eq!(field.text("rounds"), "r0\nr1\nr2\n", "refused twice");
    assert_eq!(field.text(".planning/phases/01-field-1/01-RESEARCH.md"), "found\n");
    assert_eq!(field.text("crop-1"), "1\n");
    assert_eq!(field.git(&["status", "--porcelain"]), "?? plan\n?? rounds\n");
}

#[test]
fn plans_that_are_refused_three_times_fail_the_phase() {
    let config =
        r#""roles": {"planner": {"command": "true"}, "plan-checker": {"command": "exit 1"}}"#;
    let field = field_with(config, &[sown("1", &[], "")]);
    let ran = field.ends(&ALL, 1);
    assert!(ran.contains("the plans were refused 3 times"), "{ran}");
    field.inspect();
}

#[test]
fn a_worktree_that_is_deleted_is_made_again() {
    let tasks = vec![task("echo 1 > a"), task("echo 2 > b; meet 1")];
    let field = field(&[phase("1", &[]).with(plan(tasks))]);
    let lead = field.start(&ALL);
    field.reached("1");
    fs::remove_dir_all(field.root().join(".worktrees/p01")).unwrap();
    field.open("1");
    let (status, said) = lead.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains(".worktrees/p01"), "{said}");
    field.run_all();
    field.inspect();
    assert_eq!(field.trailers("Mow-Task").len(), 2);
    assert_eq!(field.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_task_cannot_start_a_run_of_its_own() {
    let script = format!("{} run --all --yes --plain && exit 3; meet 1", super::MOW);
    let field = field(&[sown("1", &[], &script)]);
    let lead = field.start(&ALL);
    field.reached("1");
    lead.kill();
    field.open("1");
    let call = field.call(&ALL).env("MOW_ROLE", "worker").env("MOW_PHASE", "1");
    let ran = call.env("MOW_RUN", field.run_id()).run();
    assert_eq!(ran.status.code(), Some(1), "{}", ran.transcript());
    assert!(ran.stderr.contains("worker"), "{}", ran.transcript());
    field.run_all();
    field.inspect();
}
