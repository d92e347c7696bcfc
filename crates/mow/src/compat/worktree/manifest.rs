//! `worktree list-manifest`, `migrate` and `clean-backup` read the worktree manifest and move it to
//! another worktree directory.

use std::path::Path;

use mow_host::git::Git;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::manifest;
use mow_store::project::Project;
use mow_store::worktree_home::WorktreeHome;
use serde_json::{Value, json};

use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::{Output, notice};
use crate::worktrees::home;
use crate::worktrees::manifest::{change, load_bytes};

pub(super) fn list(context: &Context) -> Result<Output, Failure> {
    let home = home(context)?;
    let Some(bytes) = load_bytes(&home)?.filter(|bytes| !bytes.trim_ascii().is_empty()) else {
        return Ok(Output::json(json!({ "version": "1.0", "worktrees": {}, "updated": null })));
    };
    let root = mow_store::json_edit::parse(&bytes)
        .map_err(|error| Failure::refused(format!("{}: {error}", home.manifest().display())))?;
    Ok(Output::json(root))
}

/// Returns an older worktree directory that exists and has not been migrated yet.
fn find_legacy_home(home: &WorktreeHome) -> Option<WorktreeHome> {
    home.other_existing().into_iter().find(|other| !home.root.join(other.backup()).exists())
}

/// Prints a notice if an older worktree directory still exists.
pub(crate) fn notice_legacy_home(context: &Context) {
    let Ok(home) = home(context) else { return };
    let Some(old) = find_legacy_home(&home) else { return };
    let bytes = disk::read(&old.manifest()).ok().flatten().unwrap_or_default();
    let count = manifest::parse(&bytes).map_or(0, |manifest| manifest.worktrees.len());
    let dir = old.dir.display();
    notice(&format!("Legacy {dir}/ detected ({count} entries): mow worktree migrate moves them"));
}

pub(super) fn migrate(context: &Context, to: Option<&str>) -> Result<Output, Failure> {
    let mut home = home(context)?;
    if let Some(dir) = to {
        home = home.with_dir(dir).map_err(|error| Failure::refused(error.to_string()))?;
    }
    let Some(old) = find_legacy_home(&home) else {
        let reason = "no migration needed";
        return Ok(Output::json(json!({ "migrated": false, "reason": reason })));
    };
    let active = registered_below(&old.path(), &Git::new(&home.root))?;
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

/// Lists the worktrees below a directory that git has registered; empty outside of git.
fn registered_below(dir: &Path, git: &Git) -> Result<Vec<Value>, Failure> {
    let Ok(worktrees) = git.worktrees() else { return Ok(Vec::new()) };
    let dir = std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf());
    let below = worktrees.iter().filter(|worktree| worktree.path.starts_with(&dir));
    let shown = below.map(|worktree| {
        let name = worktree.path.strip_prefix(&dir).unwrap_or(&worktree.path);
        json!({ "name": name.display().to_string(), "branch": worktree.branch })
    });
    Ok(shown.collect())
}

/// Writes the entries of the old home into the new manifest and renames the old home to its backup.
fn move_home(old: &WorktreeHome, new: &WorktreeHome) -> Result<usize, Failure> {
    let bytes = disk::read(&old.manifest())?.unwrap_or_default();
    let manifest = manifest::parse(&bytes)?;
    change(new, |before| {
        // Without a manifest of its own the new home starts from the text of the old manifest.
        let has_manifest = new.manifest().exists();
        let mut bytes = before.to_vec();
        let present = manifest::parse(before)?;
        for (name, entry) in &manifest.worktrees {
            let phase = old.phase_in(name).or_else(|| entry.phase());
            let key = phase.map_or_else(|| name.clone(), |phase| new.name(&phase));
            if !has_manifest {
                bytes = manifest::remove_entry(&bytes, name, &now())?;
            } else if present.worktree(&key).is_some() {
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
