//! The identity of a question within a run: its phase and its topic.
//!
//! The identity stays the same over all attempts, so that a question is put once. Journals store it
//! as a text such as `3/gate/plan`; the texts never change. Only this file makes and reads them.

use std::fmt;
use std::str::FromStr;

use serde::de::Deserializer;
use serde::{Deserialize, Serialize, Serializer};

use crate::phase::PhaseNumber;
use crate::stage::Stage;

/// The identity of a question within a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QuestionKey {
    /// The phase; `None` for a question about the whole run.
    phase: Option<PhaseNumber>,
    topic: QuestionTopic,
}

/// What a question is about. A `time` counts how often the same question was put, from one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuestionTopic {
    /// A standard question of the discuss stage, counted from one.
    StandardDiscuss(usize),
    /// A question of the discusser; rounds and numbers are counted from one.
    Discuss {
        /// The round of questions.
        round: u32,
        /// The number within the round.
        number: usize,
    },
    /// Whether to continue after a stage.
    Gate(Stage),
    /// A checkpoint task of a plan.
    Checkpoint {
        /// The plan.
        plan: String,
        /// The task, counted from one.
        task: usize,
    },
    /// A task that cannot continue.
    Blocker {
        /// The plan.
        plan: String,
        /// The task, counted from one.
        task: usize,
        /// How often it was asked.
        time: usize,
    },
    /// Missing plans.
    Plans {
        /// How often it was asked.
        time: usize,
    },
    /// Gaps that verification found.
    Gaps {
        /// How often it was asked.
        time: usize,
    },
    /// A check of a complete plan that failed when an attempt resumed the phase.
    CompletePlans {
        /// The attempt.
        attempt: u32,
    },
    /// A failed attempt.
    Failed {
        /// The attempt.
        attempt: u32,
    },
    /// A merge that did not work.
    Conflict {
        /// How often it was asked.
        time: usize,
    },
    /// Whether a phase is done that somebody marked as done.
    MarkedDone,
    /// A worker process that seems stuck.
    Hung {
        /// The attempt of the worker.
        attempt: u32,
        /// How often it was asked.
        time: usize,
    },
    /// An effect of a worker that seems stuck.
    Stuck {
        /// The attempt of the worker.
        attempt: u32,
        /// The number of the effect.
        effect: u64,
        /// How often it was asked.
        time: usize,
    },
    /// A permission that an agent asks for.
    Permission {
        /// The session of the agent.
        session: String,
        /// The agent's own id of the request.
        request: String,
    },
    /// A question of an agent.
    AgentQuestion {
        /// The session of the agent.
        session: String,
        /// The agent's own id of the request.
        request: String,
        /// The number of the question within the request, counted from one.
        number: usize,
    },
    /// The open circuit breaker.
    Breaker {
        /// The number of the question about the breaker, counted from one.
        time: usize,
    },
    /// No agent can work before a person has acted.
    AgentsDenied {
        /// The number of the question about the breaker, counted from one.
        time: usize,
    },
    /// A topic that this version of mow does not know, as stored.
    Other(String),
}

impl QuestionTopic {
    /// Returns the identity of a question about this topic in a phase.
    pub fn of_phase(self, phase: PhaseNumber) -> QuestionKey {
        QuestionKey { phase: Some(phase), topic: self }
    }

    /// Returns the identity of a question about this topic for the whole run.
    pub fn of_run(self) -> QuestionKey {
        QuestionKey { phase: None, topic: self }
    }

    /// Returns the plan that the question is about.
    pub fn plan(&self) -> Option<&str> {
        match self {
            Self::Checkpoint { plan, .. } | Self::Blocker { plan, .. } => Some(plan),
            _ => None,
        }
    }

    /// Returns the task that the question is about, counted from one.
    pub fn task(&self) -> Option<usize> {
        match self {
            Self::Checkpoint { task, .. } | Self::Blocker { task, .. } => Some(*task),
            _ => None,
        }
    }

    /// Returns whether the question belongs to the discuss stage.
    pub fn is_discussion(&self) -> bool {
        matches!(self, Self::StandardDiscuss(_) | Self::Discuss { .. })
    }

