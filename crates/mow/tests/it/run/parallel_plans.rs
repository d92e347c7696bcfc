//! Tests plans that run in parallel in one worktree, each with its own files and commits.

use std::fs;

use mow_testkit::planned_project::{
    ALL, PhaseFixture, PlannedProject, RunningCommand, kill, phase, plan, processes_of_run, task,
};

use super::{project, project_with_config};

/// Returns a phase with two plans. Each runs a script and writes its own file, `a` or `b`.
fn phase_with_two_plans(first: &str, second: &str) -> PhaseFixture {
    let plan_writing = |file: &str, script: &str| {
        let script = format!("{script}\necho {file} > {file}");
        plan(vec![task(&script).check(&format!("test -s {file}"))]).changes(&[file])
    };
    phase("1", &[]).with(plan_writing("a", first)).with(plan_writing("b", second))
}

fn meeting_plans() -> PhaseFixture {
    phase_with_two_plans("meet a", "meet b")
}

/// A shell command that fails unless the first plan is complete.
const REQUIRES_FIRST_PLAN: &str = "git log --format=%B | grep -q 'Mow-Plan: 01-01'";

fn run_undisturbed() -> PlannedProject {
    let undisturbed = project(&[meeting_plans()]);
    ["a", "b"].iter().for_each(|point| undisturbed.release_point(point));
    undisturbed.run_all();
    undisturbed.assert_consistent();
    undisturbed
}

#[test]
fn plans_with_disjoint_files_run_at_the_same_time() {
    let project = project(&[meeting_plans()]);
    let staged_log = project.sandbox.outer_dir().join("seen");
    let log_staged_files =
        format!("(git diff --cached --name-only; echo .) >> {}", staged_log.display());
    project.hook("pre-commit", &log_staged_files);
    let lead = project.start(&ALL);
    project.wait_for_point("a");
    project.wait_for_point("b");
    // Both plans work now. The second one finishes first.
    project.release_point("b");
    project.wait_for_event("the second plan's task", |event| {
        event["report"]["report"] == "task_done" && event["report"]["plan"] == "01-02"
    });
    let shown = project.run(&["ps", "--json"]).json();
    let at: Vec<_> = shown["phases"][0]["at"].as_array().unwrap().iter().collect();
    assert!(at.len() == 2 && at[1]["plan"] == "01-02", "{shown}");
    assert_eq!(shown["phases"][0]["agents"], 4, "no other phase wants an agent");
    project.release_point("a");
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    assert!(output.contains("plans 01-01, 01-02 run in parallel"), "{output}");
    project.assert_consistent();
    assert_eq!((project.text("a").as_str(), project.text("b").as_str()), ("a\n", "b\n"));
    let staged_log = fs::read_to_string(staged_log).unwrap();
    assert!(
        staged_log.starts_with("b\n.\na\n.\n"),
        "each hook sees one plan's files: {staged_log}"
    );
    let records = project.records("01-1.ndjson");
    let positions = ["gather", "check_plan\",\"plan\":\"01-01", "check_plan\",\"plan\":\"01-02"]
        .map(|what| {
            records.iter().position(|record| record.body.contains(&format!("\"effect\":\"{what}")))
        });
    assert!(
        positions.is_sorted() && positions[0].is_some(),
        "plans are checked after all have stopped: {positions:?}"
    );
}

#[test]
fn plans_of_the_only_phase_use_all_slots() {
    // Each task ends only while the other two are running.
    let script = |own: &str| {
        format!(
            "dir=$(git rev-parse --git-common-dir)/together; mkdir -p $dir; : > $dir/{own}\n\
             timeout 100 sh -c 'while [ $(ls '$dir' | wc -l) -lt 3 ]; do sleep 0.01; done'\n\
             echo {own} > {own}"
        )
    };
    let phase = ["a", "b", "c"].iter().fold(phase("1", &[]), |phase, own| {
        phase.with(plan(vec![task(&script(own)).check(&format!("test -s {own}"))]).changes(&[own]))
    });
    let project = project(&[phase]);
    project.run_all();
    project.assert_consistent();
}

