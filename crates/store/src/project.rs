//! Finds a project: its root, its planning directory and its engine directory.
//!
//! Only reads: it creates nothing and starts no process. The root is the nearest directory upward
//! that holds `.planning/`, never above the top of the repository. A linked worktree without
//! `.planning/` belongs to the project of the main worktree. Start with [`Project::find`].

pub mod repository;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use mow_core::slug::slug;
use thiserror::Error;

use repository::GitRepository;

/// The name of the planning directory. A directory that holds it is a project's root.
const PLANNING: &str = ".planning";

/// The maximum number of letters from the project's path in a tag.
const TAG_LETTERS_MAX: usize = 24;

/// Why no project was found.
#[derive(Debug, Error)]
pub enum ProjectError {
    /// The directory to start from does not exist or cannot be entered.
    #[error("cannot enter directory {}", path.display())]
    Enter {
        /// The directory as the caller gave it.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// Neither the directory nor one above it holds `.planning/`.
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
    /// The path of `.planning/`.
    pub planning: PathBuf,
    /// Whether `.planning/` existed when the project was looked up.
    pub planned: bool,
    /// The directory of journals, locks and logs; created by the first write.
    pub engine_dir: PathBuf,
    /// The git repository that contains the root; `None` outside of git.
    pub repository: Option<GitRepository>,
}

impl Project {
    /// Finds the project that `cwd` belongs to.
    pub fn find(cwd: &Path) -> Result<Self, ProjectError> {
        let project = Self::find_or_cwd(cwd)?;
        if project.planned { Ok(project) } else { Err(ProjectError::NotFound { cwd: project.cwd }) }
    }

    /// Finds the project that `cwd` belongs to, or returns `cwd` as a project without `.planning/`.
    pub fn find_or_cwd(cwd: &Path) -> Result<Self, ProjectError> {
        let cwd = canonical_dir(cwd)
            .map_err(|source| ProjectError::Enter { path: cwd.to_path_buf(), source })?;
        let repository = GitRepository::find(&cwd);
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

    /// Returns the top of the main worktree when `cwd` is in a linked worktree, else `None`.
    pub fn main_root(&self) -> Option<&Path> {
        self.repository.as_ref()?.main_top.as_deref()
    }

    /// Returns the same project in the main worktree, which holds the files that all worktrees
    /// share.
    ///
    /// Outside of a linked worktree, returns this project.
    pub fn in_main_worktree(&self) -> Result<Self, ProjectError> {
        let Some((main, repository)) = self.main_root().zip(self.repository.as_ref()) else {
            return Ok(self.clone());
        };
        let Ok(below_top) = self.root.strip_prefix(&repository.top) else {
            // Without its own `.planning/`, this worktree's project root is in the main worktree.
            return Self::find_or_cwd(&self.root);
        };
        let in_main = main.join(below_top);
        Self::find_or_cwd(if in_main.is_dir() { &in_main } else { main })
    }

    /// Returns the top of the checkout, or the project's root outside of git.
    pub fn top(&self) -> &Path {
        self.repository.as_ref().map_or(&self.root, |repository| &repository.top)
    }

    /// Returns the planning directory's path in the repository, as git prints it.
    pub fn planning_below_top(&self) -> String {
        self.below_top().join(".planning").display().to_string()
    }

    /// Returns the root's path in the repository; empty at the top and outside of git.
    pub fn below_top(&self) -> &Path {
        let Some(repository) = &self.repository else { return Path::new("") };
        let tops = [Some(repository.top.as_path()), repository.main_top.as_deref()];
        let mut below =
            tops.into_iter().flatten().filter_map(|top| self.root.strip_prefix(top).ok());
        below.next().unwrap_or(Path::new(""))
    }

    /// Returns a word that identifies the project in its repository; empty for the one at the top.
    ///
    /// The tag is the same in every worktree. It is part of the names of runs, locks, worktree
    /// homes and branches, so that the projects of a repository do not share them.
    pub fn tag(&self) -> String {
        let below = self.below_top().as_os_str();
        if !self.planned || below.is_empty() {
            return String::new();
        }
        // The letters are for people; the digits distinguish `a/b` from `a-b`.
        let letters: String =
            slug(&below.to_string_lossy()).chars().take(TAG_LETTERS_MAX).collect();
        let digits = format!("{:08x}", fnv1a(below.as_bytes()) >> 32);
        format!("{}-{digits}", letters.trim_end_matches('-')).trim_start_matches('-').to_owned()
    }

    /// Returns the file to lock before any write to this project.
    ///
    /// Its name depends on the planning directory. So worktrees with their own `.planning/` do not
    /// wait for each other, while worktrees that share one by a symbolic link do. Outside of git
    /// and without `.planning/`, the root itself is locked: a lock file would need `.planning/`,
    /// and creating that would make the directory a project.
    pub fn lock_path(&self) -> PathBuf {
        if !self.planned && self.repository.is_none() && !self.planning.is_dir() {
            return self.root.clone();
        }
        let name = fnv1a(self.planning_target().as_os_str().as_bytes());
        self.engine_dir.join(format!("locks/planning-{name:016x}.lock"))
    }

    /// Returns the planning directory without symbolic links.
    pub fn planning_target(&self) -> PathBuf {
        fs::canonicalize(&self.planning).unwrap_or_else(|_| self.planning.clone())
    }
}

/// Returns the path of an existing directory without symbolic links.
fn canonical_dir(dir: &Path) -> io::Result<PathBuf> {
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

/// Searches the main worktree for `.planning/`, upward from the directory that corresponds to
/// `cwd`.
fn planned_in_main_worktree(cwd: &Path, repository: &GitRepository) -> Option<PathBuf> {
    let main = repository.main_top.as_deref()?;
    let below_top = cwd.strip_prefix(&repository.top).ok()?;
    nearest_planned(&main.join(below_top), Some(main))
}

/// Hashes bytes the same way in every build, so that all versions of mow use the same lock file.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
