//! The output of commands that are queued for the lead, such as `mow answer --json`.

use mow_core::lead::Command;
use mow_engine::client::Receipt;
use serde::Serialize;

use super::VERSION;

/// Confirms that a command is queued.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ReceiptJson {
    /// The version of this format.
    v: u32,
    /// The id of the run.
    run: String,
    /// The number of the command in the queue.
    seq: u64,
    /// The command.
    command: CommandJson,
    /// The process id of the lead that will process the command; null when the run is stopped.
    lead: Option<u32>,
    /// The command that continues a stopped run.
    next: Option<String>,
}

/// A command of a person. Fields that do not apply are missing.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CommandJson {
    /// `pause`, `resume`, `cancel`, `answer`, `take_back` or `set_workers`.
    command: &'static str,
    /// The phase; missing for all phases.
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<String>,
    /// The number of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<u32>,
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The most workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<usize>,
    /// Whether a cancel does not wait for the current task; missing when it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<bool>,
}

impl ReceiptJson {
    /// Creates the output; `next` continues the run if it is stopped.
    pub(crate) fn new(receipt: &Receipt, next: String) -> Self {
        let Receipt { run, seq, command, lead, .. } = receipt;
        let next = lead.is_none().then_some(next);
        let command = CommandJson::of(command);
        Self { v: VERSION, run: run.clone(), seq: *seq, command, lead: *lead, next }
    }
}

impl CommandJson {
    fn of(command: &Command) -> Self {
        let about = |name, phase: &Option<_>| {
            let phase = phase.as_ref().map(ToString::to_string);
            Self { command: name, phase, ..Self::default() }
        };
        let to = |name, item: &u32| Self { command: name, item: Some(*item), ..Self::default() };
        match command {
            Command::Pause { phase } => about("pause", phase),
            Command::Resume { phase } => about("resume", phase),
            Command::Cancel { phase, now } => {
                Self { now: now.then_some(true), ..about("cancel", phase) }
            }
            Command::Answer { item, text } => {
                Self { text: Some(text.clone()), ..to("answer", item) }
            }
            Command::TakeBack { item } => to("take_back", item),
            Command::SetWorkers { max } => {
                Self { command: "set_workers", max: Some(*max), ..Self::default() }
            }
        }
    }
}
