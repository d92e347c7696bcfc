//! Reads PLAN.md: dependencies, file scope, must-haves and tasks of a plan.
//!
//! Reading is tolerant: an invalid value counts as absent, and YAML errors are kept in `problems`.
//! This module never writes plans. Start with [`parse`].

mod dependencies;
mod evidence;
mod must_have_checks;
mod must_haves;
mod structure;
mod tasks;
mod visible_text;

#[cfg(test)]
mod tests;

use crate::frontmatter::{self, Frontmatter, Problem, Value};
use crate::text::{Text, heading};
use crate::{frontmatter_values, sections};

pub use dependencies::PlanRef;
pub use must_have_checks::FileLookup;
pub use must_haves::{Artifact, KeyLink, MustHaves};
pub use structure::StructureReport;
pub use tasks::{Task, TaskElement};

/// The frontmatter keys that the plan schema requires.
pub const REQUIRED_KEYS: [&str; 8] =
    ["phase", "plan", "type", "wave", "depends_on", "files_modified", "autonomous", "must_haves"];

/// The contents of one PLAN.md.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Frontmatter keys in file order.
    pub keys: Vec<String>,
    /// Phase as written: `NN-slug` or a number.
    pub phase: Option<String>,
    /// Plan number as written, usually `MM`.
    pub plan: Option<String>,
    /// Value of `type`: `execute`, `tdd` or another word.
    pub kind: Option<String>,
    /// Wave number; 1 if the file has no valid one.
    pub wave: u32,
    /// Whether the plan runs without a person; true unless the file says no.
    pub autonomous: bool,
    /// Plans that must be complete before this one.
    pub depends_on: Vec<PlanRef>,
    /// File scope: the files that the plan may change.
    pub files_modified: Vec<String>,
    /// Ids of the requirements that the plan implements.
    pub requirements: Vec<String>,
    /// Conditions that must hold when the plan is complete.
    pub must_haves: MustHaves,
    /// Whether the plan closes gaps that verification found.
    pub gap_closure: bool,
    /// Purpose of the plan, from the frontmatter, the `<objective>` element or the section.
    pub objective: Option<String>,
    /// Tasks in file order, including checkpoints.
    pub tasks: Vec<Task>,
    /// Frontmatter lines that are not valid YAML.
    pub problems: Vec<Problem>,
}

/// Reads a plan.
pub fn parse(bytes: &[u8]) -> Plan {
    let front = frontmatter::parse(bytes);
    let front = front.as_ref();
    let text = Text::new(bytes);
    let visible = visible_text::visible_text(bytes, front.map_or(0, Frontmatter::body_start));
    let entry = |key: &str| front.and_then(|front| frontmatter_values::value_at(front, key));
    let depends = entry("depends_on").map(dependencies::parse).unwrap_or_default();
    Plan {
        keys: front.map(|front| keys(&front.map)).unwrap_or_default(),
        phase: frontmatter_values::text_at(front, "phase"),
        plan: frontmatter_values::text_at(front, "plan"),
        kind: frontmatter_values::text_at(front, "type"),
        wave: entry("wave").map_or(1, wave),
        autonomous: entry("autonomous").is_none_or(is_yes),
        depends_on: depends,
        files_modified: frontmatter_values::texts_at(front, "files_modified"),
        requirements: requirements(entry("requirements")),
        must_haves: entry("must_haves").map(must_haves::parse).unwrap_or_default(),
        gap_closure: entry("gap_closure").and_then(Value::as_bool).unwrap_or(false),
        objective: frontmatter_values::text_at(front, "objective")
            .or_else(|| objective(&text, &visible)),
        tasks: tasks::parse(&text, &visible),
        problems: front.map(|front| front.problems.clone()).unwrap_or_default(),
    }
}

impl Plan {
    /// Returns the required keys that the frontmatter lacks.
    pub fn missing_keys(&self) -> Vec<&'static str> {
        let has =
            |key: &str| self.keys.iter().any(|name| name == key || name.replace('-', "_") == key);
        REQUIRED_KEYS.into_iter().filter(|key| !has(key)).collect()
    }
}

fn keys(map: &[(String, Value)]) -> Vec<String> {
    map.iter().map(|(key, _)| key.clone()).collect()
}

fn wave(value: &Value) -> u32 {
    let number = value.as_str().and_then(|text| text.trim().parse().ok());
    number.filter(|wave| *wave > 0).unwrap_or(1)
}

/// Returns whether a value means yes; everything except `false`, `no` and `off` does.
fn is_yes(value: &Value) -> bool {
    let word = value.as_str().unwrap_or("").trim().to_ascii_lowercase();
    !matches!(word.split_whitespace().next(), Some("false" | "no" | "off"))
}

fn requirements(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Scalar(text)) => crate::requirements::parse_ids(text),
        Some(value) => frontmatter_values::scalar_texts(value),
        None => Vec::new(),
    }
}

/// Returns the text of the `<objective>` element, or of the section of that name.
fn objective(text: &Text<'_>, visible: &str) -> Option<String> {
    let block = tasks::element(visible, 0..visible.len(), "objective");
    let range = block.or_else(|| {
        let headings = heading::headings(text);
        let is_objective = |title: &str| title.eq_ignore_ascii_case("objective");
        let lines = sections::find(text, &headings, is_objective)?;
        let start = text.lines().get(lines.start)?.start;
        Some(start..text.lines().get(lines.end).map_or(text.bytes().len(), |line| line.start))
    })?;
    let found = text.raw(range).trim().to_owned();
    (!found.is_empty()).then_some(found)
}
