//! Defines the scenes: small runs that together pass every failpoint.

use std::path::Path;

use mow_testkit::planned_project::{
    ALL, PhaseFixture, PlannedProject, ProjectOptions, phase, plan, processes_of_run, task,
};

use super::super::MOW;
use super::scene_runner::SceneRunner;

/// A project and the commands that run in it.
pub(super) struct Scene {
    pub(super) name: &'static str,
    pub(super) setup: fn() -> PlannedProject,
    pub(super) run: fn(&SceneRunner),
}

/// All scenes. A failpoint is tested in the first scene that passes it, or in all of them in a
/// soak.
pub(super) const SCENES: [Scene; 16] = [
    Scene { name: "diamond", setup: diamond_phases, run: |runner| runner.exits_with(&ALL, 0) },
    Scene { name: "ignored", setup: ignored_planning, run: |runner| runner.exits_with(&ALL, 0) },
    Scene { name: "asked", setup: unplanned_phase, run: answer_questions },
    Scene { name: "cancelled", setup: two_tasks_and_a_question, run: cancel },
    Scene { name: "paused", setup: two_tasks, run: pause },
    Scene { name: "moved", setup: one_meeting_phase, run: commit_meanwhile },
    Scene { name: "smuggled", setup: one_meeting_phase, run: move_target_ref },
    Scene { name: "elsewhere", setup: dev_branch, run: merge_into_dev },
    Scene { name: "stashed", setup: one_phase, run: start_by_hand },
    Scene { name: "closed", setup: two_phases, run: close_shop },
    Scene { name: "parallel", setup: parallel_plans, run: |runner| runner.exits_with(&ALL, 0) },
    Scene { name: "undone", setup: failing_parallel_plan, run: fail_then_repeat },
    Scene {
        name: "reverted",
        setup: reverting_parallel_plan,
        run: |runner| runner.exits_with(&ALL, 0),
    },
    Scene { name: "look-ahead", setup: look_ahead_project, run: wait_for_look_ahead },
    Scene { name: "silent-lead", setup: silent_lead_project, run: finish_without_lead },
    Scene { name: "agents", setup: agent_project, run: answer_agents },
];

/// Returns a phase with one plan of one task that appends a line, so a repeated task shows.
fn one_task_phase(number: &str, depends_on: &[&str], script: &str) -> PhaseFixture {
    let script = format!("{script}\necho {number} >> crop-{number}");
    phase(number, depends_on).with(plan(vec![task(&script)]))
}

/// Four phases. The first has two plans and covers a requirement.
fn diamond_phases() -> PlannedProject {
    let requires = "**Requirements**: FIELD-01";
    let first =
        one_task_phase("1", &[], "").with(plan(vec![task("echo 2 >> second")])).details(requires);
    let phases = [
        first,
        one_task_phase("2", &["1"], ""),
        one_task_phase("3", &["1"], ""),
        one_task_phase("4", &["2", "3"], "cat crop-3"),
    ];
    let project = PlannedProject::new(MOW, &phases);
    project.write(
        ".planning/REQUIREMENTS.md",
        "# Requirements\n\n- [ ] **FIELD-01**: It is sown\n\n## Traceability\n\n\
         | Requirement | Phase | Status |\n|---|---|---|\n| FIELD-01 | Phase 1 | Pending |\n",
    );
    project.git(&["add", "--all"]);
    project.git(&["commit", "-q", "-m", "Require something"]);
    project
}

/// A project whose planning files are ignored by git.
fn ignored_planning() -> PlannedProject {
    let options = ProjectOptions { ignore: ".planning/\n", ..ProjectOptions::default() };
    PlannedProject::with_options(
        MOW,
        &options,
        &[one_task_phase("1", &[], ""), one_task_phase("2", &["1"], "test -e crop-1")],
    )
}

