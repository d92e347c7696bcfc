//! What an agent must leave alone in a repository, and how it is noticed that it did not.
//!
//! Everything here only looks, with as few processes as possible: it is asked before and after each
//! task. Bringing things back is [`crate::rescue::bring_back`].

mod hidden;
mod lost;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::git::{Git, GitError};

pub use hidden::{IndexStamp, hidden, holds_head, index_stamp, unhide};
pub use lost::{Lost, holdings, lost};

/// Sections of git's settings that decide what is committed and which hooks see it.
const SECTIONS: [&str; 6] = ["core", "include", "includeif", "filter", "commit", "gpg"];
/// How much of the end of a reflog is read.
const REFLOG_BYTES_MAX: u64 = 64 * 1024;
/// How large a hook may be that is compared by its content.
const HOOK_BYTES_MAX: u64 = 1024 * 1024;

/// The variable by which git notes in its reflogs who moved a branch.
pub const REFLOG_VARIABLE: &str = "GIT_REFLOG_ACTION";

/// What the names of settings begin with that make one object stand for another.
pub const REPLACED: &str = "refs/replace/";

/// Git's own settings, by name: configuration, ignore rules outside of commits, hooks, and which
/// objects stand for others.
pub type Settings = BTreeMap<String, String>;

/// Where a user's own settings are.
#[derive(Clone, Debug)]
pub struct User {
    /// The home.
    pub home: PathBuf,
    /// Where programs keep their settings, as `XDG_CONFIG_HOME` says; empty for the usual place.
    pub config: PathBuf,
}

impl User {
    /// Returns the directories that git may find settings of the user in.
    fn dirs(&self) -> BTreeSet<PathBuf> {
        let dirs = [self.home.join(".config"), self.config.clone()].into_iter();
        dirs.filter(|dir| dir.is_absolute()).map(|dir| dir.join("git")).collect()
    }

    /// Returns the name of a file as people write it.
    fn named(&self, file: &Path) -> String {
        match file.strip_prefix(&self.home) {
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => file.display().to_string(),
        }
    }

    /// Returns the file that a setting names.
    fn file(&self, value: &str) -> PathBuf {
        let value = value.trim().trim_matches('"');
        value.strip_prefix("~/").map_or_else(|| PathBuf::from(value), |rest| self.home.join(rest))
    }
}

/// Reads git's own settings, with those of the user.
pub fn settings(worktree: &Git, user: &User) -> Result<Settings, GitError> {
    let (own, common) = (worktree.git_dir()?, worktree.common_dir()?);
    let dirs = user.dirs();
    let mut all = Settings::new();
    let shared = [common.join("config"), own.join("config.worktree"), user.home.join(".gitconfig")];
    for file in shared.into_iter().chain(dirs.iter().map(|dir| dir.join("config"))) {
        let text = fs::read(&file).unwrap_or_default();
        read_config(&String::from_utf8_lossy(&text), &mut all);
    }
    let mut rules: Vec<_> =
        dirs.iter().flat_map(|dir| [dir.join("ignore"), dir.join("attributes")]).collect();
    for setting in ["core.excludesfile", "core.attributesfile"] {
        let values = all.get(setting).into_iter().flat_map(|values| values.lines());
        rules.extend(values.map(|value| user.file(value)).filter(|file| file.is_absolute()));
    }
    for file in rules {
        read_rules(&file, user.named(&file), &mut all);
    }
    for name in ["info/exclude", "info/attributes", "info/grafts"] {
        read_rules(&common.join(name), name.to_owned(), &mut all);
    }
    read_rules(&own.join("info/sparse-checkout"), "info/sparse-checkout".to_owned(), &mut all);
    read_hooks(&common.join("hooks"), &mut all);
    all.extend(worktree.refs(&[REPLACED.trim_end_matches('/')])?);
    Ok(all)
}

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

/// Reads rules, without the lines that are mow's own and may come at any time.
fn read_rules(file: &Path, name: String, all: &mut Settings) {
    let text = fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let is_own = |line: &str| line.starts_with("/.worktrees/") || line.ends_with("/dashboard-*");
    let lines: Vec<_> = text.lines().filter(|line| !is_own(line.trim())).collect();
    if !lines.is_empty() {
        all.insert(name, lines.join("\n"));
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
