//! What a question is about, as data: the tool, the exact command or change, the place and the task.

use serde::{Deserialize, Serialize};

/// The longest text of a subject, in bytes; the rest is cut off and marked.
const TEXT_MAX: usize = 16 << 10;
/// The mark at the end of a text that was cut off.
const CUT: &str = "\n[cut]";

/// What a question is about. A field that is unknown or does not apply is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionSubject {
    /// The tool that an agent wants to use, by the agent's own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What the tool would do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<SubjectAction>,
    /// The directory in which the agent works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The role of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The task of the plan, counted from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<usize>,
}

/// What a tool would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectAction {
    /// Run this exact command.
    Command(String),
    /// Change a file.
    Edit {
        /// The file.
        path: String,
        /// The change: lines that start with `-` are removed, lines that start with `+` are added.
        diff: String,
    },
    /// Use a file or directory.
    Path(String),
    /// Use a web address.
    Url(String),
    /// Something else: the input of the tool as JSON.
    Input(String),
}

impl SubjectAction {
    /// Returns the action with its texts limited to a length that every screen can show.
    #[must_use]
    pub fn bounded(self) -> Self {
        match self {
            Self::Command(text) => Self::Command(cut(text)),
            Self::Edit { path, diff } => Self::Edit { path: cut(path), diff: cut(diff) },
            Self::Path(text) => Self::Path(cut(text)),
            Self::Url(text) => Self::Url(cut(text)),
            Self::Input(text) => Self::Input(cut(text)),
        }
    }
}

fn cut(mut text: String) -> String {
    if text.len() > TEXT_MAX {
        text.truncate(text.floor_char_boundary(TEXT_MAX));
        text.push_str(CUT);
    }
    text
}
