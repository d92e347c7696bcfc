//! Tests cancelling after the current task or at once, what CHECKPOINT.md says then, and that a
//! phase resumes from it.
#![expect(clippy::disallowed_methods, reason = "a test removes the file that breaks a check")]

use mow_testkit::planned_project::{ALL, PhaseFixture, PlannedProject, phase, plan, task};
use serde_json::Value;

use super::{one_task_phase, project};

const CHECKPOINT: &str = ".worktrees/p01/.planning/phases/01-field-1/01-CHECKPOINT.md";

/// A phase with a complete plan when its second plan stops at the meeting point.
fn two_plans() -> PhaseFixture {
    let first = plan(vec![task("echo 1 > a").check("test ! -e ../../broken")]);
    let second = plan(vec![task("echo half > b\nmeet 1\necho 1 > b"), task("echo 2 >> b")]);
    phase("1", &[]).with(first).with(second.wave(2))
}

/// The second phase asks a question, so the run is not over when the first phase is cancelled.
fn two_plans_and_a_question() -> PlannedProject {
    project(&[two_plans(), one_task_phase("2", &[], "").without_context()])
}

fn is_halted(event: &Value) -> bool {
    event["event"] == "halted"
}

/// Runs the commands of the resume instructions as they are.
fn follow_instructions(project: &PlannedProject, checkpoint: &str, code: i32) -> String {
    let (_, block) = checkpoint.split_once("```sh\n").expect("there are commands");
    let (commands, _) = block.split_once("```").expect("the block ends");
    let commands: Vec<_> = commands.lines().collect();
    assert_eq!(commands, ["mow resume 1", "mow run --all"], "{checkpoint}");
    project.exits_with(&["resume", "1"], 0);
    project.exits_with(&ALL, code)
}

#[test]
fn a_cancelled_phase_finishes_its_current_task_and_resumes_from_the_checkpoint() {
    let project = two_plans_and_a_question();
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    let requested = project.exits_with(&["cancel", "1"], 0);
    assert!(requested.contains("finish their current task first"), "{requested}");
    project.wait_for_event("the order to stop", is_halted);
    let again = project.exits_with(&["cancel", "1"], 1);
    assert!(again.contains("`mow cancel 1 --now` does not wait"), "{again}");
    project.release_point("1");
    let (status, output) = lead.end();
    assert_eq!(status.code(), Some(5), "{output}");
    assert!(output.contains("phase 1 ends after its current task"), "{output}");
    assert_eq!(project.git(&["show", "phase-01:b"]), "1\n", "the task is committed");
    let text = project.text(CHECKPOINT);
    let closing = project.git(&["log", "--format=%H", "--grep=Mow-Plan", "phase-01"]);
    for words in [
        "status: cancelled",
        "circuit_breaker_hit: false",
        &format!("- 01-01 (commit `{}`)", closing.trim()),
        "**Plan:** 01-02\n**Task:** 2 of 2\n",
        "**Stage:** execute\n",
        "ran `mow cancel 1`",
        "## Uncommitted Changes\n\nNone.\n",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let output = follow_instructions(&project, &text, 5);
    let note = "resumes from 01-CHECKPOINT.md (cancelled in plan 01-02, task 2); 1 of 2 plans";
    assert!(output.contains(note), "{output}");
    assert!(output.contains("the checks of its complete plan pass"), "{output}");
    assert_eq!(project.git(&["show", "phase-01:b"]), "1\n2\n");
    let phase_dir = project.git(&["ls-tree", "-r", "--name-only", "phase-01"]);
    assert!(!phase_dir.contains("CHECKPOINT"), "it is archived: {phase_dir}");
    project.assert_consistent();
}

#[test]
fn a_cancellation_that_does_not_wait_saves_uncommitted_work() {
    let project = two_plans_and_a_question();
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    project.exits_with(&["cancel", "1", "--now"], 0);
    let (status, output) = lead.end();
    assert_eq!(status.code(), Some(5), "{output}");
    assert!(output.contains("phase 1 stops at once"), "{output}");
    let text = project.text(CHECKPOINT);
    for words in ["status: cancelled", "**Task:** 1 of 2\n", " b | 1 +", "ran `mow cancel 1 --now`"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    let (_, rest) = text.split_once("Saved in commit `").expect("the work is saved");
    let (commit, _) = rest.split_once('`').expect("the commit is named");
    assert_eq!(project.git(&["show", &format!("{commit}:b")]), "half\n");
    project.release_point("1");
    follow_instructions(&project, &text, 5);
    assert_eq!(project.git(&["show", "phase-01:b"]), "1\n2\n");
    project.assert_consistent();
}

#[test]
fn a_resumed_phase_does_not_go_on_while_a_check_of_a_complete_plan_fails() {
    let project = project(&[two_plans()]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    project.exits_with(&["pause", "1"], 0);
    project.wait_for_event("the order to pause", is_halted);
    project.release_point("1");
    let (status, output) = lead.end();
    assert_eq!(status.code(), Some(5), "{output}");
    project.write("broken", "");
    project.exits_with(&["resume", "1"], 0);
    let output = project.exits_with(&ALL, 5);
    let words = "plan 01-01 is complete, but its check `test ! -e ../../broken` failed, exit 1";
    assert!(output.contains(words), "{output}");
    assert!(!output.contains("plan 01-02: task 2 done"), "{output}");
    std::fs::remove_file(project.root().join("broken")).expect("it was just written");
    project.exits_with(&["answer", "1", "retry"], 0);
    let output = project.run_all();
    assert!(output.contains("the checks of its complete plan pass"), "{output}");
    project.assert_consistent();
}