/// A phase without context and plans, and a planner that copies a plan.
fn unplanned_phase() -> PlannedProject {
    let planner = "p=$MOW_PHASE_DIR/01-01-PLAN.md; test -e $p || cp ../../plan.md $p";
    let config = format!("\"roles\": {{\"planner\": {{\"command\": \"{planner}\"}}}}");
    let project = PlannedProject::with_options(
        MOW,
        &ProjectOptions { config: &config, ..ProjectOptions::default() },
        &[phase("1", &[]).without_context()],
    );
    let planned = phase("1", &[]).with(plan(vec![task("echo 1 >> crop-1")]));
    let files = planned.files(Path::new("/nowhere"));
    let (_, text) = files.into_iter().find(|(path, _)| path.ends_with("-PLAN.md")).expect("a plan");
    project.write("plan.md", text);
    project.git(&["add", "--all"]);
    project.git(&["commit", "-q", "-m", "Add what the planner copies"]);
    project
}

fn answer_questions(runner: &SceneRunner) {
    runner.exits_with(&ALL, 5);
    answer_all(runner);
    runner.exits_with(&ALL, 0);
}

fn answer_all(runner: &SceneRunner) {
    let asked = runner.project.events().into_iter().filter(|event| event["event"] == "asked");
    for event in asked {
        runner.run_as_person(&["answer", &event["item"]["id"].to_string(), "Rows of barley."]);
    }
}

/// A phase whose second task has changed and new files when it stops at the meeting point.
fn phase_meeting_in_second_task() -> PhaseFixture {
    let second = task("echo 2 >> crop-1\necho new > new-1\nmeet 1\necho 3 >> crop-1");
    phase("1", &[]).with(plan(vec![task("echo 1 >> crop-1"), second]))
}

fn two_tasks() -> PlannedProject {
    PlannedProject::new(MOW, &[phase_meeting_in_second_task()])
}

/// The second phase asks a question, so the run is not over when the first is cancelled.
fn two_tasks_and_a_question() -> PlannedProject {
    PlannedProject::new(
        MOW,
        &[phase_meeting_in_second_task(), one_task_phase("2", &[], "").without_context()],
    )
}

/// The lead is killed, its successor adopts the worker, and a person cancels the phase. Later a
/// person runs the phase again.
fn cancel(runner: &SceneRunner) {
    let project = &runner.project;
    let is_there = || project.sandbox.outer_dir().join("sync/at-1").exists();
    runner.start_lead_until(&ALL, is_there).kill();
    let adopted =
        || project.events().iter().filter(|event| event["event"] == "taken_up").count() > 1;
    let lead = runner.start_lead_until(&ALL, adopted);
    runner.run_as_person(&["cancel", "1", "--now"]);
    runner.finish_lead(lead, &ALL, 5);
    project.release_point("1");
    answer_all(runner);
    runner.exits_with(&["run", "1", "2", "--yes", "--plain"], 0);
}

/// A person pauses the phase after the current task, and resumes it later.
fn pause(runner: &SceneRunner) {
    let project = &runner.project;
    let is_there = || project.sandbox.outer_dir().join("sync/at-1").exists();
    let mut lead = runner.start_lead_until(&ALL, is_there);
    runner.run_as_person(&["pause"]);
    let is_halted = || project.events().iter().any(|event| event["event"] == "halted");
    project.wait_for("the pause", || (is_halted() || lead.has_ended()).then_some(()));
    project.release_point("1");
    // A lead that resumes after a crash also resumes the phase.
    if runner.exited_with(lead, 5) {
        runner.run_as_person(&["resume"]);
    }
    runner.exits_with(&ALL, 0);
}

fn one_meeting_phase() -> PlannedProject {
    PlannedProject::new(MOW, &[one_task_phase("1", &[], "meet 1")])
}

/// A person commits to the target branch during the run.
fn commit_meanwhile(runner: &SceneRunner) {
    let project = &runner.project;
    let is_there = || project.sandbox.outer_dir().join("sync/at-1").exists();
    let lead = runner.start_lead_until(&ALL, is_there);
    project.write("other", "other\n");
    // A lead that resumes after a crash may commit planning files at the same moment. Git refuses
    // the second of two concurrent commits because of the index lock.
    project.wait_for("the index to be free", || project.try_git(&["add", "other"]));
    let commit = ["commit", "-q", "-m", "Other work", "--", "other"];
    project.wait_for("the index to be free", || project.try_git(&commit));
    project.release_point("1");
    runner.finish_lead(lead, &ALL, 0);
}

