//! Reports of a worker to the lead, and messages of the lead to a worker.
//!
//! Both are stored in journals: their serialised names never change.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::inbox::{InboxAnswer, InboxQuestion, QuestionKey};
use crate::message::Fields;
pub use crate::money::AgentSpending;
use crate::money::Spending;
use crate::phase::PhaseNumber;
use crate::stage::Stage;

/// The longest wait for an unavailable model, in milliseconds.
pub const THROTTLED_MAX_MS: u64 = 15 * 60_000;

/// A report of a worker. Some kinds end the attempt: see [`Report::is_last`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum Report {
    /// The worker runs.
    Started {
        /// The process id of the worker.
        pid: u32,
    },
    /// A stage began.
    Stage {
        /// The stage before; `None` at the start.
        from: Option<Stage>,
        /// The stage that began.
        to: Stage,
        /// The result of the stage before, in one line.
        artifact: String,
    },
    /// The progress of the plans.
    Plans {
        /// Plans that are complete.
        done: usize,
        /// All plans.
        total: usize,
    },
    /// A plan began.
    PlanStarted {
        /// The id of the plan.
        plan: String,
        /// The number of its tasks.
        tasks: usize,
    },
    /// A plan was written during this attempt.
    PlanCreated {
        /// The id of the plan.
        plan: String,
    },
    /// A task began, for the first time or again.
    TaskStarted {
        /// The plan.
        plan: String,
        /// The task, counted from one.
        task: usize,
    },
    /// A task is committed.
    TaskDone {
        /// The plan.
        plan: String,
        /// The task, counted from one.
        task: usize,
        /// The commit; `None` when the task changed nothing.
        commit: Option<String>,
    },
    /// A plan is complete.
    PlanDone {
        /// The id of the plan.
        plan: String,
        /// The closing commit.
        commit: String,
        /// The duration in minutes.
        minutes: u64,
        /// What agents decided in the plan.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        decisions: Vec<String>,
    },
    /// What agents decided in all plans of the phase. Repeats what the reports of the plans said,
    /// because a crash may have lost such a report.
    Decisions {
        /// The decisions, each once.
        decisions: Vec<String>,
    },
    /// A plan cannot continue without a decision.
    Blocked {
        /// The plan.
        plan: String,
        /// The blocker, for people.
        text: String,
        /// Whether the worker continues with other plans meanwhile.
        skipped: bool,
    },
    /// A question to a person.
    Asked {
        /// The question.
        ask: InboxQuestion,
    },
    /// The subject of a question has resolved itself; the question is withdrawn.
    #[serde(rename = "settled")]
    QuestionObsolete {
        /// The identity of the question.
        key: QuestionKey,
    },
    /// A remark for people.
    Note {
        /// One sentence.
        text: String,
    },
    /// An agent of the worker sent a message by calling `mow`.
    #[serde(rename = "said")]
    AgentMessage {
        /// The message.
        message: Fields,
    },
    /// An agent of the worker used tokens.
    Spent(AgentSpending),
    /// The model of an agent is unavailable for a while.
    Throttled {
        /// When the worker tries again, in milliseconds since 1970.
        until: u64,
        /// The message of the agent.
        reason: String,
    },
    /// No agent can work before a person has acted, for example logged in.
    Denied {
        /// What the person has to do.
        reason: String,
    },
    /// The worker keeps to the number of agents that the lead set last.
    Agents {
        /// How many agents it runs at a time, at most.
        count: usize,
    },
    /// The plans are written.
    Planned {
        /// The normalised paths that the plans name.
        files: Vec<String>,
        /// Whether the attempt ended, because other phases may change these files.
        waits: bool,
    },
    /// The look-ahead is complete, and the attempt ended.
    #[serde(rename = "ahead")]
    LookaheadDone {
        /// The last completed stage.
        through: Stage,
    },
    /// The attempt ended until questions are answered.
    Parked,
    /// The phase is complete.
    Complete {
        /// The last commit of the phase.
        commit: String,
    },
    /// The phase failed.
    Failed {
        /// The reason, for people.
        reason: String,
    },
    /// The attempt was paused or cancelled, or reached its time limit.
    Stopped {
        /// Which of these.
        how: HaltReason,
    },
}

impl Report {
    /// Returns whether the report ends the attempt.
    pub fn is_last(&self) -> bool {
        matches!(
            self,
            Self::Planned { waits: true, .. }
                | Self::LookaheadDone { .. }
                | Self::Parked
                | Self::Complete { .. }
                | Self::Failed { .. }
                | Self::Stopped { .. }
        )
    }
}

/// Why an attempt ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HaltReason {
    /// A person paused the phase, or the breaker opened.
    Paused,
    /// A person cancelled the phase.
    Cancelled,
    /// The time limit was reached; the work may be incomplete.
    Timeout,
}

impl HaltReason {
    /// Returns the name that STATUS.md and messages use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
        }
    }
}

/// Who or what ends an attempt early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum HaltOrigin {
    /// A person gave a command.
    Person {
        /// The name of the person's account; `None` if it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The command.
        command: String,
    },
    /// A person interrupted the lead.
    Interrupt,
    /// The circuit breaker opened.
    Breaker {
        /// Why it opened.
        why: String,
    },
}