#[test]
fn plans_with_overlapping_files_run_in_order() {
    let plan_writing = |file: &str, script: &str| {
        plan(vec![task(&format!("{script}\necho {file} > {file}"))]).changes(&["beds"])
    };
    let plans = phase("1", &[])
        .with(plan_writing("beds/a", "mkdir -p beds"))
        .with(plan_writing("beds/b", REQUIRES_FIRST_PLAN).changes(&["beds/b"]));
    let project = project(&[plans]);
    project.run_all();
    project.assert_consistent();
}

#[test]
fn plans_that_declare_nothing_run_in_order() {
    let plan_writing =
        |file: &str, script: &str| plan(vec![task(&format!("{script}\necho 1 > {file}"))]);
    let project = project(&[phase("1", &[])
        .with(plan_writing("a", ""))
        .with(plan_writing("b", REQUIRES_FIRST_PLAN))]);
    project.run_all();
    project.assert_consistent();
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
        let project = project_with_config(config, &[phase_with_two_plans("", REQUIRES_FIRST_PLAN)]);
        project.run_all();
        project.assert_consistent();
    }
}

#[test]
fn an_agent_may_commit_its_work_itself() {
    for add in ["git add a", "git add --all"] {
        let own = format!("echo a > a; {add}; git commit -q -m Mine");
        let project = project(&[phase_with_two_plans(&own, "meet b")]);
        let lead = project.start(&ALL);
        project.wait_for_point("b");
        // The agent's git and mow's git may collide on the index lock, so wait for the commit.
        project.wait_for_event("the first plan's task", |event| {
            event["report"]["report"] == "task_done"
        });
        project.release_point("b");
        let (status, output) = lead.end();
        assert!(status.success(), "{output}");
        project.assert_consistent();
        assert_eq!((project.text("a").as_str(), project.text("b").as_str()), ("a\n", "b\n"));
    }
}

#[test]
fn a_commit_by_the_agent_itself_is_undone_if_its_check_fails() {
    let grown = "test -e ../../rain && echo rye > a || { echo weeds > a; echo more > c; }";
    let first = format!("{grown}; git add a; git commit -q -m Mine; echo dirty > d");
    let first = task(&first).check("grep -q rye a");
    let phases = phase("1", &[])
        .with(plan(vec![first]).changes(&["a", "c", "d"]))
        .with(plan(vec![task("meet b\necho b > b")]).changes(&["b"]));
    let project = project(&[phases]);
    let lead = project.start(&ALL);
    project.wait_for_point("b");
    // The agent's git and mow's git may collide on the index lock, so wait for the commit.
    project
        .wait_for_event("the first plan's task", |event| event["report"]["report"] == "task_done");
    project.release_point("b");
    let (status, output) = lead.end();
    assert_eq!(status.code(), Some(1), "{output}");
    assert!(output.contains("its check `grep -q rye a` failed"), "{output}");
    let tracked_files = project.git(&["ls-tree", "--name-only", "phase-01"]);
    assert!(!tracked_files.lines().any(|name| ["a", "c", "d"].contains(&name)), "{tracked_files}");
    project.write("rain", "");
    project.run_all();
    project.assert_consistent();
    assert_eq!((project.text("a").as_str(), project.text("b").as_str()), ("rye\n", "b\n"));
}

#[test]
fn a_directory_that_became_a_file_and_a_file_that_became_a_directory_are_undone() {
    let to_file =
        "test -f d || { rm -r d; echo 1 > d; }; test -d e || { rm e; mkdir e; echo 1 > e/x; }";
    let first = task(to_file).check("test -e ../../rain");
    let both = phase("1", &[])
        .with(plan(vec![first]).changes(&["d", "e"]))
        .with(plan(vec![task("echo b > b")]).changes(&["b"]));
    let project = project(&[both]);
    project.write("d/x", "0\n");
    project.write("e", "0\n");
    project.git(&["add", "--all"]);
    project.git(&["commit", "-q", "-m", "More"]);
    let output = project.exits_with(&ALL, 1);
    assert!(output.contains("its check `test -e ../../rain` failed"), "{output}");
    let tracked_files = project.git(&["ls-tree", "-r", "--name-only", "phase-01"]);
    assert!(tracked_files.contains("d/x\n") && tracked_files.contains("\ne\n"), "{tracked_files}");
    project.write("rain", "");
    project.run_all();
    project.assert_consistent();
    assert_eq!((project.text("d").as_str(), project.text("e/x").as_str()), ("1\n", "1\n"));
}

