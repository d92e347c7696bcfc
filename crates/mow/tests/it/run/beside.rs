//! Plans side by side in one worktree: really at the same time, and never in each other's way.

use std::fs;

use mow_testkit::field::{ALL, Field, Going, Phase, kill, marked, phase, plan, task};

use super::{field, field_with};

/// A phase with two plans, each of which leaves its own file, after a script.
fn pair(first: &str, second: &str) -> Phase {
    let sow = |file: &str, script: &str| {
        let script = format!("{script}\necho {file} > {file}");
        plan(vec![task(&script).check(&format!("test -s {file}"))]).changes(&[file])
    };
    phase("1", &[]).with(sow("a", first)).with(sow("b", second))
}

fn meeting() -> Phase {
    pair("meet a", "meet b")
}

/// Fails unless the first plan is complete.
const AFTER_FIRST: &str = "git log --format=%B | grep -q 'Mow-Plan: 01-01'";

fn undisturbed() -> Field {
    let quiet = field(&[meeting()]);
    ["a", "b"].iter().for_each(|point| quiet.open(point));
    quiet.run_all();
    quiet.inspect();
    quiet
}

#[test]
fn plans_that_keep_out_of_each_others_way_run_at_the_same_time() {
    let field = field(&[meeting()]);
    let seen = field.sandbox.outside().join("seen");
    let look = format!("(git diff --cached --name-only; echo .) >> {}", seen.display());
    field.hook("pre-commit", &look);
    let lead = field.start(&ALL);
    field.reached("a");
    field.reached("b");
    // Both are at work now. The second comes to its end first.
    field.open("b");
    field.until_event("the second plan's task", |event| {
        event["report"]["report"] == "task_done" && event["report"]["plan"] == "01-02"
    });
    let shown = field.run(&["ps", "--json"]).json();
    let at: Vec<_> = shown["phases"][0]["at"].as_array().unwrap().iter().collect();
    assert!(at.len() == 2 && at[1]["plan"] == "01-02", "{shown}");
    assert_eq!(shown["phases"][0]["agents"], 2, "one is left for each other worker");
    field.open("a");
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    assert!(said.contains("plans 01-01, 01-02 run side by side"), "{said}");
    field.inspect();
    assert_eq!((field.text("a").as_str(), field.text("b").as_str()), ("a\n", "b\n"));
    let seen = fs::read_to_string(seen).unwrap();
    assert!(seen.starts_with("b\n.\na\n.\n"), "each hook sees one plan's files: {seen}");
    let proof = field.records("01-1.ndjson");
    let places =
        ["gather", "check_plan\",\"plan\":\"01-01", "check_plan\",\"plan\":\"01-02"].map(|what| {
            proof.iter().position(|record| record.body.contains(&format!("\"effect\":\"{what}")))
        });
    assert!(places.is_sorted() && places[0].is_some(), "checked when all rest: {places:?}");
}

#[test]
fn plans_in_each_others_way_run_in_order() {
    let sow = |file: &str, script: &str| {
        plan(vec![task(&format!("{script}\necho {file} > {file}"))]).changes(&["beds"])
    };
    let plans = phase("1", &[])
        .with(sow("beds/a", "mkdir -p beds"))
        .with(sow("beds/b", AFTER_FIRST).changes(&["beds/b"]));
    let field = field(&[plans]);
    field.run_all();
    field.inspect();
}

#[test]
fn plans_that_declare_nothing_run_in_order() {
    let sow = |file: &str, script: &str| plan(vec![task(&format!("{script}\necho 1 > {file}"))]);
    let field = field(&[phase("1", &[]).with(sow("a", "")).with(sow("b", AFTER_FIRST))]);
    field.run_all();
    field.inspect();
}

#[test]
fn settings_make_plans_run_in_order() {
    let configs = [
        r#""parallelization": false"#,
        r#""parallelization": {"enabled": false}"#,
        r#""parallelization": {"enabled": true, "plan_level": false}"#,
        r#""multi_phase": {"max_agents": 1}"#,
    ];
    for config in configs {
        let field = field_with(config, &[pair("", AFTER_FIRST)]);
        field.run_all();
        field.inspect();
    }
}

#[test]
fn an_agent_may_commit_its_work_itself() {
    for add in ["git add a", "git add --all"] {
        let own = format!("echo a > a; {add}; git commit -q -m Mine");
        let field = field(&[pair(&own, "meet b")]);
        let lead = field.start(&ALL);
        field.reached("b");
        // Its git and ours at the same moment may get in each other's way.
        field
            .until_event("the first plan's task", |event| event["report"]["report"] == "task_done");
        field.open("b");
        let (status, said) = lead.end();
        assert!(status.success(), "{said}");
        field.inspect();
        assert_eq!((field.text("a").as_str(), field.text("b").as_str()), ("a\n", "b\n"));
    }
}

