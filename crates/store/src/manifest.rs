//! `manifest.json` in the worktree home: the worktrees and their status.
//!
//! Entries are edited key by key, so that unknown keys are kept. Start with [`parse`].

#[cfg(test)]
mod tests;

use mow_core::phase::PhaseNumber;
use serde_json::{Map, Value, json};

use crate::json_edit::{self, JsonError};

/// The content of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The version of the format; `1.0` when the file has none.
    pub version: String,
    /// The name of the project.
    pub project: Option<String>,
    /// The ISO time of the last change.
    pub updated: Option<String>,
    /// The worktrees by name, in file order.
    pub worktrees: Vec<(String, ManifestEntry)>,
}

/// One worktree of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestEntry {
    /// All keys of the entry, also those that mow does not know.
    pub fields: Map<String, Value>,
}

impl ManifestEntry {
    /// Returns the text of a key; a number counts as its digits.
    pub fn text(&self, key: &str) -> Option<String> {
        match self.fields.get(key)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// Returns the phase of the key `phase`; `None` when it is absent or not a number.
    pub fn phase(&self) -> Option<PhaseNumber> {
        PhaseNumber::parse(self.text("phase")?.trim())
    }

    /// Returns whether the worktree is neither merged nor removed.
    pub fn is_active(&self) -> bool {
        self.text("status").is_none_or(|status| status == "active")
    }
}

impl Manifest {
    /// Returns the entry of the worktree with a name.
    pub fn worktree(&self, name: &str) -> Option<&ManifestEntry> {
        self.worktrees.iter().find(|(key, _)| key == name).map(|(_, worktree)| worktree)
    }

    /// Returns the name and entry of a phase's worktree; an active entry wins.
    pub fn find_phase(&self, phase: &PhaseNumber) -> Option<(&str, &ManifestEntry)> {
        let mut of_phase = self.worktrees.iter().filter(|(name, worktree)| {
            worktree.phase().or_else(|| phase_in_name(name)).as_ref() == Some(phase)
        });
        let first = of_phase.clone().next();
        let found = of_phase.find(|(_, worktree)| worktree.is_active()).or(first)?;
        Some((&found.0, &found.1))
    }
}

/// Parses the number in a worktree's name: `phase-03` or `p03`.
fn phase_in_name(name: &str) -> Option<PhaseNumber> {
    let number = name.strip_prefix("phase-").or_else(|| name.strip_prefix('p'))?;
    PhaseNumber::parse(number)
}

/// Parses a manifest; an empty file has no worktrees.
pub fn parse(bytes: &[u8]) -> Result<Manifest, JsonError> {
    let mut root = json_edit::parse(bytes)?;
    let text = |key: &str| root.get(key).and_then(Value::as_str).map(str::to_owned);
    let (version, project, updated) = (text("version"), text("project"), text("updated"));
    let mut worktrees = Vec::new();
    if let Some(Value::Object(entries)) = root.remove("worktrees") {
        for (name, entry) in entries {
            if let Value::Object(fields) = entry {
                worktrees.push((name, ManifestEntry { fields }));
            }
        }
    }
    let version = version.unwrap_or_else(|| "1.0".to_owned());
    Ok(Manifest { version, project, updated, worktrees })
}

/// Sets some keys of an entry and the time `updated`. A missing entry or file is created.
pub fn set_entry(
    bytes: &[u8],
    name: &str,
    fields: &[(&str, Value)],
    updated: &str,
) -> Result<Vec<u8>, JsonError> {
    let mut written = or_empty_manifest(bytes)?;
    // Parsed only once: a run changes entries often, and the file may have hundreds of them.
    let exists = parse(&written)?.worktree(name).is_some();
    if exists {
        for (key, value) in fields {
            written = json_edit::set_in_valid(&written, &["worktrees", name, key], value)?;
        }
    } else {
        let entry: Map<_, _> =
            fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        written = json_edit::set(&written, &["worktrees", name], &Value::Object(entry))?;
    }
    json_edit::set_in_valid(&written, &["updated"], &json!(updated))
}

/// Removes an entry and sets the time `updated`.
pub fn remove_entry(bytes: &[u8], name: &str, updated: &str) -> Result<Vec<u8>, JsonError> {
    let removed = json_edit::remove(&or_empty_manifest(bytes)?, &["worktrees", name])?;
    json_edit::set(&removed, &["updated"], &json!(updated))
}

/// Sets the project's name.
pub fn set_project(bytes: &[u8], project: &str) -> Result<Vec<u8>, JsonError> {
    json_edit::set(&or_empty_manifest(bytes)?, &["project"], &json!(project))
}

/// Returns the bytes, or a manifest without worktrees when they are blank.
fn or_empty_manifest(bytes: &[u8]) -> Result<Vec<u8>, JsonError> {
    if bytes.trim_ascii().is_empty() {
        let empty = json!({"version": "1.0", "project": null, "updated": null, "worktrees": {}});
        return Ok(format!("{empty:#}\n").into_bytes());
    }
    Ok(bytes.to_vec())
}
