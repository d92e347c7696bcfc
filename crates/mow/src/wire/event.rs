//! One line of `mow events`, of `mow run --json` and of `mow log`.

use mow_core::view::EventView;
use serde::Serialize;

use super::VERSION;
use crate::runs::format_utc;
use crate::terminal::fit_line;

/// An event of a run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct EventJson {
    /// The version of this format.
    v: u32,
    /// The id of the run.
    run: String,
    /// The number of the journal record; all events of one decision have the same.
    seq: u64,
    /// When it happened, in milliseconds since 1970.
    at: u64,
    /// The same time in UTC.
    time: String,
    /// Whose journal has the event: `lead` or `worker`.
    source: &'static str,
    /// What happened, as a stable word.
    kind: &'static str,
    /// The phase; null for the whole run.
    phase: Option<String>,
    /// The attempt of the phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    /// The new status of the phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    /// The stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'static str>,
    /// The plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    /// The number of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<u32>,
    /// The event in one line for people; null where another event says it better.
    text: Option<String>,
    /// How a screen colours the line: `plain`, `good`, `bad` or `attention`.
    tone: &'static str,
    /// The log file of the command that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<String>,
}

impl EventJson {
    /// Makes the line of an event in the lead's journal.
    pub(crate) fn of_lead(run: &str, event: &EventView) -> Self {
        Self::new(run, "lead", event, None)
    }

    /// Makes the line of an event in the journal of `source`.
    pub(crate) fn new(
        run: &str,
        source: &'static str,
        event: &EventView,
        log: Option<String>,
    ) -> Self {
        Self {
            v: VERSION,
            run: run.to_owned(),
            seq: event.seq,
            at: event.at,
            time: format_utc(event.at),
            source,
            kind: event.kind.name(),
            phase: event.phase.map(|phase| phase.to_string()),
            attempt: event.attempt,
            status: event.status.map(mow_core::lead::Status::name),
            stage: event.stage.map(mow_core::stage::Stage::name),
            plan: event.plan.clone(),
            question: event.question,
            text: event.text.as_ref().map(|text| fit_line(text, usize::MAX)),
            tone: event.tone.name(),
            log,
        }
    }
}
