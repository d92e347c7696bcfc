//! Tests Ctrl-C: once lets running phases finish, twice pauses them after the current task.

use mow_testkit::planned_project::{ALL, phase, plan, task};

use super::{one_task_phase, project};

#[test]
fn one_interrupt_starts_nothing_new_and_the_next_run_continues() {
    let project = project(&[one_task_phase("1", &[], "meet 1"), one_task_phase("2", &["1"], "")]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    lead.interrupt();
    project.wait_for_event("the hold", |event| event["event"] == "held");
    project.release_point("1");
    let (status, output) = lead.end();
    assert_eq!(status.code(), Some(5), "{output}");
    assert!(output.contains("phase 1 is merged") && !output.contains("phase 2 starts"), "{output}");
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.target_files().len(), 3, "{:?}", project.target_files());
}

#[test]
fn two_interrupts_stop_after_the_task_with_a_checkpoint_and_the_next_run_continues() {
    let tasks = plan(vec![task("echo 1 > a; meet 1"), task("echo 2 > b")]);
    let project = project(&[phase("1", &[]).with(tasks)]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    lead.interrupt();
    project.wait_for_event("the hold", |event| event["hold"] == "draining");
    lead.interrupt();
    project.wait_for_event("the stop", |event| event["event"] == "halted");
    project.release_point("1");
    let (status, output) = lead.end();
    assert_eq!(status.code(), Some(5), "{output}");
    let worktree = project.git(&["worktree", "list", "--porcelain"]);
    let worktree = worktree.lines().rfind(|line| line.starts_with("worktree ")).unwrap();
    let dir = std::path::Path::new(worktree.strip_prefix("worktree ").unwrap());
    let checkpoint = dir.join(".planning/phases/01-field-1/01-CHECKPOINT.md");
    let text = std::fs::read_to_string(&checkpoint).expect("there is a checkpoint");
    assert!(text.contains("paused") && text.contains("01-01"), "{text}");
    project.run_all();
    project.assert_consistent();
    assert!(!checkpoint.exists(), "the checkpoint is removed after use");
    assert_eq!(project.trailers("Mow-Task").len(), 2);
}
