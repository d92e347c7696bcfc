//! Commits in submodules that only one worktree has.
//!
//! Git keeps the submodules of a worktree in repositories of their own, inside what it keeps for the
//! worktree, and removes them with it. What was committed there is brought into the submodule's
//! repository of the main worktree, under `refs/mow/rescue/`, before anything relies on it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::git::{Git, GitError};
use crate::rescue;

/// How deep the name of a submodule may be.
const DEPTH_MAX: usize = 8;

/// Keeps the commits of a worktree's submodules; returns the names of those that cannot be kept,
/// because the main worktree does not have the submodule.
pub fn keep(root: &Git, worktree: &Path, name: &str) -> Result<Vec<String>, GitError> {
    let Some(own) = modules_of(worktree) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    find(&own, 0, &mut found);
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let main = root.common_dir()?.join("modules");
    let mut left = Vec::new();
    for module in found {
        let inside = module.strip_prefix(&own).unwrap_or(&module);
        let target = main.join(inside);
        if !is_repository(&target) {
            if has_commits_of_its_own(&module)? {
                left.push(inside.display().to_string());
            }
            continue;
        }
        bring(&module, &target, name)?;
    }
    Ok(left)
}

/// Returns where a linked worktree has its submodules, if it has any.
fn modules_of(worktree: &Path) -> Option<PathBuf> {
    let link = fs::read_to_string(worktree.join(".git")).ok()?;
    let modules = Path::new(link.trim_end().strip_prefix("gitdir: ")?).join("modules");
    modules.is_dir().then_some(modules)
}

fn find(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    if is_repository(dir) {
        found.push(dir.to_path_buf());
        // Submodules may have submodules.
        return find(&dir.join("modules"), depth + 1, found);
    }
    if depth > DEPTH_MAX {
        return;
    }
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            find(&entry.path(), depth + 1, found);
        }
    }
}

fn is_repository(dir: &Path) -> bool {
    dir.join("HEAD").is_file() && dir.join("objects").is_dir()
}

/// Git in a submodule's repository, wherever its files are or were.
fn git_in(repository: &Path) -> Git {
    Git::new(repository).plumbing().with_env("GIT_DIR", repository)
}

/// Brings all commits of a repository into another one, each head by its own name.
fn bring(from: &Path, to: &Path, name: &str) -> Result<(), GitError> {
    let heads = git_in(from).run(&["show-ref", "--head"])?.text();
    let mut refspecs = Vec::new();
    for (commit, reference) in heads.lines().filter_map(|line| line.split_once(' ')) {
        if reference == "HEAD" || reference.starts_with("refs/heads/") || reference == "refs/stash"
        {
            refspecs.push(format!("{reference}:{}{name}/{commit}", rescue::PREFIX));
        }
    }
    refspecs.sort_by(|a, b| a.rsplit('/').next().cmp(&b.rsplit('/').next()));
    refspecs.dedup_by(|a, b| a.rsplit('/').next() == b.rsplit('/').next());
    let from = from.to_string_lossy().into_owned();
    let words = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", &from];
    let mut args: Vec<&str> = words.to_vec();
    args.extend(refspecs.iter().map(String::as_str));
    git_in(to).run(&args).map(drop)
}

/// Returns whether a repository has commits that it did not get from elsewhere.
fn has_commits_of_its_own(repository: &Path) -> Result<bool, GitError> {
    let args = ["rev-list", "--max-count=1", "HEAD", "--branches", "--not", "--remotes"];
    Ok(!git_in(repository).run(&args)?.stdout.is_empty())
}

#[cfg(test)]
mod tests;
