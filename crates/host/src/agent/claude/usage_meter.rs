//! Computes the usage of a Claude Code run from three overlapping counts.
//!
//! A result reports the usage since the previous result and the total of the session, which includes
//! earlier processes. A run that is cut off has no result; then the model's answers give the tokens.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::Usage;

/// Counts the usage of one run without losing or double-counting tokens.
pub(super) struct UsageMeter {
    /// The session total at the last report; `None` while unknown.
    reported: Option<Usage>,
    /// Usage of answers that no report includes yet, by message id.
    unreported: BTreeMap<String, Usage>,
}

impl UsageMeter {
    /// Starts counting; a new session has used nothing, a resumed one an unknown amount.
    pub(super) fn new(is_new: bool) -> Self {
        let nothing = Usage { usd: Some(0.0), ..Usage::default() };
        Self { reported: is_new.then_some(nothing), unreported: BTreeMap::new() }
    }

    /// Sets the total that the session had used before this run.
    pub(super) fn set_baseline(&mut self, stock: &Value) {
        if self.reported.is_none() && self.unreported.is_empty() {
            self.reported = stock.pointer("/session/model_usage").map(sum);
        }
    }

    /// Adds an answer of the model. Several lines with one id are one answer.
    pub(super) fn add_answer(&mut self, message: &Value) {
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

    /// Returns the tokens that no report includes yet.
    pub(super) fn unreported_tokens(&self) -> u64 {
        self.unreported.values().map(Usage::tokens).sum()
    }

    /// Adds a result; returns the usage since the last report.
    pub(super) fn add_result(&mut self, result: &Value) -> Option<Usage> {
        let all = result.get("modelUsage").map(sum);
        let new = result.get("model_usage_since_last_result").map(sum);
        let new = new.or_else(|| Some(difference(all?, self.reported?)));
        if all.is_some() {
            self.reported = all;
        }
        let rest = self.take_unreported();
        new.or(rest).filter(|usage| *usage != Usage { usd: usage.usd, ..Usage::default() })
    }

    /// Adds a session total from the middle of a turn; returns the usage since the last report.
    pub(super) fn add_session_total(&mut self, stock: &Value) -> Option<Usage> {
        let all = stock.pointer("/session/model_usage").map(sum)?;
        let new = difference(all, self.reported?);
        self.reported = Some(all);
        self.unreported.clear();
        Some(new)
    }

    /// Takes the usage that only answers reported.
    pub(super) fn take_unreported(&mut self) -> Option<Usage> {
        let rest = std::mem::take(&mut self.unreported);
        rest.into_values().reduce(|a, b| Usage {
            input: a.input + b.input,
            output: a.output + b.output,
            cached: a.cached + b.cached,
            usd: None,
        })
    }
}

/// Adds up the usage of all models.
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
