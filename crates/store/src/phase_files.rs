//! The smaller files of a phase: CONTEXT, VERIFICATION, UAT and CHECKPOINT.
//!
//! Only what the commands and the engine ask for is read; nothing here writes. Each kind has its own
//! reader, such as [`parse_verification`].

mod context;

#[cfg(test)]
mod tests;

use crate::frontmatter::{self, Value};
use crate::text::{Text, field, heading};
use crate::values;

pub use context::{Context, Decision, parse_context};

/// The keys the verification schema asks for.
pub const VERIFICATION_KEYS: [&str; 4] = ["phase", "verified", "status", "score"];

/// Whether the goal of a phase was reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// `passed`, `gaps_found`, `human_needed`, `pending` or another word.
    pub status: Option<String>,
    /// The score as written.
    pub score: Option<String>,
    /// How many goals were met, of how many, as the score says.
    pub met: Option<(u32, u32)>,
    /// What is missing.
    pub gaps: Vec<Gap>,
    /// How many things a person must look at.
    pub human_checks: usize,
}

/// Something that verification found missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    /// What should be true.
    pub truth: String,
    /// `failed`, `partial` or another word.
    pub status: Option<String>,
    /// Why it is not.
    pub reason: Option<String>,
    /// What would make it true.
    pub missing: Vec<String>,
}

/// Reads a verification; a file without a block may have the fields in its text.
pub fn parse_verification(bytes: &[u8]) -> Verification {
    let front = frontmatter::parse(bytes);
    let front = front.as_ref();
    let text = Text::new(bytes);
    let value = |key: &str| values::text(front, key).or_else(|| bold_field(&text, key));
    let score = value("score");
    let list = |key: &str| match front.and_then(|front| values::entry(front, key)) {
        Some(Value::List(items)) => items.clone(),
        _ => Vec::new(),
    };
    Verification {
        status: value("status"),
        met: score.as_deref().and_then(parse_score),
        score,
        gaps: list("gaps").iter().filter_map(parse_gap).collect(),
        human_checks: list("human_verification").len(),
    }
}

fn bold_field(text: &Text<'_>, name: &str) -> Option<String> {
    let found = field::find_field(text, 0..text.lines().len(), name, true)?;
    let value = text.slice(found.value).trim();
    (!value.is_empty()).then(|| value.to_owned())
}

/// Reads `3/4 must-haves verified`.
fn parse_score(score: &str) -> Option<(u32, u32)> {
    let first = score.split_whitespace().next()?;
    let (met, all) = first.split_once('/')?;
    Some((met.parse().ok()?, all.trim_end_matches([',', ';']).parse().ok()?))
}

fn parse_gap(value: &Value) -> Option<Gap> {
    let Some(map) = value.as_map() else {
        return Some(Gap { truth: values::scalar(value)?, ..Gap::default() });
    };
    let text = |key: &str| values::find(map, key).and_then(values::scalar);
    Some(Gap {
        truth: text("truth").unwrap_or_default(),
        status: text("status"),
        reason: text("reason"),
        missing: values::find(map, "missing").map(values::texts).unwrap_or_default(),
    })
}

/// How far acceptance by a person is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uat {
    /// `testing`, `complete`, `diagnosed`, `resolved`, `pending` or another word.
    pub status: Option<String>,
    /// How many tests there are.
    pub total: usize,
    /// How many went well.
    pub passed: usize,
    /// How many did not.
    pub issues: usize,
    /// How many were left out.
    pub skipped: usize,
}

/// Reads an acceptance file: its status, and the `result:` of each `### N. name`.
pub fn parse_uat(bytes: &[u8]) -> Uat {
    let front = frontmatter::parse(bytes);
    let text = Text::new(bytes);
    let headings = heading::headings(&text);
    let status = values::text(front.as_ref(), "status");
    let mut uat = Uat { status, ..Uat::default() };
    for (index, found) in headings.iter().enumerate() {
        let title = text.slice(found.text.clone());
        let digits = title.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 || !title[digits..].starts_with('.') {
            continue;
        }
        uat.total += 1;
        let lines = found.line + 1..heading::section_end(&text, &headings, index);
        let result = field::find_field(&text, lines, "result", false);
        let result = result.map(|field| text.slice(field.value).to_ascii_lowercase());
        match result.as_deref().map(|result| result.trim_matches(['[', ']'])) {
            Some(word) if word.starts_with("pass") => uat.passed += 1,
            Some(word) if word.starts_with("issue") || word.starts_with("fail") => uat.issues += 1,
            Some(word) if word.starts_with("skip") => uat.skipped += 1,
            _ => {}
        }
    }
    uat
}

/// Where a worker stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// The phase as written.
    pub phase: Option<String>,
    /// The plan as written.
    pub plan: Option<String>,
    /// `failed`, `cancelled`, `paused` or another word.
    pub status: Option<String>,
    /// Who stopped.
    pub worker: Option<String>,
    /// Where it worked.
    pub worktree: Option<String>,
    /// When it stopped.
    pub timestamp: Option<String>,
    /// Why it stopped.
    pub reason: Option<String>,
    /// Whether too many failures stopped it.
    pub circuit_breaker_hit: bool,
    /// The task it was at, of how many.
    pub task: Option<(u32, u32)>,
    /// The name of that task.
    pub task_name: Option<String>,
    /// The sections by title, in file order.
    pub sections: Vec<(String, String)>,
}

/// Reads a checkpoint.
pub fn parse_checkpoint(bytes: &[u8]) -> Checkpoint {
    let block = frontmatter::parse(bytes);
    let front = block.as_ref();
    let text = Text::new(bytes);
    let value = |key: &str| values::text(front, key);
    let hit = front.and_then(|front| values::entry(front, "circuit_breaker_hit"));
    Checkpoint {
        phase: value("phase"),
        plan: value("plan"),
        status: value("status"),
        worker: value("worker"),
        worktree: value("worktree"),
        timestamp: value("timestamp"),
        reason: value("reason"),
        circuit_breaker_hit: hit.and_then(Value::as_bool).unwrap_or(false),
        task: bold_field(&text, "Task").and_then(|value| parse_task(&value)),
        task_name: bold_field(&text, "Task name"),
        sections: sections(&text),
    }
}

/// Reads `2 of 5`.
fn parse_task(value: &str) -> Option<(u32, u32)> {
    let mut words = value.split_whitespace();
    let (at, of, all) = (words.next()?, words.next()?, words.next()?);
    of.eq_ignore_ascii_case("of").then_some(())?;
    Some((at.parse().ok()?, all.parse().ok()?))
}

/// Returns the sections of the second level, code included.
fn sections(text: &Text<'_>) -> Vec<(String, String)> {
    let headings = heading::headings(text);
    let mut found = Vec::new();
    for (index, heading) in headings.iter().enumerate().filter(|(_, heading)| heading.level == 2) {
        let end = heading::section_end(text, &headings, index);
        let start = text.lines()[heading.line].next;
        let end = text.lines().get(end).map_or(text.bytes().len(), |line| line.start);
        let title = text.slice(heading.text.clone()).to_owned();
        found.push((title, text.raw(start..end.max(start)).trim().to_owned()));
    }
    found
}
