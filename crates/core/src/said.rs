//! What agents answer, as data.
//!
//! An agent's words are taken for nothing but words: they are read against a schema, bounded, and
//! freed of control characters. What is wrong is said in one line that the agent itself can put
//! right. An answer is a JSON object, the last one that the text has in a fence, or handed over as
//! such. Fields that nobody knows are left out. Start with [`Said`].

mod fence;
mod schema;
#[cfg(test)]
mod tests;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How long an answer may be.
pub const BYTES_MAX: usize = 64 * 1024;

/// Why an answer is none, as the agent is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SaidError {
    /// The text has no JSON in the place where it belongs.
    #[error("there is no answer: end with one fenced ```json block that holds it")]
    Missing,
    /// It is longer than anybody reads.
    #[error("the answer has {bytes} bytes, but at most {BYTES_MAX} are read: shorten it")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// It cannot be read.
    #[error("the answer is not JSON: {reason}")]
    NotJson {
        /// What the parser says.
        reason: String,
    },
    /// It does not say what it has to say.
    #[error("`{field}` {problem}")]
    Wrong {
        /// Where, such as `questions[2].choices`.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
}

fn wrong(field: &str, problem: impl Into<String>) -> SaidError {
    SaidError::Wrong { field: field.to_owned(), problem: problem.into() }
}

/// Something that an agent answers.
pub trait Said: DeserializeOwned {
    /// What it looks like, as a JSON Schema; answers are checked against this very text.
    const SCHEMA: &'static str;

    /// Puts right what can be put right, and refuses what no schema can refuse.
    fn settle(&mut self) -> Result<(), SaidError>;

    /// Reads it from what an agent wrote.
    fn parse(text: &str) -> Result<Self, SaidError> {
        let json = fence::last_json(text).ok_or(SaidError::Missing)?;
        if json.len() > BYTES_MAX {
            return Err(SaidError::TooLong { bytes: json.len() });
        }
        let value: Value = serde_json::from_str(json)
            .map_err(|error| SaidError::NotJson { reason: error.to_string() })?;
        read(&value)
    }

    /// Reads it from what an agent handed over.
    fn from_value(value: &Value) -> Result<Self, SaidError> {
        let bytes = value.to_string().len();
        if bytes > BYTES_MAX {
            return Err(SaidError::TooLong { bytes });
        }
        read(value)
    }
}

fn read<T: Said>(value: &Value) -> Result<T, SaidError> {
    let schema = serde_json::from_str(T::SCHEMA).expect("schemas are JSON");
    let fitted = schema::fit(value, &schema, schema::ROOT)?;
    let mut said: T = serde_json::from_value(fitted)
        .map_err(|error| SaidError::NotJson { reason: error.to_string() })?;
    said.settle()?;
    Ok(said)
}

/// What is left to ask a person before a phase is planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discussion {
    /// Whether nothing is left to ask.
    pub clear: bool,
    /// What is.
    #[serde(default)]
    pub questions: Vec<Question>,
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// What makes it this question and no other of the same answer.
    pub id: String,
    /// What it is about, in a few words.
    pub topic: String,
    /// The question.
    pub question: String,
    /// What may be answered; a person may also say something else.
    #[serde(default)]
    pub choices: Vec<String>,
}

impl Question {
    /// Returns it as a person reads it, what it is about in front.
    pub fn with_topic(&self) -> String {
        format!("{}: {}", self.topic, self.question)
    }
}

impl Said for Discussion {
    const SCHEMA: &'static str = include_str!("said/discussion.json");

    fn settle(&mut self) -> Result<(), SaidError> {
        match (self.clear, self.questions.is_empty()) {
            (true, false) => return Err(wrong("clear", "is true, but there are questions")),
            (false, true) => return Err(wrong("questions", "is empty, but clear is false")),
            _ => {}
        }
        let mut ids = Vec::new();
        for (n, question) in self.questions.iter_mut().enumerate() {
            let field = |name: &str| format!("questions[{n}].{name}");
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if !question.id.chars().all(is_plain) {
                return Err(wrong(&field("id"), "may have letters, digits, - and _ only"));
            }
            if ids.contains(&question.id) {
                return Err(wrong(&field("id"), "is the id of an earlier question"));
            }
            ids.push(question.id.clone());
            question.topic = one_line(&question.topic);
            let mut choices: Vec<String> = Vec::new();
            for choice in &question.choices {
                let choice = one_line(choice);
                // Answers are understood in either case.
                if choices.iter().any(|other| other.to_lowercase() == choice.to_lowercase()) {
                    return Err(wrong(&field("choices"), "has the same choice twice"));
                }
                choices.push(choice);
            }
            if choices.len() == 1 {
                return Err(wrong(&field("choices"), "has one choice: give two or more, or none"));
            }
            question.choices = choices;
        }
        Ok(())
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What somebody who read plans thinks of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// The verdict.
    pub verdict: ReviewVerdict,
    /// What was found.
    #[serde(default)]
    pub issues: Vec<Issue>,
}

/// Whether plans will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewVerdict {
    /// They will.
    Passed,
    /// Something was found.
    Issues,
}