/// A person moves the run's target ref to an unchecked commit.
fn move_target_ref(runner: &SceneRunner) {
    let project = &runner.project;
    let is_there = || project.sandbox.outer_dir().join("sync/at-1").exists();
    let lead = runner.start_lead_until(&ALL, is_there);
    let smuggled = project.git(&["commit-tree", "HEAD:.planning", "-p", "HEAD", "-m", "Weed"]);
    let target = format!("refs/mow/run/{}/target", project.run_id());
    project.git(&["update-ref", &target, smuggled.trim()]);
    project.release_point("1");
    runner.finish_lead(lead, &ALL, 0);
    assert!(!project.git(&["log", "--format=%s", "main"]).contains("Weed"));
}

/// The target branch `dev` is not checked out and lacks the current plan.
fn dev_branch() -> PlannedProject {
    let project = PlannedProject::new(MOW, &[one_task_phase("1", &[], "")]);
    project.git(&["branch", "dev"]);
    project.edit(".planning/phases/01-field-1/01-01-PLAN.md", "Sow 01-01.", "Sow it well.");
    project
}

fn merge_into_dev(runner: &SceneRunner) {
    runner.exits_with(&["run", "--all", "--yes", "--plain", "--into", "dev"], 0);
}

fn one_phase() -> PlannedProject {
    PlannedProject::new(MOW, &[one_task_phase("1", &[], "")])
}

/// A person starts the phase by hand, stashes the work and leaves the worktree on another branch.
fn start_by_hand(runner: &SceneRunner) {
    let project = &runner.project;
    runner.run_as_person(&["worktree", "create", "1"]);
    project.write(".worktrees/p01/begun", "by hand\n");
    runner.run_as_person(&["worktree", "stash", "1"]);
    project.git(&["-C", ".worktrees/p01", "checkout", "-q", "-b", "mine"]);
    runner.exits_with(&ALL, 0);
}

/// Two plans that run in parallel. The first has two tasks.
fn parallel_plans() -> PlannedProject {
    let first = plan(vec![task("echo 1 >> a"), task("echo 2 >> a").check("test -s a")]);
    let second = plan(vec![task("echo 1 >> b").check("test -s b")]);
    let both = phase("1", &[]).with(first.changes(&["a"])).with(second.changes(&["b"]));
    PlannedProject::new(MOW, &[both])
}

/// Two parallel plans. The check of the first fails until the file `rain` exists.
fn failing_parallel_plan() -> PlannedProject {
    let first = plan(vec![task("cat ../../rain >> a || echo dust >> a").check("grep -q wet a")]);
    let second = plan(vec![task("echo 1 >> b")]);
    let both = phase("1", &[]).with(first.changes(&["a"])).with(second.changes(&["b"]));
    PlannedProject::new(MOW, &[both])
}

fn fail_then_repeat(runner: &SceneRunner) {
    runner.exits_with(&ALL, 1);
    runner.project.write("rain", "wet\n");
    runner.exits_with(&ALL, 0);
}

/// Two parallel plans. The agent of the first commits by itself and reverts the file of the second.
fn reverting_parallel_plan() -> PlannedProject {
    let wait = "do test -d $MOW_WORKTREE || exit 1; sleep 0.01; done";
    // The index lists the file once mow has committed it.
    let has = "git ls-files --error-unmatch b >&- 2>&-";
    let takes =
        format!("{has} || {{ touch ../../ready; until {has}; {wait}; git rm -q --cached b; }}");
    let own = "git log --format=%s | grep -q Mine || \
               { echo 1 > a; git add a; git commit -q -m Mine; }";
    let first = plan(vec![task(&format!("{takes}\n{own}"))]);
    let second = plan(vec![task(&format!("until test -e ../../ready; {wait}\necho 1 >> b"))]);
    let both = phase("1", &[]).with(first.changes(&["a"])).with(second.changes(&["b"]));
    PlannedProject::new(MOW, &[both])
}

fn two_phases() -> PlannedProject {
    let project =
        PlannedProject::new(MOW, &[one_task_phase("1", &[], ""), one_task_phase("2", &["1"], "")]);
    let context = ".planning/phases/01-field-1/01-CONTEXT.md";
    project.write(context, "# Phase 1\n\n<deferred>\n- A hedge\n</deferred>\n");
    project
}

