//! Checks the last run: whether its journal can be read, and whether the run is unfinished.

use super::DoctorCheck;
use crate::context::Context;
use crate::runs::{Run, resume_command};

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
    let run = run.view();
    let (name, lead, progress) = (&run.run, run.lead_text(), run.progress());
    let mut check = match run.lead {
        Some(_) => DoctorCheck::ok("run", format!("run {name} is {lead}: {progress}")),
        None => {
            let message = format!("run {name} is unfinished and {lead}: {progress}");
            DoctorCheck::warn("run", message).advise(resume_command(&run))
        }
    };
    if run.counts.questions > 0 {
        let count = run.counts.questions;
        check = check.advise(format!("open questions: {count}; see `mow inbox`"));
    }
    Some(check)
}