/// Something that was found in plans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// The plan it is about; `None` for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// How bad it is.
    pub severity: Severity,
    /// What it is.
    pub description: String,
    /// What would put it right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix_hint: Option<String>,
}

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Plans cannot be carried out with it.
    Blocker,
    /// They should not.
    Warning,
    /// Worth knowing.
    Info,
}

impl Review {
    /// Returns what has to be put right before the plans are carried out; other issues refuse nothing.
    pub fn blockers(&self) -> impl Iterator<Item = &Issue> {
        self.issues.iter().filter(|issue| issue.severity == Severity::Blocker)
    }

    /// Returns whether the plans are refused.
    pub fn is_refusal(&self) -> bool {
        self.blockers().next().is_some()
    }
}

impl Said for Review {
    const SCHEMA: &'static str = include_str!("said/review.json");

    fn settle(&mut self) -> Result<(), SaidError> {
        for issue in &mut self.issues {
            issue.plan = issue.plan.take().filter(|plan| !plan.is_empty());
            issue.fix_hint = issue.fix_hint.take().filter(|hint| !hint.is_empty());
        }
        match self.verdict {
            ReviewVerdict::Passed if self.is_refusal() => {
                Err(wrong("verdict", "is passed, but there is a blocker among the issues"))
            }
            ReviewVerdict::Issues if self.issues.is_empty() => {
                Err(wrong("issues", "is empty, but the verdict is issues"))
            }
            _ => Ok(()),
        }
    }
}

/// What somebody who looked at the result of a phase thinks of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// The verdict.
    pub verdict: VerificationVerdict,
    /// What is missing, or what a person must look at.
    #[serde(default)]
    pub gaps: Vec<String>,
}

/// Whether a phase has reached its goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerificationVerdict {
    /// It has.
    Passed,
    /// Something is missing.
    GapsFound,
    /// Only a person can tell.
    HumanNeeded,
}

impl Said for Verification {
    const SCHEMA: &'static str = include_str!("said/verification.json");

    fn settle(&mut self) -> Result<(), SaidError> {
        match (self.verdict, self.gaps.is_empty()) {
            (VerificationVerdict::Passed, false) => {
                Err(wrong("verdict", "is passed, but there are gaps"))
            }
            (VerificationVerdict::GapsFound, true) => {
                Err(wrong("gaps", "is empty, but the verdict is gaps_found"))
            }
            (VerificationVerdict::HumanNeeded, true) => {
                Err(wrong("gaps", "is empty: say what a person must look at"))
            }
            _ => Ok(()),
        }
    }
}

/// What became of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskReport {
    /// Whether it is done.
    pub status: TaskStatus,
    /// What was done.
    pub summary: String,
    /// What stands in the way; there exactly when the task is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocker: Option<String>,
    /// What was decided on the way.
    #[serde(default)]
    pub decisions: Vec<String>,
    /// What was seen and left for later.
    #[serde(default)]
    pub deferred: Vec<String>,
}

/// Whether a task is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// The agent thinks so; the checks decide.
    Done,
    /// Something stands in the way that only others can move.
    Blocked,
}

impl Said for TaskReport {
    const SCHEMA: &'static str = include_str!("said/task-report.json");

    fn settle(&mut self) -> Result<(), SaidError> {
        // Whoever fills every field writes this where there is nothing.
        let nothing = |text: &String| matches!(text.to_lowercase().as_str(), "" | "none" | "n/a");
        self.blocker = self.blocker.take().filter(|text| !nothing(text));
        match (self.status, &self.blocker) {
            (TaskStatus::Done, Some(_)) => Err(wrong("status", "is done, but there is a blocker")),
            (TaskStatus::Blocked, None) => {
                Err(wrong("blocker", "is missing: say what stands in the way"))
            }
            _ => Ok(()),
        }
    }
}