/// Starts a run and releases the first plan once this many tasks of the second are committed.
fn start_and_release_first_after(project: &PlannedProject, tasks: usize) -> RunningCommand {
    let lead = project.start(&ALL);
    project.wait_for_point("a");
    project.wait_for("the second plan's tasks", || {
        let is_task = |event: &&serde_json::Value| event["report"]["report"] == "task_done";
        (project.events().iter().filter(is_task).count() >= tasks).then_some(())
    });
    project.release_point("a");
    lead
}

#[track_caller]
fn assert_run_succeeds(project: &PlannedProject, lead: RunningCommand) -> String {
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    project.assert_consistent();
    output
}

/// This happens on purpose, or with an index older than the commit of the other plan.
#[test]
fn files_of_another_plan_that_an_agents_commit_reverts_are_restored() {
    let own = "echo a > a; git add a; git commit -q -m Mine";
    for takes in ["git rm -q --cached b", "git rm -q b"] {
        let project = project(&[phase_with_two_plans(&format!("meet a\n{takes}; {own}"), "")]);
        let output = assert_run_succeeds(&project, start_and_release_first_after(&project, 1));
        assert!(
            output.contains("reverted b, committed for plan 01-02; mow restored it"),
            "{output}"
        );
        assert_eq!((project.text("a").as_str(), project.text("b").as_str()), ("a\n", "b\n"));
    }
}

#[test]
fn a_file_reverted_to_an_intermediate_version_is_restored() {
    let old = "git update-index --cacheinfo 100644,$(echo 1 | git hash-object -w --stdin),b";
    let takes = format!("meet a\n{old}; echo a > a; git add a; git commit -q -m Mine");
    let second = plan(vec![task("echo 1 > b"), task("echo 2 > b")]).changes(&["b"]);
    let first = plan(vec![task(&takes)]).changes(&["a"]);
    let project = project(&[phase("1", &[]).with(first).with(second)]);
    assert_run_succeeds(&project, start_and_release_first_after(&project, 2));
    assert_eq!(project.text("b"), "2\n");
}

#[test]
fn a_reverted_file_is_restored_by_the_next_worker() {
    let takes = "git rm -q --cached b; echo a > a; git add a; git commit -q -m Mine";
    let takes = format!("meet a\ntest -e ../../taken || {{ {takes}; touch ../../taken; meet c; }}");
    let project = project(&[phase_with_two_plans(&takes, "")]);
    let lead = start_and_release_first_after(&project, 1);
    project.wait_for_point("c");
    processes_of_run(&project.run_id()).into_iter().for_each(kill);
    assert_run_succeeds(&project, lead);
    assert_eq!(project.text("b"), "b\n");
}

#[test]
fn a_reverted_file_is_restored_after_a_failure() {
    let takes = "git rm -q --cached b; echo a > a; git add a; git commit -q -m Mine; exit 1";
    let takes = format!("meet a\ntest -e ../../taken || {{ touch ../../taken; {takes}; }}");
    let project = project(&[phase_with_two_plans(&takes, "")]);
    assert!(!start_and_release_first_after(&project, 1).end().0.success());
    project.run_all();
    project.assert_consistent();
    assert_eq!((project.text("a").as_str(), project.text("b").as_str()), ("a\n", "b\n"));
}

#[test]
fn a_file_that_a_person_removes_stays_removed() {
    let first = plan(vec![task("meet a\ntest -e ../../rain; echo a > a")]).changes(&["a"]);
    let second = plan(vec![task("echo b > b; echo c > c")]).changes(&["b", "c"]);
    let project = project(&[phase("1", &[]).with(first).with(second)]);
    assert!(!start_and_release_first_after(&project, 1).end().0.success());
    project.git(&["-C", ".worktrees/p01", "rm", "-q", "c"]);
    project.git(&["-C", ".worktrees/p01", "commit", "-q", "-m", "I want no c"]);
    project.write("rain", "");
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.text("b"), "b\n");
    assert!(!project.root().join("c").exists());
}

