//! Which checks have passed on which code, so that nothing is checked twice.

use std::sync::PoisonError;

use super::desk::Desk;
use crate::EngineError;

impl Desk {
    /// Returns what stands for all committed files but the planning files.
    pub(super) fn code(&self) -> Result<String, EngineError> {
        let planning = self.planning_below_top();
        let is_deep = planning.contains('/');
        let args: &[&str] = if is_deep { &["ls-tree", "-r", "HEAD"] } else { &["ls-tree", "HEAD"] };
        let listing = self.git().run(args)?.text();
        let code = listing.lines().filter(|line| {
            let path = line.split_once('\t').map_or("", |(_, path)| path);
            !path.starts_with(&planning)
        });
        Ok(code.collect::<Vec<_>>().join("\n"))
    }

    /// Notes that a check has passed on some code.
    pub(super) fn note_passed(&self, code: &str, check: &str) {
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        passed.insert((code.to_owned(), check.to_owned()));
    }

    /// Returns whether a check has passed on this very code.
    pub(super) fn has_passed(&self, code: &str, check: &str) -> bool {
        let passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        passed.contains(&(code.to_owned(), check.to_owned()))
    }
}
