//! Moves uncommitted changes to a rescue ref, and resets the worktree to the last commit.

use mow_host::commit::{self, Paths};
use mow_host::in_progress;

use super::phase_workspace::PhaseWorkspace;
use crate::EngineError;

/// Rescues uncommitted changes and resets their files to the last commit. No paths means all
/// files.
///
/// Planning files stay: the worker writes them, not the task. Returns the name of the rescue ref,
/// if there was anything to keep.
pub(super) fn set_aside_changes(
    workspace: &PhaseWorkspace,
    label: &str,
    paths: &[String],
) -> Result<Option<String>, EngineError> {
    let git = workspace.git();
    let name = workspace.rescue_name(label);
    if in_progress::has_operation(&git)? {
        // Otherwise the task's commit would conclude the merge in progress and undo what it
        // merged.
        workspace.rescue_uncommitted(&name)?;
        in_progress::quit_operation(&git)?;
    }
    let planning = workspace.planning_below_top();
    if paths.is_empty() && commit::is_clean(&git, &Paths::AllExcept(planning.clone())) == Some(true)
    {
        return Ok(None);
    }
    let exclude_planning = format!(":(exclude,top){planning}");
    let mut paths: Vec<_> = paths.iter().map(|path| format!(":(top,literal){path}")).collect();
    if paths.is_empty() {
        paths.push(":(top)".to_owned());
    }
    paths.push(exclude_planning);
    let with_paths = |words: &[&'static str]| -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).chain(paths.iter().cloned()).collect()
    };
    let answer = git.run(&with_paths(&["status", "--porcelain", "-z", "--no-renames", "--"]))?;
    if answer.stdout.is_empty() {
        return Ok(None);
    }
    let rescued = workspace.rescue_uncommitted(&name)?;
    failpoint::reach("task.rescued");
    let is_tracked = |entry: &&[u8]| entry.len() > 3 && !entry.starts_with(b"??");
    let tracked: Vec<_> =
        answer.stdout.split(|byte| *byte == 0).filter(is_tracked).map(|e| &e[3..]).collect();
    if !tracked.is_empty() {
        commit::restore_files(&git, "HEAD", &tracked.join(&0))?;
        failpoint::reach("task.restored");
    }
    git.plumbing().run(&with_paths(&["clean", "--quiet", "-d", "--force", "--"]))?;
    failpoint::reach("task.cleaned");
    Ok(rescued.map(|rescued| rescued.name))
}
