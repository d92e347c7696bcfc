//! Parses `must_haves` of a plan: truths, artifacts and key links.

use crate::frontmatter::Value;
use crate::frontmatter_values;

/// The conditions that must hold when a plan is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MustHaves {
    /// Statements that must be true; only people and agents can judge them.
    pub truths: Vec<String>,
    /// Files that must exist.
    pub artifacts: Vec<Artifact>,
    /// References that must exist between files.
    pub key_links: Vec<KeyLink>,
}

/// A file that must exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Artifact {
    /// Path relative to the repository.
    pub path: String,
    /// Purpose of the file, for people.
    pub provides: Option<String>,
    /// Minimum number of lines.
    pub min_lines: Option<u64>,
    /// Texts that the file must contain.
    pub contains: Vec<String>,
    /// Exported names that the file must contain.
    pub exports: Vec<String>,
}

/// A reference that must exist from one file to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyLink {
    /// Path of the referring file; empty if the link is only a sentence.
    pub from: String,
    /// Target of the reference, usually a path.
    pub to: String,
    /// Mechanism of the reference, or the whole sentence.
    pub via: Option<String>,
    /// Regular expression that must match in one of the two files.
    pub pattern: Option<String>,
}

/// Reads `must_haves`; a plain list is a list of truths.
pub(super) fn parse(value: &Value) -> MustHaves {
    let Some(map) = value.as_map() else {
        return MustHaves {
            truths: frontmatter_values::scalar_texts(value),
            ..MustHaves::default()
        };
    };
    let items = |key: &str| match frontmatter_values::map_value(map, key) {
        Some(Value::List(items)) => items.as_slice(),
        _ => &[],
    };
    MustHaves {
        truths: frontmatter_values::map_value(map, "truths")
            .map(frontmatter_values::scalar_texts)
            .unwrap_or_default(),
        artifacts: items("artifacts").iter().filter_map(artifact).collect(),
        key_links: items("key_links").iter().filter_map(key_link).collect(),
    }
}

fn artifact(value: &Value) -> Option<Artifact> {
    let Some(map) = value.as_map() else {
        return Some(Artifact {
            path: frontmatter_values::scalar_text(value)?,
            ..Artifact::default()
        });
    };
    let text = |key: &str| {
        frontmatter_values::map_value(map, key).and_then(frontmatter_values::scalar_text)
    };
    let texts = |key: &str| {
        frontmatter_values::map_value(map, key)
            .map(frontmatter_values::scalar_texts)
            .unwrap_or_default()
    };
    let Some(path) = text("path").or_else(|| text("file")) else {
        // `- src/a.rs: what it does` is a map with one entry in YAML.
        let [(path, provides)] = map else { return None };
        let provides = frontmatter_values::scalar_text(provides);
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
    let Some(map) = value.as_map() else {
        return parse_link(&frontmatter_values::scalar_text(value)?);
    };
    let text = |key: &str| {
        frontmatter_values::map_value(map, key).and_then(frontmatter_values::scalar_text)
    };
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

/// Reads `a -> b via c` and `a → b: c`; a sentence without an arrow has no endpoints.
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
