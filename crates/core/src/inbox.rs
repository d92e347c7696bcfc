//! Questions to people and their answers.
//!
//! A question is data: its [`QuestionKey`] stays the same over all attempts, so that it is put once;
//! its [`QuestionSubject`] says exactly what it is about; its [digest](InboxQuestion::digest) binds an
//! answer to what the person saw. The lead gives each question a small number, by which people answer.

mod choice;
mod question_key;
mod subject;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::hash;
use crate::phase::PhaseNumber;

pub use choice::AnswerChoice;
pub use question_key::{QuestionKey, QuestionTopic};
pub use subject::{QuestionSubject, SubjectAction};

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

/// How many hexadecimal digits a digest has.
const DIGEST_DIGITS: usize = 16;

/// A question before it has a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxQuestion {
    /// The identity of the question within a run.
    pub key: QuestionKey,
    /// The kind of the question.
    pub kind: QuestionKind,
    /// The text for people.
    pub question: String,
    /// The allowed answers; empty for any text. The first one means yes, unless they are proposals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<AnswerChoice>,
    /// What the question is about; `None` where the text says it all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Box<QuestionSubject>>,
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

impl InboxItem {
    /// Returns whether the question says that no agent can work before a person has acted.
    pub fn is_denial(&self) -> bool {
        matches!(self.ask.key.topic(), QuestionTopic::AgentsDenied { .. })
    }

    /// Returns whether the answer ended the phase.
    pub fn is_refused(&self) -> bool {
        let word = self.answer.as_deref().filter(|answer| self.ask.has_choice(answer));
        !self.ask.kind.is_open() && word.is_some_and(|word| REFUSALS.contains(&word))
    }
}

/// An answer as a worker receives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxAnswer {
    /// The identity of the question.
    pub key: QuestionKey,
    /// The question.
    pub question: String,
    /// The answer.
    pub text: String,
}

impl InboxQuestion {
    /// Returns a question without choices and subject.
    pub fn new(key: QuestionKey, kind: QuestionKind, question: impl Into<String>) -> Self {
        let (question, choices, subject) = (question.into(), Vec::new(), None);
        Self { key, kind, question, choices, subject }
    }

    /// Adds choices; the first one means yes, unless they are proposals.
    #[must_use]
    pub fn with_choices<C: Into<AnswerChoice>>(
        mut self,
        choices: impl IntoIterator<Item = C>,
    ) -> Self {
        self.choices = choices.into_iter().map(Into::into).collect();
        self
    }

    /// Adds what the question is about.
    #[must_use]
    pub fn with_subject(mut self, subject: QuestionSubject) -> Self {
        self.subject = Some(Box::new(subject));
        self
    }

    /// Returns the digest of all that a person is shown of the question.
    ///
    /// A command with the digest of another question answers nothing.
    pub fn digest(&self) -> String {
        let shown = serde_json::to_vec(self).expect("a question can be written as JSON");
        let mut digest = hash::hex(&shown);
        digest.truncate(DIGEST_DIGITS);
        digest
    }

    /// Returns whether a text is one of the choices.
    pub fn has_choice(&self, text: &str) -> bool {
        self.choices.iter().any(|choice| choice.label == text)
    }

    /// Returns the words that are valid answers; empty if any text is.
    pub fn labels(&self) -> Vec<&str> {
        self.choices.iter().map(|choice| choice.label.as_str()).collect()
    }

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
        let labels = self.labels();
        let number = text.parse::<usize>().ok().and_then(|n| labels.get(n.checked_sub(1)?));
        let same = labels.iter().find(|label| label.eq_ignore_ascii_case(text));
        let lower = text.to_lowercase();
        let mut begun = labels.iter().filter(|label| label.to_lowercase().starts_with(&lower));
        let only = begun.next().filter(|_| begun.next().is_none());
        match same.or(number).or(only) {
            Some(label) => Ok((*label).to_owned()),
            None if self.kind.is_open() => Ok(text.to_owned()),
            None => Err(format!("`{text}` is none of the choices: {}", labels.join(", "))),
        }
    }

    /// Returns the answer that means yes (the first choice) or no (the last). Proposals mean neither.
    pub fn verdict(&self, yes: bool) -> Option<&str> {
        if self.kind.is_open() {
            return None;
        }
        let choice = if yes { self.choices.first() } else { self.choices.last() };
        choice.map(|choice| choice.label.as_str())
    }
}