#[test]
fn what_an_agent_committed_itself_is_undone_when_it_does_not_pass() {
    let grown = "test -e ../../rain && echo rye > a || { echo weeds > a; echo more > c; }";
    let first = format!("{grown}; git add a; git commit -q -m Mine; echo dirty > d");
    let first = task(&first).check("grep -q rye a");
    let phases = phase("1", &[])
        .with(plan(vec![first]).changes(&["a", "c", "d"]))
        .with(plan(vec![task("meet b\necho b > b")]).changes(&["b"]));
    let field = field(&[phases]);
    let lead = field.start(&ALL);
    field.reached("b");
    // Its git and ours at the same moment may get in each other's way.
    field.until_event("the first plan's task", |event| event["report"]["report"] == "task_done");
    field.open("b");
    let (status, said) = lead.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("its check `grep -q rye a` failed"), "{said}");
    let there = field.git(&["ls-tree", "--name-only", "phase-01"]);
    assert!(!there.lines().any(|name| ["a", "c", "d"].contains(&name)), "{there}");
    field.write("rain", "");
    field.run_all();
    field.inspect();
    assert_eq!((field.text("a").as_str(), field.text("b").as_str()), ("rye\n", "b\n"));
}

#[test]
fn a_folder_that_became_a_file_and_a_file_that_became_a_folder_are_undone() {
    let to_file =
        "test -f d || { rm -r d; echo 1 > d; }; test -d e || { rm e; mkdir e; echo 1 > e/x; }";
    let first = task(to_file).check("test -e ../../rain");
    let both = phase("1", &[])
        .with(plan(vec![first]).changes(&["d", "e"]))
        .with(plan(vec![task("echo b > b")]).changes(&["b"]));
    let field = field(&[both]);
    field.write("d/x", "0\n");
    field.write("e", "0\n");
    field.git(&["add", "--all"]);
    field.git(&["commit", "-q", "-m", "More"]);
    let said = field.ends(&ALL, 1);
    assert!(said.contains("its check `test -e ../../rain` failed"), "{said}");
    let there = field.git(&["ls-tree", "-r", "--name-only", "phase-01"]);
    assert!(there.contains("d/x\n") && there.contains("\ne\n"), "{there}");
    field.write("rain", "");
    field.run_all();
    field.inspect();
    assert_eq!((field.text("d").as_str(), field.text("e/x").as_str()), ("1\n", "1\n"));
}

/// Starts a pair of which the first does something when the second's tasks are committed.
fn after_the_second(field: &Field, tasks: usize) -> Going {
    let lead = field.start(&ALL);
    field.reached("a");
    field.until("the second plan's tasks", || {
        let is_task = |event: &&serde_json::Value| event["report"]["report"] == "task_done";
        (field.events().iter().filter(is_task).count() >= tasks).then_some(())
    });
    field.open("a");
    lead
}

#[track_caller]
fn comes_through(field: &Field, lead: Going) -> String {
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    field.inspect();
    said
}

/// By an index that is older than what was committed for the other plan, or on purpose.
#[test]
fn what_an_agent_s_own_commit_takes_back_of_another_plan_is_brought_again() {
    let own = "echo a > a; git add a; git commit -q -m Mine";
    for takes in ["git rm -q --cached b", "git rm -q b"] {
        let field = field(&[pair(&format!("meet a\n{takes}; {own}"), "")]);
        let said = comes_through(&field, after_the_second(&field, 1));
        assert!(
            said.contains("took back b, committed for plan 01-02; it is there again"),
            "{said}"
        );
        assert_eq!((field.text("a").as_str(), field.text("b").as_str()), ("a\n", "b\n"));
    }
}

#[test]
fn what_is_taken_back_to_something_between_is_brought_again() {
    let old = "git update-index --cacheinfo 100644,$(echo 1 | git hash-object -w --stdin),b";
    let takes = format!("meet a\n{old}; echo a > a; git add a; git commit -q -m Mine");
    let second = plan(vec![task("echo 1 > b"), task("echo 2 > b")]).changes(&["b"]);
    let first = plan(vec![task(&takes)]).changes(&["a"]);
    let field = field(&[phase("1", &[]).with(first).with(second)]);
    comes_through(&field, after_the_second(&field, 2));
    assert_eq!(field.text("b"), "2\n");
}

#[test]
fn what_is_taken_back_is_brought_again_by_the_next_worker() {
    let takes = "git rm -q --cached b; echo a > a; git add a; git commit -q -m Mine";
    let takes = format!("meet a\ntest -e ../../taken || {{ {takes}; touch ../../taken; meet c; }}");
    let field = field(&[pair(&takes, "")]);
    let lead = after_the_second(&field, 1);
    field.reached("c");
    marked(&field.run_id()).into_iter().for_each(kill);
    comes_through(&field, lead);
    assert_eq!(field.text("b"), "b\n");
}

#[test]
fn what_is_taken_back_is_brought_again_after_a_failure() {
    let takes = "git rm -q --cached b; echo a > a; git add a; git commit -q -m Mine; exit 1";
    let takes = format!("meet a\ntest -e ../../taken || {{ touch ../../taken; {takes}; }}");
    let field = field(&[pair(&takes, "")]);
    assert!(!after_the_second(&field, 1).end().0.success());
    field.run_all();
    field.inspect();
    assert_eq!((field.text("a").as_str(), field.text("b").as_str()), ("a\n", "b\n"));
}

