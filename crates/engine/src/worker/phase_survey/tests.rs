//! Tests what the survey reads from roadmap sections and plan texts.

use mow_store::plan;

use super::*;

#[test]
fn a_section_may_skip_the_discussion() {
    for section in ["**Discuss**: skip", "**Discuss:** skip", "- **discuss**: Skip\n"] {
        assert!(skips_discuss(section), "{section}");
    }
    for section in ["**Discuss**: no", "skip the discussion", "Discuss: skip this part later"] {
        assert!(!skips_discuss(section), "{section}");
    }
}

#[test]
fn a_checkpoint_becomes_a_question() {
    let text = "<task type=\"checkpoint:human-verify\">\n<name>Look</name>\n<what-built>A page</what-built>\n<how-to-verify>Open it</how-to-verify>\n</task>\n";
    let plan = plan::parse(text.as_bytes());
    let task = task_snapshot(&plan.tasks[0]);
    assert_eq!(task.question.as_deref(), Some("A page\nOpen it"));
    assert_eq!(task.choices, ["approved", "rejected"]);
    let auto = plan::parse(b"<task type=\"auto\">\n<name>Do</name>\n</task>\n");
    assert_eq!(task_snapshot(&auto.tasks[0]).question, None);
}

#[test]
fn a_plan_without_tasks_names_the_cause() {
    assert!(plan_problem(&plan::parse(b"# Nothing\n")).unwrap().contains("no tasks"));
    let broken = plan::parse(b"---\nwave: [1\n---\n# Nothing\n");
    assert!(plan_problem(&broken).unwrap().contains("(line "), "{:?}", plan_problem(&broken));
}
