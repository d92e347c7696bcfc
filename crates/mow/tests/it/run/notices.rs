//! Notices for people who are not at the terminal.

use mow_testkit::field::{ALL, phase, plan, task};

use super::field_with;

#[test]
fn a_command_is_told_what_waits_for_a_person() {
    let command = "printf '%s\\n' \\\"$MOW_NOTIFY_KIND $MOW_NOTIFY_ITEM: $MOW_NOTIFY_TEXT\\\" > told.tmp && mv told.tmp told";
    let config = format!(r#""notify": {{"command": "{command}"}}"#);
    let tasks = vec![task("echo 1 > crop-1").checkpoint("human-verify")];
    let field = field_with(&config, &[phase("1", &[]).with(plan(tasks))]);
    field.ends(&ALL, 5);
    let path = field.root().join("told");
    field.until("the notice", || path.exists().then_some(()));
    let told = field.text("told");
    assert!(told.starts_with("checkpoint 1: Phase 1, plan 01-01, task 1"), "{told}");
}
