//! What commands print of a summary: the keys of its block, and nothing read between the lines.

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::parse;
use crate::frontmatter::{self, Value};
use crate::values;

/// The keys of a summary in the order they are printed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Extract {
    /// One sentence on what was done, when the block has it.
    pub one_liner: Option<String>,
    /// The value of `key-files` as it is; an empty list when there is none.
    pub key_files: Json,
    /// What was added to the tools in use.
    pub tech_added: Vec<String>,
    /// Ways of working that others should follow.
    pub patterns: Vec<String>,
    /// What was decided.
    pub decisions: Vec<Decision>,
    /// The requirements that are met now.
    pub requirements_completed: Vec<String>,
}

/// One decision, split at its first colon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// What was decided.
    pub summary: String,
    /// Why.
    pub rationale: Option<String>,
}

impl Decision {
    fn parse(text: &str) -> Self {
        match text.split_once(':') {
            Some((summary, rationale)) => Self {
                summary: summary.trim().to_owned(),
                rationale: Some(rationale.trim().to_owned()),
            },
            None => Self { summary: text.to_owned(), rationale: None },
        }
    }
}

/// Reads the printed keys of a summary.
pub fn extract(bytes: &[u8]) -> Extract {
    let summary = parse(bytes);
    let front = frontmatter::parse(bytes);
    Extract {
        one_liner: values::text(front.as_ref(), "one-liner"),
        key_files: summary.key_files.as_ref().map_or(json!([]), Value::to_json),
        tech_added: summary.tech_added,
        patterns: summary.patterns,
        decisions: summary.decisions.iter().map(|text| Decision::parse(text)).collect(),
        requirements_completed: summary.requirements_completed,
    }
}
