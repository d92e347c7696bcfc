//! The output of `mow inbox --json`, and a question in other outputs.

use mow_core::inbox::{QuestionSubject, SubjectAction};
use mow_core::view::QuestionView;
use serde::Serialize;

use super::VERSION;
use crate::runs::format_utc;

/// The questions of a run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct InboxJson {
    /// The version of this format.
    v: u32,
    /// The id of the run.
    run: String,
    /// The questions; those that hold up the most phases come first.
    questions: Vec<QuestionJson>,
}

/// A question to a person.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct QuestionJson {
    /// The number that people answer by.
    id: u32,
    /// The phase that the question is about; null for the whole run.
    phase: Option<String>,
    /// The kind of the question.
    kind: &'static str,
    /// The text.
    question: String,
    /// The choices; empty if any text is an answer.
    choices: Vec<String>,
    /// What each choice means, in the order of the choices; empty where the word says it.
    descriptions: Vec<String>,
    /// What the question is about; null where the text says it all.
    subject: Option<SubjectJson>,
    /// The digest of the question, for `mow answer --seen`.
    digest: String,
    /// When the question was put, in UTC.
    since: Option<String>,
    /// The answer; for a pending question the answer that the lead has not processed yet.
    answer: Option<String>,
    /// `open`, `pending` when the lead has not processed the answer yet, or `answered`.
    state: &'static str,
    /// A command that answers the question.
    command: String,
    /// The phases that wait until the question is answered.
    holds: Vec<String>,
    /// How many more phases wait.
    holds_left_out: usize,
}

/// What a question is about. Fields that do not apply are missing.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SubjectJson {
    /// The tool that an agent wants to use.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// The exact command that the tool would run.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// The file that the tool would use or change.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The change of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// The web address that the tool would use.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// The input of another tool, as JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<String>,
    /// The directory in which the agent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    /// The role of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    /// The plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    /// The task of the plan, counted from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<usize>,
}

impl SubjectJson {
    fn of(subject: &QuestionSubject) -> Self {
        let QuestionSubject { tool, action, directory, role, plan, task } = subject.clone();
        let base = Self { tool, directory, role, plan, task, ..Self::default() };
        match action {
            Some(SubjectAction::Command(command)) => Self { command: Some(command), ..base },
            Some(SubjectAction::Edit { path, diff }) => {
                Self { path: Some(path), diff: Some(diff), ..base }
            }
            Some(SubjectAction::Path(path)) => Self { path: Some(path), ..base },
            Some(SubjectAction::Url(url)) => Self { url: Some(url), ..base },
            Some(SubjectAction::Input(input)) => Self { input: Some(input), ..base },
            None => base,
        }
    }
}

impl InboxJson {
    pub(crate) fn new<'a>(
        run: &str,
        questions: impl IntoIterator<Item = &'a QuestionView>,
    ) -> Self {
        let questions = questions.into_iter().map(QuestionJson::of).collect();
        Self { v: VERSION, run: run.to_owned(), questions }
    }
}

impl QuestionJson {
    pub(crate) fn of(question: &QuestionView) -> Self {
        Self {
            id: question.id,
            phase: question.phase.map(|phase| phase.to_string()),
            kind: question.kind.name(),
            question: question.question.clone(),
            choices: question.choices.iter().map(|choice| choice.label.clone()).collect(),
            descriptions: question.choices.iter().map(|c| c.description.clone()).collect(),
            subject: question.subject.as_ref().map(SubjectJson::of),
            digest: question.digest.clone(),
            since: question.asked_at.map(format_utc),
            answer: question.answer.clone(),
            state: question.state.name(),
            command: question.command(),
            holds: question.holds.iter().map(ToString::to_string).collect(),
            holds_left_out: question.holds_left_out,
        }
    }
}
