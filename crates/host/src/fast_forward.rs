//! Fast-forwards the user's branch to the run's target commit, without touching the user's work.
//!
//! A branch that is checked out nowhere is moved by compare-and-swap. A checked-out branch is
//! fast-forwarded by git in that checkout, which leaves unrelated changes and ignored files alone.
//! If git refuses, nothing changes and the outcome names the command that finishes the job. The ref
//! of a checked-out branch is never moved on its own: the user would see the merge as staged
//! deletions.

mod crash_note;

use std::fs;
use std::path::{Path, PathBuf};

use crate::git::private_index::{IndexEntry, tree_entries};
use crate::git::{Git, GitError, GitOutput, locks};
use crate::shell_words::quote;

use crash_note::{UnfinishedFastForward, read_note};

/// The command that retries the fast-forward.
pub const RETRY_COMMAND: &str = "mow run --all";
/// An environment variable that is set to the empty string, for `--config-env`.
const EMPTY_VARIABLE: &str = "MOW_NOTHING";

/// The outcome of a fast-forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FastForwardOutcome {
    /// The branch points to the commit now.
    Updated,
    /// The branch contained the commit already.
    UpToDate,
    /// The branch cannot be fast-forwarded; nothing was changed.
    Refused {
        /// The reason, for people.
        reason: String,
        /// A shell command with which the user can finish the fast-forward.
        command_to_finish: String,
    },
}

/// Fast-forwards a branch to a commit.
///
/// `live` names files, or directories of files, that the engine edits in the checkout. If such a
/// file already equals the commit's version, git refuses only because it is uncommitted. It is
/// staged then, unless the user has staged another version of it.
pub fn fast_forward_branch(
    root: &Path,
    branch: &str,
    commit: &str,
    live: &[String],
) -> Result<FastForwardOutcome, GitError> {
    let git = Git::new(root).plumbing();
    let full = format!("refs/heads/{branch}");
    let Some(old) = git.commit_of(&full)? else {
        let command_to_finish = format!("git branch {} {commit}", quote(branch));
        return Ok(refused(format!("there is no branch {branch}"), command_to_finish));
    };
    let checkouts = checkouts(&git, &full)?;
    // The usual case: let git itself check whether the branch can be fast-forwarded.
    if let [(path, true)] = checkouts.as_slice()
        && !is_interrupted(path, (&old, commit))?
    {
        let checkout = Git::at_top(path);
        crash_note::write_note(&checkout, branch, (&old, commit))?;
        failpoint::reach("follow.noted");
        let answer = run_fast_forward(path, branch, commit)?;
        match git.commit_of(&full)? {
            Some(now) if answer.success && now == commit => {
                crash_note::remove_note(&checkout)?;
                return Ok(if now == old {
                    FastForwardOutcome::UpToDate
                } else {
                    FastForwardOutcome::Updated
                });
            }
            // Git stopped in the middle, for example because the disk is full: keep the note.
            _ if crash_note::has_written_files(&checkout)? => {}
            _ => crash_note::remove_note(&checkout)?,
        }
    }
    if git.is_ancestor(commit, &old)? {
        return Ok(FastForwardOutcome::UpToDate);
    }
    if !git.is_ancestor(&old, commit)? {
        let reason = format!("{branch} has commits that the run does not have");
        return Ok(refused(reason, merge_command(root, branch, commit)?));
    }
    match checkouts.as_slice() {
        [] => swap(&git, &full, commit, &old),
        [(path, true)] => stage_and_fast_forward(path, (branch, commit), live),
        [(path, false)] => {
            let reason = format!("{branch} is in the middle of a rebase in {}", path.display());
            Ok(refused(reason, switch_and_merge(path, branch, commit)))
        }
        [(path, _), (other, _), ..] => {
            // In every checkout but one the merge would look like staged deletions.
            let (path, other) = (path.display(), other.display());
            let reason = format!("{branch} is checked out in {path} and also in {other}");
            Ok(refused(reason, merge_command(root, branch, commit)?))
        }
    }
}

