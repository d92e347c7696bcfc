//! Where worktrees are: the main root, their home, and which of them are alive.

use std::fs;
use std::path::{Path, PathBuf};

use mow_core::phase::PhaseNumber;
use mow_store::phase_dirs;
use mow_store::project::Project;
use mow_store::project::repository::Repository;
use mow_store::worktree_home::Home;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::notice;

/// Reads a phase argument.
pub(super) fn phase_number(phase: &str) -> Result<PhaseNumber, Failure> {
    phase_dirs::parse_argument(phase).ok_or_else(|| {
        Failure::refused(format!("`{}` is not a phase number", phase.escape_debug()))
            .hint("give a number such as 3, 03 or 3.1; mow roadmap phases lists them")
    })
}

/// Returns the top of the worktree the user is in; outside of git the directory itself.
pub(super) fn worktree_top(context: &Context) -> &Path {
    let repository = context.project.repository.as_ref();
    repository.map_or(&context.project.cwd, |repository| &repository.top)
}

/// Returns the top of the main worktree; that of the project around it for a submodule.
pub(super) fn main_root(context: &Context) -> Result<PathBuf, Failure> {
    let Some(repository) = &context.project.repository else {
        return Ok(context.project.root.clone());
    };
    if let Some(main) = &repository.main_top {
        return Ok(main.clone());
    }
    if repository.common_dir.file_name().is_some_and(|name| name == ".git") {
        return Ok(repository.top.clone());
    }
    // A submodule, or a git directory kept elsewhere: only git can tell.
    let around = context.git().ask(&["rev-parse", "--show-superproject-working-tree"])?.text();
    if let Some(outer) = Repository::find(Path::new(&around)).filter(|_| !around.is_empty()) {
        return Ok(outer.main_top.unwrap_or(outer.top));
    }
    let first = context.git().worktrees()?.into_iter().next().filter(|main| !main.bare);
    Ok(first.map_or_else(|| repository.top.clone(), |main| main.path))
}

/// Finds the home of the worktrees.
pub(crate) fn home(context: &Context) -> Result<Home, Failure> {
    let resolved = Home::resolve(&main_root(context)?, &context.config()?, &context.project.tag());
    resolved.map_err(|error| {
        Failure::refused(error.to_string()).hint("mow config-set worktree.root .worktrees")
    })
}

/// Returns the planning directory that a worktree shares its project with.
pub(super) fn main_planning(context: &Context, root: &Path) -> PathBuf {
    root.join(below_top(&context.project)).join(".planning")
}

/// Returns where the project lies below the top of its checkout.
pub(super) fn below_top(project: &Project) -> PathBuf {
    project.below_top().to_path_buf()
}

/// The worktrees of the repository that are there.
pub(super) enum Living {
    /// Their real paths.
    Known(Vec<PathBuf>),
    /// Git could not tell, for this reason; all are taken for alive then.
    Unknown(String),
}

impl Living {
    pub(super) fn ask(context: &Context) -> Self {
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

    pub(super) fn has(&self, worktree: &str) -> bool {
        let Self::Known(paths) = self else { return true };
        fs::canonicalize(worktree).is_ok_and(|path| paths.contains(&path))
    }
}

/// Tells that a claim was released because its worktree is gone.
pub(super) fn tell_released(phase: &str, worktree: &str) {
    notice(&format!("released the stale claim on phase {phase}: worktree {worktree} is gone"));
}
