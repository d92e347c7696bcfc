//! Parses the final answers of agents: discussions, plan reviews, verifications and task reports.
//!
//! An answer is one JSON object: the last fenced block of the agent's text, or a value that the
//! agent passed to a tool. Agent output is untrusted. It is checked against a schema and a size
//! limit, and control characters are removed. Fields that the schema does not name are dropped. An
//! error is one line that tells the agent how to correct its answer. Start with [`AgentAnswer`].

mod fence;
mod schema;
#[cfg(test)]
mod tests;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most bytes of JSON that an answer may have.
pub const BYTES_MAX: usize = 64 * 1024;

/// Why an answer was rejected. The message is sent to the agent, which may then correct it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The text has no fenced JSON block and is no bare JSON object.
    #[error("there is no answer: end with one fenced ```json block that holds it")]
    Missing,
    /// The JSON is longer than [`BYTES_MAX`].
    #[error("the answer has {bytes} bytes, but at most {BYTES_MAX} are read: shorten it")]
    TooLong {
        /// The length of the JSON.
        bytes: usize,
    },
    /// The block is not valid JSON.
    #[error("the answer is not JSON: {reason}")]
    NotJson {
        /// The message of the JSON parser.
        reason: String,
    },
    /// A field is missing, has the wrong type, or contradicts another field.
    #[error("`{field}` {problem}")]
    InvalidField {
        /// The path of the field, such as `questions[2].choices`.
        field: String,
        /// The problem, as the rest of a sentence that starts with the field.
        problem: String,
    },
}

fn invalid_field(field: &str, problem: impl Into<String>) -> AnswerError {
    AnswerError::InvalidField { field: field.to_owned(), problem: problem.into() }
}

/// A kind of answer that an agent can give.
pub trait AgentAnswer: DeserializeOwned {
    /// The JSON Schema of the answer. Agents are shown this text, and answers are checked against
    /// it.
    const SCHEMA: &'static str;

    /// Normalises the fields and rejects contradictions that a schema cannot express.
    fn validate(&mut self) -> Result<(), AnswerError>;

    /// Parses the answer at the end of an agent's text.
    fn parse(text: &str) -> Result<Self, AnswerError> {
        let json = fence::last_json(text).ok_or(AnswerError::Missing)?;
        if json.len() > BYTES_MAX {
            return Err(AnswerError::TooLong { bytes: json.len() });
        }
        let value: Value = serde_json::from_str(json)
            .map_err(|error| AnswerError::NotJson { reason: error.to_string() })?;
        parse_value(&value)
    }

    /// Parses an answer that an agent passed to a tool as JSON.
    fn from_value(value: &Value) -> Result<Self, AnswerError> {
        let bytes = value.to_string().len();
        if bytes > BYTES_MAX {
            return Err(AnswerError::TooLong { bytes });
        }
        parse_value(value)
    }
}

fn parse_value<T: AgentAnswer>(value: &Value) -> Result<T, AnswerError> {
    let schema = serde_json::from_str(T::SCHEMA).expect("schemas are JSON");
    let checked = schema::check(value, &schema, schema::ROOT)?;
    let mut answer: T = serde_json::from_value(checked)
        .map_err(|error| AnswerError::NotJson { reason: error.to_string() })?;
    answer.validate()?;
    Ok(answer)
}

/// The discusser's answer: the questions that a person must decide before a phase is planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discussion {
    /// Whether there are no questions left.
    pub clear: bool,
    /// The open questions; empty exactly when `clear` is true.
    #[serde(default)]
    pub questions: Vec<DiscussionQuestion>,
}

/// A question of the discusser to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscussionQuestion {
    /// Identifies the question within its answer: ASCII letters, digits, `-` and `_`.
    pub id: String,
    /// The subject in a few words, on one line.
    pub topic: String,
    /// The full text of the question.
    pub question: String,
    /// Suggested answers: none, or two and more. A person may also answer in free text.
    #[serde(default)]
    pub choices: Vec<String>,
}

impl DiscussionQuestion {
    /// Returns the text that a person sees: `topic: question`.
    pub fn with_topic(&self) -> String {
        format!("{}: {}", self.topic, self.question)
    }
}

impl AgentAnswer for Discussion {
    const SCHEMA: &'static str = include_str!("agent_answer/discussion.json");

    fn validate(&mut self) -> Result<(), AnswerError> {
        match (self.clear, self.questions.is_empty()) {
            (true, false) => {
                return Err(invalid_field("clear", "is true, but there are questions"));
            }
            (false, true) => {
                return Err(invalid_field("questions", "is empty, but clear is false"));
            }
            _ => {}
        }
        let mut ids = Vec::new();
        for (n, question) in self.questions.iter_mut().enumerate() {
            let field = |name: &str| format!("questions[{n}].{name}");
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if !question.id.chars().all(is_plain) {
                return Err(invalid_field(&field("id"), "may have letters, digits, - and _ only"));
            }
            if ids.contains(&question.id) {
                return Err(invalid_field(&field("id"), "is the id of an earlier question"));
            }
            ids.push(question.id.clone());
            question.topic = one_line(&question.topic);
            let mut choices: Vec<String> = Vec::new();
            for choice in &question.choices {
                let choice = one_line(choice);
                // A person's answer is matched to a choice without regard to case.
                if choices.iter().any(|other| other.to_lowercase() == choice.to_lowercase()) {
                    return Err(invalid_field(&field("choices"), "has the same choice twice"));
                }
                choices.push(choice);
            }
            if choices.len() == 1 {
                return Err(invalid_field(
                    &field("choices"),
                    "has one choice: give two or more, or none",
                ));
            }
            question.choices = choices;
        }
        Ok(())
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The plan checker's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// The checker's own summary; [`Review::is_rejected`] decides by the issues.
    pub verdict: ReviewVerdict,
    /// The problems in the plans, of every severity.
    #[serde(default)]
    pub issues: Vec<ReviewIssue>,
}

/// A plan checker's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewVerdict {
    /// The plans can be executed; warnings are allowed.
    Passed,
    /// The plans have at least one issue.
    Issues,
}

