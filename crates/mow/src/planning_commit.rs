//! Commits planning files, and no other files, even when those are staged.
//!
//! `mow commit`, the hooks and `mow close-shop` use this.

use std::time::Duration;

use mow_host::git::{Git, GitError, GitOutput};
use mow_store::disk::Lock;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, warn};

/// A commit of planning files.
pub(crate) struct PlanningCommit<'a> {
    /// The commit message; unused with `amend`.
    pub(crate) message: &'a str,
    /// Files and directories relative to the current directory; none means all of `.planning/`.
    pub(crate) files: &'a [String],
    /// Whether to amend the last commit, which keeps its message.
    pub(crate) amend: bool,
}

impl PlanningCommit<'_> {
    /// Commits, unless the settings or `.gitignore` exclude planning files.
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        if !context.config()?.settings().commit_docs {
            return Ok(skipped("skipped_commit_docs_false"));
        }
        if is_ignored(&Git::new(&context.project.root)) {
            return Ok(skipped("skipped_gitignored"));
        }
        Ok(match self.commit(context) {
            Ok(Some(hash)) => {
                let raw = hash.clone();
                let (hash, reason) = (Some(hash), "committed");
                Output::with_raw(CommitJson { committed: true, hash, reason, error: None }, raw)
            }
            Ok(None) => not_committed("nothing_to_commit", None),
            Err(error) => {
                warn(&format!("nothing was committed: {error}"));
                not_committed("commit_failed", Some(error))
            }
        })
    }

    /// Commits and returns the short hash; `None` when the files have no changes.
    fn commit(&self, context: &Context) -> Result<Option<String>, String> {
        if context.project.repository.is_none() {
            return Err("not a git repository".to_owned());
        }
        let _lock = lock_commits(context);
        // Files from the user are relative to the current directory; the default is not.
        let (git, files) = if self.files.is_empty() {
            (Git::new(&context.project.root), vec![".planning/"])
        } else {
            (context.git(), self.files.iter().map(String::as_str).collect())
        };
        for file in &files {
            let added = run_with_literal_paths(&git, &["add", "--", file])
                .map_err(|error| error.to_string())?;
            if !added.success {
                warn(&format!("{file} was not committed: {}", added.error_line()));
            }
        }
        let changed = changed(&git, &files)?;
        if changed.is_empty() && !self.amend {
            return Ok(None);
        }
        let mut args = vec!["commit", "--quiet"];
        match self.amend {
            true => args.extend(["--amend", "--no-edit"]),
            false => args.extend(["-m", self.message]),
        }
        // `--only` leaves out other files, even when they are staged.
        args.extend(["--only", "--"]);
        args.extend(&changed);
        require_success(run_with_literal_paths(&git, &args))?;
        let hash = require_success(git.ask(&["rev-parse", "--short", "HEAD"]))?;
        Ok(Some(hash.text()))
    }
}

/// How long to wait for other commits in this checkout, including the user's git hooks.
const WAIT_COMMIT: Duration = Duration::from_secs(120);

/// Locks commits in this checkout; git itself would fail instead of waiting.
pub(crate) fn lock_commits(context: &Context) -> Option<Lock> {
    let repository = context.project.repository.as_ref()?;
    // After a timeout, or without lock support, git reports the conflict.
    Lock::acquire(&repository.git_dir, WAIT_COMMIT).ok()
}

/// Commits all planning files, if the settings allow it.
pub(crate) fn commit_planning_files(context: &Context, message: &str) -> Result<Output, Failure> {
    PlanningCommit { message, files: &[], amend: false }.run(context)
}

/// Runs git with literal paths instead of patterns.
fn run_with_literal_paths(git: &Git, args: &[&str]) -> Result<GitOutput, GitError> {
    git.ask(&[&["--literal-pathspecs"], args].concat())
}

/// Turns a failed git command into its error line.
fn require_success(answer: Result<GitOutput, GitError>) -> Result<GitOutput, String> {
    match answer {
        Ok(answer) if answer.success => Ok(answer),
        Ok(answer) => Err(answer.error_line()),
        Err(error) => Err(Failure::from(error).message),
    }
}

/// Returns the paths with changes; git refuses a commit that names a path without one.
fn changed<'a>(git: &Git, files: &[&'a str]) -> Result<Vec<&'a str>, String> {
    let mut changed = Vec::new();
    for file in files {
        let args = ["status", "--porcelain", "-z", "--untracked-files=no", "--", file];
        let status = require_success(run_with_literal_paths(git, &args))?;
        if !status.stdout.is_empty() {
            changed.push(*file);
        }
    }
    Ok(changed)
}

/// Returns whether git ignores the planning directory, even if it has tracked files.
fn is_ignored(git: &Git) -> bool {
    let answer = git.ask(&["check-ignore", "--quiet", "--no-index", "--", ".planning"]);
    answer.is_ok_and(|answer| answer.success)
}

fn skipped(reason: &str) -> Output {
    Output::with_raw(CommitJson { committed: false, hash: None, reason, error: None }, "skipped")
}

fn not_committed(reason: &str, error: Option<String>) -> Output {
    Output::with_raw(CommitJson { committed: false, hash: None, reason, error }, "nothing")
}

/// The JSON output of `mow commit`.
#[derive(Serialize)]
struct CommitJson<'a> {
    committed: bool,
    hash: Option<String>,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}
