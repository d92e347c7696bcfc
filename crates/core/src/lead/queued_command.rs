//! Commands of people to a run, as they wait in its queue. Stored: the serialised names never change.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Caller;
use crate::phase::PhaseNumber;

/// A command of a person or a program to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Pause one phase or all.
    Pause {
        /// The phase; `None` for all.
        phase: Option<PhaseNumber>,
    },
    /// Continue one paused, failed or cancelled phase, or all paused ones.
    Resume {
        /// The phase; `None` for all.
        phase: Option<PhaseNumber>,
    },
    /// Cancel one phase, or all that are not merged.
    Cancel {
        /// The phase; `None` for all.
        phase: Option<PhaseNumber>,
        /// Whether workers stop at once instead of after their current step.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        now: bool,
    },
    /// Answer a question.
    Answer {
        /// The number of the question.
        item: u32,
        /// The answer as the person typed it.
        text: String,
    },
    /// Take back the answers to a question that no lead has read.
    TakeBack {
        /// The number of the question.
        item: u32,
    },
    /// Change the most workers that run at a time, until the next lead starts.
    SetWorkers {
        /// The number; at least 1.
        max: usize,
    },
}

/// A command in the queue of a run, with its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedCommand {
    /// The command.
    #[serde(flatten)]
    pub command: Command,
    /// Who gave the command, and what the person saw.
    #[serde(flatten)]
    pub origin: CommandOrigin,
}

/// Who gave a command, and what the person saw; empty in queues of older versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOrigin {
    /// Who gave the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Caller>,
    /// For an answer, the digest of the question that the person saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
}

/// Removes the answers that a later command in the same list takes back.
///
/// Apply it to all commands that were read from the queue at once: an answer is taken up when it is
/// read without the command that takes it back.
pub fn drop_taken_back(commands: Vec<(u64, QueuedCommand)>) -> Vec<(u64, QueuedCommand)> {
    let take_backs = commands.iter().filter_map(|(seq, queued)| match queued.command {
        Command::TakeBack { item } => Some((item, *seq)),
        _ => None,
    });
    // Of several take-backs of the same answer the last one counts.
    let take_backs: BTreeMap<_, _> = take_backs.collect();
    let is_kept = |(seq, queued): &(u64, QueuedCommand)| match queued.command {
        Command::Answer { item, .. } => take_backs.get(&item).is_none_or(|taken| taken < seq),
        _ => true,
    };
    commands.into_iter().filter(is_kept).collect()
}
