//! A choice of a question: the word that is the answer, and an explanation for people.

use serde::de::Deserializer;
use serde::{Deserialize, Serialize, Serializer};

/// A choice that a person can make. Stored as a text when it has no description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerChoice {
    /// The word that is the answer.
    pub label: String,
    /// What the choice means, for people; usually empty.
    pub description: String,
}

impl AnswerChoice {
    /// Returns a choice with a description.
    pub fn described(label: impl Into<String>, description: impl Into<String>) -> Self {
        Self { label: label.into(), description: description.into() }
    }
}

impl From<&str> for AnswerChoice {
    fn from(label: &str) -> Self {
        Self::described(label, "")
    }
}

impl From<String> for AnswerChoice {
    fn from(label: String) -> Self {
        Self::described(label, "")
    }
}

/// The stored forms of a choice.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredChoice {
    Label(String),
    Described { label: String, description: String },
}

impl Serialize for AnswerChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { label, description } = self.clone();
        match description.is_empty() {
            true => StoredChoice::Label(label),
            false => StoredChoice::Described { label, description },
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AnswerChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match StoredChoice::deserialize(deserializer)? {
            StoredChoice::Label(label) => label.into(),
            StoredChoice::Described { label, description } => Self { label, description },
        })
    }
}
