//! What a run of Claude Code used, made of numbers that it counts in three ways.
//!
//! A result says what was used since the one before, and what the session used in all, which counts
//! earlier processes, too. A run that is cut off has no result; then the answers of its model tell the
//! tokens.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::Usage;

/// Counts what is used.
pub(super) struct Meter {
    /// What the session had used when it was last reported; `None` while nobody said so.
    reported: Option<Usage>,
    /// What answers used that no report has counted yet, by their names.
    unreported: BTreeMap<String, Usage>,
}

impl Meter {
    /// Begins to count, for a session that has used nothing or something unknown.
    pub(super) fn new(is_new: bool) -> Self {
        let nothing = Usage { usd: Some(0.0), ..Usage::default() };
        Self { reported: is_new.then_some(nothing), unreported: BTreeMap::new() }
    }

    /// Takes what the session had used before.
    pub(super) fn begin(&mut self, stock: &Value) {
        if self.reported.is_none() && self.unreported.is_empty() {
            self.reported = stock.pointer("/session/model_usage").map(sum);
        }
    }

    /// Takes an answer of the model.
    pub(super) fn hear(&mut self, message: &Value) {
        let (usage, Some(id)) = (&message["usage"], message["id"].as_str()) else { return };
        let count = |key: &str| usage[key].as_u64().unwrap_or(0);
        let used = Usage {
            input: count("input_tokens") + count("cache_creation_input_tokens"),
            output: count("output_tokens"),
            cached: count("cache_read_input_tokens"),
            usd: None,
        };
        self.unreported.insert(id.to_owned(), used);
    }

    /// Returns the tokens that no report has counted yet.
    pub(super) fn unreported(&self) -> u64 {
        self.unreported.values().map(Usage::tokens).sum()
    }

    /// Takes a result; returns what is new in it.
    pub(super) fn settle(&mut self, result: &Value) -> Option<Usage> {
        let all = result.get("modelUsage").map(sum);
        let new = result.get("model_usage_since_last_result").map(sum);
        let new = new.or_else(|| Some(difference(all?, self.reported?)));
        if all.is_some() {
            self.reported = all;
        }
        let rest = self.rest();
        new.or(rest).filter(|usage| *usage != Usage { usd: usage.usd, ..Usage::default() })
    }

    /// Takes what the session has used in all, in the middle of a turn; returns what is new in it.
    pub(super) fn stock(&mut self, stock: &Value) -> Option<Usage> {
        let all = stock.pointer("/session/model_usage").map(sum)?;
        let new = difference(all, self.reported?);
        self.reported = Some(all);
        self.unreported.clear();
        Some(new)
    }

    /// Returns what only the answers tell of.
    pub(super) fn rest(&mut self) -> Option<Usage> {
        let rest = std::mem::take(&mut self.unreported);
        rest.into_values().reduce(|a, b| Usage {
            input: a.input + b.input,
            output: a.output + b.output,
            cached: a.cached + b.cached,
            usd: None,
        })
    }
}

/// Adds up what all models used.
fn sum(models: &Value) -> Usage {
    let mut all = Usage { usd: Some(0.0), ..Usage::default() };
    for model in models.as_object().into_iter().flat_map(serde_json::Map::values) {
        let count = |key: &str| model[key].as_u64().unwrap_or(0);
        all.input += count("inputTokens") + count("cacheCreationInputTokens");
        all.output += count("outputTokens");
        all.cached += count("cacheReadInputTokens");
        all.usd = all.usd.zip(model["costUSD"].as_f64()).map(|(a, b)| a + b);
    }
    all
}

fn difference(now: Usage, then: Usage) -> Usage {
    Usage {
        input: now.input.saturating_sub(then.input),
        output: now.output.saturating_sub(then.output),
        cached: now.cached.saturating_sub(then.cached),
        usd: now.usd.zip(then.usd).map(|(now, then)| (now - then).max(0.0)),
    }
}

#[cfg(test)]
mod tests;
