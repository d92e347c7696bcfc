//! What must hold when a plan is done: truths, files, and links between them.

use crate::frontmatter::Value;
use crate::values;

/// The three lists of a plan's goals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MustHaves {
    /// Sentences that must be true.
    pub truths: Vec<String>,
    /// Files that must be there.
    pub artifacts: Vec<Artifact>,
    /// Places that must be joined.
    pub key_links: Vec<KeyLink>,
}

/// A file that must be there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Artifact {
    /// Where it is.
    pub path: String,
    /// What it is for.
    pub provides: Option<String>,
    /// How many lines it must have.
    pub min_lines: Option<u64>,
    /// Texts it must contain.
    pub contains: Vec<String>,
    /// Names it must contain.
    pub exports: Vec<String>,
}

/// Two places that must be joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyLink {
    /// The file that refers.
    pub from: String,
    /// What it refers to.
    pub to: String,
    /// By which means.
    pub via: Option<String>,
    /// A regular expression that proves it.
    pub pattern: Option<String>,
}

/// Reads `must_haves`; a bare list is one of truths.
pub(super) fn parse(value: &Value) -> MustHaves {
    let Some(map) = value.as_map() else {
        return MustHaves { truths: values::texts(value), ..MustHaves::default() };
    };
    let items = |key: &str| match values::find(map, key) {
        Some(Value::List(items)) => items.as_slice(),
        _ => &[],
    };
    MustHaves {
        truths: values::find(map, "truths").map(values::texts).unwrap_or_default(),
        artifacts: items("artifacts").iter().filter_map(artifact).collect(),
        key_links: items("key_links").iter().filter_map(key_link).collect(),
    }
}

fn artifact(value: &Value) -> Option<Artifact> {
    let Some(map) = value.as_map() else {
        return Some(Artifact { path: values::scalar(value)?, ..Artifact::default() });
    };
    let text = |key: &str| values::find(map, key).and_then(values::scalar);
    let texts = |key: &str| values::find(map, key).map(values::texts).unwrap_or_default();
    let Some(path) = text("path").or_else(|| text("file")) else {
        // `- src/a.rs: what it does` reads as a map of one.
        let [(path, provides)] = map else { return None };
        let provides = values::scalar(provides);
        return Some(Artifact { path: path.clone(), provides, ..Artifact::default() });
    };
    Some(Artifact {
        path,
        provides: text("provides"),
        min_lines: text("min_lines").and_then(|number| number.parse().ok()),
        contains: texts("contains"),
        exports: texts("exports"),
    })
}

fn key_link(value: &Value) -> Option<KeyLink> {
    let Some(map) = value.as_map() else { return parse_link(&values::scalar(value)?) };
    let text = |key: &str| values::find(map, key).and_then(values::scalar);
    let (from, to) = (text("from"), text("to"));
    if from.is_none() && to.is_none() {
        let [(key, value)] = map else { return None };
        return parse_link(&format!("{key}: {}", value.as_str().unwrap_or("")));
    }
    Some(KeyLink {
        from: from.unwrap_or_default(),
        to: to.unwrap_or_default(),
        via: text("via"),
        pattern: text("pattern"),
    })
}

/// Reads `a -> b via c` and `a → b: c`; a sentence without an arrow has no ends.
fn parse_link(text: &str) -> Option<KeyLink> {
    let split = text.split_once("->").or_else(|| text.split_once('→'));
    let Some((from, rest)) = split else {
        return Some(KeyLink { via: Some(text.trim().to_owned()), ..KeyLink::default() });
    };
    let (to, via) = match rest.split_once(" via ").or_else(|| rest.split_once(": ")) {
        Some((to, via)) => (to, Some(via.trim().to_owned())),
        None => (rest, None),
    };
    let (from, to) = (from.trim().to_owned(), to.trim().to_owned());
    Some(KeyLink { from, to, via, pattern: None })
}
