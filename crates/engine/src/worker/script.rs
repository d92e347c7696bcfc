//! Runs shell scripts of tasks, roles and checks, and names what they find in their environment.

use std::path::{Path, PathBuf};

use mow_core::phase::PhaseNumber;
use mow_host::shell::{ShellExit, ShellJob, ShellResult};
use mow_host::tamper_detection::REFLOG_ACTION_VARIABLE;
use mow_store::phase_dirs;

use super::phase_workspace::PhaseWorkspace;
use super::task_runner::TaskId;
use crate::EngineError;
use crate::activity;
use crate::run_context;

/// A script for a shell to run in a checkout.
pub(super) struct ShellScript<'a> {
    pub(super) text: &'a str,
    /// The shell: `sh` or `bash`.
    pub(super) program: &'a str,
    /// Part of the name of the script's log file.
    pub(super) label: &'a str,
    /// The checkout to run in; `None` for the phase's worktree.
    pub(super) top: Option<&'a Path>,
    pub(super) env: &'a [(&'a str, String)],
    /// The role that the script plays, and its task.
    pub(super) source: (&'a str, Option<TaskId<'a>>),
    /// The files whose changes show that the script is active. Empty means the whole checkout.
    pub(super) files: &'a [String],
}

/// Runs a script in a checkout. Its output goes to a log of its own.
pub(super) fn run(
    workspace: &PhaseWorkspace,
    script: &ShellScript<'_>,
) -> Result<ShellResult, EngineError> {
    let config = workspace.ctx.config()?;
    let root = script.top.unwrap_or(&workspace.worktree).join(workspace.ctx.below_top());
    let job = ShellJob {
        script: script.text.to_owned(),
        program: script.program.to_owned(),
        cwd: root.clone(),
        env: environment(workspace, script.top, script.env),
        marks: Some(workspace.marks()),
        log: workspace.log_file(script.label),
        timeout: run_context::minutes_setting(&config, "multi_phase.worker_timeout_min"),
        stuck_after: run_context::minutes_setting(&config, "multi_phase.stuck_after_min"),
        watched: match script.files {
            [] => vec![root],
            files => files.iter().map(|file| root.join(file)).collect(),
        },
    };
    let on_activity = &mut |activity| workspace.report_activity(activity);
    let stream = workspace.activity_stream(script.source.0, script.source.1);
    let end = activity::run_shell(&job, &workspace.stop, on_activity, &stream);
    workspace.report_active();
    end.map_err(EngineError::from)
}

/// Returns the environment variables of scripts and roles: names and paths, never file contents.
pub(super) fn environment(
    workspace: &PhaseWorkspace,
    top: Option<&Path>,
    more: &[(&str, String)],
) -> Vec<(String, String)> {
    let (brief, path) = (&workspace.brief, |path: &Path| path.display().to_string());
    let mut all = vec![
        ("MOW_WORKTREE", path(top.unwrap_or(&workspace.worktree))),
        (REFLOG_ACTION_VARIABLE, workspace.reflog_prefix()),
        ("MOW_PHASE_DIR", path(&workspace.phase_dir())),
        ("MOW_PHASE_NAME", brief.name.clone()),
        ("MOW_BASE", brief.base.clone()),
        ("MOW_PLANNING", path(&workspace.project.planning)),
    ];
    if let Some(through) = brief.through {
        all.push(("MOW_LOOKAHEAD", through.name().to_owned()));
        let dirs = brief.after.iter().filter_map(|number| dependency_dir(workspace, number));
        let dirs: Vec<_> = dirs.map(|dir| path(&dir)).collect();
        all.push(("MOW_DEPENDENCY_DIRS", dirs.join("\n")));
    }
    all.extend(more.iter().map(|(name, value)| (*name, value.clone())));
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns the directory of another phase: from that phase's worktree if plans are there, else
/// from the main worktree.
fn dependency_dir(workspace: &PhaseWorkspace, phase: &PhaseNumber) -> Option<PathBuf> {
    let (ctx, number) = (&workspace.ctx, phase.to_string());
    let worktree = ctx.worktree(phase).ok().map(|place| place.path);
    let in_worktree = worktree.and_then(|path| phase_dirs::find(&ctx.planning_in(&path), &number));
    let in_worktree = in_worktree.filter(|dir| dir.count(phase_dirs::PhaseFileKind::Plan) > 0);
    let dir = in_worktree.or_else(|| phase_dirs::find(&ctx.project.planning, &number));
    dir.map(|dir| dir.path)
}

/// Returns why a script failed, with its last line of output; `None` if it succeeded.
pub(crate) fn describe_failure(end: &ShellResult) -> Option<String> {
    let last = end.tail.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let output = last.map(|line| format!(": {line}")).unwrap_or_default();
    Some(match end.exit {
        ShellExit::Exited(0) => return None,
        ShellExit::Exited(code) => format!("exit {code}{output}"),
        ShellExit::Signalled(signal) => format!("ended by signal {signal}{output}"),
        ShellExit::TimedOut => format!("took longer than allowed{output}"),
        ShellExit::Stopped => "stopped".to_owned(),
    })
}
