//! Files on top of a run's reference, in a commit of their own.

use super::sealing::{commit_tree, swap};
use super::{Merge, MergeError, commit_of};
use crate::commit;
use crate::git::Git;

/// Files on top of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlaid {
    /// Where the reference stands.
    pub ours: String,
    /// The commit, which nobody can see yet; the same when all of them were so already.
    pub commit: String,
}

/// Commits files with these contents on top of a reference.
pub fn overlay(
    git: &Git,
    run_ref: &str,
    files: &[(String, Vec<u8>)],
    message: &str,
) -> Result<Overlaid, MergeError> {
    let git = &git.plumbing();
    commit::identity_ok(git)?;
    let ours = commit_of(git, run_ref)?;
    let job = Merge {
        run_ref: run_ref.to_owned(),
        branch_commit: ours.clone(),
        message: message.to_owned(),
        keep_from_ours: Vec::new(),
        own: None,
        overlay: files.to_vec(),
        join: None,
    };
    let tree = job.settle(git, [&ours, &ours, &ours], (&[], Vec::new()))?;
    if git.run(&["rev-parse", &format!("{ours}^{{tree}}")])?.text() == tree {
        return Ok(Overlaid { commit: ours.clone(), ours });
    }
    let commit = commit_tree(git, &tree, &[&ours], message)?;
    failpoint::reach("overlay.commit.made");
    Ok(Overlaid { ours, commit })
}

/// Moves the reference to such a commit, if it still is where it was; tells whether.
pub fn advance(git: &Git, run_ref: &str, moves: (&str, &str)) -> Result<bool, MergeError> {
    Ok(swap(&git.plumbing(), run_ref, moves, "mow: planning files")?)
}
