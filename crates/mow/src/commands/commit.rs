//! `mow commit`: commits planning files, and only those that were named.

use std::time::Duration;

use clap::Args;
use mow_host::git::{Answer, Git, GitError};
use mow_store::disk::Lock;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, warn};

/// The arguments of `commit`.
#[derive(Debug, Args)]
#[command(
    after_help = "Only the named files are committed, whatever else is staged. Without --files it is all of .planning/.\nExample: mow commit \"docs: plan phase 3\" --files .planning/STATE.md .planning/ROADMAP.md"
)]
pub(crate) struct Commit {
    /// The message
    #[arg(allow_hyphen_values = true)]
    message: Option<String>,
    /// The files and directories to commit
    #[arg(long, num_args = 0.., value_name = "FILE")]
    files: Vec<String>,
    /// Put the changes into the last commit and keep its message
    #[arg(long)]
    amend: bool,
}

#[derive(Serialize)]
struct CommitJson<'a> {
    committed: bool,
    hash: Option<String>,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Commit {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let message = self.message.as_deref().unwrap_or("");
        if message.is_empty() && !self.amend {
            return Err(Failure::refused("commit message required")
                .hint("mow commit \"docs: what changed\" --files FILE"));
        }
        if message.starts_with("--") {
            return Err(Failure::refused(format!("unexpected argument '{message}'"))
                .hint("see `mow commit --help`"));
        }
        if !context.config()?.settings().commit_docs {
            return Ok(skipped("skipped_commit_docs_false"));
        }
        if is_ignored(&Git::new(&context.project.root)) {
            return Ok(skipped("skipped_gitignored"));
        }
        Ok(match self.commit(context, message) {
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

    /// Commits and returns the short hash; `None` when the named files hold no change.
    fn commit(&self, context: &Context, message: &str) -> Result<Option<String>, String> {
        if context.project.repository.is_none() {
            return Err("not a git repository".to_owned());
        }
        let _lock = one_at_a_time(context);
        // What the user named is relative to where the user is; our own default is not.
        let (git, files) = if self.files.is_empty() {
            (Git::new(&context.project.root), vec![".planning/"])
        } else {
            (context.git(), self.files.iter().map(String::as_str).collect())
        };
        for file in &files {
            let added = literally(&git, &["add", "--", file]).map_err(|error| error.to_string())?;
            if !added.success {
                warn(&format!("{file} was left out: {}", added.complaint()));
            }
        }
        let changed = changed(&git, &files)?;
        if changed.is_empty() && !self.amend {
            return Ok(None);
        }
        let mut args = vec!["commit", "--quiet"];
        match self.amend {
            true => args.extend(["--amend", "--no-edit"]),
            false => args.extend(["-m", message]),
        }
        // Nothing else goes in, even when it is staged.
        args.extend(["--only", "--"]);
        args.extend(&changed);
        succeeded(literally(&git, &args))?;
        let hash = succeeded(git.ask(&["rev-parse", "--short", "HEAD"]))?;
        Ok(Some(hash.text()))
    }
}

/// How long others may take for their commits, the user's hooks included.
const WAIT_COMMIT: Duration = Duration::from_secs(120);

/// Waits for others who commit in this checkout: git itself refuses instead of waiting.
pub(super) fn one_at_a_time(context: &Context) -> Option<Lock> {
    let repository = context.project.repository.as_ref()?;
    // Whoever comes too late, or cannot lock a directory, hears from git.
    Lock::acquire(&repository.git_dir, WAIT_COMMIT).ok()
}

/// Commits all planning files, where the project wants them committed.
pub(super) fn planning(context: &Context, message: &str) -> Result<Output, Failure> {
    let message = Some(message.to_owned());
    Commit { message, files: Vec::new(), amend: false }.run(context)
}

/// Runs git with paths that are names and never patterns.
fn literally(git: &Git, args: &[&str]) -> Result<Answer, GitError> {
    git.ask(&[&["--literal-pathspecs"], args].concat())
}

fn succeeded(answer: Result<Answer, GitError>) -> Result<Answer, String> {
    match answer {
        Ok(answer) if answer.success => Ok(answer),
        Ok(answer) => Err(answer.complaint()),
        Err(error) => Err(Failure::from(error).message),
    }
}

/// Returns those of the paths that have something to commit: git refuses the others as a whole.
fn changed<'a>(git: &Git, files: &[&'a str]) -> Result<Vec<&'a str>, String> {
    let mut changed = Vec::new();
    for file in files {
        let args = ["status", "--porcelain", "-z", "--untracked-files=no", "--", file];
        let status = succeeded(literally(git, &args))?;
        if !status.stdout.is_empty() {
            changed.push(*file);
        }
    }
    Ok(changed)
}

/// Returns whether git ignores the planning directory, tracked files in it or not.
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
