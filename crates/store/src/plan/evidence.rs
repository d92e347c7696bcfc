//! Compares two versions of a plan by their evidence: checks, must-haves and file scope.
//!
//! A worker compares each plan with its frozen version. Changed names and descriptions do not count.

use super::{Plan, Task};

impl Task {
    /// Returns the texts of the elements that check the task.
    fn verification(&self) -> impl Iterator<Item = &str> {
        let is_check = |tag: &str| matches!(tag, "verify" | "automated");
        self.elements.iter().filter(move |e| is_check(&e.tag)).map(|element| element.text.as_str())
    }
}

impl Plan {
    /// Returns the first difference in evidence between this plan and its `current` version.
    ///
    /// `None` means that checks, task kinds, must-haves and file scope are equal.
    pub fn changed_evidence(&self, current: &Self) -> Option<String> {
        let (old, new) = (self.tasks.len(), current.tasks.len());
        if old != new {
            return Some(format!("the number of tasks changed from {old} to {new}"));
        }
        for (n, (task, other)) in (1..).zip(self.tasks.iter().zip(&current.tasks)) {
            if !task.verification().eq(other.verification()) || task.kind() != other.kind() {
                return Some(format!("the check of task {n} was changed"));
            }
        }
        if self.must_haves != current.must_haves {
            return Some("must_haves was changed".to_owned());
        }
        (self.files_modified != current.files_modified)
            .then(|| "files_modified was changed".to_owned())
    }
}
