//! `worktree merge` merges the branch of a phase into the target branch.
//!
//! If the target is checked out and clean in the main root, this is a plain `git merge`, and
//! conflicts are left there to be resolved ([`in_root`] explains why). Otherwise this is the manual
//! merge of `mow merge`, which needs no checkout. It leaves nothing in progress, and a branch that
//! is checked out elsewhere is only fast-forwarded together with its files.

mod in_root;

use mow_core::phase::PhaseNumber;
use mow_engine::EngineError;
use mow_engine::lead::{ManualMerge, ManualMergeOutcome, merge_manually};
use mow_host::git::Git;
use mow_host::rescue::ignored_files_overwritten_by;
use serde_json::json;

use crate::commands::run::current_program;
use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::{Output, warn};
use crate::worktrees::create::path_of;
use crate::worktrees::locations::phase_number;
use crate::worktrees::{home, manifest, target};

/// The arguments of `worktree merge`.
#[derive(Debug, clap::Args)]
pub(crate) struct WorktreeMergeArgs {
    /// The phase, such as 3 or 03
    phase: String,
    /// The target branch; by default git.target, the milestone branch, or the checked-out branch
    #[arg(long, value_name = "BRANCH", allow_hyphen_values = true)]
    into: Option<String>,
    /// Abort a merge that has conflicts instead of leaving it in progress
    #[arg(long)]
    abort_on_conflict: bool,
}

/// The result of a merge; `Conflicts` lists the conflicting files.
enum BranchMergeResult {
    Merged,
    Conflicts(Vec<String>),
}

/// One merge: the source branch, the target branch and the commit message.
struct BranchMerge {
    branch: String,
    into: String,
    message: String,
}

pub(super) fn run(context: &Context, args: &WorktreeMergeArgs) -> Result<Output, Failure> {
    let number = phase_number(&args.phase)?;
    if context.project.repository.is_none() {
        return Err(Failure::refused("merging needs a git repository").hint("git init"));
    }
    let home = home(context)?;
    let git = Git::new(&home.root);
    let entry = manifest::entry(&home, &number)?;
    let branch = entry.as_ref().and_then(|(_, entry)| entry.text("branch"));
    let branch = branch.unwrap_or_else(|| home.branch(&number));
    if !git.branch_exists(&branch)? {
        return Err(Failure::refused(format!("there is no branch {branch}"))
            .hint(format!("mow worktree create {}", args.phase)));
    }
    let into = target(context, &git, args.into.as_deref())?;
    if into == branch {
        return Err(Failure::refused(format!("{branch} cannot be merged into itself"))
            .hint(format!("mow worktree merge {} --into main", args.phase)));
    }
    if let Some((key, entry)) = &entry {
        let path = path_of(&home, key, entry);
        if path.is_dir() && Git::new(&path).is_dirty(true).unwrap_or(false) {
            warn(&format!("{} has uncommitted work, which is not merged", path.display()));
        }
    }
    let message = format!("merge: phase {} into {into}", args.phase);
    let merge = BranchMerge { branch, into, message };
    // A plain `git merge` would overwrite ignored files without a warning.
    let can_merge_in_root = git.current_branch()?.as_ref() == Some(&merge.into)
        && !git.is_dirty(false)?
        && ignored_files_overwritten_by(&git, &merge.branch).map_err(EngineError::from)?.is_empty();
    let merged = if can_merge_in_root {
        in_root::merge(&git, &merge, args.abort_on_conflict)?
    } else {
        merge_with_engine(context, &number, &merge)?
    };
    let files = match merged {
        BranchMergeResult::Conflicts(files) => files,
        BranchMergeResult::Merged => {
            if let Some((key, _)) = entry {
                let fields = [
                    ("merged", json!(true)),
                    ("merged_at", json!(now())),
                    ("status", json!("merged")),
                ];
                manifest::set(&home, &key, &fields)?;
            }
            return Ok(Output::json(json!({ "merged": true, "conflicts": false })));
        }
    };
    Ok(Output::json(json!({ "merged": false, "conflicts": true, "conflict_files": files })))
}

/// Merges like a run does, without a checkout, and fast-forwards the target branch.
fn merge_with_engine(
    context: &Context,
    number: &PhaseNumber,
    merge: &BranchMerge,
) -> Result<BranchMergeResult, Failure> {
    let exe = current_program()?;
    let (project, phases) = (&context.project, std::slice::from_ref(number));
    let into = Some(merge.into.as_str());
    let result = merge_manually(ManualMerge { project, exe: &exe, phases, into, dry_run: false })?;
    if let Some((reason, command)) = result.refused {
        let message = format!("{} cannot move: {reason}", merge.into);
        return Err(Failure::refused(message).hint(command));
    }
    match result.phases.into_iter().next() {
        Some((_, _, ManualMergeOutcome::Conflict { files, .. })) => {
            Ok(BranchMergeResult::Conflicts(files.into_iter().map(|file| file.path).collect()))
        }
        Some((_, _, ManualMergeOutcome::Failed { reason })) => {
            Err(Failure::refused(format!("git could not merge {}: {reason}", merge.branch)))
        }
        _ => Ok(BranchMergeResult::Merged),
    }
}
