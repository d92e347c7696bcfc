//! Tests `notify.command`, which tells people away from the terminal that a question waits.

use mow_testkit::planned_project::{ALL, phase, plan, task};

use super::project_with_config;

#[test]
fn the_notify_command_receives_the_question_that_waits() {
    let command = "printf '%s\\n' \\\"$MOW_NOTIFY_KIND $MOW_NOTIFY_ITEM: $MOW_NOTIFY_TEXT\\\" > notice.tmp && mv notice.tmp notice";
    let config = format!(r#""notify": {{"command": "{command}"}}"#);
    let tasks = vec![task("echo 1 > crop-1").checkpoint("human-verify")];
    let project = project_with_config(&config, &[phase("1", &[]).with(plan(tasks))]);
    project.exits_with(&ALL, 5);
    let path = project.root().join("notice");
    project.wait_for("the notice", || path.exists().then_some(()));
    let notice = project.text("notice");
    assert!(notice.starts_with("checkpoint 1: Phase 1, plan 01-01, task 1"), "{notice}");
}