#[test]
fn what_a_person_takes_back_stays_away() {
    let first = plan(vec![task("meet a\ntest -e ../../rain; echo a > a")]).changes(&["a"]);
    let second = plan(vec![task("echo b > b; echo c > c")]).changes(&["b", "c"]);
    let field = field(&[phase("1", &[]).with(first).with(second)]);
    assert!(!after_the_second(&field, 1).end().0.success());
    field.git(&["-C", ".worktrees/p01", "rm", "-q", "c"]);
    field.git(&["-C", ".worktrees/p01", "commit", "-q", "-m", "I want no c"]);
    field.write("rain", "");
    field.run_all();
    field.inspect();
    assert_eq!(field.text("b"), "b\n");
    assert!(!field.root().join("c").exists());
}

#[test]
fn what_a_plan_itself_takes_back_stays_away() {
    let removes = "git rm -q c; echo 2 > a; git add a; git commit -q -m Mine";
    let first = plan(vec![task("echo 1 > a; echo 1 > c"), task(removes)]).changes(&["a", "c"]);
    let second = plan(vec![task("echo b > b")]).changes(&["b"]);
    let field = field(&[phase("1", &[]).with(first).with(second)]);
    field.run_all();
    field.inspect();
    assert!(!field.root().join("c").exists());
    assert_eq!((field.text("a").as_str(), field.text("b").as_str()), ("2\n", "b\n"));
}

#[test]
fn a_worker_killed_in_the_middle_keeps_what_was_left_and_goes_on() {
    let field = field(&[pair("echo half > a\nmeet a", "echo half > b\nmeet b")]);
    let lead = field.start(&ALL);
    field.reached("a");
    field.reached("b");
    field.open("b");
    field.until_event("the second plan's task", |event| event["report"]["report"] == "task_done");
    let run = field.run_id();
    marked(&run).into_iter().for_each(kill);
    field.until_moved("1", "waiting");
    field.open("a");
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    field.equals(&undisturbed());
    let again = field.records("01-2.ndjson");
    let ran = |plan: &str| {
        let intent = format!("\"effect\":\"run_task\",\"plan\":\"{plan}\"");
        again.iter().any(|record| record.body.contains(&intent))
    };
    assert!(ran("01-01") && !ran("01-02"), "only what was not committed runs again");
    let checked = |plan: &str| {
        let intent = format!("\"effect\":\"check_plan\",\"plan\":\"{plan}\"");
        again.iter().any(|record| record.body.contains(&intent))
    };
    assert!(checked("01-02"), "what was committed unchecked is checked before it counts");
    let kept = field.git(&["for-each-ref", "--format=%(refname)", "refs/mow/rescue"]);
    let kept = kept.lines().next().expect("what the task had written is kept");
    assert_eq!(field.git(&["show", &format!("{kept}:a")]), "half\n");
}

#[test]
fn what_nobody_declared_is_kept_and_told() {
    let field = field(&[pair("echo wild > weeds", "")]);
    let ran = field.ends(&ALL, 1);
    let words = "weeds changed while plans 01-01, 01-02 ran side by side, and none of them has it \
                 in files_modified, kept as refs/mow/rescue/";
    assert!(ran.contains(words), "{ran}");
    let kept = field.git(&["for-each-ref", "--format=%(refname)", "refs/mow/rescue"]);
    let kept = kept.lines().next().expect("nothing is lost");
    assert_eq!(field.git(&["show", &format!("{kept}:weeds")]), "wild\n");
    field.run_all();
    field.inspect();
    assert_eq!(field.code().keys().collect::<Vec<_>>(), ["README.md", "a", "b"]);
}

#[test]
fn work_that_does_not_pass_is_undone_and_done_again_alone() {
    let dry = "test -e ../../rain || echo dust > a\ntest -e ../../rain || exit 0";
    let field = field(&[phase("1", &[])
        .with(plan(vec![task(&format!("{dry}\necho a > a")).check("grep -q a a")]).changes(&["a"]))
        .with(plan(vec![task("echo b > b").check("grep -q b b")]).changes(&["b"]))]);
    let ran = field.ends(&ALL, 1);
    assert!(ran.contains("plan 01-01, task 1: its check `grep -q a a` failed, exit 1"), "{ran}");
    field.write("rain", "");
    field.run_all();
    assert_eq!((field.text("a").as_str(), field.text("b").as_str()), ("a\n", "b\n"));
    assert_eq!(
        field.trailers("Mow-Undone").into_iter().collect::<Vec<_>>(),
        [("01-01/1".to_owned(), 1)]
    );
    let done = field.trailers("Mow-Task");
    assert_eq!((done["01-01/1"], done["01-02/1"]), (2, 1), "undone once, and done again");
}
