//! All summaries of a project in one value: what each phase gave, what was decided, which tools
//! came in.
//!
//! Texts stand once each, in the order they were first seen.

#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use crate::summary::Summary;

/// What the summaries say.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Digest {
    /// The phases by their key, in the order they were seen.
    phases: Map<String, Json>,
    /// What was decided.
    decisions: Vec<Decision>,
    /// Which tools came in.
    tech_stack: Vec<String>,
}

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Decision {
    phase: String,
    decision: String,
}

impl Digest {
    /// Adds a summary that lies in a phase's directory.
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
                texts.iter().for_each(|text| push(Json::String(text.clone()), list));
            }
        }
        for decision in &summary.decisions {
            self.decisions.push(Decision { phase: key.clone(), decision: decision.clone() });
        }
        for tool in &summary.tech_added {
            push(tool.clone(), &mut self.tech_stack);
        }
    }
}

fn push<T: PartialEq>(item: T, into: &mut Vec<T>) {
    if !into.contains(&item) {
        into.push(item);
    }
}
