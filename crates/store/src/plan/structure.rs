//! Whether a plan is built as plans are: its keys, and the parts of its tasks.

use super::{Plan, Task};

/// What was found wrong with a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Structure {
    /// What must be put right.
    pub errors: Vec<String>,
    /// What should be looked at.
    pub warnings: Vec<String>,
}

impl Plan {
    /// Checks the plan's keys and tasks.
    ///
    /// Checkpoints have parts of their own, and tasks that are mere headings have none: neither is
    /// asked for the parts of a task.
    pub fn structure(&self) -> Structure {
        let mut found = Structure::default();
        for key in self.missing_keys() {
            found.errors.push(format!("Missing required frontmatter field: {key}"));
        }
        for task in self.tasks.iter().filter(|task| !task.is_checkpoint()) {
            check_task(task, &mut found);
        }
        if self.tasks.is_empty() {
            found.warnings.push("No <task> elements in the plan".to_owned());
        }
        if self.wave > 1 && self.depends_on.is_empty() {
            found.warnings.push(format!("wave is {} and depends_on is empty", self.wave));
        }
        if self.autonomous && self.tasks.iter().any(Task::is_checkpoint) {
            found.errors.push("checkpoint task in a plan whose autonomous is not false".to_owned());
        }
        found
    }
}

fn check_task(task: &Task, found: &mut Structure) {
    let name = task.shown_name();
    let lacks = |tag: &str| task.element(tag).is_none();
    if task.tagged && task.name.is_empty() {
        found.errors.push(format!("Task at line {} has no <name>", task.line));
    }
    if task.tagged && lacks("action") {
        found.errors.push(format!("Task '{name}' has no <action>"));
    }
    for tag in ["verify", "done", "files"] {
        if lacks(tag) {
            found.warnings.push(format!("Task '{name}' has no <{tag}>"));
        }
    }
}

impl Task {
    /// Returns the name, or a word in its place.
    pub fn shown_name(&self) -> &str {
        if self.name.is_empty() { "unnamed" } else { &self.name }
    }
}
