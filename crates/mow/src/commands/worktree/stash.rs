//! Uncommitted work put aside and brought back: `worktree stash`, and the way back in `create`.
//!
//! The stash is one list for all worktrees, so a stash is known by its commit, and the list is
//! changed under the engine's lock.

use std::path::Path;

use mow_engine::EngineError;
use mow_host::git::Git;
use mow_host::rescue::{self, RescueError};
use mow_store::disk::{WAIT_DEFAULT, Writer};
use mow_store::manifest::Worktree;
use mow_store::project::repository::Repository;
use mow_store::worktree_home::Home;
use serde_json::{Value, json};

use super::create::path_of;
use super::manifest;
use super::place::{home, phase_number};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, notice, warn};

pub(super) fn push(context: &Context, phase: &str) -> Result<Output, Failure> {
    let number = phase_number(phase)?;
    let home = home(context)?;
    let missing = || {
        Failure::refused(format!("phase {phase} has no worktree"))
            .hint(format!("mow worktree create {phase}"))
    };
    let (key, entry) = manifest::entry(&home, &number)?.ok_or_else(missing)?;
    let path = path_of(&home, &key, &entry);
    if !is_worktree(&path) {
        return Err(missing());
    }
    let git = Git::new(&path);
    let padded = number.padded();
    let refused = |stash: Option<&str>, reason: &str| {
        Output::json(json!({
            "stashed": false, "phase": padded, "stash_ref": stash, "reason": reason
        }))
    };
    if let Some(old) = entry.text("stash_ref")
        && git.commit_of(&old)?.is_some()
    {
        return Ok(refused(Some(&old), "work was stashed before and not brought back yet"));
    }
    let stash = {
        let _lock = Writer::open_engine(&context.project, WAIT_DEFAULT)?;
        let message = format!("mow: phase {padded}");
        // Without changes there may be a stash of ours that nobody came to note.
        git.stash_push(&message)?.map_or_else(|| git.stash_named(&message), |new| Ok(Some(new)))?
    };
    let Some(stash) = stash else { return Ok(refused(None, "nothing to stash")) };
    failpoint::reach("stash.pushed");
    manifest::set(&home, &key, &[("stash_ref", json!(stash))])?;
    failpoint::reach("stash.noted");
    Ok(Output::json(json!({ "stashed": true, "phase": padded, "stash_ref": stash })))
}

fn is_worktree(path: &Path) -> bool {
    Repository::find(path).is_some_and(|repository| repository.top == path)
}

/// Brings stashed work back into its worktree; returns whether there was any and it came.
///
/// When git cannot apply it, the stash and the note of it stay.
pub(super) fn restore(
    context: &Context,
    home: &Home,
    (key, entry): (&str, &Worktree),
    path: &Path,
) -> Result<bool, Failure> {
    let Some(stash) = entry.text("stash_ref") else { return Ok(false) };
    let git = Git::new(path);
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if !is_worktree(&real) {
        warn(&format!("{} is no worktree, so stash {stash} was not applied", path.display()));
        return Ok(false);
    }
    let Some(commit) = git.commit_of(&stash)? else {
        warn(&format!("stash {stash} is not there any more"));
        manifest::set(home, key, &[("stash_ref", Value::Null)])?;
        return Ok(false);
    };
    {
        let _lock = Writer::open_engine(&context.project, WAIT_DEFAULT)?;
        let failed = |error: RescueError| EngineError::Host(error.into());
        let branch = entry.text("branch");
        let name = branch.as_deref().unwrap_or(key);
        if let Some(kept) = rescue::keep_ignored(&git, name, &commit).map_err(failed)? {
            let kept = kept.short_name();
            notice(&format!("ignored files in the way are kept: mow rescue restore {kept}"));
        }
        let applied = git.ask(&["stash", "apply", "--quiet", &commit])?;
        if !applied.success {
            warn(&format!("stash {commit} could not be applied: {}", applied.complaint()));
            return Ok(false);
        }
        rescue::drop_stash(&git, name, &commit).map_err(failed)?;
    }
    manifest::set(home, key, &[("stash_ref", Value::Null)])?;
    Ok(true)
}
