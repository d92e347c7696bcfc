//! Detects changes to a repository that an agent must not make: moved branches, lost commits,
//! hidden changes and changed git settings.
//!
//! This module only reads, except for [`unhide_changes`]. It runs before and after each task, so it
//! starts as few processes as possible. [`crate::rescue::restore_branch`] undoes the damage.

mod git_settings;
mod hidden_changes;
mod lost_commits;

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::git::{Git, GitError};

pub use git_settings::{
    GitSettings, REPLACE_REF_PREFIX, UserConfigPaths, changed_settings, load_settings,
};
pub use hidden_changes::{
    IndexStamp, files_match_tree, find_hidden_changes, index_stamp, unhide_changes,
};
pub use lost_commits::{LostCommit, find_lost_commits, list_held_commits};

/// How much of the end of a reflog is read.
const REFLOG_BYTES_MAX: u64 = 64 * 1024;

/// The environment variable whose value git writes into reflogs as the message of a move.
pub const REFLOG_ACTION_VARIABLE: &str = "GIT_REFLOG_ACTION";

/// Returns the branches with a reflog message that starts with `actor`, each with the commit of the
/// newest such move.
pub fn branches_moved_by(
    git: &Git,
    actor: &str,
    branches: &[String],
) -> Result<Vec<(String, String)>, GitError> {
    let logs = reflogs(git)?;
    let moved = branches.iter().filter_map(|branch| {
        let log = read_from(&logs.join(branch), 0)?;
        let line = log.lines().rev().find(|line| {
            line.split_once('\t').is_some_and(|(_, message)| message.starts_with(actor))
        })?;
        Some((branch.clone(), parse_moved_to(line)?))
    });
    Ok(moved.collect())
}

/// Returns the moves of a branch as new commit and reflog message, oldest first.
///
/// Reads only the last part of a long reflog.
pub fn branch_moves(git: &Git, branch: &str) -> Result<Vec<(String, String)>, GitError> {
    let log = read_from(&reflogs(git)?.join(branch), 0).unwrap_or_default();
    let parse = |line: &str| {
        let message = line.split_once('\t').map_or("", |(_, message)| message);
        Some((parse_moved_to(line)?, message.to_owned()))
    };
    Ok(log.lines().filter_map(parse).collect())
}

/// Returns the length of a branch's reflog in bytes, to find later which lines were added.
pub fn reflog_length(git: &Git, branch: &str) -> Result<u64, GitError> {
    Ok(fs::metadata(reflogs(git)?.join(branch)).map_or(0, |metadata| metadata.len()))
}

/// Returns the commit of the newest move without a reflog message since the reflog was `since`
/// bytes long.
///
/// Git's porcelain commands always write a message. Plumbing writes none unless it is told to, and
/// does not use [`REFLOG_ACTION_VARIABLE`], so this finds moves by plumbing.
pub fn moved_without_message(
    git: &Git,
    branch: &str,
    since: u64,
) -> Result<Option<String>, GitError> {
    // A shorter reflog was expired, so its new lines cannot be told from the old ones.
    if since > reflog_length(git, branch)? {
        return Ok(None);
    }
    let Some(log) = read_from(&reflogs(git)?.join(branch), since) else { return Ok(None) };
    let is_silent =
        |line: &&str| line.split_once('\t').is_none_or(|(_, message)| message.is_empty());
    Ok(log.lines().rev().find(is_silent).and_then(parse_moved_to))
}

/// Returns the commit a branch was moved to since it was at `before`, if the branch has no reflog
/// file.
///
/// A move to a commit that a run's target ref contains is allowed. With another reflog format, such
/// as reftable, only moves by `actor` or without a message count. Without any reflog every other
/// move does.
pub fn moved_without_reflog(
    git: &Git,
    actor: &str,
    (branch, before): (&str, Option<&str>),
) -> Result<Option<String>, GitError> {
    if reflogs(git)?.join(branch).exists() {
        return Ok(None);
    }
    let full = format!("refs/heads/{branch}");
    let now = git.commit_of(&full)?;
    let Some(now) = now.filter(|now| before != Some(now.as_str())) else { return Ok(None) };
    let find = ["for-each-ref", "--count=1", "--format=%(refname)", "--contains", &now];
    if !git.run(&[&find[..], &["refs/mow/run"]].concat())?.stdout.is_empty() {
        return Ok(None);
    }
    let log = git.ask(&["log", "--walk-reflogs", "--format=%H %gs", &full, "--"])?.text();
    let moves = log.lines().map(|line| line.split_once(' ').unwrap_or((line, "")));
    let mut moves = moves.take_while(|(commit, _)| before != Some(*commit)).peekable();
    if moves.peek().is_none() {
        return Ok(Some(now));
    }
    let suspicious = moves.find(|(_, message)| message.is_empty() || message.starts_with(actor));
    Ok(suspicious.map(|(commit, _)| commit.to_owned()))
}

/// Parses the new commit of a reflog line, `<from> <to> <who>\t<message>`.
fn parse_moved_to(line: &str) -> Option<String> {
    line.split(' ').nth(1).map(str::to_owned)
}

/// Returns the directory with the reflogs of branches.
fn reflogs(git: &Git) -> Result<PathBuf, GitError> {
    Ok(git.common_dir()?.join("logs/refs/heads"))
}

/// Reads a file from byte `since` on, but at most its last [`REFLOG_BYTES_MAX`] bytes.
fn read_from(path: &Path, since: u64) -> Option<String> {
    let mut file = fs::File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(REFLOG_BYTES_MAX).max(since))).ok()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
