//! Commits files, such as the live planning files, on top of a run's target ref.

use super::commit_and_swap::{commit_tree, swap_ref};
use super::{MergeError, MergeJob, commit_of};
use crate::commit;
use crate::git::Git;

/// A commit with files on top of a target ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverlayCommit {
    /// The commit that the ref points to.
    pub ours: String,
    /// The new commit, to which no ref points yet; equal to `ours` if no file changed.
    pub commit: String,
}

/// Creates a commit with these files on top of a ref, without moving the ref.
pub fn commit_overlay(
    git: &Git,
    run_ref: &str,
    files: &[(String, Vec<u8>)],
    message: &str,
) -> Result<OverlayCommit, MergeError> {
    let git = &git.plumbing();
    commit::check_identity(git)?;
    let ours = commit_of(git, run_ref)?;
    let job = MergeJob {
        run_ref: run_ref.to_owned(),
        branch_commit: ours.clone(),
        message: message.to_owned(),
        keep_from_ours: Vec::new(),
        own: None,
        overlay: files.to_vec(),
        join: None,
    };
    let tree = job.edit_tree(git, [&ours, &ours, &ours], (&[], Vec::new()))?;
    if git.run(&["rev-parse", &format!("{ours}^{{tree}}")])?.text() == tree {
        return Ok(OverlayCommit { commit: ours.clone(), ours });
    }
    let commit = commit_tree(git, &tree, &[&ours], message)?;
    failpoint::reach("overlay.commit.made");
    Ok(OverlayCommit { ours, commit })
}

/// Moves the ref to an overlay commit if it still points to the first commit of `moves`.
///
/// Returns whether it moved.
pub fn move_target_to_overlay(
    git: &Git,
    run_ref: &str,
    moves: (&str, &str),
) -> Result<bool, MergeError> {
    Ok(swap_ref(&git.plumbing(), run_ref, moves, "mow: planning files")?)
}
