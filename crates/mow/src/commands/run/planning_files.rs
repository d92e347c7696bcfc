//! Commits planning files before a run, because phases start from the last commit.

use mow_engine::EngineError;
use mow_engine::lead::is_look_ahead_file;
use mow_host::git::Git;
use mow_host::rescue;
use mow_store::project::Project;

use super::confirm;
use crate::commands::plural::counted;
use crate::failure::Failure;
use crate::output::notice;

/// Commits uncommitted planning files, after asking unless `yes`.
///
/// When a run continues, only files below `.planning/phases` are committed: the lead commits the
/// files that it writes itself.
pub(super) fn commit(project: &Project, yes: bool, continues: bool) -> Result<(), Failure> {
    let git = Git::new(&project.root);
    let ignored = git.ask(&["check-ignore", "--quiet", ".planning/STATE.md"])?.success;
    let is_enabled = mow_engine::run_context::config(project)?.settings().commit_docs;
    if ignored || !is_enabled {
        return Ok(());
    }
    let status = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--"];
    let mut paths = vec![if continues { ".planning/phases" } else { ".planning" }.to_owned()];
    let answer = git.run(&[&status[..], &[&paths[0]]].concat())?;
    let top = project.top();
    // Look-ahead files become part of a phase when it starts.
    let is_look_ahead = |name: &String| {
        continues
            && name.strip_prefix("?? ").is_some_and(|path| is_look_ahead_file(&top.join(path)))
    };
    let names = mow_host::git::parse_names(&answer.stdout).into_iter();
    let (look_ahead, names): (Vec<_>, Vec<_>) = names.partition(is_look_ahead);
    paths.extend(look_ahead.iter().map(|name| format!(":(top,exclude,literal){}", &name[3..])));
    let paths: Vec<_> = paths.iter().map(String::as_str).collect();
    let count = names.len();
    if count == 0 {
        return Ok(());
    }
    let files = counted(count, "planning file");
    let state = format!("{files} {} uncommitted", if count == 1 { "is" } else { "are" });
    let question = format!("{state}. Commit and continue?");
    if !yes && !confirm(&question)? {
        let message = format!("{state}. Phases start from the last commit.");
        return Err(Failure::refused(message).hint("git add .planning && git commit, or add --yes"));
    }
    // The commit takes the files as they are now. A staged version that differs would be lost.
    let is_staged_and_changed = |name: &String| match name.as_bytes() {
        [staged, after, ..] => !matches!(staged, b' ' | b'?') && *after != b' ',
        _ => false,
    };
    if names.iter().any(is_staged_and_changed)
        && let Some(rescued) =
            rescue::rescue_uncommitted(&Git::at_top(top), "planning").map_err(EngineError::from)?
    {
        notice(&format!(
            "the staged version is saved: mow rescue restore {}",
            rescued.short_name()
        ));
    }
    git.run(&[&["add", "--"], &paths[..]].concat())?;
    failpoint::reach("planning.staged");
    let commit = ["commit", "--quiet", "-m", "docs: planning files before a run", "--"];
    git.run(&[&commit[..], &paths].concat())?;
    failpoint::reach("planning.committed");
    notice(&format!("committed {files}"));
    Ok(())
}
