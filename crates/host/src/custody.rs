//! What an agent must leave alone in a repository, and how it is noticed that it did not.
//!
//! Everything here only looks, with as few processes as possible: it is asked before and after each
//! task. Bringing things back is [`crate::rescue::bring_back`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::git::flagged::{Flagged, flagged};
use crate::git::{Git, GitError};

/// Sections of git's settings that decide what is committed and which hooks see it.
const SECTIONS: [&str; 6] = ["core", "include", "includeif", "filter", "commit", "gpg"];
/// How much of the end of a reflog is read.
const REFLOG_BYTES_MAX: u64 = 64 * 1024;
/// How large a hook may be that is compared by its content.
const HOOK_BYTES_MAX: u64 = 1024 * 1024;

/// The variable by which git notes in its reflogs who moved a branch.
pub const REFLOG_VARIABLE: &str = "GIT_REFLOG_ACTION";

/// Git's own settings, by name: configuration, ignore rules outside of commits, hooks.
pub type Settings = BTreeMap<String, String>;

/// Reads git's own settings, with those of the user whose home is given.
pub fn settings(worktree: &Git, home: &Path) -> Result<Settings, GitError> {
    let (own, common) = (worktree.git_dir()?, worktree.common_dir()?);
    let mut all = Settings::new();
    for file in [
        common.join("config"),
        own.join("config.worktree"),
        home.join(".gitconfig"),
        home.join(".config/git/config"),
    ] {
        let text = fs::read(&file).unwrap_or_default();
        read_config(&String::from_utf8_lossy(&text), &mut all);
    }
    for file in ["info/exclude", "info/attributes"] {
        let text = fs::read(common.join(file)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        // These lines are mow's own, and may come at any time.
        let is_own =
            |line: &str| line.starts_with("/.worktrees/") || line.ends_with("/dashboard-*");
        let lines: Vec<_> = text.lines().filter(|line| !is_own(line.trim())).collect();
        if !lines.is_empty() {
            all.insert(file.to_owned(), lines.join("\n"));
        }
    }
    read_hooks(&common.join("hooks"), &mut all);
    Ok(all)
}

/// Returns the branches that somebody moved who goes by a word, each with the last commit.
pub fn moved_by(
    git: &Git,
    word: &str,
    branches: &[String],
) -> Result<Vec<(String, String)>, GitError> {
    let logs = git.common_dir()?.join("logs/refs/heads");
    let moved = branches.iter().filter_map(|branch| {
        let log = tail(&logs.join(branch))?;
        let line = log.lines().rev().find(|line| {
            line.split_once('\t').is_some_and(|(_, message)| message.starts_with(word))
        })?;
        Some((branch.clone(), line.split(' ').nth(1)?.to_owned()))
    });
    Ok(moved.collect())
}

/// How long a branch's reflog is, to find out later what was added.
pub fn reflog_length(git: &Git, branch: &str) -> Result<u64, GitError> {
    let log = git.common_dir()?.join("logs/refs/heads").join(branch);
    Ok(fs::metadata(log).map_or(0, |about| about.len()))
}

/// Returns where a branch was moved without a word since its reflog had a length.
///
/// People's commands say what they do; git's plumbing does not unless it is told to, and neither
/// takes over the name that agents go by.
pub fn moved_silently(git: &Git, branch: &str, since: u64) -> Result<Option<String>, GitError> {
    let path = git.common_dir()?.join("logs/refs/heads").join(branch);
    // One that became shorter was cleared of old lines, and what is new in it cannot be told.
    if since > reflog_length(git, branch)? {
        return Ok(None);
    }
    let Some(log) = read_from(&path, since) else { return Ok(None) };
    let is_silent = |line: &&str| line.split_once('\t').is_none_or(|(_, said)| said.is_empty());
    let commit = |line: &str| line.split(' ').nth(1).map(str::to_owned);
    Ok(log.lines().rev().find(is_silent).and_then(commit))
}

/// Returns the names of the settings that differ.
pub fn differing(before: &Settings, after: &Settings) -> Vec<String> {
    let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    names.into_iter().filter(|name| before.get(*name) != after.get(*name)).cloned().collect()
}

/// Reads `[section "part"]` and `name = value`, as far as it matters here.
fn read_config(text: &str, all: &mut Settings) {
    let (mut section, mut matters) = (String::new(), false);
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix('[') {
            let head = rest.split(']').next().unwrap_or(rest);
            let name = head.split([' ', '.', '"']).next().unwrap_or(head).to_ascii_lowercase();
            matters = SECTIONS.contains(&name.as_str());
            section = head.replace([' ', '"'], ".").trim_end_matches('.').replace("..", ".");
        } else if matters && !line.is_empty() && !line.starts_with(['#', ';']) {
            let (name, value) = line.split_once('=').unwrap_or((line, "true"));
            let name = format!("{section}.{}", name.trim().to_ascii_lowercase());
            let values = all.entry(name).or_default();
            values.push_str(value.trim());
            values.push('\n');
        }
    }
}

fn read_hooks(dir: &Path, all: &mut Settings) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(about) = fs::metadata(entry.path()) else { continue };
        if name.ends_with(".sample") || !about.is_file() {
            continue;
        }
        let bytes = match about.len() {
            0..=HOOK_BYTES_MAX => fs::read(entry.path()).unwrap_or_default(),
            _ => Vec::new(),
        };
        let mode = std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o111;
        let text = String::from_utf8_lossy(&bytes);
        all.insert(format!("hooks/{name}"), format!("{mode:o} {} {text}", about.len()));
    }
}

/// Reads the end of a file.
fn tail(path: &Path) -> Option<String> {
    read_from(path, 0)
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

/// Returns the files whose changes git was told not to see.
///
/// A sparse checkout has files that are not there at all; these hide nothing.
pub fn hidden(worktree: &Git) -> Result<Vec<String>, GitError> {
    let mut suspects = Vec::new();
    for Flagged { path, is_file, object, is_skipped } in flagged(worktree)? {
        let is_there = worktree.dir().join(&path).symlink_metadata().is_ok();
        // A link names what it points to, and a repository its commit; neither is a file to read.
        if (is_there && is_file) || (!is_there && !is_skipped) {
            suspects.push((path, object, is_there));
        }
    }
    let mut hidden = Vec::new();
    for (path, object, is_there) in suspects {
        let now = worktree.ask(&["hash-object", "--path", &path, "--", &path])?;
        if !is_there || !now.success || now.text() != object {
            hidden.push(path);
        }
    }
    Ok(hidden)
}

/// Lets git see changes again that it was told not to see.
pub fn unhide(worktree: &Git, paths: &[String]) -> Result<(), GitError> {
    for flag in ["--no-assume-unchanged", "--no-skip-worktree"] {
        let args = ["update-index", flag, "--"].into_iter();
        let args: Vec<&str> = args.chain(paths.iter().map(String::as_str)).collect();
        worktree.run(&args)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
