//! The first record of a journal: what the file is and which version wrote it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The version of the format that is written, and the newest that can be read.
pub const VERSION: u32 = 1;

/// What every header says of its format.
const FORMAT: &str = "mow journal";

/// Whose records a journal holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The lead's, of a whole run.
    Lead,
    /// A worker's, of one attempt at a phase; its messages to the lead are among them.
    Worker,
    /// What the lead tells a worker.
    Inbox,
    /// What people tell the lead.
    Commands,
}

/// What a journal is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub struct Header {
    /// Whose records it holds.
    pub kind: Kind,
    /// The run it belongs to.
    pub run: String,
    /// The phase, as its directory has it: `03`, `02.1`.
    pub phase: Option<String>,
    /// The attempt at that phase.
    pub attempt: Option<u32>,
}

impl Header {
    /// Describes the journal of a run's lead.
    pub fn lead(run: &str) -> Self {
        Self { kind: Kind::Lead, run: run.to_owned(), phase: None, attempt: None }
    }

    /// Describes the commands of a run.
    pub fn commands(run: &str) -> Self {
        Self { kind: Kind::Commands, ..Self::lead(run) }
    }

    /// Describes the journal of a worker.
    pub fn worker(run: &str, phase: &str, attempt: u32) -> Self {
        let phase = Some(phase.to_owned());
        Self { kind: Kind::Worker, phase, attempt: Some(attempt), ..Self::lead(run) }
    }

    /// Describes the inbox of a worker.
    pub fn inbox(run: &str, phase: &str, attempt: u32) -> Self {
        Self { kind: Kind::Inbox, ..Self::worker(run, phase, attempt) }
    }
}

impl fmt::Display for Header {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Lead => "the lead",
            Kind::Worker => "a worker",
            Kind::Inbox => "an inbox",
            Kind::Commands => "the commands",
        };
        write!(formatter, "{kind} of run {}", self.run)?;
        if let (Some(phase), Some(attempt)) = (&self.phase, self.attempt) {
            write!(formatter, ", phase {phase}, attempt {attempt}")?;
        }
        Ok(())
    }
}

/// A header as it stands in the file.
#[derive(Serialize, Deserialize)]
struct Written {
    format: String,
    version: u32,
    kind: Kind,
    run: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    phase: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
}

impl From<Header> for Written {
    fn from(header: Header) -> Self {
        let Header { kind, run, phase, attempt } = header;
        Self { format: FORMAT.to_owned(), version: VERSION, kind, run, phase, attempt }
    }
}

impl TryFrom<Written> for Header {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let Written { kind, run, phase, attempt, .. } = written;
        let is_known = written.format == FORMAT && (1..=VERSION).contains(&written.version);
        if is_known { Ok(Self { kind, run, phase, attempt }) } else { Err("no mow journal") }
    }
}

/// Returns the version of a header, which may say more than this program can read.
pub(super) fn version(body: &str) -> Option<u32> {
    #[derive(Deserialize)]
    struct Versioned {
        format: String,
        version: u32,
    }
    let versioned: Versioned = serde_json::from_str(body).ok()?;
    (versioned.format == FORMAT).then_some(versioned.version)
}
