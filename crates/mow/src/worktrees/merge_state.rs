//! `worktree merge-state`: merges another version of STATE.md into the current one.

use std::path::{Path, PathBuf};

use mow_host::git::Git;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::state::merge::merge;
use serde_json::json;

use super::locations::below_top;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn run(
    context: &Context,
    files: &[PathBuf],
    branch: Option<&str>,
) -> Result<Output, Failure> {
    let changed = match (files, branch) {
        ([base, ours, theirs], _) => merge_files(context, base, ours, theirs)?,
        (_, Some(branch)) => merge_branch(context, branch)?,
        _ => return Err(Failure::refused("--branch or BASE OURS THEIRS is required")),
    };
    Ok(Output::pretty_json(json!({ "merged": true, "changed": changed })))
}

/// Three-way merge of files; writes the result to `ours`.
fn merge_files(
    context: &Context,
    base: &Path,
    ours: &Path,
    theirs: &Path,
) -> Result<bool, Failure> {
    let read = |file: &Path| {
        let bytes = disk::read(&context.path_from_cwd(file))?;
        bytes.ok_or_else(|| Failure::refused(format!("{} not found", file.display())))
    };
    let (base, theirs) = (read(base)?, read(theirs)?);
    read(ours)?;
    let path = context.path_from_cwd(ours);
    let dir = path.parent().unwrap_or(Path::new("/"));
    let writer = Writer::open(&context.project, WAIT_DEFAULT)?.with_root(dir)?;
    let change = writer.update(&path, |old| {
        Ok::<_, Failure>(Some(merge(&base, old.unwrap_or_default(), &theirs)))
    })?;
    Ok(change == disk::WriteOutcome::Written)
}

/// Merges the STATE.md of a branch into the project's.
fn merge_branch(context: &Context, branch: &str) -> Result<bool, Failure> {
    let git = Git::new(&context.project.root);
    let theirs = git.commit_of(branch)?.ok_or_else(|| {
        let name = branch.escape_debug();
        Failure::refused(format!("there is no branch `{name}`")).hint("git branch --list")
    })?;
    let file = below_top(&context.project).join(".planning/STATE.md");
    let base = git.ask(&["merge-base", "HEAD", &theirs])?;
    let base = if base.success { git.file_in(&base.text(), &file)? } else { None };
    let theirs = git
        .file_in(&theirs, &file)?
        .ok_or_else(|| Failure::refused(format!("branch {branch} has no {}", file.display())))?;
    let change = disk::update(&context.project, &context.planning("STATE.md"), |old| {
        let ours = old.ok_or_else(|| Failure::refused("STATE.md not found"))?;
        Ok::<_, Failure>(Some(merge(base.as_deref().unwrap_or_default(), ours, &theirs)))
    })?;
    Ok(change == disk::WriteOutcome::Written)
}
