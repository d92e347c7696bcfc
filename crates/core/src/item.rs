//! What a person is asked, and what the person answered.
//!
//! A worker asks by a key that stays the same however often it is started again, so that a question
//! is put once. The lead gives each question a small number for people to answer by.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::phase::PhaseNumber;

/// Why a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// What is wanted in a phase.
    Discuss,
    /// Whether a phase may go on after a stage.
    Gate,
    /// A task that waits for a person.
    Checkpoint,
    /// Something a worker cannot decide.
    Blocker,
    /// A phase without plans and nobody to write them.
    Plans,
    /// What to do about gaps that verification found.
    Gaps,
    /// A phase that failed.
    Failed,
    /// A merge that conflicts.
    Conflict,
    /// A phase that somebody marked as done.
    Ticked,
    /// Too many phases failed.
    Breaker,
    /// Something that a worker runs shows no sign of life.
    Stuck,
    /// A worker itself shows no sign of life.
    Hung,
    /// An agent wants to do something that it may not do unasked.
    Permission,
    /// An agent cannot choose.
    Question,
}

impl ItemKind {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Discuss => "discuss",
            Self::Gate => "gate",
            Self::Checkpoint => "checkpoint",
            Self::Blocker => "blocker",
            Self::Plans => "plans",
            Self::Gaps => "gaps",
            Self::Failed => "failed",
            Self::Conflict => "conflict",
            Self::Ticked => "ticked",
            Self::Breaker => "breaker",
            Self::Stuck => "stuck",
            Self::Hung => "hung",
            Self::Permission => "permission",
            Self::Question => "question",
        }
    }

    /// Returns whether its choices are proposals: words of somebody who thought of the question, which
    /// mean nothing to mow, and beside which a person may say something else.
    pub fn is_open(self) -> bool {
        self == Self::Discuss
    }

    /// Returns whether it is about something that may go on by itself while nobody answers.
    pub fn may_settle(self) -> bool {
        matches!(self, Self::Stuck | Self::Hung)
    }
}

/// The words that end a phase when they are chosen.
pub const REFUSALS: [&str; 3] = ["reject", "rejected", "fail"];

/// The answers about what is stuck: leave it alone, end it and begin again, or give it up.
pub const STUCK_CHOICES: [&str; 3] = ["wait", "retry", "fail"];

/// A question as it is put.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// What makes it this question and no other, within a run.
    pub key: String,
    /// Why it is put.
    pub kind: ItemKind,
    /// The question.
    pub question: String,
    /// Words that may be answered; empty where any text will do. The first one is a yes, unless they
    /// are proposals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
}

/// A question in the inbox of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The number that people answer by.
    pub id: u32,
    /// The phase it is about; `None` for the whole run.
    pub phase: Option<PhaseNumber>,
    /// What is asked.
    #[serde(flatten)]
    pub ask: Ask,
    /// What was answered; `None` while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// What the keys of questions begin with that are put when no agent can work.
pub(crate) const DENIED: &str = "denied#";

impl Item {
    /// Returns whether it is about agents that cannot work before a person has done something.
    pub fn is_denial(&self) -> bool {
        self.ask.kind == ItemKind::Breaker && self.ask.key.starts_with(DENIED)
    }

    /// Returns whether the answer ended the phase.
    pub fn is_refused(&self) -> bool {
        let word = self.answer.as_ref().filter(|answer| self.ask.choices.contains(answer));
        !self.ask.kind.is_open() && word.is_some_and(|word| REFUSALS.contains(&word.as_str()))
    }
}

/// An answer as a worker gets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The key of the question.
    pub key: String,
    /// The question.
    pub question: String,
    /// The answer.
    pub text: String,
}

impl Ask {
    /// Reads an answer: one of the choices, by its word, its beginning or its number. Where these are
    /// proposals, it may be any other text.
    ///
    /// Returns the sentence to tell the person when the answer is none.
    pub fn accept(&self, text: &str) -> Result<String, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("the answer is empty".to_owned());
        }
        if self.choices.is_empty() {
            return Ok(text.to_owned());
        }
        let number = text.parse::<usize>().ok().and_then(|n| self.choices.get(n.checked_sub(1)?));
        let same = self.choices.iter().find(|choice| choice.eq_ignore_ascii_case(text));
        let lower = text.to_lowercase();
        let mut begun =
            self.choices.iter().filter(|choice| choice.to_lowercase().starts_with(&lower));
        let only = begun.next().filter(|_| begun.next().is_none());
        match same.or(number).or(only) {
            Some(choice) => Ok(choice.clone()),
            None if self.kind.is_open() => Ok(text.to_owned()),
            None => Err(format!("`{text}` is none of the choices: {}", self.choices.join(", "))),
        }
    }

    /// Returns the answer that means yes, or no: the first choice and the last. Proposals mean neither.
    pub fn verdict(&self, yes: bool) -> Option<&str> {
        if self.kind.is_open() {
            return None;
        }
        let choice = if yes { self.choices.first() } else { self.choices.last() };
        choice.map(String::as_str)
    }
}
