//! `worktree prune`: lists the worktrees whose work is merged, and with `--yes` removes them.
//!
//! A worktree is removed only when git confirms that its branch is in the target branch, and when
//! it has no uncommitted work. Branches are kept.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use mow_core::phase::PhaseNumber;
use mow_host::git::Git;
use mow_host::phase_worktree::{self, RemovalOutcome, WorktreeRemoval};
use mow_host::rescue::nested_repositories;
use mow_host::tamper_detection::find_hidden_changes;
use mow_store::claims::{self, Claims};
use mow_store::manifest::{self as file, ManifestEntry};
use mow_store::worktree_home::WorktreeHome;
use mow_store::{disk, planning_copy};
use serde::Serialize;
use serde_json::{Value, json};

use super::create::path_of;
use super::locations::{below_top, home};
use super::{manifest, target};
use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::Output;

/// A worktree of the manifest, and whether it is removed. Field names are JSON keys.
#[derive(Serialize)]
struct PruneRow {
    name: String,
    path: String,
    branch: String,
    merged: bool,
    /// Why the worktree is kept; `None` when it can be removed.
    kept: Option<String>,
    removed: bool,
}

pub(crate) fn run(context: &Context, yes: bool) -> Result<Output, Failure> {
    let home = home(context)?;
    let git = Git::new(&home.root);
    let entries = manifest::load(&home)?.worktrees;
    // Without worktrees the target branch is not needed.
    let into = if entries.is_empty() { String::new() } else { target(context, &git, None)? };
    let mut all = Vec::new();
    for (name, entry) in entries {
        let path = path_of(&home, &name, &entry);
        let phase = entry.phase().or_else(|| home.phase_in(&name));
        let branch =
            entry.text("branch").or_else(|| phase.as_ref().map(|phase| home.branch(phase)));
        let branch = branch.unwrap_or_else(|| name.clone());
        let merged = is_merged(&git, &entry, &branch, &into)?;
        let kept = if merged {
            reason_to_keep(context, &home, &path, &entry, phase.as_ref())?
        } else {
            Some(format!("not merged into {into}"))
        };
        all.push(PruneRow {
            name,
            path: path.display().to_string(),
            branch,
            merged,
            kept,
            removed: false,
        });
    }
    if yes {
        for row in all.iter_mut().filter(|row| row.kept.is_none()) {
            remove(&home, &git, row)?;
        }
    }
    Ok(if context.wants_json() {
        Output::pretty_json(json!({ "into": into, "worktrees": all }))
    } else {
        Output::Text(text(&all, yes))
    })
}

/// Returns whether all work of a branch is in the target; `false` for a branch without work.
fn is_merged(git: &Git, entry: &ManifestEntry, branch: &str, into: &str) -> Result<bool, Failure> {
    let Some(tip) = git.commit_of(&format!("refs/heads/{branch}"))? else { return Ok(false) };
    let is_marked = entry.fields.get("merged") == Some(&Value::Bool(true));
    let has_work = entry.text("last_commit").is_some_and(|first| first != tip);
    Ok((is_marked || has_work) && git.is_ancestor(&tip, &format!("refs/heads/{into}"))?)
}

/// Returns why a merged worktree must be kept; `None` when it can be removed.
fn reason_to_keep(
    context: &Context,
    home: &WorktreeHome,
    path: &Path,
    entry: &ManifestEntry,
    phase: Option<&PhaseNumber>,
) -> Result<Option<String>, Failure> {
    if entry.text("stash_ref").is_some() {
        return Ok(Some("has stashed work".to_owned()));
    }
    if !path.is_dir() {
        return Ok(None);
    }
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if context.project.cwd.starts_with(&real) {
        return Ok(Some("you are in it".to_owned()));
    }
    let bytes = disk::read(&claims::path(&context.project))?.unwrap_or_default();
    let claimed = real.display().to_string();
    if Claims::parse(&bytes)?.claims.iter().any(|claim| claim.assignment.worktree == claimed) {
        return Ok(Some("its phase is claimed".to_owned()));
    }
    let git = Git::new(path);
    if git.is_dirty(true)? {
        return Ok(Some("has uncommitted work".to_owned()));
    }
    if let Some(file) = find_hidden_changes(&Git::at_top(path))?.first() {
        return Ok(Some(format!("git is set to ignore the changes in {file}")));
    }
    if let Some(inner) = nested_repositories(path).first() {
        return Ok(Some(holds_repository(inner)));
    }
    let unsaved = unsaved_planning_file(context, home, path, phase)?;
    Ok(unsaved.map(|file| format!("{} is not in the main root", file.display())))
}

