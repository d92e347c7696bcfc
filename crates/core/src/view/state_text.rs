//! The words, signs and tones for states. Screens take them from here, so that all say the same.

use super::{PhaseView, QuestionState, QuestionView, RunView};
use crate::lead::Status;

/// The state of a phase as one sign, for screens without room for a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseSign {
    /// The work is merged.
    Done,
    /// The phase is being worked on or merged.
    Working,
    /// The phase waits for an answer of a person.
    Asks,
    /// The worker seems stuck.
    Stuck,
    /// The phase failed.
    Failed,
    /// The phase waits for something else, or was stopped by a person.
    Waits,
}

impl PhaseSign {
    /// Returns the sign as one character, in Unicode or in ASCII.
    pub fn symbol(self, unicode: bool) -> char {
        let (sign, ascii) = match self {
            Self::Done => ('●', '*'),
            Self::Working => ('◐', 'o'),
            Self::Asks => ('◆', '?'),
            Self::Stuck => ('!', '!'),
            Self::Failed => ('✗', 'x'),
            Self::Waits => ('○', '.'),
        };
        if unicode { sign } else { ascii }
    }
}

/// The meaning of a colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// No colour.
    #[default]
    Plain,
    /// Something succeeded.
    Good,
    /// Something failed.
    Bad,
    /// A person should look.
    Attention,
    /// Something is at work.
    Active,
    /// Nothing happens here now.
    Quiet,
}

impl Tone {
    /// Returns the name that JSON output uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Attention => "attention",
            Self::Active => "active",
            Self::Quiet => "quiet",
        }
    }
}

impl PhaseView {
    /// Returns the sign of the state.
    pub fn sign(&self) -> PhaseSign {
        match self.status {
            Status::Merged => PhaseSign::Done,
            Status::Failed => PhaseSign::Failed,
            Status::Parked => PhaseSign::Asks,
            _ if self.is_stuck => PhaseSign::Stuck,
            Status::Complete | Status::Merging => PhaseSign::Working,
            status if status.holds_slot() => PhaseSign::Working,
            _ => PhaseSign::Waits,
        }
    }

    /// Returns the tone of the state.
    pub fn tone(&self) -> Tone {
        match self.status {
            Status::Merged | Status::Complete | Status::Merging => Tone::Good,
            Status::Failed => Tone::Bad,
            Status::Parked | Status::Paused => Tone::Attention,
            _ if self.is_stuck => Tone::Attention,
            status if status.holds_slot() => Tone::Active,
            _ => Tone::Quiet,
        }
    }

    /// Returns the state in one word, as in the column of a table.
    pub fn word(&self) -> &'static str {
        self.status.name()
    }

    /// Returns the state in a few words, as in a sentence about the phase.
    pub fn phrase(&self) -> &'static str {
        match self.status {
            Status::Waiting => "waiting",
            Status::Preparing | Status::Starting => "starting",
            Status::Running | Status::Ending => "at work",
            Status::Parked => "waits for an answer",
            Status::Paused => "paused",
            Status::Complete | Status::Merging => "waits for its merge",
            Status::Merged => "merged",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        }
    }
}

impl RunView {
    /// Describes the progress of the run: `1 of 3 merged, 1 running`.
    pub fn progress(&self) -> String {
        let counts = self.counts;
        let mut parts = vec![format!("{} of {} merged", counts.merged, counts.phases)];
        let others = [
            (counts.running, "running"),
            (counts.parked, "waiting for an answer"),
            (counts.paused, "paused"),
            (counts.failed, "failed"),
            (counts.cancelled, "cancelled"),
        ];
        parts.extend(others.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")));
        parts.join(", ")
    }

    /// Says whether a lead runs the run: `running (process 12)`, `stopped` or `over`.
    pub fn lead_text(&self) -> String {
        match self.lead {
            Some(pid) => format!("running (process {pid})"),
            None if self.is_over => "over".to_owned(),
            None => "stopped".to_owned(),
        }
    }
}

impl QuestionState {
    /// Returns the name that JSON output uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Queued => "pending",
            Self::Answered => "answered",
        }
    }
}

impl QuestionView {
    /// Returns a command that answers the question, with its first choice where there are choices.
    pub fn command(&self) -> String {
        match self.choices.as_slice() {
            [] => format!("mow answer {} \"your answer\"", self.id),
            [first, ..] => format!("mow answer {} {}", self.id, first.label),
        }
    }
}
