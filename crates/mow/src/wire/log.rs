//! The output of `mow log --json`.

use mow_core::view::PhaseView;
use serde::Serialize;

use super::VERSION;
use super::event::EventJson;

/// What happened in a run, or in one of its phases.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LogJson {
    /// The version of this format.
    v: u32,
    /// The id of the run.
    run: String,
    /// The phase; null for the whole run.
    phase: Option<String>,
    /// The status of the phase.
    status: Option<&'static str>,
    /// Why the phase has its status.
    why: Option<String>,
    /// The path of the lead's journal.
    journal: String,
    /// The directory with the logs of commands and agents.
    log_dir: String,
    /// The log files of the phase.
    logs: Vec<String>,
    /// The events, oldest first; as `mow events` prints them.
    events: Vec<EventJson>,
}

/// The files that a log names.
pub(crate) struct LogFiles {
    pub(crate) journal: String,
    pub(crate) log_dir: String,
    pub(crate) logs: Vec<String>,
}

impl LogJson {
    pub(crate) fn new(
        run: &str,
        phase: Option<&PhaseView>,
        files: LogFiles,
        events: Vec<EventJson>,
    ) -> Self {
        let LogFiles { journal, log_dir, logs } = files;
        Self {
            v: VERSION,
            run: run.to_owned(),
            phase: phase.map(|phase| phase.number.to_string()),
            status: phase.map(PhaseView::word),
            why: phase.map(|phase| phase.why.clone()),
            journal,
            log_dir,
            logs,
            events,
        }
    }
}
