//! Questions to people and their answers.
//!
//! A question has a key that stays the same over all attempts, so that it is put once. The lead gives
//! each question a small number, by which people answer.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::phase::PhaseNumber;

/// The kind of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// What a phase should do; put in the discuss stage.
    Discuss,
    /// Whether a phase may continue after a stage.
    Gate,
    /// A checkpoint task of a plan.
    Checkpoint,
    /// A blocker: a worker cannot decide something.
    Blocker,
    /// A phase has no plans, and no planner is set.
    Plans,
    /// What to do about gaps that verification found.
    Gaps,
    /// A phase failed.
    Failed,
    /// A merge conflicts or failed.
    Conflict,
    /// Somebody marked a phase as done during the run.
    #[serde(rename = "ticked")]
    MarkedDone,
    /// The circuit breaker is open.
    Breaker,
    /// An effect of a worker seems stuck.
    Stuck,
    /// A worker process itself seems stuck.
    Hung,
    /// An agent asks for a permission.
    Permission,
    /// An agent asks a person to choose.
    Question,
}

impl QuestionKind {
    /// Returns the name that JSON output uses.
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
            Self::MarkedDone => "ticked",
            Self::Breaker => "breaker",
            Self::Stuck => "stuck",
            Self::Hung => "hung",
            Self::Permission => "permission",
            Self::Question => "question",
        }
    }

    /// Returns whether the choices are only proposals: they mean nothing to mow, and any other text is
    /// a valid answer.
    pub fn is_open(self) -> bool {
        self == Self::Discuss
    }

    /// Returns whether the subject of the question may resolve itself while nobody answers.
    pub fn may_settle(self) -> bool {
        matches!(self, Self::Stuck | Self::Hung)
    }
}

/// The choices that end a phase.
pub const REFUSALS: [&str; 3] = ["reject", "rejected", "fail"];

/// The choices about stuck work: leave it running, stop it and retry, or give up.
pub const STUCK_CHOICES: [&str; 3] = ["wait", "retry", "fail"];

/// A question before it has a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxQuestion {
    /// The identity of the question within a run.
    pub key: String,
    /// The kind of the question.
    pub kind: QuestionKind,
    /// The text for people.
    pub question: String,
    /// The allowed answers; empty for any text. The first one means yes, unless they are proposals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
}

/// A question in the inbox of a run, with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxItem {
    /// The number that people answer by.
    pub id: u32,
    /// The phase that the question is about; `None` for the whole run.
    pub phase: Option<PhaseNumber>,
    /// The question itself.
    #[serde(flatten)]
    pub ask: InboxQuestion,
    /// The answer; `None` while the question is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// The start of the keys of questions about agents that cannot work. Stored in journals.
pub(crate) const DENIED: &str = "denied#";

impl InboxItem {
    /// Returns whether the question says that no agent can work before a person has acted.
    pub fn is_denial(&self) -> bool {
        self.ask.kind == QuestionKind::Breaker && self.ask.key.starts_with(DENIED)
    }

    /// Returns whether the answer ended the phase.
    pub fn is_refused(&self) -> bool {
        let word = self.answer.as_ref().filter(|answer| self.ask.choices.contains(answer));
        !self.ask.kind.is_open() && word.is_some_and(|word| REFUSALS.contains(&word.as_str()))
    }
}

/// An answer as a worker receives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxAnswer {
    /// The key of the question.
    pub key: String,
    /// The question.
    pub question: String,
    /// The answer.
    pub text: String,
}

impl InboxQuestion {
    /// Parses an answer: one of the choices, by its text, a unique prefix or its number. Where the
    /// choices are proposals, any other text is accepted.
    ///
    /// Returns a sentence for the person when the answer is not valid.
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

    /// Returns the answer that means yes (the first choice) or no (the last). Proposals mean neither.
    pub fn verdict(&self, yes: bool) -> Option<&str> {
        if self.kind.is_open() {
            return None;
        }
        let choice = if yes { self.choices.first() } else { self.choices.last() };
        choice.map(String::as_str)
    }
}
