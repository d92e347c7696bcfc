//! Checks the structure of a plan: required keys and the elements of its tasks.

use super::{Plan, Task};

/// The result of a structure check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StructureReport {
    /// Errors that must be fixed.
    pub errors: Vec<String>,
    /// Warnings that may be acceptable.
    pub warnings: Vec<String>,
}

impl Plan {
    /// Checks the plan's keys and tasks.
    ///
    /// Checkpoints have other elements, so they are not checked. Tasks written as headings need
    /// neither `<name>` nor `<action>`.
    pub fn check_structure(&self) -> StructureReport {
        let mut found = StructureReport::default();
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

fn check_task(task: &Task, found: &mut StructureReport) {
    let name = task.display_name();
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
    /// Returns the name, or `unnamed`.
    pub fn display_name(&self) -> &str {
        if self.name.is_empty() { "unnamed" } else { &self.name }
    }
}
