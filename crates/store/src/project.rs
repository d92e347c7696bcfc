//! Where a project lives: its root, its planning directory, its engine directory.
//!
//! Only looks: it creates nothing, changes nothing and starts no process. The root is the nearest
//! directory upward that holds `.planning/`, never above the top of the repository. A linked
//! worktree without one belongs to the project of the main worktree. Start with [`Project::find`].

pub mod repository;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use mow_core::slug::slug;
use thiserror::Error;

use repository::Repository;

/// The name of the directory that makes a directory a project.
const PLANNING: &str = ".planning";

/// How many letters of a project's path its tag has at most.
const TAG_LETTERS: usize = 24;

/// Why no project was found.
#[derive(Debug, Error)]
pub enum ProjectError {
    /// The directory to start from is gone or cannot be entered.
    #[error("cannot enter directory {}", path.display())]
    Enter {
        /// The directory as it was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Neither the directory nor one above it is planned.
    #[error("no .planning/ directory in {} or above it", cwd.display())]
    NotFound {
        /// The directory the search started from.
        cwd: PathBuf,
    },
}

/// A project on disk. All paths are absolute and free of symbolic links, except `planning`, whose
/// last component may be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The directory the search started from.
    pub cwd: PathBuf,
    /// The directory that holds `.planning/`; printed paths are relative to it.
    pub root: PathBuf,
    /// `.planning/` itself.
    pub planning: PathBuf,
    /// Whether `.planning/` was there.
    pub planned: bool,
    /// Where journal, locks and logs live; made by the first write.
    pub engine_dir: PathBuf,
    /// The git repository around the root, if there is one.
    pub repository: Option<Repository>,
}

impl Project {
    /// Finds the project that `cwd` belongs to.
    pub fn find(cwd: &Path) -> Result<Self, ProjectError> {
        let project = Self::find_or_cwd(cwd)?;
        if project.planned { Ok(project) } else { Err(ProjectError::NotFound { cwd: project.cwd }) }
    }

    /// Finds the project that `cwd` belongs to, or takes `cwd` itself as an unplanned one.
    pub fn find_or_cwd(cwd: &Path) -> Result<Self, ProjectError> {
        let cwd =
            enter(cwd).map_err(|source| ProjectError::Enter { path: cwd.to_path_buf(), source })?;
        let repository = Repository::find(&cwd);
        let top = repository.as_ref().map(|repository| repository.top.as_path());
        let root = nearest_planned(&cwd, top)
            .or_else(|| planned_in_main_worktree(&cwd, repository.as_ref()?));
        let planned = root.is_some();
        let root = root.unwrap_or_else(|| cwd.clone());
        let planning = root.join(PLANNING);
        let engine_dir = match &repository {
            Some(repository) => repository.common_dir.join("mow"),
            None => planning.join(".mow"),
        };
        Ok(Self { cwd, root, planning, planned, engine_dir, repository })
    }

    /// The top of the main worktree, when `cwd` lies in a linked one.
    pub fn main_root(&self) -> Option<&Path> {
        self.repository.as_ref()?.main_top.as_deref()
    }

    /// The same project seen from the main worktree, where all worktrees keep what they share.
    ///
    /// Outside of a linked worktree that is this project.
    pub fn in_main_worktree(&self) -> Result<Self, ProjectError> {
        let Some((main, repository)) = self.main_root().zip(self.repository.as_ref()) else {
            return Ok(self.clone());
        };
        let Ok(below_top) = self.root.strip_prefix(&repository.top) else {
            // A worktree without a plan of its own has its root in the main one already.
            return Self::find_or_cwd(&self.root);
        };
        let there = main.join(below_top);
        Self::find_or_cwd(if there.is_dir() { &there } else { main })
    }

    /// Returns the top of the project's repository, or its root where there is none.
    pub fn top(&self) -> &Path {
        self.repository.as_ref().map_or(&self.root, |repository| &repository.top)
    }

    /// Returns the planning directory as git names it: below the top.
    pub fn planning_below_top(&self) -> String {
        self.below_top().join(".planning").display().to_string()
    }

    /// Where the project lies below the top of its repository; empty at the top and outside of git.
    pub fn below_top(&self) -> &Path {
        let Some(repository) = &self.repository else { return Path::new("") };
        let tops = [Some(repository.top.as_path()), repository.main_top.as_deref()];
        let mut below =
            tops.into_iter().flatten().filter_map(|top| self.root.strip_prefix(top).ok());
        below.next().unwrap_or(Path::new(""))
    }

    /// A plain word that tells this project apart from others in its repository, the same in every
    /// worktree; empty for the one at the top.
    ///
    /// It is a part of what the projects of a repository keep side by side: runs, locks, homes of
    /// worktrees, branches.
    pub fn tag(&self) -> String {
        let below = self.below_top().as_os_str();
        if !self.planned || below.is_empty() {
            return String::new();
        }
        // Letters are for people; the digits tell `a/b` from `a-b`.
        let letters: String = slug(&below.to_string_lossy()).chars().take(TAG_LETTERS).collect();
        let digits = format!("{:08x}", fnv1a(below.as_bytes()) >> 32);
        format!("{}-{digits}", letters.trim_end_matches('-')).trim_start_matches('-').to_owned()
    }

    /// The file to lock before writing anything of this project.
    ///
    /// It follows from the planning directory, so that worktrees with a `.planning/` of their own
    /// do not wait for each other, while those that share one by a symbolic link do. A directory
    /// that is neither planned nor in a repository is locked itself: a lock file would have to
    /// create `.planning/` and so make it a project.
    pub fn lock_path(&self) -> PathBuf {
        if !self.planned && self.repository.is_none() && !self.planning.is_dir() {
            return self.root.clone();
        }
        let name = fnv1a(self.planning_target().as_os_str().as_bytes());
        self.engine_dir.join(format!("locks/planning-{name:016x}.lock"))
    }

    /// The planning directory with its own symbolic link followed.
    pub fn planning_target(&self) -> PathBuf {
        fs::canonicalize(&self.planning).unwrap_or_else(|_| self.planning.clone())
    }
}

/// Returns the real path of a directory that exists.
fn enter(dir: &Path) -> io::Result<PathBuf> {
    let dir = fs::canonicalize(dir)?;
    if dir.is_dir() { Ok(dir) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

/// Returns the nearest directory from `start` upward that holds `.planning/`, not above `top`.
fn nearest_planned(start: &Path, top: Option<&Path>) -> Option<PathBuf> {
    start
        .ancestors()
        .take_while(|dir| top.is_none_or(|top| dir.starts_with(top)))
        .find(|dir| dir.join(PLANNING).is_dir())
        .map(Path::to_path_buf)
}

/// Looks in the main worktree, from the place that corresponds to `cwd` upward.
fn planned_in_main_worktree(cwd: &Path, repository: &Repository) -> Option<PathBuf> {
    let main = repository.main_top.as_deref()?;
    let below_top = cwd.strip_prefix(&repository.top).ok()?;
    nearest_planned(&main.join(below_top), Some(main))
}

/// A hash that stays the same in every build, so that all versions of mow meet at the same lock.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
