//! Collects all summaries of a project in one value: per phase, decisions, and added tools.
//!
//! Each text occurs once, in the order of its first occurrence.

#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use crate::compat::summary::Summary;

/// The collected summaries. Field names are JSON keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SummaryDigest {
    /// Phases by key, in the order they were added.
    phases: Map<String, Json>,
    /// Decisions of all summaries.
    decisions: Vec<DigestDecision>,
    /// Tools that were added to the project.
    tech_stack: Vec<String>,
}

/// One decision with its phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct DigestDecision {
    phase: String,
    decision: String,
}

impl SummaryDigest {
    /// Adds a summary from a phase's directory.
    pub fn add(&mut self, dir: &str, summary: &Summary) {
        let (token, words) = dir.split_once('-').unwrap_or((dir, ""));
        let key = summary.phase.clone().unwrap_or_else(|| token.to_owned());
        let phase = self.phases.entry(key.clone()).or_insert_with(|| {
            let words = Some(words.replace('-', " ")).filter(|words| !words.is_empty());
            let name = summary.name.clone().or(words).unwrap_or_else(|| "Unknown".to_owned());
            json!({ "name": name, "provides": [], "affects": [], "patterns": [] })
        });
        let lists = [
            ("provides", &summary.provides),
            ("affects", &summary.affects),
            ("patterns", &summary.patterns),
        ];
        for (name, texts) in lists {
            if let Some(Json::Array(list)) = phase.get_mut(name) {
                texts.iter().for_each(|text| push_unique(Json::String(text.clone()), list));
            }
        }
        for decision in &summary.decisions {
            self.decisions.push(DigestDecision { phase: key.clone(), decision: decision.clone() });
        }
        for tool in &summary.tech_added {
            push_unique(tool.clone(), &mut self.tech_stack);
        }
    }
}

fn push_unique<T: PartialEq>(item: T, into: &mut Vec<T>) {
    if !into.contains(&item) {
        into.push(item);
    }
}
