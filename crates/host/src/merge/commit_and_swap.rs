//! Creates merge commits, signed if the user signs commits, and moves refs to them.

use super::MergeError;
use crate::commit;
use crate::git::{Git, GitError, locks};

/// Creates a commit, signed if the user has `commit.gpgSign` set.
pub(super) fn commit_tree(
    git: &Git,
    tree: &str,
    parents: &[&str],
    message: &str,
) -> Result<String, MergeError> {
    if let Some(commit) = git.in_process().and_then(|repo| repo.commit_tree(tree, parents, message))
    {
        return Ok(commit);
    }
    // Unlike `git commit`, `git commit-tree` ignores `commit.gpgSign`.
    let sign = git.ask(&["config", "--type=bool", "commit.gpgSign"])?.text() == "true";
    let mut args = vec!["commit-tree", tree];
    args.extend(parents.iter().flat_map(|parent| ["-p", parent]));
    args.extend(["-F", "-"]);
    if sign {
        args.push("-S");
    }
    let answer = git.ask_with(&args, message.as_bytes())?;
    if answer.success {
        return Ok(answer.text());
    }
    commit::check_identity(git)?;
    if sign {
        return Err(MergeError::SigningFailed { message: answer.error_line() });
    }
    Ok(git.run_with(&args, message.as_bytes())?.text())
}

/// Moves a ref if it still points to `from`; returns whether it moved.
pub(super) fn swap_ref(
    git: &Git,
    name: &str,
    (from, to): (&str, &str),
    message: &str,
) -> Result<bool, GitError> {
    if let Some(is_moved) = git.in_process().and_then(|repo| repo.move_own_ref(name, from, to)) {
        return Ok(is_moved);
    }
    // Only one process of ours moves this ref at a time, so a lock on it was left by a killed
    // process.
    locks::remove_stale_ref_lock(git, name)?;
    let swap = ["update-ref", "-m", message, name, to, from];
    if !git.ask(&swap)?.success {
        if git.commit_of(name)?.as_deref() != Some(from) {
            return Ok(false);
        }
        git.run(&swap)?;
    }
    Ok(true)
}
