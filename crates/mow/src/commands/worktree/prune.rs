//! `worktree prune`: shows the worktrees whose work is merged, and removes them when told to.
//!
//! Only what git confirms to be in the target goes, and only when nothing uncommitted is left in
//! it. Branches stay.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use mow_core::phase::PhaseNumber;
use mow_host::custody::hidden;
use mow_host::git::Git;
use mow_host::phase_worktree::{self, Remove, Removed};
use mow_host::rescue::repositories;
use mow_store::claims::{self, Claims};
use mow_store::manifest::{self as file, Worktree};
use mow_store::worktree_home::Home;
use mow_store::{disk, planning_copy};
use serde::Serialize;
use serde_json::{Value, json};

use super::create::path_of;
use super::manifest;
use super::merge::target;
use super::place::{below_top, home};
use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::Output;

/// A worktree of the manifest and what is to become of it.
#[derive(Serialize)]
struct Judged {
    name: String,
    path: String,
    branch: String,
    merged: bool,
    /// Why it stays; nothing for one that goes.
    kept: Option<String>,
    removed: bool,
}

pub(super) fn run(context: &Context, yes: bool) -> Result<Output, Failure> {
    let home = home(context)?;
    let git = Git::new(&home.root);
    let known = manifest::load(&home)?.worktrees;
    // Without worktrees it does not matter where they would have been merged to.
    let into = if known.is_empty() { String::new() } else { target(context, &git, None)? };
    let mut all = Vec::new();
    for (name, entry) in known {
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
        all.push(Judged {
            name,
            path: path.display().to_string(),
            branch,
            merged,
            kept,
            removed: false,
        });
    }
    if yes {
        for judged in all.iter_mut().filter(|judged| judged.kept.is_none()) {
            remove(&home, &git, judged)?;
        }
    }
    Ok(if context.wants_json() {
        Output::json_lines(json!({ "into": into, "worktrees": all }))
    } else {
        Output::Text(text(&all, yes))
    })
}

/// Returns whether all work of a branch is in the target; a branch without work has none merged.
fn is_merged(git: &Git, entry: &Worktree, branch: &str, into: &str) -> Result<bool, Failure> {
    let Some(tip) = git.commit_of(&format!("refs/heads/{branch}"))? else { return Ok(false) };
    let is_marked = entry.fields.get("merged") == Some(&Value::Bool(true));
    let has_work = entry.text("last_commit").is_some_and(|first| first != tip);
    Ok((is_marked || has_work) && git.is_ancestor(&tip, &format!("refs/heads/{into}"))?)
}

fn reason_to_keep(
    context: &Context,
    home: &Home,
    path: &Path,
    entry: &Worktree,
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
    if let Some(file) = hidden(&Git::at_top(path))?.first() {
        return Ok(Some(format!("git was told not to see the changes in {file}")));
    }
    if let Some(inner) = repositories(path).first() {
        return Ok(Some(holds(inner)));
    }
    let left = planning_left(context, home, path, phase)?;
    Ok(left.map(|file| format!("{} is not in the main root", file.display())))
}

/// Returns a planning file of the phase that only the worktree has, where git does not keep them.
fn planning_left(
    context: &Context,
    home: &Home,
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
    let there = home.root.join(&below).join(&inner);
    let missing = planning_copy::missing_in(&own.path, &there)?;
    Ok(missing.into_iter().next().map(|file| inner.join(file)))
}

fn remove(home: &Home, git: &Git, judged: &mut Judged) -> Result<(), Failure> {
    let path = Path::new(&judged.path);
    if path.is_dir() {
        let (path, branch) = (path.to_path_buf(), judged.branch.clone());
        let going = Remove { path, branch, delete_branch: false };
        let removed = phase_worktree::remove(git.dir(), &going);
        judged.kept = match removed {
            Ok(Removed::Gone) => None,
            Ok(Removed::Dirty) => Some("has uncommitted work".to_owned()),
            Ok(Removed::Unmerged { commit }) => Some(format!("commit {commit} is on no branch")),
            Ok(Removed::Repositories { paths }) => paths.first().map(|path| holds(path)),
            Ok(Removed::Submodules { names }) => {
                let names = names.join(", ");
                Some(format!("only it has the commits of the submodules {names}"))
            }
            Err(error) => Some(error.to_string()),
        };
        if judged.kept.is_some() {
            return Ok(());
        }
    }
    failpoint::reach("prune.removed");
    manifest::change(home, |old| Ok(file::remove_entry(old, &judged.name, &now())?))?;
    failpoint::reach("prune.noted");
    judged.removed = true;
    Ok(())
}

fn holds(inner: &Path) -> String {
    format!("{} is a repository of its own in it", inner.display())
}

fn text(all: &[Judged], yes: bool) -> String {
    let mut text = String::new();
    for judged in all {
        let fate = match (&judged.kept, judged.removed) {
            (Some(reason), _) => format!("kept: {reason}"),
            (None, true) => "removed".to_owned(),
            (None, false) => "merged, can be removed".to_owned(),
        };
        let _ = writeln!(text, "{}  {}  {fate}", judged.name, judged.path);
    }
    if all.is_empty() {
        text.push_str("There are no worktrees in the manifest.\n");
    } else if !yes && all.iter().any(|judged| judged.kept.is_none()) {
        text.push_str("Remove them with: mow worktree prune --yes\n");
    }
    text
}