impl HaltOrigin {
    /// Returns the origin in a few words for people.
    pub fn sentence(&self) -> String {
        match self {
            Self::Person { name, command } => {
                format!("{} ran `{command}`", name.as_deref().unwrap_or("a person"))
            }
            Self::Interrupt => "a person interrupted the run".to_owned(),
            Self::Breaker { why } => format!("the circuit breaker opened: {why}"),
        }
    }
}

/// The order to end an attempt early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HaltOrder {
    /// The reason.
    pub how: HaltReason,
    /// Whether the current step is interrupted instead of finished.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub now: bool,
    /// Who or what gave the order; `None` in journals of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<HaltOrigin>,
}

impl HaltOrder {
    /// Returns the order of this origin to end after the current step.
    pub fn new(how: HaltReason, origin: HaltOrigin) -> Self {
        Self { how, now: false, origin: Some(origin) }
    }

    /// Returns whether the order goes further than one that was given before: a cancellation
    /// replaces a pause, and one that does not wait replaces one that waits.
    pub fn exceeds(&self, before: Option<&Self>) -> bool {
        before.is_none_or(|before| self.strength() > before.strength())
    }

    fn strength(&self) -> u8 {
        match self.how {
            HaltReason::Paused | HaltReason::Timeout => 0,
            HaltReason::Cancelled => 1 + u8::from(self.now),
        }
    }
}

impl From<HaltReason> for HaltOrder {
    /// Returns the order to end after the current step, without an origin.
    fn from(how: HaltReason) -> Self {
        Self { how, now: false, origin: None }
    }
}

/// A message of the lead to a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum LeadMessage {
    /// The start message; always the first.
    Brief(Brief),
    /// The lead has recorded all reports up to this one.
    Through {
        /// The number of the last record.
        seq: u64,
    },
    /// End the attempt early.
    Halt(HaltOrder),
    /// A person answered a question about a stuck effect.
    Answer(InboxAnswer),
    /// How many agents the worker may run at a time from now on. Running agents are not interrupted.
    Agents {
        /// The number of agents, at least one.
        count: usize,
    },
}

impl LeadMessage {
    /// Returns whether the message is a note: it has a number, and the worker takes it once.
    pub fn is_note(&self) -> bool {
        !matches!(self, Self::Brief(_) | Self::Through { .. })
    }
}

/// A message as it stands in the inbox file of a worker, with its number.
///
/// Notes (halts, answers and numbers of agents) are numbered from one within an attempt, so that a worker takes each
/// of them once however often it is written. Brief and confirmations have no number. Older leads
/// wrote no numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NumberedMessage {
    /// The number of a note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u32>,
    /// The message.
    #[serde(flatten)]
    pub message: LeadMessage,
}

impl From<LeadMessage> for NumberedMessage {
    /// Returns a message without a number.
    fn from(message: LeadMessage) -> Self {
        Self { n: None, message }
    }
}

/// The numbers of the notes in an inbox file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteNumbers {
    seen: BTreeSet<u32>,
}

impl NoteNumbers {
    /// Adds the number of a message; returns false for a note that is there already.
    ///
    /// A note without a number has the number of its position, because leads that wrote no numbers
    /// wrote every note once, in order.
    pub fn add(&mut self, message: &NumberedMessage) -> bool {
        if !message.message.is_note() {
            return true;
        }
        let next = self.seen.last().map_or(1, |last| last.saturating_add(1));
        self.seen.insert(message.n.unwrap_or(next))
    }

    /// Returns whether a note with this number is there.
    pub fn contains(&self, n: u32) -> bool {
        self.seen.contains(&n)
    }
}

/// The start message of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Brief {
    /// The id of the run.
    pub run: String,
    /// The phase to work on.
    pub phase: PhaseNumber,
    /// The title of the phase.
    pub name: String,
    /// The attempt, counted from one.
    pub attempt: u32,
    /// The commit that the phase builds on.
    pub base: String,
    /// The answers of people so far.
    pub answers: Vec<InboxAnswer>,
    /// How many agents the worker may run at a time.
    #[serde(default = "one")]
    pub agents: usize,
    /// The last stage of an attempt that only looks ahead; `None` for a full attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<Stage>,
    /// The dependencies of the phase, for an attempt that only looks ahead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<PhaseNumber>,
    /// The files that the plans may name without ending the attempt to ask the lead.
    #[serde(default = "everything")]
    pub clear: Vec<String>,
    /// What the agents of the phase have used so far.
    #[serde(default, skip_serializing_if = "Spending::is_none")]
    pub spent: Spending,
    /// Whether the attempt just before wrote and checked the plans.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checked: bool,
    /// Whether git ignores the planning files; `None` when the lead has not asked git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored: Option<bool>,
}

fn one() -> usize {
    1
}

/// The default for briefs of older leads: every file.
fn everything() -> Vec<String> {
    vec![crate::file_scope::EVERYTHING.to_owned()]
}

#[cfg(test)]
mod tests;
