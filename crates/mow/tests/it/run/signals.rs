//! Ctrl-C: once lets what runs come to its end, twice stops it with checkpoints.

use mow_testkit::field::{ALL, phase, plan, task};

use super::{field, sown};

#[test]
fn once_starts_nothing_more_and_the_next_run_goes_on() {
    let field = field(&[sown("1", &[], "meet 1"), sown("2", &["1"], "")]);
    let lead = field.start(&ALL);
    field.reached("1");
    lead.interrupt();
    field.until_event("the hold", |event| event["event"] == "held");
    field.open("1");
    let (status, said) = lead.end();
    assert_eq!(status.code(), Some(5), "{said}");
    assert!(said.contains("phase 1 is merged") && !said.contains("phase 2 starts"), "{said}");
    field.run_all();
    field.inspect();
    assert_eq!(field.code().len(), 3, "{:?}", field.code());
}

#[test]
fn twice_stops_after_the_task_with_a_checkpoint_and_the_next_run_goes_on() {
    let tasks = plan(vec![task("echo 1 > a; meet 1"), task("echo 2 > b")]);
    let field = field(&[phase("1", &[]).with(tasks)]);
    let lead = field.start(&ALL);
    field.reached("1");
    lead.interrupt();
    field.until_event("the hold", |event| event["hold"] == "draining");
    lead.interrupt();
    field.until_event("the stop", |event| event["event"] == "halted");
    field.open("1");
    let (status, said) = lead.end();
    assert_eq!(status.code(), Some(5), "{said}");
    let worktree = field.git(&["worktree", "list", "--porcelain"]);
    let worktree = worktree.lines().rfind(|line| line.starts_with("worktree ")).unwrap();
    let dir = std::path::Path::new(worktree.strip_prefix("worktree ").unwrap());
    let checkpoint = dir.join(".planning/phases/01-field-1/01-CHECKPOINT.md");
    let text = std::fs::read_to_string(&checkpoint).expect("there is a checkpoint");
    assert!(text.contains("paused") && text.contains("01-01"), "{text}");
    field.run_all();
    field.inspect();
    assert!(!checkpoint.exists(), "it is passed");
    assert_eq!(field.trailers("Mow-Task").len(), 2);
}
