//! PLAN.md: what a plan depends on, what it touches, what it must achieve, and its tasks.
//!
//! Everything is read tolerantly: a value that makes no sense is as good as absent, and what the
//! block could not be read as is kept in `problems`. Nothing here writes plans. Start with [`parse`].

mod depends;
mod evidence;
mod fences;
mod goals;
mod must_haves;
mod structure;
mod tasks;

#[cfg(test)]
mod tests;

use crate::frontmatter::{self, Frontmatter, Problem, Value};
use crate::text::{Text, heading};
use crate::{sections, values};

pub use depends::PlanRef;
pub use goals::Files;
pub use must_haves::{Artifact, KeyLink, MustHaves};
pub use structure::Structure;
pub use tasks::{Element, Task};

/// The keys the plan schema asks for.
pub const REQUIRED_KEYS: [&str; 8] =
    ["phase", "plan", "type", "wave", "depends_on", "files_modified", "autonomous", "must_haves"];

/// A plan as its file states it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The keys of the block, in file order.
    pub keys: Vec<String>,
    /// The phase as written, `NN-slug` or a number.
    pub phase: Option<String>,
    /// The plan as written, mostly `MM`.
    pub plan: Option<String>,
    /// `execute`, `tdd` or another word.
    pub kind: Option<String>,
    /// The wave; 1 where none is stated.
    pub wave: u32,
    /// Whether it runs without a person; true unless the file says no.
    pub autonomous: bool,
    /// What must be done before.
    pub depends_on: Vec<PlanRef>,
    /// The files it says it changes.
    pub files_modified: Vec<String>,
    /// The ids of the requirements it serves.
    pub requirements: Vec<String>,
    /// What must hold at the end.
    pub must_haves: MustHaves,
    /// Whether it closes gaps that verification found.
    pub gap_closure: bool,
    /// What it is for.
    pub objective: Option<String>,
    /// Its tasks in file order, checkpoints included.
    pub tasks: Vec<Task>,
    /// What could not be read in the block.
    pub problems: Vec<Problem>,
}

/// Reads a plan.
pub fn parse(bytes: &[u8]) -> Plan {
    let front = frontmatter::parse(bytes);
    let front = front.as_ref();
    let text = Text::new(bytes);
    let seen = fences::seen(bytes, front.map_or(0, Frontmatter::body_start));
    let entry = |key: &str| front.and_then(|front| values::entry(front, key));
    let depends = entry("depends_on").map(depends::parse).unwrap_or_default();
    Plan {
        keys: front.map(|front| keys(&front.map)).unwrap_or_default(),
        phase: values::text(front, "phase"),
        plan: values::text(front, "plan"),
        kind: values::text(front, "type"),
        wave: entry("wave").map_or(1, wave),
        autonomous: entry("autonomous").is_none_or(is_yes),
        depends_on: depends,
        files_modified: values::list(front, "files_modified"),
        requirements: requirements(entry("requirements")),
        must_haves: entry("must_haves").map(must_haves::parse).unwrap_or_default(),
        gap_closure: entry("gap_closure").and_then(Value::as_bool).unwrap_or(false),
        objective: values::text(front, "objective").or_else(|| objective(&text, &seen)),
        tasks: tasks::parse(&text, &seen),
        problems: front.map(|front| front.problems.clone()).unwrap_or_default(),
    }
}

impl Plan {
    /// Returns the keys of the schema that the block lacks.
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

/// Anything but a clear no is a yes.
fn is_yes(value: &Value) -> bool {
    let word = value.as_str().unwrap_or("").trim().to_ascii_lowercase();
    !matches!(word.split_whitespace().next(), Some("false" | "no" | "off"))
}

fn requirements(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Scalar(text)) => crate::requirements::parse_ids(text),
        Some(value) => values::texts(value),
        None => Vec::new(),
    }
}

/// Finds the `<objective>` block, else the section of that name.
fn objective(text: &Text<'_>, seen: &str) -> Option<String> {
    let block = tasks::element(seen, 0..seen.len(), "objective");
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