#[test]
fn a_file_that_its_own_plan_removes_stays_removed() {
    let removes = "git rm -q c; echo 2 > a; git add a; git commit -q -m Mine";
    let first = plan(vec![task("echo 1 > a; echo 1 > c"), task(removes)]).changes(&["a", "c"]);
    let second = plan(vec![task("echo b > b")]).changes(&["b"]);
    let project = project(&[phase("1", &[]).with(first).with(second)]);
    project.run_all();
    project.assert_consistent();
    assert!(!project.root().join("c").exists());
    assert_eq!((project.text("a").as_str(), project.text("b").as_str()), ("2\n", "b\n"));
}

#[test]
fn a_killed_worker_resumes_and_its_uncommitted_files_are_rescued() {
    let project =
        project(&[phase_with_two_plans("echo half > a\nmeet a", "echo half > b\nmeet b")]);
    let lead = project.start(&ALL);
    project.wait_for_point("a");
    project.wait_for_point("b");
    project.release_point("b");
    project
        .wait_for_event("the second plan's task", |event| event["report"]["report"] == "task_done");
    let run = project.run_id();
    processes_of_run(&run).into_iter().for_each(kill);
    project.wait_for_status("1", "waiting");
    project.release_point("a");
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    project.assert_same_result_as(&run_undisturbed());
    let again = project.records("01-2.ndjson");
    let ran = |plan: &str| {
        let intent = format!("\"effect\":\"run_task\",\"plan\":\"{plan}\"");
        again.iter().any(|record| record.body.contains(&intent))
    };
    assert!(ran("01-01") && !ran("01-02"), "only the uncommitted task runs again");
    let checked = |plan: &str| {
        let intent = format!("\"effect\":\"check_plan\",\"plan\":\"{plan}\"");
        again.iter().any(|record| record.body.contains(&intent))
    };
    assert!(checked("01-02"), "a task committed without checks is checked before it counts");
    let kept = project.git(&["for-each-ref", "--format=%(refname)", "refs/mow/rescue"]);
    let kept = kept.lines().next().expect("the uncommitted files are rescued");
    assert_eq!(project.git(&["show", &format!("{kept}:a")]), "half\n");
}

#[test]
fn a_file_that_no_plan_declares_is_rescued_and_reported() {
    let project = project(&[phase_with_two_plans("echo wild > weeds", "")]);
    let ran = project.exits_with(&ALL, 1);
    let words = "weeds changed while plans 01-01, 01-02 ran in parallel, but no plan declares it \
                 in files_modified, kept as refs/mow/rescue/";
    assert!(ran.contains(words), "{ran}");
    let kept = project.git(&["for-each-ref", "--format=%(refname)", "refs/mow/rescue"]);
    let kept = kept.lines().next().expect("the file is rescued");
    assert_eq!(project.git(&["show", &format!("{kept}:weeds")]), "wild\n");
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.target_files().keys().collect::<Vec<_>>(), ["README.md", "a", "b"]);
}

#[test]
fn a_plan_whose_check_fails_is_undone_and_repeated_alone() {
    let dry = "test -e ../../rain || echo dust > a\ntest -e ../../rain || exit 0";
    let project = project(&[phase("1", &[])
        .with(plan(vec![task(&format!("{dry}\necho a > a")).check("grep -q a a")]).changes(&["a"]))
        .with(plan(vec![task("echo b > b").check("grep -q b b")]).changes(&["b"]))]);
    let ran = project.exits_with(&ALL, 1);
    assert!(ran.contains("plan 01-01, task 1: its check `grep -q a a` failed, exit 1"), "{ran}");
    project.write("rain", "");
    project.run_all();
    assert_eq!((project.text("a").as_str(), project.text("b").as_str()), ("a\n", "b\n"));
    assert_eq!(
        project.trailers("Mow-Undone").into_iter().collect::<Vec<_>>(),
        [("01-01/1".to_owned(), 1)]
    );
    let done = project.trailers("Mow-Task");
    assert_eq!((done["01-01/1"], done["01-02/1"]), (2, 1), "undone once, and done again");
}
