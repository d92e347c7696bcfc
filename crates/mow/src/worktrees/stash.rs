//! Restores stashed work into its worktree.
//!
//! Git has one stash list for all worktrees. A stash is identified by its commit, and the list is
//! changed under the engine's lock.

use std::path::Path;

use mow_engine::EngineError;
use mow_host::git::Git;
use mow_host::rescue;
use mow_store::disk::{WAIT_DEFAULT, Writer};
use mow_store::manifest::ManifestEntry;
use mow_store::project::repository::GitRepository;
use mow_store::worktree_home::WorktreeHome;
use serde_json::Value;

use super::manifest;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{notice, warn};

/// Returns whether a path is the top of a worktree.
pub(crate) fn is_worktree(path: &Path) -> bool {
    GitRepository::find(path).is_some_and(|repository| repository.top == path)
}

/// Restores the stash of a manifest entry; returns whether there was one and git applied it.
///
/// When git cannot apply the stash, the stash and its manifest entry stay.
pub(crate) fn restore(
    context: &Context,
    home: &WorktreeHome,
    (key, entry): (&str, &ManifestEntry),
    path: &Path,
) -> Result<bool, Failure> {
    let Some(stash) = entry.text("stash_ref") else { return Ok(false) };
    let git = Git::new(path);
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if !is_worktree(&real) {
        warn(&format!("{} is not a worktree, so stash {stash} was not applied", path.display()));
        return Ok(false);
    }
    let Some(commit) = git.commit_of(&stash)? else {
        warn(&format!("stash {stash} no longer exists"));
        manifest::set(home, key, &[("stash_ref", Value::Null)])?;
        return Ok(false);
    };
    {
        let _lock = Writer::open_engine(&context.project, WAIT_DEFAULT)?;
        let branch = entry.text("branch");
        let name = branch.as_deref().unwrap_or(key);
        if let Some(rescued) =
            rescue::rescue_before_checkout(&git, name, &commit).map_err(EngineError::from)?
        {
            let name = rescued.short_name();
            notice(&format!(
                "ignored files that the stash would overwrite are saved: mow rescue restore {name}"
            ));
        }
        let applied = git.ask(&["stash", "apply", "--quiet", &commit])?;
        if !applied.success {
            warn(&format!("stash {commit} could not be applied: {}", applied.error_line()));
            return Ok(false);
        }
        rescue::drop_stash(&git, name, &commit).map_err(EngineError::from)?;
    }
    manifest::set(home, key, &[("stash_ref", Value::Null)])?;
    Ok(true)
}
