//! The first record of a journal: its kind, run, phase and attempt, and the format version.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The format version that is written, and the newest that can be read.
pub const VERSION: u32 = 1;

/// The format name in every header.
const FORMAT: &str = "mow journal";

/// The kinds of journals, by their writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JournalKind {
    /// Written by the lead of a run.
    Lead,
    /// Written by the worker of one attempt at a phase; includes its reports to the lead.
    Worker,
    /// Messages of the lead to a worker.
    Inbox,
    /// Commands of people to the lead.
    Commands,
}

/// Identifies a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "StoredHeader", try_from = "StoredHeader")]
pub struct Header {
    /// Who writes the journal.
    pub kind: JournalKind,
    /// The name of the run.
    pub run: String,
    /// The padded phase number, such as `03` or `02.1`; only for a worker's journal and inbox.
    pub phase: Option<String>,
    /// The number of the attempt; only for a worker's journal and inbox.
    pub attempt: Option<u32>,
}

impl Header {
    /// Makes the header of the lead's journal.
    pub fn lead(run: &str) -> Self {
        Self { kind: JournalKind::Lead, run: run.to_owned(), phase: None, attempt: None }
    }

    /// Makes the header of a run's commands.
    pub fn commands(run: &str) -> Self {
        Self { kind: JournalKind::Commands, ..Self::lead(run) }
    }

    /// Makes the header of a worker's journal.
    pub fn worker(run: &str, phase: &str, attempt: u32) -> Self {
        let phase = Some(phase.to_owned());
        Self { kind: JournalKind::Worker, phase, attempt: Some(attempt), ..Self::lead(run) }
    }

    /// Makes the header of a worker's inbox.
    pub fn inbox(run: &str, phase: &str, attempt: u32) -> Self {
        Self { kind: JournalKind::Inbox, ..Self::worker(run, phase, attempt) }
    }
}

impl fmt::Display for Header {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            JournalKind::Lead => "the lead",
            JournalKind::Worker => "a worker",
            JournalKind::Inbox => "an inbox",
            JournalKind::Commands => "the commands",
        };
        write!(formatter, "{kind} of run {}", self.run)?;
        if let (Some(phase), Some(attempt)) = (&self.phase, self.attempt) {
            write!(formatter, ", phase {phase}, attempt {attempt}")?;
        }
        Ok(())
    }
}

/// A header in the form that the file has.
#[derive(Serialize, Deserialize)]
struct StoredHeader {
    format: String,
    version: u32,
    kind: JournalKind,
    run: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    phase: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
}

impl From<Header> for StoredHeader {
    fn from(header: Header) -> Self {
        let Header { kind, run, phase, attempt } = header;
        Self { format: FORMAT.to_owned(), version: VERSION, kind, run, phase, attempt }
    }
}

impl TryFrom<StoredHeader> for Header {
    type Error = &'static str;

    fn try_from(stored: StoredHeader) -> Result<Self, Self::Error> {
        let StoredHeader { kind, run, phase, attempt, .. } = stored;
        let is_readable = stored.format == FORMAT && (1..=VERSION).contains(&stored.version);
        if is_readable { Ok(Self { kind, run, phase, attempt }) } else { Err("no mow journal") }
    }
}

/// Returns the format version of a header, also when this program cannot read the rest of it.
pub(super) fn version(body: &str) -> Option<u32> {
    #[derive(Deserialize)]
    struct HeaderVersion {
        format: String,
        version: u32,
    }
    let header: HeaderVersion = serde_json::from_str(body).ok()?;
    (header.format == FORMAT).then_some(header.version)
}
