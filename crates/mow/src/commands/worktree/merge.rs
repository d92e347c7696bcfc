//! `worktree merge`: a phase's branch into the target.
//!
//! With the target checked out and clean in the main root this is an ordinary merge, and conflicts
//! are left there to be solved. Otherwise the merge is made beside all checkouts: nothing is left
//! in progress, and a branch that is checked out somewhere only moves forward with its files.

use mow_core::phase::PhaseNumber;
use mow_engine::EngineError;
use mow_engine::lead::{ByHand, HandOutcome, by_hand};
use mow_host::git::Git;
use mow_host::rescue::{RescueError, ignored_in_the_way};
use serde_json::json;

use super::create::path_of;
use super::manifest;
use super::place::{home, phase_number};
use crate::commands::run::this_program;
use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::{Output, warn};

/// The arguments of `worktree merge`.
#[derive(Debug, clap::Args)]
pub(crate) struct Merge {
    /// The phase, such as 3 or 03
    phase: String,
    /// The branch that takes it; by default git.target, that of the milestone, or the one checked out
    #[arg(long, value_name = "BRANCH", allow_hyphen_values = true)]
    into: Option<String>,
    /// Do not leave a merge with conflicts in progress
    #[arg(long)]
    abort_on_conflict: bool,
}

/// What came of a merge.
enum Merged {
    Done,
    Conflicts(Vec<String>),
}

/// One merge to make.
struct Job {
    branch: String,
    into: String,
    message: String,
}

pub(super) fn run(context: &Context, args: &Merge) -> Result<Output, Failure> {
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
    let job = Job { branch, into, message };
    let failed = |error: RescueError| EngineError::Host(error.into());
    // Git would write over ignored files without a word.
    let is_at_hand = git.current_branch()?.as_ref() == Some(&job.into)
        && !git.is_dirty(false)?
        && ignored_in_the_way(&git, &job.branch).map_err(failed)?.is_empty();
    let merged = if is_at_hand {
        in_root(&git, &job, args.abort_on_conflict)?
    } else {
        aside(context, &number, &job)?
    };
    let files = match merged {
        Merged::Conflicts(files) => files,
        Merged::Done => {
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

/// Returns the branch that merges go to: the one named, the one set, that of the milestone where the
/// project has one, or else the one that is checked out in the main root.
pub(super) fn target(context: &Context, git: &Git, into: Option<&str>) -> Result<String, Failure> {
    Ok(mow_engine::lead::target(&context.project, git, into)?.0)
}

/// Merges in the main root, where the target is checked out.
fn in_root(git: &Git, job: &Job, abort: bool) -> Result<Merged, Failure> {
    let full = format!("refs/heads/{}", job.branch);
    let answer = git.ask(&["merge", "--no-ff", "--quiet", "-m", &job.message, &full])?;
    if answer.success {
        return Ok(Merged::Done);
    }
    let conflicts = git.conflicts()?;
    if conflicts.is_empty() {
        return Err(Failure::refused(format!(
            "git could not merge {}: {}",
            job.branch,
            answer.complaint()
        )));
    }
    if abort {
        git.run(&["merge", "--abort"])?;
    }
    Ok(Merged::Conflicts(conflicts))
}

/// Merges the way a run does it, without a checkout, and lets the target follow.
fn aside(context: &Context, number: &PhaseNumber, job: &Job) -> Result<Merged, Failure> {
    let exe = this_program()?;
    let (project, phases) = (&context.project, std::slice::from_ref(number));
    let into = Some(job.into.as_str());
    let handled = by_hand(ByHand { project, exe: &exe, phases, into, dry_run: false })?;
    if let Some((reason, command)) = handled.behind {
        let message = format!("{} cannot move: {reason}", job.into);
        return Err(Failure::refused(message).hint(command));
    }
    match handled.phases.into_iter().next() {
        Some((_, _, HandOutcome::Conflict { files, .. })) => {
            Ok(Merged::Conflicts(files.into_iter().map(|file| file.path).collect()))
        }
        Some((_, _, HandOutcome::Failed { reason })) => {
            Err(Failure::refused(format!("git could not merge {}: {reason}", job.branch)))
        }
        _ => Ok(Merged::Done),
    }
}
