//! Reads and changes the manifest: the list of worktrees created by commands or hooks.

use mow_core::phase::PhaseNumber;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::manifest::{self, Manifest, ManifestEntry};
use mow_store::project::Project;
use mow_store::worktree_home::WorktreeHome;
use serde_json::{Value, json};

use super::locations::{home, phase_number};
use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::{Output, warn};

/// Reads the manifest of a worktree home, else the one of the other directory layout.
pub(crate) fn load_bytes(home: &WorktreeHome) -> Result<Option<Vec<u8>>, Failure> {
    if let Some(bytes) = disk::read(&home.manifest())? {
        return Ok(Some(bytes));
    }
    for other in home.other_existing() {
        if let Some(bytes) = disk::read(&other.manifest())? {
            warn(&format!(
                "the manifest is still in {}; `mow worktree migrate` moves it",
                other.dir.display()
            ));
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// Reads the manifest; a missing file gives an empty manifest.
pub(crate) fn load(home: &WorktreeHome) -> Result<Manifest, Failure> {
    let bytes = load_bytes(home)?.unwrap_or_default();
    manifest::parse(&bytes).map_err(|error| {
        Failure::refused(format!("{}: {error}", home.manifest().display()))
            .hint("repair the file; nothing was changed")
    })
}

/// Changes the manifest under the lock of the main root.
pub(crate) fn change(
    home: &WorktreeHome,
    mut edit: impl FnMut(&[u8]) -> Result<Vec<u8>, Failure>,
) -> Result<(), Failure> {
    let project = Project::find_or_cwd(&home.root)?;
    let mut writer = Writer::open(&project, WAIT_DEFAULT)?;
    let dir = home.path();
    if dir.starts_with(&project.root) {
        writer.create_dir(&dir)?;
    }
    writer = writer.with_root(&dir)?;
    let other =
        home.other_existing().into_iter().find_map(|home| disk::read(&home.manifest()).ok()?);
    writer.update(&home.manifest(), |old| {
        let old = old.map_or_else(|| other.clone().unwrap_or_default(), <[u8]>::to_vec);
        edit(&old).map(Some)
    })?;
    Ok(())
}

/// Sets keys of a worktree's entry, and creates it if needed.
pub(crate) fn set(
    home: &WorktreeHome,
    name: &str,
    fields: &[(&str, Value)],
) -> Result<(), Failure> {
    change(home, |old| {
        let mut bytes = old.to_vec();
        if manifest::parse(&bytes)?.project.is_none() {
            let project = home.root.file_name().unwrap_or_default().to_string_lossy();
            bytes = manifest::set_project(&bytes, &project)?;
        }
        Ok(manifest::set_entry(&bytes, name, fields, &now())?)
    })
}

/// Returns the name and the entry of a phase's worktree.
pub(crate) fn entry(
    home: &WorktreeHome,
    phase: &PhaseNumber,
) -> Result<Option<(String, ManifestEntry)>, Failure> {
    let manifest = load(home)?;
    let named = home.name(phase);
    let found = manifest
        .worktree(&named)
        .map(|entry| (named.as_str(), entry))
        .or_else(|| manifest.find_phase(phase));
    Ok(found.map(|(name, entry)| (name.to_owned(), entry.clone())))
}

/// Deletes the entry of a merged phase; marks that of an unmerged phase as removed.
pub(crate) fn remove(context: &Context, phase: &str) -> Result<Output, Failure> {
    let number = phase_number(phase)?;
    let home = home(context)?;
    let Some((key, entry)) = entry(&home, &number)? else {
        let key = home.name(&number);
        let reason = "no manifest entry";
        return Ok(Output::json(json!({ "removed": false, "reason": reason, "key": key })));
    };
    let action = if entry.fields.get("merged") == Some(&Value::Bool(true)) {
        change(&home, |old| Ok(manifest::remove_entry(old, &key, &now())?))?;
        "deleted_entry"
    } else {
        set(&home, &key, &[("status", json!("removed_unmerged"))])?;
        "marked_removed_unmerged"
    };
    Ok(Output::json(json!({ "removed": true, "key": key, "action": action })))
}
