//! What an agent must leave alone in a repository, and how it is noticed that it did not.
//!
//! Everything here only looks, with as few processes as possible: it is asked before and after each
//! task. Bringing things back is [`crate::rescue::bring_back`].

mod hidden;
mod lost;
mod settings;

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::git::{Git, GitError};

pub use hidden::{IndexStamp, hidden, holds, index_stamp, unhide};
pub use lost::{Lost, holdings, lost};
pub use settings::{REPLACED, Settings, User, differing, settings};

/// How much of the end of a reflog is read.
const REFLOG_BYTES_MAX: u64 = 64 * 1024;

/// The variable by which git notes in its reflogs who moved a branch.
pub const REFLOG_VARIABLE: &str = "GIT_REFLOG_ACTION";

/// Returns the branches that somebody moved who goes by a word, each with the last commit.
pub fn moved_by(
    git: &Git,
    word: &str,
    branches: &[String],
) -> Result<Vec<(String, String)>, GitError> {
    let logs = reflogs(git)?;
    let moved = branches.iter().filter_map(|branch| {
        let log = read_from(&logs.join(branch), 0)?;
        let line = log.lines().rev().find(|line| {
            line.split_once('\t').is_some_and(|(_, message)| message.starts_with(word))
        })?;
        Some((branch.clone(), parse_moved_to(line)?))
    });
    Ok(moved.collect())
}

/// Returns where a branch was moved, each time with what git was told of it; the newest of many.
pub fn moves(git: &Git, branch: &str) -> Result<Vec<(String, String)>, GitError> {
    let log = read_from(&reflogs(git)?.join(branch), 0).unwrap_or_default();
    let parse = |line: &str| {
        let said = line.split_once('\t').map_or("", |(_, said)| said);
        Some((parse_moved_to(line)?, said.to_owned()))
    };
    Ok(log.lines().filter_map(parse).collect())
}

/// How long a branch's reflog is, to find out later what was added.
pub fn reflog_length(git: &Git, branch: &str) -> Result<u64, GitError> {
    Ok(fs::metadata(reflogs(git)?.join(branch)).map_or(0, |about| about.len()))
}

/// Returns where a branch was moved without a word since its reflog had a length.
///
/// People's commands say what they do; git's plumbing does not unless it is told to, and neither
/// takes over the name that agents go by.
pub fn moved_silently(git: &Git, branch: &str, since: u64) -> Result<Option<String>, GitError> {
    // One that became shorter was cleared of old lines, and what is new in it cannot be told.
    if since > reflog_length(git, branch)? {
        return Ok(None);
    }
    let Some(log) = read_from(&reflogs(git)?.join(branch), since) else { return Ok(None) };
    let is_silent = |line: &&str| line.split_once('\t').is_none_or(|(_, said)| said.is_empty());
    Ok(log.lines().rev().find(is_silent).and_then(parse_moved_to))
}

/// Returns where a branch was moved that stood elsewhere, where no file notes its moves.
///
/// Git may note them in another way; otherwise only the merges of a run are known to be in order.
pub fn moved_unlogged(
    git: &Git,
    word: &str,
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
    let strayed = moves.find(|(_, said)| said.is_empty() || said.starts_with(word));
    Ok(strayed.map(|(commit, _)| commit.to_owned()))
}

/// Reads `<from> <to> <who>\t<what>`, as reflogs have it.
fn parse_moved_to(line: &str) -> Option<String> {
    line.split(' ').nth(1).map(str::to_owned)
}

/// Returns the directory in which the moves of branches are noted.
fn reflogs(git: &Git) -> Result<PathBuf, GitError> {
    Ok(git.common_dir()?.join("logs/refs/heads"))
}

/// Reads a file from some place on, but no more than its end.
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
