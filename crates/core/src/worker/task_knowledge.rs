//! What agents learned while they did tasks: results, decisions and deferred items.
//!
//! Stored in journals: the serialised names never change.

use serde::{Deserialize, Serialize};

use super::Outcome;

/// The most decisions that one report of a plan or of a phase names.
pub const DECISIONS_MAX: usize = 100;

/// What the agent of a task reported. Each text is one line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskKnowledge {
    /// The id of the plan.
    pub plan: String,
    /// The number of the task, counted from one.
    pub task: usize,
    /// What the agent did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Decisions that the plan left open, with the reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
    /// Work that the agent noticed and left for later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<String>,
    /// Patterns that later tasks should follow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
}

/// Adds the texts that are not in a list yet, up to [`DECISIONS_MAX`] entries.
pub fn add_new_texts<'a>(to: &mut Vec<String>, texts: impl IntoIterator<Item = &'a String>) {
    for text in texts {
        if to.len() < DECISIONS_MAX && !to.contains(text) {
            to.push(text.clone());
        }
    }
}

impl Outcome {
    /// Returns the closing commit, or an empty text, and the decisions of a closed plan.
    pub(super) fn closing(&self) -> (String, Vec<String>) {
        match self {
            Self::Committed { commit } => (commit.clone().unwrap_or_default(), Vec::new()),
            Self::Closed { commit, decisions } => {
                (commit.clone().unwrap_or_default(), decisions.clone())
            }
            _ => (String::new(), Vec::new()),
        }
    }
}
