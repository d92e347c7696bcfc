//! Parses CONTEXT.md and VERIFICATION.md of a phase.
//!
//! Reads only the parts that commands and the engine use, and writes nothing. Start with
//! [`parse_verification`] and [`parse_context`].

mod context;

#[cfg(test)]
mod tests;

use crate::frontmatter::{self, Value};
use crate::frontmatter_values;
use crate::text::{Text, field};

pub use context::{ContextDecision, PhaseContext, parse_context};

/// The frontmatter keys that the contract's verification schema requires.
pub const VERIFICATION_KEYS: [&str; 4] = ["phase", "verified", "status", "score"];

/// The result of a phase's verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// `passed`, `gaps_found`, `human_needed`, `pending` or another word.
    pub status: Option<String>,
    /// The score as written, such as `3/4 must-haves verified`.
    pub score: Option<String>,
    /// The number of goals that are met and of all goals, parsed from the score.
    pub met: Option<(u32, u32)>,
    /// The goals that are not met.
    pub gaps: Vec<Gap>,
    /// The number of checks that a person must do.
    pub human_checks: usize,
}

/// A goal that verification found not to be met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    /// The statement that should be true.
    pub truth: String,
    /// `failed`, `partial` or another word.
    pub status: Option<String>,
    /// Why the statement is not true.
    pub reason: Option<String>,
    /// The missing work that would make it true.
    pub missing: Vec<String>,
}

/// Parses a verification. A file without frontmatter may have the fields in bold in its text.
pub fn parse_verification(bytes: &[u8]) -> Verification {
    let front = frontmatter::parse(bytes);
    let front = front.as_ref();
    let text = Text::new(bytes);
    let value =
        |key: &str| frontmatter_values::text_at(front, key).or_else(|| bold_field(&text, key));
    let score = value("score");
    let list = |key: &str| match front.and_then(|front| frontmatter_values::value_at(front, key)) {
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

/// Parses the numbers in `3/4 must-haves verified`.
fn parse_score(score: &str) -> Option<(u32, u32)> {
    let first = score.split_whitespace().next()?;
    let (met, all) = first.split_once('/')?;
    Some((met.parse().ok()?, all.trim_end_matches([',', ';']).parse().ok()?))
}

fn parse_gap(value: &Value) -> Option<Gap> {
    let Some(map) = value.as_map() else {
        return Some(Gap { truth: frontmatter_values::scalar_text(value)?, ..Gap::default() });
    };
    let text = |key: &str| {
        frontmatter_values::map_value(map, key).and_then(frontmatter_values::scalar_text)
    };
    Some(Gap {
        truth: text("truth").unwrap_or_default(),
        status: text("status"),
        reason: text("reason"),
        missing: frontmatter_values::map_value(map, "missing")
            .map(frontmatter_values::scalar_texts)
            .unwrap_or_default(),
    })
}
