//! Extracts the frontmatter keys of a summary that `summary-extract` prints.

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::parse;
use crate::frontmatter::{self, Value};
use crate::frontmatter_values;

/// The printed keys of a summary, in output order. Field names are JSON keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExtractedSummary {
    /// One sentence on the result; only from the frontmatter.
    pub one_liner: Option<String>,
    /// Value of `key-files`, unchanged; an empty list if there is none.
    pub key_files: Json,
    /// Tools and libraries that the plan added.
    pub tech_added: Vec<String>,
    /// Patterns that later plans should follow.
    pub patterns: Vec<String>,
    /// Decisions, each split into summary and rationale.
    pub decisions: Vec<SummaryDecision>,
    /// Requirements that are complete now.
    pub requirements_completed: Vec<String>,
}

/// One decision, split at its first colon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SummaryDecision {
    /// Text before the colon.
    pub summary: String,
    /// Text after the colon; `None` without a colon.
    pub rationale: Option<String>,
}

impl SummaryDecision {
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
pub fn extract(bytes: &[u8]) -> ExtractedSummary {
    let summary = parse(bytes);
    let front = frontmatter::parse(bytes);
    ExtractedSummary {
        one_liner: frontmatter_values::text_at(front.as_ref(), "one-liner"),
        key_files: summary.key_files.as_ref().map_or(json!([]), Value::to_json),
        tech_added: summary.tech_added,
        patterns: summary.patterns,
        decisions: summary.decisions.iter().map(|text| SummaryDecision::parse(text)).collect(),
        requirements_completed: summary.requirements_completed,
    }
}
