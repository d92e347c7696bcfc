//! What a worker's journal tells the lead, and what the lead tells a worker.

use serde::{Deserialize, Serialize};

use crate::item::{Answer, Ask};
use crate::message::Fields;
use crate::money::Money;
pub use crate::money::Spent;
use crate::phase::PhaseNumber;
use crate::stage::Stage;

/// How long a model is left alone at most after it did not answer.
pub const THROTTLED_MAX_MS: u64 = 15 * 60_000;

/// What a worker tells. Some kinds are the last word of its attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum Report {
    /// It is at work.
    Started {
        /// Its process.
        pid: u32,
    },
    /// It went on to a stage.
    Stage {
        /// The stage before; `None` at the start.
        from: Option<Stage>,
        /// The stage it is in.
        to: Stage,
        /// What the stage before left, in a line.
        artifact: String,
    },
    /// How far the plans are.
    Plans {
        /// Plans that are complete.
        done: usize,
        /// All plans.
        total: usize,
    },
    /// A plan began.
    PlanStarted {
        /// Its id.
        plan: String,
        /// Its tasks.
        tasks: usize,
    },
    /// A task is committed.
    TaskDone {
        /// The plan.
        plan: String,
        /// The task, counted from one.
        task: usize,
        /// Its commit; `None` when it changed nothing.
        commit: Option<String>,
    },
    /// A plan is complete.
    PlanDone {
        /// Its id.
        plan: String,
        /// Its closing commit.
        commit: String,
        /// How long it took.
        minutes: u64,
    },
    /// Something it cannot decide.
    Blocked {
        /// The plan.
        plan: String,
        /// What is in the way.
        text: String,
        /// Whether it goes on with other plans meanwhile.
        skipped: bool,
    },
    /// A person is needed.
    Asked {
        /// The question.
        ask: Ask,
    },
    /// What a question was about has come to an end by itself.
    Settled {
        /// The key of the question.
        key: String,
    },
    /// Something worth knowing.
    Note {
        /// A sentence.
        text: String,
    },
    /// An agent of it called `mow`.
    Said {
        /// The message.
        message: Fields,
    },
    /// An agent of it used something that costs money.
    Spent(Spent),
    /// The model of its agent does not answer for now.
    Throttled {
        /// Until when it waits, in milliseconds since 1970.
        until: u64,
        /// What the agent said.
        reason: String,
    },
    /// Nothing that needs an agent can go on before a person has done something.
    Denied {
        /// What.
        reason: String,
    },
    /// Its plans are made.
    Planned {
        /// The files that they say they change, in one form.
        files: Vec<String>,
        /// Whether it ended, because others may be about to change these files.
        waits: bool,
    },
    /// It did what may be done ahead, and ended.
    Ahead {
        /// The last stage that it did.
        through: Stage,
    },
    /// It ended until questions are answered.
    Parked,
    /// It did all there is to do.
    Complete {
        /// The last commit of the phase.
        commit: String,
    },
    /// It could not go on.
    Failed {
        /// Why.
        reason: String,
    },
    /// It ended because it was told to, or because its time was up.
    Stopped {
        /// Why it ended.
        how: Halt,
    },
}

impl Report {
    /// Returns whether it is the last word of an attempt.
    pub fn is_last(&self) -> bool {
        matches!(
            self,
            Self::Planned { waits: true, .. }
                | Self::Ahead { .. }
                | Self::Parked
                | Self::Complete { .. }
                | Self::Failed { .. }
                | Self::Stopped { .. }
        )
    }
}

/// Why an attempt is ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Halt {
    /// A person wants it to rest.
    Paused,
    /// A person does not want it any more.
    Cancelled,
    /// It took longer than allowed; its work may be incomplete.
    Timeout,
}

impl Halt {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
        }
    }
}

/// What the lead tells a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum Note {
    /// What the attempt is about; always the first.
    Brief(Brief),
    /// All records up to this one are in the lead's journal.
    Through {
        /// The number of the last record.
        seq: u64,
    },
    /// It shall end after what it is doing, or at once when it is cancelled.
    Halt {
        /// Why.
        how: Halt,
    },
    /// A person answered a question that it asked without waiting for it.
    Answer(Answer),
}

/// What a worker must know to begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Brief {
    /// The run.
    pub run: String,
    /// The phase.
    pub phase: PhaseNumber,
    /// Its name.
    pub name: String,
    /// Which try this is, counted from one.
    pub attempt: u32,
    /// The commit that the phase builds on.
    pub base: String,
    /// What people have answered so far.
    pub answers: Vec<Answer>,
    /// How many agents it may have at work at a time.
    #[serde(default = "one")]
    pub agents: usize,
    /// The stage after which it ends, of an attempt that looks ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<Stage>,
    /// The phases that it waits for, of an attempt that looks ahead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<PhaseNumber>,
    /// The files that its plans may change without asking whether others do so, too.
    #[serde(default = "everything")]
    pub clear: Vec<String>,
    /// What the phase has cost so far.
    #[serde(default, skip_serializing_if = "Money::is_none")]
    pub spent: Money,
    /// Whether the plans were made and checked by the attempt just before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checked: bool,
    /// Whether git ignores the planning files, where the lead has asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored: Option<bool>,
}

fn one() -> usize {
    1
}

/// What a worker of an older lead may change.
fn everything() -> Vec<String> {
    vec![crate::touch::EVERYTHING.to_owned()]
}