    /// Parses a topic of a phase.
    fn parse_of_phase(text: &str) -> Option<Self> {
        let (word, rest) = text.split_once(['/', '#']).unwrap_or((text, ""));
        let rest = Some(rest).filter(|rest| !rest.is_empty());
        Some(match word {
            "ticked" => Self::MarkedDone,
            "plans" => Self::Plans { time: rest?.parse().ok()? },
            "gaps" => Self::Gaps { time: rest?.parse().ok()? },
            "complete" => Self::CompletePlans { attempt: rest?.parse().ok()? },
            "failed" => Self::Failed { attempt: rest?.parse().ok()? },
            "conflict" => Self::Conflict { time: rest?.parse().ok()? },
            "gate" => Self::Gate(Stage::ALL.into_iter().find(|stage| Some(stage.name()) == rest)?),
            "discuss" => match rest?.split_once('.') {
                Some((round, number)) => {
                    Self::Discuss { round: round.parse().ok()?, number: number.parse().ok()? }
                }
                None => Self::StandardDiscuss(rest?.parse().ok()?),
            },
            "checkpoint" => {
                let (plan, task) = rest?.rsplit_once('/')?;
                Self::Checkpoint { plan: plan.to_owned(), task: task.parse().ok()? }
            }
            "blocker" => {
                let (rest, time) = rest?.rsplit_once('#')?;
                let (plan, task) = rest.rsplit_once('/')?;
                let (task, time) = (task.parse().ok()?, time.parse().ok()?);
                Self::Blocker { plan: plan.to_owned(), task, time }
            }
            "hung" => {
                let (attempt, time) = rest?.split_once('#')?;
                Self::Hung { attempt: attempt.parse().ok()?, time: time.parse().ok()? }
            }
            "stuck" => {
                let (rest, time) = rest?.split_once('#')?;
                let (attempt, effect) = rest.split_once('.')?;
                let (attempt, effect) = (attempt.parse().ok()?, effect.parse().ok()?);
                Self::Stuck { attempt, effect, time: time.parse().ok()? }
            }
            _ => return Self::parse_of_agent(word, rest?),
        })
    }

    /// Parses a topic that an agent brought up.
    fn parse_of_agent(word: &str, rest: &str) -> Option<Self> {
        let (session, request) = rest.split_once('/')?;
        let session = session.to_owned();
        match word {
            "permission" => Some(Self::Permission { session, request: request.to_owned() }),
            "question" => {
                let (request, number) = request.rsplit_once('.')?;
                let (request, number) = (request.to_owned(), number.parse().ok()?);
                Some(Self::AgentQuestion { session, request, number })
            }
            _ => None,
        }
    }

    /// Parses a topic of the whole run.
    fn parse_of_run(text: &str) -> Option<Self> {
        let (word, time) = text.split_once('#')?;
        let time = time.parse().ok()?;
        match word {
            "breaker" => Some(Self::Breaker { time }),
            "denied" => Some(Self::AgentsDenied { time }),
            _ => None,
        }
    }
}

impl QuestionKey {
    /// Returns what the question is about.
    pub fn topic(&self) -> &QuestionTopic {
        &self.topic
    }

    fn parse(text: &str) -> Option<Self> {
        let of_phase = text.split_once('/').and_then(|(phase, topic)| {
            let topic = QuestionTopic::parse_of_phase(topic)?;
            Some(topic.of_phase(PhaseNumber::parse(phase)?))
        });
        of_phase.or_else(|| Some(QuestionTopic::parse_of_run(text)?.of_run()))
    }
}

impl FromStr for QuestionKey {
    type Err = std::convert::Infallible;

    /// Reads a stored key. A key that would not be written like this is an unknown topic.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::parse(text).filter(|key| key.to_string() == text);
        Ok(known.unwrap_or_else(|| QuestionTopic::Other(text.to_owned()).of_run()))
    }
}

impl fmt::Display for QuestionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(phase) = self.phase {
            write!(f, "{phase}/")?;
        }
        match &self.topic {
            QuestionTopic::StandardDiscuss(number) => write!(f, "discuss/{number}"),
            QuestionTopic::Discuss { round, number } => write!(f, "discuss/{round}.{number}"),
            QuestionTopic::Gate(stage) => write!(f, "gate/{}", stage.name()),
            QuestionTopic::Checkpoint { plan, task } => write!(f, "checkpoint/{plan}/{task}"),
            QuestionTopic::Blocker { plan, task, time } => {
                write!(f, "blocker/{plan}/{task}#{time}")
            }
            QuestionTopic::Plans { time } => write!(f, "plans#{time}"),
            QuestionTopic::CompletePlans { attempt } => write!(f, "complete/{attempt}"),
            QuestionTopic::Gaps { time } => write!(f, "gaps#{time}"),
            QuestionTopic::Failed { attempt } => write!(f, "failed#{attempt}"),
            QuestionTopic::Conflict { time } => write!(f, "conflict#{time}"),
            QuestionTopic::MarkedDone => write!(f, "ticked"),
            QuestionTopic::Hung { attempt, time } => write!(f, "hung/{attempt}#{time}"),
            QuestionTopic::Stuck { attempt, effect, time } => {
                write!(f, "stuck/{attempt}.{effect}#{time}")
            }
            QuestionTopic::Permission { session, request } => {
                write!(f, "permission/{session}/{request}")
            }
            QuestionTopic::AgentQuestion { session, request, number } => {
                write!(f, "question/{session}/{request}.{number}")
            }
            QuestionTopic::Breaker { time } => write!(f, "breaker#{time}"),
            QuestionTopic::AgentsDenied { time } => write!(f, "denied#{time}"),
            QuestionTopic::Other(text) => write!(f, "{text}"),
        }
    }
}

impl Serialize for QuestionKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for QuestionKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let Ok(key) = text.parse();
        Ok(key)
    }
}