/// A problem that the plan checker found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewIssue {
    /// The id of the plan; `None` when the issue concerns all plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Only blockers stop the phase.
    pub severity: Severity,
    /// The problem in words.
    pub description: String,
    /// How to fix the problem, if the checker knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix_hint: Option<String>,
}

/// The severity of a [`ReviewIssue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The plans cannot be executed until this is fixed.
    Blocker,
    /// The plans should be improved, but can be executed.
    Warning,
    /// A remark.
    Info,
}

impl Review {
    /// Returns the issues that must be fixed before the plans are executed.
    pub fn blockers(&self) -> impl Iterator<Item = &ReviewIssue> {
        self.issues.iter().filter(|issue| issue.severity == Severity::Blocker)
    }

    /// Returns whether a blocker rejects the plans.
    pub fn is_rejected(&self) -> bool {
        self.blockers().next().is_some()
    }
}

impl AgentAnswer for Review {
    const SCHEMA: &'static str = include_str!("agent_answer/review.json");

    fn validate(&mut self) -> Result<(), AnswerError> {
        for issue in &mut self.issues {
            issue.plan = issue.plan.take().filter(|plan| !plan.is_empty());
            issue.fix_hint = issue.fix_hint.take().filter(|hint| !hint.is_empty());
        }
        match self.verdict {
            ReviewVerdict::Passed if self.is_rejected() => {
                Err(invalid_field("verdict", "is passed, but there is a blocker among the issues"))
            }
            ReviewVerdict::Issues if self.issues.is_empty() => {
                Err(invalid_field("issues", "is empty, but the verdict is issues"))
            }
            _ => Ok(()),
        }
    }
}

/// The verifier's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerificationReport {
    /// Whether the phase reached its goal.
    pub verdict: VerificationVerdict,
    /// What is missing, or what a person must look at; empty exactly when the verdict is passed.
    #[serde(default)]
    pub gaps: Vec<String>,
}

/// A verifier's verdict about the goal of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerificationVerdict {
    /// The goal is reached.
    Passed,
    /// Parts of the goal are missing.
    GapsFound,
    /// A person must look at the result.
    HumanNeeded,
}

impl AgentAnswer for VerificationReport {
    const SCHEMA: &'static str = include_str!("agent_answer/verification.json");

    fn validate(&mut self) -> Result<(), AnswerError> {
        match (self.verdict, self.gaps.is_empty()) {
            (VerificationVerdict::Passed, false) => {
                Err(invalid_field("verdict", "is passed, but there are gaps"))
            }
            (VerificationVerdict::GapsFound, true) => {
                Err(invalid_field("gaps", "is empty, but the verdict is gaps_found"))
            }
            (VerificationVerdict::HumanNeeded, true) => {
                Err(invalid_field("gaps", "is empty: say what a person must look at"))
            }
            _ => Ok(()),
        }
    }
}

/// The executor's answer after one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskReport {
    /// The agent's claim; the checks of the task have the last word.
    pub status: TaskStatus,
    /// What the agent changed.
    pub summary: String,
    /// The obstacle; present exactly when the task is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocker: Option<String>,
    /// Design decisions that the agent made.
    #[serde(default)]
    pub decisions: Vec<String>,
    /// Work that the agent noticed and left for later.
    #[serde(default)]
    pub deferred: Vec<String>,
    /// Patterns in the code that later tasks should follow.
    #[serde(default)]
    pub patterns: Vec<String>,
}

/// The state of a task in the view of its agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// The agent considers the task done; the checks decide.
    Done,
    /// The agent cannot go on without help from outside.
    Blocked,
}

impl AgentAnswer for TaskReport {
    const SCHEMA: &'static str = include_str!("agent_answer/task-report.json");

    fn validate(&mut self) -> Result<(), AnswerError> {
        // Agents that fill every field write one of these words for "no blocker".
        let is_none = |text: &String| matches!(text.to_lowercase().as_str(), "" | "none" | "n/a");
        self.blocker = self.blocker.take().filter(|text| !is_none(text));
        match (self.status, &self.blocker) {
            (TaskStatus::Done, Some(_)) => {
                Err(invalid_field("status", "is done, but there is a blocker"))
            }
            (TaskStatus::Blocked, None) => {
                Err(invalid_field("blocker", "is missing: name the obstacle"))
            }
            _ => Ok(()),
        }
    }
}