/// Runs one of two phases, prunes its worktree and closes the unfinished run.
fn close_shop(runner: &SceneRunner) {
    runner.exits_with(&["run", "1", "--yes", "--plain"], 0);
    runner.run_as_person(&["worktree", "prune", "--yes"]);
    runner.run_as_person(&["close-shop", "--yes", "--force"]);
}

fn silent_lead_project() -> PlannedProject {
    let config = "\"messages\": {\"ack_timeout_s\": 0}";
    PlannedProject::with_options(
        MOW,
        &ProjectOptions { config, ..ProjectOptions::default() },
        &[one_task_phase("1", &[], "meet 1")],
    )
}

/// The lead is killed, and its worker finishes without one.
fn finish_without_lead(runner: &SceneRunner) {
    let project = &runner.project;
    let is_there = || project.sandbox.outer_dir().join("sync/at-1").exists();
    runner.start_lead_until(&ALL, is_there).kill();
    project.release_point("1");
    let run = project.run_id();
    project.wait_for("the worker to come to its end", || {
        processes_of_run(&run).is_empty().then_some(())
    });
    runner.exits_with(&ALL, 0);
}

/// A phase that is researched and planned while it waits for another one.
fn look_ahead_project() -> PlannedProject {
    let config = "\"multi_phase\": {\"lookahead\": \"plan\"}, \"roles\": {\
        \"researcher\": {\"command\": \"echo found > $MOW_RESEARCH_FILE\"}, \
        \"planner\": {\"command\": \"cp ../../plan.md $MOW_PHASE_DIR/02-01-PLAN.md\"}}";
    let phases = [one_task_phase("1", &[], "meet 1"), phase("2", &["1"])];
    let project = PlannedProject::with_options(MOW, &ProjectOptions::default(), &phases);
    project.write(".planning/config.json", format!("{{{config}}}\n"));
    let planned = phase("2", &[]).with(plan(vec![task("echo 2 >> crop-2")]));
    let files = planned.files(Path::new("/nowhere"));
    let (_, text) = files.into_iter().find(|(path, _)| path.ends_with("-PLAN.md")).expect("a plan");
    project.write("plan.md", text);
    project.git(&["add", "--all"]);
    project.git(&["commit", "-q", "-m", "Add what the planner copies"]);
    project
}

/// Holds the first phase until the look-ahead of the second is over.
fn wait_for_look_ahead(runner: &SceneRunner) {
    let project = &runner.project;
    let is_over = |event: &serde_json::Value| {
        let why = &event["why"];
        why["done_ahead"] == "plan" || why["lookahead_failed"].is_string()
    };
    let is_there = || project.events().iter().any(is_over);
    let lead = runner.start_lead_until(&ALL, is_there);
    project.release_point("1");
    runner.finish_lead(lead, &ALL, 0);
}

/// Two phases executed by an agent. The first has two parallel plans.
fn agent_project() -> PlannedProject {
    let config = "\"agents\": {\"stub\": {\"protocol\": \"acp\", \"command\": \"sh\", \
        \"args\": [\"../../.git/agent\"]}}, \"roles\": {\
        \"plan-checker\": {\"agent\": \"stub\"}, \"executor\": {\"agent\": \"stub\"}}";
    let plan_writing =
        |file: &str| plan(vec![task("").check(&format!("test -s {file}"))]).changes(&[file]);
    let phases = [
        phase("1", &[]).with(plan_writing("a")).with(plan_writing("b")),
        phase("2", &["1"]).with(plan_writing("c")),
    ];
    let project = PlannedProject::with_options(
        MOW,
        &ProjectOptions { config, ..ProjectOptions::default() },
        &phases,
    );
    // Git does not report changes below `.git`.
    project.write(".git/agent", include_str!("agent.sh"));
    project
}

/// The agent asks for permissions, first in parallel with another and then alone. A person answers
/// `always`, and sends a peer message in the name of the other phase.
fn answer_agents(runner: &SceneRunner) {
    runner.exits_with(&ALL, 5);
    runner.run_as_person(&["peer", "send", "1", "Mind the hedge.", "--from", "2"]);
    let asked = runner.project.events().into_iter().filter(|event| event["event"] == "asked");
    for event in asked {
        runner.run_as_person(&["answer", &event["item"]["id"].to_string(), "always"]);
    }
    runner.exits_with(&ALL, 0);
}
