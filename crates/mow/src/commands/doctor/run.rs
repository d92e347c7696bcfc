//! Checks the last run: whether its journal can be read, and whether the run is unfinished.

use super::DoctorCheck;
use crate::context::Context;
use crate::runs::{Run, RunOverview};

/// Checks the last run; returns `None` if there is none or if it is finished.
pub(super) fn check(context: &Context) -> Option<DoctorCheck> {
    let run = match Run::unfinished(context) {
        Ok(run) => run?,
        Err(failure) => {
            return Some(
                DoctorCheck::fail("run", failure.message)
                    .advise("restore the file from a backup, or move the run's directory away"),
            );
        }
    };
    let RunOverview { run: name, lead, progress, questions, resume_command } = run.overview();
    let mut check = match lead {
        Some(pid) => {
            DoctorCheck::ok("run", format!("run {name} is running (process {pid}): {progress}"))
        }
        None => {
            let message = format!("run {name} is unfinished and not running: {progress}");
            DoctorCheck::warn("run", message).advise(resume_command)
        }
    };
    if !questions.is_empty() {
        check = check.advise(format!("open questions: {}; see `mow inbox`", questions.len()));
    }
    Some(check)
}
