//! Compares the phases a project declares with the phases that were found.
//!
//! A phase that was not found counts as wrong in every column that it would have been counted in.

use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A phase as either side states it. Numbers are normalised.
#[derive(Debug)]
pub(super) struct ScoredPhase {
    number: String,
    completed: bool,
    completed_certain: bool,
    depends_on: BTreeSet<String>,
}

impl ScoredPhase {
    /// Reads a list of phases, bare or under the key `phases`.
    pub(super) fn parse_list(text: &[u8]) -> Result<Vec<Self>> {
        let value: Value = serde_json::from_slice(text).context("not JSON")?;
        let list = value.get("phases").unwrap_or(&value);
        list.as_array().context("no list of phases")?.iter().map(Self::parse).collect()
    }

    fn parse(value: &Value) -> Result<Self> {
        let depends_on = value.get("depends_on").and_then(Value::as_array);
        let depends_on = depends_on.into_iter().flatten().filter_map(Value::as_str);
        Ok(Self {
            number: normalise(value["number"].as_str().context("a phase without number")?),
            completed: value["completed"].as_bool().context("a phase without completed")?,
            completed_certain: value["completed_certain"].as_bool().unwrap_or(true),
            depends_on: depends_on.map(normalise).collect(),
        })
    }
}

/// Drops leading zeros of every dotted part and the difference of upper and lower case.
fn normalise(number: &str) -> String {
    let parts = number.trim().split('.').map(|part| {
        let short = part.trim_start_matches('0');
        if short.starts_with(|c: char| c.is_ascii_digit()) || part.is_empty() {
            short.to_lowercase()
        } else {
            // "0" and "0a" keep the one zero that carries their value.
            part[part.len() - short.len() - 1..].to_lowercase()
        }
    });
    parts.collect::<Vec<_>>().join(".")
}

/// How much must be right, in each column.
pub(super) const PERCENT_MIN: usize = 99;

/// Right answers out of the possible ones.
#[derive(Default, Clone, Copy)]
struct Tally {
    right: usize,
    all: usize,
}

impl Tally {
    fn count(&mut self, is_right: bool) {
        self.right += usize::from(is_right);
        self.all += 1;
    }

    fn is_good(self) -> bool {
        self.right * 100 >= self.all * PERCENT_MIN
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = 100.0 * self.right as f64 / self.all.max(1) as f64;
        write!(f, "{}/{} ({percent:.1} %)", self.right, self.all)
    }
}

#[derive(Default)]
pub(super) struct Score {
    projects: Tally,
    found: Tally,
    completed: Tally,
    depends_on: Tally,
    /// Phases found that the project does not declare.
    invented: usize,
    pub(super) mistakes: Vec<String>,
}

impl Score {
    pub(super) fn of(expected: &[ScoredPhase], found: &[ScoredPhase]) -> Self {
        // Equal numbers (numbering restarted per milestone) are paired in order of appearance.
        let mut left: BTreeMap<&str, Vec<&ScoredPhase>> = BTreeMap::new();
        for phase in found.iter().rev() {
            left.entry(&phase.number).or_default().push(phase);
        }
        let mut score = Self::default();
        for phase in expected {
            let pair = left.get_mut(phase.number.as_str()).and_then(Vec::pop);
            score.compare(phase, pair);
        }
        for phase in left.values().flatten() {
            score.invented += 1;
            score.mistakes.push(format!("phase {} is not declared", phase.number));
        }
        score.projects.count(score.mistakes.is_empty());
        score
    }

    /// The score when there was nothing to compare with.
    pub(super) fn without_answer(expected: &[ScoredPhase], reason: &str) -> Self {
        let mut score = Self::of(expected, &[]);
        score.projects.right = 0;
        score.mistakes = vec![format!("no answer: {reason}")];
        score
    }

    fn compare(&mut self, expected: &ScoredPhase, found: Option<&ScoredPhase>) {
        let number = &expected.number;
        self.found.count(found.is_some());
        if found.is_none() {
            self.mistakes.push(format!("phase {number} is missing"));
        }
        if expected.completed_certain {
            let is_right = found.is_some_and(|found| found.completed == expected.completed);
            self.completed.count(is_right);
            if let Some(found) = found.filter(|_| !is_right) {
                self.mistakes.push(format!(
                    "phase {number} completed: {}, not {}",
                    expected.completed, found.completed
                ));
            }
        }
        let is_right = found.is_some_and(|found| found.depends_on == expected.depends_on);
        self.depends_on.count(is_right);
        if let Some(found) = found.filter(|_| !is_right) {
            self.mistakes.push(format!(
                "phase {number} depends on {:?}, not {:?}",
                expected.depends_on, found.depends_on
            ));
        }
    }

    /// Returns whether enough phases, completions and dependencies are right, and hardly any phase
    /// was invented.
    pub(super) fn is_good(&self) -> bool {
        let invented = Tally { right: self.found.all, all: self.found.all + self.invented };
        [self.found, self.completed, self.depends_on, invented].into_iter().all(Tally::is_good)
    }

    /// Adds the counts of one project; its mistakes were printed where wanted.
    pub(super) fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.projects, other.projects),
            (&mut self.found, other.found),
            (&mut self.completed, other.completed),
            (&mut self.depends_on, other.depends_on),
        ];
        for (sum, part) in pairs {
            sum.right += part.right;
            sum.all += part.all;
        }
        self.invented += other.invented;
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "projects without a mistake {}, phases {}, completed {}, depends on {}, invented {}",
            self.projects, self.found, self.completed, self.depends_on, self.invented
        )
    }
}

#[cfg(test)]
mod tests;
