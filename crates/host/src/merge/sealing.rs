//! Makes the commits of merges, signed where the user signs commits, and moves references to them.

use super::MergeError;
use crate::commit;
use crate::git::{Git, GitError, locks};

/// Makes a commit, signed where the user signs commits.
pub(super) fn commit_tree(
    git: &Git,
    tree: &str,
    parents: &[&str],
    message: &str,
) -> Result<String, MergeError> {
    if let Some(commit) = git.plain().and_then(|plain| plain.seal(tree, parents, message)) {
        return Ok(commit);
    }
    // Unlike `git commit`, `git commit-tree` does not look at the setting itself.
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
    commit::identity_ok(git)?;
    if sign {
        return Err(MergeError::Unsigned { said: answer.complaint() });
    }
    Ok(git.run_with(&args, message.as_bytes())?.text())
}

/// Moves a reference if it still is where it was; tells whether.
pub(super) fn swap(
    git: &Git,
    name: &str,
    (from, to): (&str, &str),
    message: &str,
) -> Result<bool, GitError> {
    if let Some(is_moved) = git.plain().and_then(|plain| plain.swap(name, from, to)) {
        return Ok(is_moved);
    }
    // A lock that stays is that of somebody who was killed: one process of ours moves it at a time.
    locks::clear_reference(git, name)?;
    let swap = ["update-ref", "-m", message, name, to, from];
    if !git.ask(&swap)?.success {
        if git.commit_of(name)?.as_deref() != Some(from) {
            return Ok(false);
        }
        git.run(&swap)?;
    }
    Ok(true)
}