/// Returns whether an earlier fast-forward in this checkout was interrupted; if so, removes the
/// stale locks of the killed git.
fn is_interrupted(path: &Path, (old, commit): (&str, &str)) -> Result<bool, GitError> {
    let checkout = Git::at_top(path);
    let is_interrupted = unfinished_towards(&checkout, (old, commit))?.is_some();
    if is_interrupted {
        locks::remove_stale_locks(&checkout)?;
    }
    Ok(is_interrupted)
}

/// Returns the unfinished fast-forward that started at `old` and leads towards `commit`, if any.
fn unfinished_towards(
    checkout: &Git,
    (old, commit): (&str, &str),
) -> Result<Option<UnfinishedFastForward>, GitError> {
    let Some(unfinished) = read_note(checkout)?.filter(|unfinished| unfinished.from == old) else {
        return Ok(None);
    };
    Ok(checkout.is_ancestor(&unfinished.to, commit)?.then_some(unfinished))
}

/// Returns whether a fast-forward in this checkout was started and not finished; it may still run.
pub fn has_unfinished(root: &Path) -> Result<bool, GitError> {
    Ok(read_note(&Git::at_top(root))?.is_some())
}

/// Finishes a fast-forward that a killed process left unfinished in this checkout.
///
/// Returns the branch if it was updated. `live` is as in [`fast_forward_branch`].
pub fn finish_interrupted(root: &Path, live: &[String]) -> Result<Option<String>, GitError> {
    let checkout = Git::at_top(root);
    let Some(unfinished) = read_note(&checkout)? else { return Ok(None) };
    if checkout.commit_of("HEAD")?.as_ref() != Some(&unfinished.from) {
        if checkout.is_ancestor(&unfinished.to, "HEAD")? {
            crash_note::remove_note(&checkout)?;
        }
        return Ok(None);
    }
    let outcome = fast_forward_branch(root, &unfinished.branch, &unfinished.to, live)?;
    Ok((outcome == FastForwardOutcome::Updated).then_some(unfinished.branch))
}

/// Returns a shell command that merges a commit into this branch, and never into another one.
pub fn merge_command(root: &Path, branch: &str, commit: &str) -> Result<String, GitError> {
    let checkouts = checkouts(&Git::new(root).plumbing(), &format!("refs/heads/{branch}"))?;
    Ok(match checkouts.first() {
        Some((path, true)) => format!("{} merge {commit}", git_in(path)),
        Some((path, false)) => switch_and_merge(path, branch, commit),
        None => switch_and_merge(root, branch, commit),
    })
}

/// Returns a shell command that fast-forwards a branch to a commit, or merges it if that is
/// impossible.
pub fn fast_forward_command(
    root: &Path,
    (branch, commit): (&str, &str),
    live: &[String],
) -> Result<String, GitError> {
    let full = format!("refs/heads/{branch}");
    let checkouts = checkouts(&Git::new(root).plumbing(), &full)?;
    if let [(path, true)] = checkouts.as_slice() {
        let git = Git::at_top(path).plumbing();
        if git.is_ancestor(&full, commit)? {
            return Ok(paste_command(path, commit, &stageable_files(&git, commit, live)?));
        }
    }
    merge_command(root, branch, commit)
}

/// Returns the command for a branch that is not checked out at `path`.
///
/// During a rebase or merge `git switch` fails, and then the command merges nothing.
fn switch_and_merge(path: &Path, branch: &str, commit: &str) -> String {
    format!("{0} switch {1} && {0} merge {commit}", git_in(path), quote(branch))
}

fn refused(reason: String, command_to_finish: String) -> FastForwardOutcome {
    FastForwardOutcome::Refused { reason, command_to_finish }
}

