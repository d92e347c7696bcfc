//! The files of a look-ahead in the worktree of its phase: reads them, removes them, and commits
//! them to the branch when the phase starts.

use std::path::{Path, PathBuf};

use mow_core::phase::PhaseNumber;
use mow_core::stage::Stage;
use mow_host::commit::{self, Paths};
use mow_host::git::{Git, parse_names};
use mow_host::rescue;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::phase_dirs;

use super::worktree::project_in;
use crate::EngineError;
use crate::link::LookAheadFile;
use crate::look_ahead_mark::{is_marked, stage_of};
use crate::run_context::{PhaseWorktree, RunContext};

/// Returns the files of complete stages, which are not committed.
pub(super) fn gather(
    ctx: &RunContext,
    phase: &PhaseNumber,
    through: Option<Stage>,
) -> Result<Vec<LookAheadFile>, EngineError> {
    let worktree = ctx.worktree(phase)?;
    let git = Git::at_top(&worktree.path);
    let planning = ctx.planning_in(&worktree.path);
    let Some(dir) = phase_dirs::find(&planning, &phase.to_string()) else {
        return Ok(Vec::new());
    };
    let base = git.commit_of("HEAD")?.unwrap_or_default();
    let below = phases_below_top(ctx).join(&dir.name);
    let mut files = Vec::new();
    for path in untracked(&git, &below)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if stage_of(&name).is_none_or(|stage| Some(stage) > through) {
            continue;
        }
        if let Some(bytes) = disk::read(&worktree.path.join(&path))? {
            let path = path.strip_prefix(&below).unwrap_or(&path).to_path_buf();
            files.push(LookAheadFile { dir: dir.name.clone(), path, bytes, base: base.clone() });
        }
    }
    Ok(files)
}

/// Resets the worktree to its commit. Removes the files `taken` and rescues all other changes.
///
/// The caller holds the repository lock.
pub(super) fn reset(
    ctx: &RunContext,
    phase: &PhaseNumber,
    taken: &[LookAheadFile],
) -> Result<(), EngineError> {
    let worktree = ctx.worktree(phase)?;
    if !taken.is_empty() {
        let project = project_in(ctx, &worktree)?;
        let writer = Writer::open(&project, WAIT_DEFAULT)?;
        for file in taken {
            let path = project.planning.join("phases").join(&file.dir).join(&file.path);
            // A file that was changed since it was gathered goes to the rescue ref.
            if disk::read(&path)?.is_some_and(|bytes| bytes == file.bytes) {
                writer.remove_file(&path)?;
            }
        }
    }
    rescue::reset_to(&Git::at_top(&worktree.path), &worktree.branch, "HEAD")?;
    Ok(())
}

/// Returns the untracked files below a directory, relative to the top of the worktree.
fn untracked(git: &Git, dir: &Path) -> Result<Vec<PathBuf>, EngineError> {
    let dir = dir.display().to_string();
    let args = ["--literal-pathspecs", "ls-files", "--others", "-z", "--", &dir];
    Ok(parse_names(&git.run(&args)?.stdout).into_iter().map(PathBuf::from).collect())
}

fn phases_below_top(ctx: &RunContext) -> PathBuf {
    ctx.below_top().join(".planning/phases")
}

/// Commits the look-ahead files that the phase's worktree has to its branch; removes them from the
/// root.
pub(super) fn commit_to_branch(
    ctx: &RunContext,
    worktree: &PhaseWorktree,
    phase: &PhaseNumber,
) -> Result<(), EngineError> {
    let Some(dir) = phase_dirs::find(&ctx.project.planning, &phase.to_string()) else {
        return Ok(());
    };
    let target = ctx.planning_in(&worktree.path).join("phases").join(&dir.name);
    let mut taken = Vec::new();
    for name in dir.files().filter(|name| stage_of(name).is_some()) {
        let bytes = disk::read(&dir.path.join(name))?.unwrap_or_default();
        if is_marked(&bytes)
            && disk::read(&target.join(name))?.is_some_and(|current| current == bytes)
        {
            taken.push(name.to_owned());
        }
    }
    if taken.is_empty() || !ctx.commits_docs()? {
        return Ok(());
    }
    let below = phases_below_top(ctx).join(&dir.name);
    let number = phase.to_string();
    let subject = format!("docs({}): what was done ahead", phase.padded());
    let paths = taken.iter().map(|name| below.join(name).display().to_string()).collect();
    let git = Git::at_top(&worktree.path);
    commit::commit_paths(&git, &Paths::Only(paths), &subject, &[("Mow-Phase", &number)])?;
    failpoint::reach("ahead.committed");
    let loose = untracked(&Git::at_top(ctx.top()), &below)?;
    let writer = Writer::open(&ctx.project, WAIT_DEFAULT)?;
    for name in taken.iter().filter(|name| loose.contains(&below.join(name))) {
        writer.remove_file(&dir.path.join(name))?;
        failpoint::reach("ahead.taken");
    }
    Ok(())
}
