//! The parts of a plan that prove it: its checks, its promises, the files it may change.

use super::{Plan, Task};

impl Task {
    /// Returns the texts that say how it is checked.
    fn verification(&self) -> impl Iterator<Item = &str> {
        let is_check = |tag: &str| matches!(tag, "verify" | "automated");
        self.elements.iter().filter(move |e| is_check(&e.tag)).map(|element| element.text.as_str())
    }
}

impl Plan {
    /// Returns which part that proves it another reading of it lacks or has changed.
    pub fn altered(&self, now: &Self) -> Option<String> {
        if self.tasks.len() != now.tasks.len() {
            return Some(format!("it has {} tasks, not {}", now.tasks.len(), self.tasks.len()));
        }
        for (n, (task, other)) in (1..).zip(self.tasks.iter().zip(&now.tasks)) {
            if !task.verification().eq(other.verification()) || task.kind() != other.kind() {
                return Some(format!("the check of task {n} is another one"));
            }
        }
        if self.must_haves != now.must_haves {
            return Some("must_haves is another one".to_owned());
        }
        (self.files_modified != now.files_modified)
            .then(|| "files_modified is another one".to_owned())
    }
}