/// Returns a planning file of the phase that only the worktree has, if git ignores those files.
fn unsaved_planning_file(
    context: &Context,
    home: &WorktreeHome,
    path: &Path,
    phase: Option<&PhaseNumber>,
) -> Result<Option<PathBuf>, Failure> {
    let below = below_top(&context.project).join(".planning");
    let ignored = Git::new(path).ask(&[
        Path::new("check-ignore"),
        Path::new("--quiet"),
        &below.join("STATE.md"),
    ])?;
    let phase = phase.map(ToString::to_string);
    let own = phase.and_then(|phase| {
        mow_store::phase_dirs::find(&path.join(&below), &phase).filter(|_| ignored.success)
    });
    let Some(own) = own else { return Ok(None) };
    let inner = Path::new("phases").join(&own.name);
    let in_main_root = home.root.join(&below).join(&inner);
    let missing = planning_copy::differing_files(&own.path, &in_main_root)?;
    Ok(missing.into_iter().next().map(|file| inner.join(file)))
}

/// Removes a worktree and its manifest entry, unless that would lose work.
fn remove(home: &WorktreeHome, git: &Git, row: &mut PruneRow) -> Result<(), Failure> {
    let path = Path::new(&row.path);
    if path.is_dir() {
        let (path, branch) = (path.to_path_buf(), row.branch.clone());
        let removal = WorktreeRemoval { path, branch, delete_branch: false };
        let outcome = phase_worktree::remove(git.dir(), &removal);
        row.kept = match outcome {
            Ok(RemovalOutcome::Gone) => None,
            Ok(RemovalOutcome::Dirty) => Some("has uncommitted work".to_owned()),
            Ok(RemovalOutcome::Unmerged { commit }) => {
                Some(format!("commit {commit} is on no branch"))
            }
            Ok(RemovalOutcome::Repositories { paths }) => {
                paths.first().map(|path| holds_repository(path))
            }
            Ok(RemovalOutcome::Submodules { names }) => {
                let names = names.join(", ");
                Some(format!("commits of the submodules {names} exist only in it"))
            }
            Err(error) => Some(error.to_string()),
        };
        if row.kept.is_some() {
            return Ok(());
        }
    }
    failpoint::reach("prune.removed");
    manifest::change(home, |old| Ok(file::remove_entry(old, &row.name, &now())?))?;
    failpoint::reach("prune.noted");
    row.removed = true;
    Ok(())
}

fn holds_repository(inner: &Path) -> String {
    format!("it contains another git repository, {}", inner.display())
}

fn text(all: &[PruneRow], yes: bool) -> String {
    let mut text = String::new();
    for row in all {
        let state = match (&row.kept, row.removed) {
            (Some(reason), _) => format!("kept: {reason}"),
            (None, true) => "removed".to_owned(),
            (None, false) => "merged, can be removed".to_owned(),
        };
        let _ = writeln!(text, "{}  {}  {state}", row.name, row.path);
    }
    if all.is_empty() {
        text.push_str("There are no worktrees in the manifest.\n");
    } else if !yes && all.iter().any(|row| row.kept.is_none()) {
        text.push_str("Remove them with: mow worktree prune --yes\n");
    }
    text
}
