//! The manifest: `worktree list-manifest`, `remove-manifest`, `migrate` and `clean-backup`.

use std::path::Path;

use mow_core::phase::PhaseNumber;
use mow_host::git::Git;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::manifest::{self, Manifest, Worktree};
use mow_store::project::Project;
use mow_store::worktree_home::Home;
use serde_json::{Value, json};

use super::place::{home, phase_number};
use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::{Output, notice, warn};

/// Reads the manifest of a home, or else that of the other layout.
fn load_bytes(home: &Home) -> Result<Option<Vec<u8>>, Failure> {
    if let Some(bytes) = disk::read(&home.manifest())? {
        return Ok(Some(bytes));
    }
    for other in home.others() {
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

/// Reads the manifest; an empty one when there is none.
pub(super) fn load(home: &Home) -> Result<Manifest, Failure> {
    let bytes = load_bytes(home)?.unwrap_or_default();
    manifest::parse(&bytes).map_err(|error| {
        Failure::refused(format!("{}: {error}", home.manifest().display()))
            .hint("repair the file; nothing was changed")
    })
}

/// Changes the manifest under the lock of the main root.
pub(super) fn change(
    home: &Home,
    mut edit: impl FnMut(&[u8]) -> Result<Vec<u8>, Failure>,
) -> Result<(), Failure> {
    let project = Project::find_or_cwd(&home.root)?;
    let mut writer = Writer::open(&project, WAIT_DEFAULT)?;
    let dir = home.path();
    if dir.starts_with(&project.root) {
        writer.create_dir(&dir)?;
    }
    writer = writer.with_root(&dir)?;
    let other = home.others().into_iter().find_map(|home| disk::read(&home.manifest()).ok()?);
    writer.update(&home.manifest(), |old| {
        let old = old.map_or_else(|| other.clone().unwrap_or_default(), <[u8]>::to_vec);
        edit(&old).map(Some)
    })?;
    Ok(())
}

/// Sets some keys of an entry.
pub(super) fn set(home: &Home, name: &str, fields: &[(&str, Value)]) -> Result<(), Failure> {
    change(home, |old| {
        let mut bytes = old.to_vec();
        if manifest::parse(&bytes)?.project.is_none() {
            let project = home.root.file_name().unwrap_or_default().to_string_lossy();
            bytes = manifest::set_project(&bytes, &project)?;
        }
        Ok(manifest::set_entry(&bytes, name, fields, &now())?)
    })
}

/// Returns a phase's entry and its name.
pub(super) fn entry(
    home: &Home,
    phase: &PhaseNumber,
) -> Result<Option<(String, Worktree)>, Failure> {
    let manifest = load(home)?;
    let named = home.name(phase);
    let found = manifest
        .worktree(&named)
        .map(|entry| (named.as_str(), entry))
        .or_else(|| manifest.find_phase(phase));
    Ok(found.map(|(name, entry)| (name.to_owned(), entry.clone())))
}

pub(super) fn list(context: &Context) -> Result<Output, Failure> {
    let home = home(context)?;
    let Some(bytes) = load_bytes(&home)?.filter(|bytes| !bytes.trim_ascii().is_empty()) else {
        return Ok(Output::json(json!({ "version": "1.0", "worktrees": {}, "updated": null })));
    };
    let root = mow_store::json_edit::parse(&bytes)
        .map_err(|error| Failure::refused(format!("{}: {error}", home.manifest().display())))?;
    Ok(Output::json(root))
}

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

/// Returns the homes to move between: the one left and the one in force, when they differ.
fn migration(home: &Home) -> Option<Home> {
    home.others().into_iter().find(|other| !home.root.join(other.backup()).exists())
}

/// Tells commands that start work that an older home is still there.
pub(crate) fn legacy_notice(context: &Context) {
    let Ok(home) = home(context) else { return };
    let Some(old) = migration(&home) else { return };
    let bytes = disk::read(&old.manifest()).ok().flatten().unwrap_or_default();
    let count = manifest::parse(&bytes).map_or(0, |manifest| manifest.worktrees.len());
    let dir = old.dir.display();
    notice(&format!("Legacy {dir}/ detected ({count} entries): mow worktree migrate moves them"));
}

pub(super) fn migrate(context: &Context, to: Option<&str>) -> Result<Output, Failure> {
    let mut home = home(context)?;
    if let Some(dir) = to {
        home = home.elsewhere(dir).map_err(|error| Failure::refused(error.to_string()))?;
    }
    let Some(old) = migration(&home) else {
        let reason = "no migration needed";
        return Ok(Output::json(json!({ "migrated": false, "reason": reason })));
    };
    let active = active_below(&old.path(), &Git::new(&home.root))?;
    if !active.is_empty() {
        notice(&format!("{}/ still has worktrees that git knows:", old.dir.display()));
        for worktree in &active {
            notice(&format!("  {}", worktree["name"].as_str().unwrap_or_default()));
        }
        return Ok(Output::json(
            json!({ "migrated": false, "reason": "active_worktrees", "active": active }),
        ));
    }
    let entries = move_home(&old, &home)?;
    let backup = old.backup().display().to_string();
    Ok(Output::json(
        json!({ "migrated": true, "entries_migrated": entries, "backup_path": backup }),
    ))
}

/// Lists git's worktrees below a directory; none outside of git.
fn active_below(dir: &Path, git: &Git) -> Result<Vec<Value>, Failure> {
    let Ok(worktrees) = git.worktrees() else { return Ok(Vec::new()) };
    let dir = std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf());
    let below = worktrees.iter().filter(|worktree| worktree.path.starts_with(&dir));
    let shown = below.map(|worktree| {
        let name = worktree.path.strip_prefix(&dir).unwrap_or(&worktree.path);
        json!({ "name": name.display().to_string(), "branch": worktree.branch })
    });
    Ok(shown.collect())
}

/// Writes the old home's entries into the new manifest and puts the old home aside.
fn move_home(old: &Home, new: &Home) -> Result<usize, Failure> {
    let bytes = disk::read(&old.manifest())?.unwrap_or_default();
    let manifest = manifest::parse(&bytes)?;
    change(new, |had| {
        // Without a manifest of its own the new home starts from the old one's text.
        let is_own = new.manifest().exists();
        let mut bytes = had.to_vec();
        let known = manifest::parse(had)?;
        for (name, entry) in &manifest.worktrees {
            let phase = old.phase_in(name).or_else(|| entry.phase());
            let key = phase.map_or_else(|| name.clone(), |phase| new.name(&phase));
            if !is_own {
                bytes = manifest::remove_entry(&bytes, name, &now())?;
            } else if known.worktree(&key).is_some() {
                continue;
            }
            let mut fields: Vec<_> =
                entry.fields.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
            let path = json!(new.dir.join(&key).display().to_string());
            match fields.iter_mut().find(|(key, _)| *key == "path") {
                Some((_, value)) => *value = path,
                None => fields.push(("path", path)),
            }
            bytes = manifest::set_entry(&bytes, &key, &fields, &now())?;
        }
        Ok(bytes)
    })?;
    let project = Project::find_or_cwd(&old.root)?;
    let writer = Writer::open(&project, WAIT_DEFAULT)?;
    writer.rename(&old.path(), &old.root.join(old.backup()))?;
    Ok(manifest.worktrees.len())
}

pub(super) fn clean_backup(context: &Context) -> Result<Output, Failure> {
    let home = home(context)?;
    let mut backups = home.layouts().map(|home| home.backup());
    let backup = backups.find(|dir| home.root.join(dir).is_dir());
    let Some(backup) = backup else {
        return Ok(Output::json(json!({ "cleaned": false, "reason": "no backup found" })));
    };
    let project = Project::find_or_cwd(&home.root)?;
    Writer::open(&project, WAIT_DEFAULT)?.remove_dir_all(&home.root.join(&backup))?;
    let path = backup.display().to_string();
    Ok(Output::json(json!({ "cleaned": true, "path": path })))
}
