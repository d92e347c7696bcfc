//! Tasks that fail, roles that are played by scripts, and hooks that say no.
#![expect(clippy::disallowed_methods, reason = "the tests write the user's hooks")]

use std::fs;

use mow_testkit::field::{ALL, Field, Plan, Soil, phase, plan, task};

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

/// The system ends what takes too much memory, whatever the code is worth.
#[test]
fn a_check_that_was_killed_is_run_once_more() {
    let check = "grep -q 1 a && echo - >> ../../checked && test -e ../../spared || kill -9 $$";
    let once = check.replace("test -e ../../spared", "mkdir ../../spared 2>&- && kill -9 $$; true");
    let spared = field(&[phase("1", &[]).with(plan(vec![task("echo 1 > a").check(&once)]))]);
    spared.run_all();
    spared.inspect();
    assert_eq!(spared.text("checked").lines().count(), 2);
    let field = field(&[phase("1", &[]).with(plan(vec![task("echo 1 > a").check(check)]))]);
    let ran = field.ends(&ALL, 1);
    let words = "failed, ended by signal 9 (it was killed before that, and run again)";
    assert!(ran.contains(words), "{ran}");
    assert_eq!(field.text("checked").lines().count(), 2);
}

#[test]
fn a_check_that_is_run_again_finds_nothing_of_the_one_that_was_killed() {
    let check = "test -e left || { echo 1 > left; kill -9 $$; }";
    let field = field(&[phase("1", &[]).with(plan(vec![task("echo 1 > a").check(check)]))]);
    let ran = field.ends(&ALL, 1);
    assert!(ran.contains("run again) (in a fresh checkout of"), "{ran}");
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
fn what_an_attempt_left_in_progress_does_not_block_the_next() {
    // A cherry-pick that meets a conflict, and then the task fails.
    let picks = "test -e ../../rain || { echo other > README.md; git stash -q; git checkout -q -b x; \
        git stash pop -q; git commit -q -a -m Other; git checkout -q phase-01; echo mine > README.md; \
        git commit -q -a -m Mine; git cherry-pick x || exit 1; }";
    let field = field(&[sown("1", &[], picks)]);
    field.ends(&ALL, 1);
    field.write("rain", "");
    field.run_all();
    field.inspect();
    assert_eq!(field.text("crop-1"), "1\n");
}

#[test]
fn leftovers_are_put_aside_whatever_git_shows_the_user() {
    let field = field(&[sown("1", &[], "test -e ../../rain || { echo junk > junk; exit 1; }")]);
    field.git(&["config", "status.showUntrackedFiles", "no"]);
    field.ends(&ALL, 1);
    field.write("rain", "");
    field.run_all();
    assert!(!field.code().contains_key("junk"), "{:?}", field.code());
    assert!(field.ends(&["rescue", "list"], 0).contains("junk"));
}

#[test]
fn a_file_may_become_a_folder() {
    let tasks = vec![task("echo 1 > swap"), task("rm swap; mkdir swap; echo 2 > swap/x")];
    let field = field(&[phase("1", &[]).with(plan(tasks))]);
    field.run_all();
    field.inspect();
    assert_eq!(field.text("swap/x"), "2\n");
}

#[test]
fn a_folder_may_become_a_file_whoever_commits() {
    let tasks = vec![task("mkdir swap; echo 1 > swap/x"), task("rm -r swap; echo 2 > swap")];
    let field = field(&[phase("1", &[]).with(plan(tasks))]);
    field.hook("pre-commit", "true");
    field.run_all();
    field.inspect();
    assert_eq!(field.git(&["show", "main:swap"]), "2\n");
}

#[test]
fn a_sparse_worktree_is_checked_where_it_is() {
    let work = "git add --all; mkdir -p node_modules; echo 1 > node_modules/dep";
    let tasks = vec![
        task(&format!("echo 1 > crop-1; {work}")).check("test -e node_modules/dep"),
        task(&format!("echo 2 > crop-1; {work}"))
            .check("test -e node_modules/dep && grep 2 crop-1"),
    ];
    let field = field(&[phase("1", &[]).with(plan(tasks))]);
    field.write(".gitignore", "node_modules\n");
    field.write("far/away", "1\n");
    field.git(&["add", "--all"]);
    field.git(&["commit", "-q", "-m", "More"]);
    field.git(&["sparse-checkout", "set", "--no-cone", "/*", "!/far/"]);
    field.run_all();
    field.inspect();
    assert_eq!(field.git(&["show", "main:crop-1"]), "2\n");
}

#[test]
fn a_hook_that_takes_away_trailers_fails_the_task_until_it_is_mended() {
    let field = field(&[sown("1", &[], "")]);
    field.hook("commit-msg", "printf '\nPROJ-12\n' >> \"$1\"");
    let said = field.ends(&ALL, 1);
    assert!(said.contains("a hook changed the message of a commit"), "{said}");
    field.hook("commit-msg", "true");
    field.run_all();
    field.inspect();
    assert_eq!(field.text("crop-1"), "1\n");
}

#[test]
fn planning_files_that_were_renamed_below_a_folder_with_an_umlaut_are_committed() {
    let field = field(&[sown("1", &[], "")]);
    field.write(".planning/notes/\u{fc}ber/a.md", "one\ntwo\nthree\n");
    field.git(&["add", "--all"]);
    field.git(&["commit", "-q", "-m", "Notes"]);
    field.git(&["mv", ".planning/notes/\u{fc}ber/a.md", ".planning/notes/\u{fc}ber/b.md"]);
    let said = field.run_all();
    assert!(!said.contains("what was staged is kept"), "{said}");
    field.inspect();
}

#[test]
fn planning_files_that_were_staged_and_changed_again_are_kept_as_staged() {
    let field = field(&[sown("1", &[], "")]);
    field.write(".planning/NOTES.md", "staged words\n");
    field.git(&["add", ".planning/NOTES.md"]);
    field.write(".planning/NOTES.md", "later words\n");
    let said = field.run_all();
    assert!(said.contains("what was staged is kept: mow rescue restore planning/1"), "{said}");
    assert_eq!(field.git(&["show", "main:.planning/NOTES.md"]), "later words\n");
    let kept = "refs/mow/rescue/planning/1^2:.planning/NOTES.md";
    assert_eq!(field.git(&["show", kept]), "staged words\n");
}

#[test]
fn a_hook_that_says_no_fails_the_plan_with_its_words() {
    let field = field(&[sown("1", &[], "")]);
    let hook = field.hook("pre-commit", "echo 'no weeds, please' >&2; exit 1");
    let ran = field.ends(&ALL, 1);
    assert!(ran.contains("no weeds, please"), "{ran}");
    fs::remove_file(hook).unwrap();
    field.run_all();
    field.inspect();
}

#[test]
fn what_no_command_checks_is_named() {
    let text = "---\nphase: 01-field-1\nplan: 01\ntype: execute\nwave: 1\ndepends_on: []\n\
        files_modified: [crop]\nautonomous: true\n---\n\n<tasks>\n\n<task type=\"auto\">\n\
        <name>Sow</name>\n<action>\n```sh\necho 1 > crop\n```\n</action>\n<done>Sown</done>\n\
        </task>\n\n</tasks>\n";
    let field = field(&[phase("1", &[]).with(Plan::of_text(text))]);
    field.run_all();
    let text = field.text(".planning/phases/01-field-1/01-VERIFICATION.md");
    assert!(text.contains("- plan 01-01, task 1 names no command that checks it"), "{text}");
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
fn half_of_the_plans_does_not_count_in_the_next_run_either() {
    let whole = phase("1", &[]).with(plan(vec![task("echo 1 > crop-1")]));
    let files = whole.files(std::path::Path::new("/"));
    let (_, text) = files.iter().find(|(path, _)| path.ends_with("PLAN.md")).unwrap();
    // Planning files outside of git stay where they are. The first plan of two, and then its worker is killed, as often as it is started.
    let planner = "cp ../../plan $MOW_PHASE_DIR/01-01-PLAN.md; test -e ../../whole || { kill -9 $PPID; exit; }; \
        cp ../../plan $MOW_PHASE_DIR/01-02-PLAN.md; sed -i s/crop-1/crop-2/ $MOW_PHASE_DIR/01-02-PLAN.md";
    let roles = serde_json::json!({ "planner": { "command": planner } });
    let config = format!("\"commit_docs\": false, \"roles\": {roles}");
    let soil = Soil { config: &config, ignore: ".planning/\n", ..Soil::default() };
    let field = Field::on(super::MOW, &soil, &[phase("1", &[])]);
    field.write("plan", text);
    field.ends(&ALL, 1);
    assert!(field.root().join(".worktrees/p01/.planning/phases/01-field-1/01-01-PLAN.md").exists());
    field.write("whole", "");
    let first = field.run_id();
    field.ends(&["cancel", "--yes"], 0);
    field.ends(&ALL, 0); // that gives it up
    field.run_all();
    assert_ne!(field.run_id(), first, "it is another run");
    field.inspect();
    assert_eq!(field.text("crop-1"), "1\n");
    assert!(field.root().join("crop-2").exists(), "both plans are there");
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
