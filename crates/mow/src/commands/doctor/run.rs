//! The last run: its journal can be read, and whether anything is left to do.

use super::Check;
use crate::context::Context;
use crate::runs::{Brief, Run};

/// Looks at the last run; nothing to say without one, or when it is over.
pub(super) fn check(context: &Context) -> Option<Check> {
    let run = match Run::unfinished(context) {
        Ok(run) => run?,
        Err(failure) => {
            return Some(
                Check::fail("run", failure.message)
                    .advise("put the file back from a copy, or move the directory of the run away"),
            );
        }
    };
    let Brief { run: name, lead, standing, questions, go_on } = run.brief();
    let mut check = match lead {
        Some(pid) => {
            Check::ok("run", format!("run {name} is live, led by process {pid}: {standing}"))
        }
        None => {
            let message = format!("run {name} is unfinished and has no lead: {standing}");
            Check::warn("run", message).advise(go_on)
        }
    };
    if !questions.is_empty() {
        check = check.advise(format!("open questions: {}; see mow inbox", questions.len()));
    }
    Some(check)
}
