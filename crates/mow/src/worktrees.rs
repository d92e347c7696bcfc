//! Manages the worktrees of phases outside of a run: locations, claims, creation and removal.
//!
//! The hooks of Claude Code, `mow close-shop` and the contract's `mow worktree …` use this. A run
//! creates its worktrees itself, with the same functions of `mow-host`.

pub(crate) mod claims;
pub(crate) mod create;
pub(crate) mod locations;
pub(crate) mod manifest;
pub(crate) mod merge_state;
pub(crate) mod prune;
pub(crate) mod stash;

use mow_host::git::Git;

use crate::context::Context;
use crate::failure::Failure;

pub(crate) use self::claims::{release, release_stale_quietly};
pub(crate) use self::create::create;
pub(crate) use self::locations::home;
pub(crate) use self::manifest::remove as remove_from_manifest;

/// Returns the branch to merge into: `into`, the `git.target` setting, the milestone's branch, or
/// the branch that is checked out in the main root.
pub(crate) fn target(context: &Context, git: &Git, into: Option<&str>) -> Result<String, Failure> {
    Ok(mow_engine::lead::resolve_target(&context.project, git, into)?.0)
}
