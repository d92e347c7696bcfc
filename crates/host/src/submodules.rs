//! Rescues submodule commits that only one worktree has.
//!
//! Git keeps a worktree's submodules as repositories inside the worktree's git directory, and
//! removes them with it. Their commits are fetched into the submodule's repository of the main
//! worktree, under `refs/mow/rescue/`, before anything relies on them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::git::{Git, GitError};
use crate::rescue;

/// How many directories deep the name of a submodule may be.
const DEPTH_MAX: usize = 8;

/// Rescues the commits of a worktree's submodules. Returns the names of submodules that cannot be
/// rescued, because the main worktree does not have them.
pub fn rescue_commits(root: &Git, worktree: &Path, name: &str) -> Result<Vec<String>, GitError> {
    let Some(own) = modules_dir(worktree) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    find_repositories(&own, 0, &mut found);
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let main = root.common_dir()?.join("modules");
    let mut unrescued = Vec::new();
    for module in found {
        let inside = module.strip_prefix(&own).unwrap_or(&module);
        let target = main.join(inside);
        if !is_repository(&target) {
            if has_unpushed_commits(&module)? {
                unrescued.push(inside.display().to_string());
            }
            continue;
        }
        fetch_commits(&module, &target, name)?;
    }
    Ok(unrescued)
}

/// Returns the directory of a linked worktree's submodules, if it has any.
fn modules_dir(worktree: &Path) -> Option<PathBuf> {
    let link = fs::read_to_string(worktree.join(".git")).ok()?;
    let modules = Path::new(link.trim_end().strip_prefix("gitdir: ")?).join("modules");
    modules.is_dir().then_some(modules)
}

fn find_repositories(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    if is_repository(dir) {
        found.push(dir.to_path_buf());
        // Submodules may contain submodules.
        return find_repositories(&dir.join("modules"), depth + 1, found);
    }
    if depth > DEPTH_MAX {
        return;
    }
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            find_repositories(&entry.path(), depth + 1, found);
        }
    }
}

fn is_repository(dir: &Path) -> bool {
    dir.join("HEAD").is_file() && dir.join("objects").is_dir()
}

/// Returns a [`Git`] for a submodule's repository, wherever its files are or were.
fn git_in(repository: &Path) -> Git {
    Git::new(repository).plumbing().with_env("GIT_DIR", repository)
}

/// Fetches all commits of a repository into another one, each head under its own hash.
fn fetch_commits(from: &Path, to: &Path, name: &str) -> Result<(), GitError> {
    let heads = git_in(from).run(&["show-ref", "--head"])?.text();
    let mut refspecs = Vec::new();
    for (commit, reference) in heads.lines().filter_map(|line| line.split_once(' ')) {
        if reference == "HEAD" || reference.starts_with("refs/heads/") || reference == "refs/stash"
        {
            refspecs.push(format!("{reference}:{}{name}/{commit}", rescue::RESCUE_REF_PREFIX));
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

/// Returns whether a repository has commits that no remote branch has.
fn has_unpushed_commits(repository: &Path) -> Result<bool, GitError> {
    let args = ["rev-list", "--max-count=1", "HEAD", "--branches", "--not", "--remotes"];
    Ok(!git_in(repository).run(&args)?.stdout.is_empty())
}

#[cfg(test)]
mod tests;
