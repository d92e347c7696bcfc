//! Finds the main root, the home of the worktrees, and the worktrees that exist.

use std::fs;
use std::path::{Path, PathBuf};

use mow_core::phase::PhaseNumber;
use mow_store::phase_dirs;
use mow_store::project::Project;
use mow_store::project::repository::GitRepository;
use mow_store::worktree_home::WorktreeHome;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::notice;

/// Parses a phase argument.
pub(crate) fn phase_number(phase: &str) -> Result<PhaseNumber, Failure> {
    phase_dirs::parse_argument(phase).ok_or_else(|| {
        Failure::refused(format!("`{}` is not a phase number", phase.escape_debug()))
            .hint("give a number such as 3, 03 or 3.1; mow roadmap phases lists them")
    })
}

/// Returns the top of the current worktree; outside of git the current directory.
pub(crate) fn worktree_top(context: &Context) -> &Path {
    let repository = context.project.repository.as_ref();
    repository.map_or(&context.project.cwd, |repository| &repository.top)
}

/// Returns the top of the main worktree; for a submodule that of the superproject.
pub(crate) fn main_root(context: &Context) -> Result<PathBuf, Failure> {
    let Some(repository) = &context.project.repository else {
        return Ok(context.project.root.clone());
    };
    if let Some(main) = &repository.main_top {
        return Ok(main.clone());
    }
    if repository.common_dir.file_name().is_some_and(|name| name == ".git") {
        return Ok(repository.top.clone());
    }
    // A submodule, or a separate git directory: ask git.
    let superproject =
        context.git().ask(&["rev-parse", "--show-superproject-working-tree"])?.text();
    if let Some(outer) =
        GitRepository::find(Path::new(&superproject)).filter(|_| !superproject.is_empty())
    {
        return Ok(outer.main_top.unwrap_or(outer.top));
    }
    let first = context.git().worktrees()?.into_iter().next().filter(|main| !main.bare);
    Ok(first.map_or_else(|| repository.top.clone(), |main| main.path))
}

/// Returns the home of the worktrees, as the settings define it.
pub(crate) fn home(context: &Context) -> Result<WorktreeHome, Failure> {
    let resolved =
        WorktreeHome::resolve(&main_root(context)?, &context.config()?, &context.project.tag());
    resolved.map_err(|error| {
        Failure::refused(error.to_string()).hint("mow config-set worktree.root .worktrees")
    })
}

/// Returns the planning directory of this project in the main root.
pub(crate) fn main_planning_dir(context: &Context, root: &Path) -> PathBuf {
    root.join(below_top(&context.project)).join(".planning")
}

/// Returns the path of the project relative to the top of its checkout.
pub(crate) fn below_top(project: &Project) -> PathBuf {
    project.below_top().to_path_buf()
}

/// The worktrees of the repository that exist.
pub(crate) enum ExistingWorktrees {
    /// Their real paths.
    Known(Vec<PathBuf>),
    /// Git could not list them, for this reason; all worktrees then count as existing.
    Unknown(String),
}

impl ExistingWorktrees {
    pub(crate) fn list(context: &Context) -> Self {
        if context.project.repository.is_none() {
            return Self::Unknown("not a git repository".to_owned());
        }
        match context.git().worktrees() {
            Ok(worktrees) => {
                let paths = worktrees.into_iter().map(|worktree| worktree.path);
                Self::Known(paths.filter_map(|path| fs::canonicalize(path).ok()).collect())
            }
            Err(error) => Self::Unknown(error.to_string()),
        }
    }

    pub(crate) fn contains(&self, worktree: &str) -> bool {
        let Self::Known(paths) = self else { return true };
        fs::canonicalize(worktree).is_ok_and(|path| paths.contains(&path))
    }
}

/// Notes that a claim was released because its worktree no longer exists.
pub(crate) fn notice_released(phase: &str, worktree: &str) {
    notice(&format!("released the stale claim on phase {phase}: worktree {worktree} is gone"));
}