/// Lists the worktrees with this branch: `true` if it is checked out, `false` if a rebase is moving
/// it.
fn checkouts(git: &Git, full: &str) -> Result<Vec<(PathBuf, bool)>, GitError> {
    let mut found = Vec::new();
    let common = git.common_dir()?;
    for mut worktree in git.worktrees()? {
        // With a separate git directory, git lists that directory as the main worktree.
        if worktree.path == common && !worktree.bare {
            worktree.path = git.dir().to_path_buf();
        }
        // A worktree whose directory was deleted has no files that a moved ref could contradict.
        if worktree.bare || (!worktree.path.exists() && !worktree.locked) {
            continue;
        }
        if worktree.branch.as_deref() == Some(full) {
            found.push((worktree.path, true));
        } else if worktree.branch.is_none() && is_rebasing(&worktree.path, full) {
            found.push((worktree.path, false));
        }
    }
    Ok(found)
}

fn is_rebasing(path: &Path, full: &str) -> bool {
    let Ok(dir) = Git::at_top(path).git_dir() else { return false };
    ["rebase-merge/head-name", "rebase-apply/head-name"]
        .iter()
        .any(|name| fs::read_to_string(dir.join(name)).is_ok_and(|head| head.trim_end() == full))
}

fn swap(git: &Git, full: &str, commit: &str, old: &str) -> Result<FastForwardOutcome, GitError> {
    let answer = git.ask(&["update-ref", "-m", "mow: follow the run", full, commit, old])?;
    failpoint::reach("follow.swapped");
    if answer.success {
        return Ok(FastForwardOutcome::Updated);
    }
    let command = format!("git fetch . {commit}:{}", quote(full));
    Ok(refused(answer.error_line(), command))
}

/// Runs `git merge --ff-only` in a checkout of the branch.
///
/// The user's `branch.<name>.mergeOptions` are overridden: `--squash` or `-s ours` would not move
/// the branch to the commit. Ignored files are the user's and usually in no commit, so git must not
/// overwrite them.
fn run_fast_forward(path: &Path, branch: &str, commit: &str) -> Result<GitOutput, GitError> {
    let options = format!("--config-env=branch.{branch}.mergeOptions={EMPTY_VARIABLE}");
    let merge = ["merge", "--quiet", "--ff-only", "--no-overwrite-ignore", "--no-autostash"];
    let args = [&[options.as_str()], &merge[..], &["--no-stat", commit]].concat();
    let answer = Git::at_top(path).plumbing().with_env(EMPTY_VARIABLE, "").ask(&args)?;
    failpoint::reach("follow.forwarded");
    Ok(answer)
}

/// Fast-forwards a branch after staging the uncommitted files that made git refuse.
fn stage_and_fast_forward(
    path: &Path,
    (branch, commit): (&str, &str),
    live: &[String],
) -> Result<FastForwardOutcome, GitError> {
    let git = Git::at_top(path).plumbing();
    let head = git.commit_of("HEAD")?;
    let unfinished = match &head {
        Some(head) => unfinished_towards(&git, (head, commit))?,
        None => None,
    };
    let written = match &unfinished {
        Some(unfinished) => crash_note::stage_written_files(&git, unfinished)?,
        None => Vec::new(),
    };
    failpoint::reach("follow.written");
    let (stageable, mut staged) = (stageable_files(&git, commit, live)?, Vec::new());
    for path in &stageable {
        // Staging fails if another process holds the index lock; then git will refuse and say why.
        if git.ask(&["--literal-pathspecs", "add", "--force", "--sparse", "--", path])?.success {
            staged.push(path.clone().into_bytes());
        }
    }
    failpoint::reach("follow.staged");
    if let (None, Some(head)) = (&unfinished, &head) {
        crash_note::write_note(&git, branch, (head, commit))?;
    }
    let answer = run_fast_forward(path, branch, commit)?;
    if answer.success && git.commit_of("HEAD")?.as_deref() == Some(commit) {
        crash_note::remove_note(&git)?;
        return Ok(FastForwardOutcome::Updated);
    }
    let is_clean = written.is_empty() && !crash_note::has_written_files(&git)?;
    staged.extend(written);
    let unstaged = unstage(&git, &staged);
    if !is_clean {
        // The next attempt finishes the files that git left incomplete.
        return Ok(refused(answer.error_line(), RETRY_COMMAND.to_owned()));
    }
    unstaged?;
    crash_note::remove_note(&git)?;
    let command = paste_command(path, commit, &stageable);
    let reason = if answer.success {
        format!("git did not move {branch} because of the merge settings")
    } else {
        answer.error_line()
    };
    Ok(refused(reason, command))
}

