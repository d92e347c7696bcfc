//! manifest.json of the worktree home: which worktrees there are and what became of them.
//!
//! Entries are edited key by key, so that keys mow does not know stay. Start with [`parse`].

#[cfg(test)]
mod tests;

use mow_core::phase::PhaseNumber;
use serde_json::{Map, Value, json};

use crate::json_edit::{self, JsonError};

/// What a manifest says.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The version of the format.
    pub version: String,
    /// The name of the project.
    pub project: Option<String>,
    /// When the file was last written.
    pub updated: Option<String>,
    /// The worktrees by name, in file order.
    pub worktrees: Vec<(String, Worktree)>,
}

/// One worktree of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Worktree {
    /// All keys of the entry as they stand in the file.
    pub fields: Map<String, Value>,
}

impl Worktree {
    /// Returns the text of a key; a number counts as its digits.
    pub fn text(&self, key: &str) -> Option<String> {
        match self.fields.get(key)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// Returns its phase.
    pub fn phase(&self) -> Option<PhaseNumber> {
        PhaseNumber::parse(self.text("phase")?.trim())
    }

    /// Returns whether it is neither merged nor removed.
    pub fn is_active(&self) -> bool {
        self.text("status").is_none_or(|status| status == "active")
    }
}

impl Manifest {
    /// Returns the entry of a name.
    pub fn worktree(&self, name: &str) -> Option<&Worktree> {
        self.worktrees.iter().find(|(key, _)| key == name).map(|(_, worktree)| worktree)
    }

    /// Returns the entry of a phase, an active one first; `4` and `04` are one phase.
    pub fn find_phase(&self, phase: &PhaseNumber) -> Option<(&str, &Worktree)> {
        let mut of_phase = self.worktrees.iter().filter(|(name, worktree)| {
            worktree.phase().or_else(|| phase_in_name(name)).as_ref() == Some(phase)
        });
        let first = of_phase.clone().next();
        let found = of_phase.find(|(_, worktree)| worktree.is_active()).or(first)?;
        Some((&found.0, &found.1))
    }
}

/// Reads the number in `phase-03` and the older `p03`.
fn phase_in_name(name: &str) -> Option<PhaseNumber> {
    let number = name.strip_prefix("phase-").or_else(|| name.strip_prefix('p'))?;
    PhaseNumber::parse(number)
}

/// Reads a manifest; an empty file is one without worktrees.
pub fn parse(bytes: &[u8]) -> Result<Manifest, JsonError> {
    let mut root = json_edit::parse(bytes)?;
    let text = |key: &str| root.get(key).and_then(Value::as_str).map(str::to_owned);
    let (version, project, updated) = (text("version"), text("project"), text("updated"));
    let mut worktrees = Vec::new();
    if let Some(Value::Object(entries)) = root.remove("worktrees") {
        for (name, entry) in entries {
            if let Value::Object(fields) = entry {
                worktrees.push((name, Worktree { fields }));
            }
        }
    }
    let version = version.unwrap_or_else(|| "1.0".to_owned());
    Ok(Manifest { version, project, updated, worktrees })
}

/// Gives some keys of an entry their values, and notes when; what is missing is made.
pub fn set_entry(
    bytes: &[u8],
    name: &str,
    fields: &[(&str, Value)],
    updated: &str,
) -> Result<Vec<u8>, JsonError> {
    let mut written = ensure(bytes)?;
    // Parsed once: a run has hundreds of entries and changes one of them all the time.
    let known = parse(&written)?.worktree(name).is_some();
    if known {
        for (key, value) in fields {
            written = json_edit::set_in_sound(&written, &["worktrees", name, key], value)?;
        }
    } else {
        let entry: Map<_, _> =
            fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        written = json_edit::set(&written, &["worktrees", name], &Value::Object(entry))?;
    }
    json_edit::set_in_sound(&written, &["updated"], &json!(updated))
}

/// Takes an entry out, and notes when.
pub fn remove_entry(bytes: &[u8], name: &str, updated: &str) -> Result<Vec<u8>, JsonError> {
    let removed = json_edit::remove(&ensure(bytes)?, &["worktrees", name])?;
    json_edit::set(&removed, &["updated"], &json!(updated))
}

/// Names the project of a manifest.
pub fn set_project(bytes: &[u8], project: &str) -> Result<Vec<u8>, JsonError> {
    json_edit::set(&ensure(bytes)?, &["project"], &json!(project))
}

/// Returns the file, or a manifest without worktrees for one without content.
fn ensure(bytes: &[u8]) -> Result<Vec<u8>, JsonError> {
    if bytes.trim_ascii().is_empty() {
        let fresh = json!({"version": "1.0", "project": null, "updated": null, "worktrees": {}});
        return Ok(format!("{fresh:#}\n").into_bytes());
    }
    Ok(bytes.to_vec())
}
