//! `worktree stash` stashes the uncommitted work of a phase; `worktree create` restores it.
//!
//! All worktrees share one stash list. A stash is therefore identified by its commit, and the list
//! is changed under the engine's lock.

use mow_host::git::Git;
use mow_store::disk::{WAIT_DEFAULT, Writer};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::worktrees::create::path_of;
use crate::worktrees::locations::phase_number;
use crate::worktrees::stash::is_worktree;
use crate::worktrees::{home, manifest};

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
    let not_stashed = |stash: Option<&str>, reason: &str| {
        Output::json(json!({
            "stashed": false, "phase": padded, "stash_ref": stash, "reason": reason
        }))
    };
    if let Some(old) = entry.text("stash_ref")
        && git.commit_of(&old)?.is_some()
    {
        return Ok(not_stashed(Some(&old), "work was stashed before and not brought back yet"));
    }
    let stash = {
        let _lock = Writer::open_engine(&context.project, WAIT_DEFAULT)?;
        let message = format!("mow: phase {padded}");
        // Without changes there may be a stash that an earlier call made but did not record.
        git.stash_push(&message)?.map_or_else(|| git.stash_named(&message), |new| Ok(Some(new)))?
    };
    let Some(stash) = stash else { return Ok(not_stashed(None, "nothing to stash")) };
    failpoint::reach("stash.pushed");
    manifest::set(&home, &key, &[("stash_ref", json!(stash))])?;
    failpoint::reach("stash.noted");
    Ok(Output::json(json!({ "stashed": true, "phase": padded, "stash_ref": stash })))
}