/// Returns the uncommitted files among `live` that equal the commit's version and can be staged.
fn stageable_files(git: &Git, commit: &str, live: &[String]) -> Result<Vec<String>, GitError> {
    let mut stageable = Vec::new();
    for path in uncommitted_files(git, live)? {
        if is_stageable(git, commit, &path)? {
            stageable.push(path);
        }
    }
    Ok(stageable)
}

fn paste_command(path: &Path, commit: &str, stageable: &[String]) -> String {
    let command = format!("{} merge --ff-only --no-overwrite-ignore {commit}", git_in(path));
    let add = format!("{} add -- {}", git_in(path), quote_all(stageable));
    if stageable.is_empty() { command } else { format!("{add} && {command}") }
}

/// Returns the files at or below these paths that are uncommitted.
fn uncommitted_files(git: &Git, paths: &[String]) -> Result<Vec<String>, GitError> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let mut args = vec!["--literal-pathspecs", "status", "--porcelain", "-z", "--no-renames"];
    args.extend(["--untracked-files=all", "--"]);
    args.extend(paths.iter().map(String::as_str));
    let status = git.run(&args)?.stdout;
    // Two status letters and a blank precede each name.
    let lines = status.split(|byte| *byte == 0).filter(|line| line.len() > 3);
    Ok(lines.map(|line| String::from_utf8_lossy(&line[3..]).into_owned()).collect())
}

/// Returns whether a file equals the commit's version and can be staged without losing anything.
fn is_stageable(git: &Git, commit: &str, path: &str) -> Result<bool, GitError> {
    let (Some(wanted), head) = (blob(git, commit, path)?, blob(git, "HEAD", path)?) else {
        return Ok(false);
    };
    let index = git.ask(&["--literal-pathspecs", "ls-files", "--stage", "-z", "--", path])?;
    let in_index = index.text().split(' ').nth(1).map(str::to_owned);
    // Any other version in the index was staged by the user.
    if in_index != head || in_index.as_ref() == Some(&wanted) || !git.dir().join(path).is_file() {
        return Ok(false);
    }
    Ok(git.run(&["hash-object", "--path", path, "--", path])?.text() == wanted)
}

/// Returns the start of a git command that runs in a directory.
fn git_in(path: &Path) -> String {
    format!("git -C {}", quote(&path.to_string_lossy()))
}

fn quote_all(paths: &[String]) -> String {
    paths.iter().map(|path| quote(path)).collect::<Vec<_>>().join(" ")
}

/// Unstages files, so that a refusal leaves no trace.
fn unstage(git: &Git, paths: &[Vec<u8>]) -> Result<(), GitError> {
    if paths.is_empty() {
        return Ok(());
    }
    let list: Vec<u8> = paths.iter().flat_map(|path| [&path[..], b"\0"].concat()).collect();
    let reset = ["--literal-pathspecs", "reset", "--quiet", "--pathspec-from-file=-"];
    git.run_with(&[&reset[..], &["--pathspec-file-nul", "HEAD"]].concat(), &list).map(drop)
}

fn blob(git: &Git, commit: &str, path: &str) -> Result<Option<String>, GitError> {
    let entries = tree_entries(git, commit, &[path])?;
    let entry = entries.into_iter().find(|entry| entry.path == path.as_bytes());
    Ok(entry.map(|IndexEntry { object, .. }| object))
}

#[cfg(test)]
mod tests;
