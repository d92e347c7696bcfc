//! Brings the user's branch along to what a run has merged, without touching the user's work.
//!
//! A branch that is checked out nowhere is moved by compare-and-swap. One that is checked out is
//! fast-forwarded in that checkout, which leaves unrelated changes and ignored files alone; git itself
//! may refuse, and then nothing has changed and the answer names the one command that finishes the job. A
//! branch that is checked out is never moved behind its back: its owner would see the merge as
//! staged deletions.

mod begun;

use std::fs;
use std::path::{Path, PathBuf};

use crate::git::index::{Entry, tree_entries};
use crate::git::{Answer, Git, GitError, locks};

use begun::{Begun, begun};

/// The command that has the branch follow once more.
pub const AGAIN: &str = "mow run --all";
/// A variable for a setting without a value.
const NOTHING: &str = "MOW_NOTHING";

/// What came of following.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// The branch stands at the commit now.
    Updated,
    /// The branch contains the commit already.
    UpToDate,
    /// It cannot follow; nothing was changed.
    Refused {
        /// Why.
        reason: String,
        /// What the user can do about it.
        command_to_finish: String,
    },
}

/// Moves a branch forward to a commit.
///
/// `live` names files, or directories of files, that the engine edits in the checkout. Those that are
/// already as the commit has them stand in git's way only because they are not committed: they are
/// staged then, unless the user has staged something else there.
pub fn follow(
    root: &Path,
    branch: &str,
    commit: &str,
    live: &[String],
) -> Result<Followed, GitError> {
    let git = Git::new(root).plumbing();
    let full = format!("refs/heads/{branch}");
    let Some(old) = git.commit_of(&full)? else {
        let command_to_finish = format!("git branch {} {commit}", quoted(branch));
        return Ok(refused(format!("there is no branch {branch}"), command_to_finish));
    };
    let checkouts = checkouts(&git, &full)?;
    // The usual case: git itself looks whether the branch can move on.
    if let [(path, true)] = checkouts.as_slice()
        && !is_cut_off(path, (&old, commit))?
    {
        let checkout = Git::at_top(path);
        begun::begin(&checkout, branch, (&old, commit))?;
        failpoint::reach("follow.noted");
        let answer = fast_forward(path, branch, commit)?;
        match git.commit_of(&full)? {
            Some(now) if answer.success && now == commit => {
                begun::end(&checkout)?;
                return Ok(if now == old { Followed::UpToDate } else { Followed::Updated });
            }
            // The disk may be full.
            _ if begun::has_written(&checkout)? => {}
            _ => begun::end(&checkout)?,
        }
    }
    if git.is_ancestor(commit, &old)? {
        return Ok(Followed::UpToDate);
    }
    if !git.is_ancestor(&old, commit)? {
        let reason = format!("{branch} has commits that the run does not know");
        return Ok(refused(reason, command_to_merge(root, branch, commit)?));
    }
    match checkouts.as_slice() {
        [] => swap(&git, &full, commit, &old),
        [(path, true)] => stage_and_forward(path, (branch, commit), live),
        [(path, false)] => {
            let reason = format!("{branch} is in the middle of a rebase in {}", path.display());
            Ok(refused(reason, switch_and_merge(path, branch, commit)))
        }
        [(path, _), (other, _), ..] => {
            // In all but one of them the merge would look like staged deletions.
            let (path, other) = (path.display(), other.display());
            let reason = format!("{branch} is checked out in {path} and also in {other}");
            Ok(refused(reason, command_to_merge(root, branch, commit)?))
        }
    }
}

/// Returns whether somebody began to move a branch forward here and did not come to the end; what a
/// killed git left locked is unlocked.
fn is_cut_off(path: &Path, (old, commit): (&str, &str)) -> Result<bool, GitError> {
    let checkout = Git::at_top(path);
    let is_so = on_the_way(&checkout, (old, commit))?.is_some();
    if is_so {
        locks::clear_stale(&checkout)?;
    }
    Ok(is_so)
}

/// Returns what was begun from where a branch stands, on the way to a commit.
fn on_the_way(checkout: &Git, (old, commit): (&str, &str)) -> Result<Option<Begun>, GitError> {
    let Some(begun) = begun(checkout)?.filter(|begun| begun.from == old) else { return Ok(None) };
    Ok(checkout.is_ancestor(&begun.to, commit)?.then_some(begun))
}

/// Returns whether somebody began to move a branch forward in a checkout, and is perhaps at it still.
pub fn is_begun(root: &Path) -> Result<bool, GitError> {
    Ok(begun(&Git::at_top(root))?.is_some())
}

/// Brings a branch to where somebody was moving it in a checkout who died over it; returns it when it
/// is there. `live` is as in [`follow`].
pub fn finish(root: &Path, live: &[String]) -> Result<Option<String>, GitError> {
    let checkout = Git::at_top(root);
    let Some(begun) = begun(&checkout)? else { return Ok(None) };
    if checkout.commit_of("HEAD")?.as_ref() != Some(&begun.from) {
        if checkout.is_ancestor(&begun.to, "HEAD")? {
            begun::end(&checkout)?;
        }
        return Ok(None);
    }
    let followed = follow(root, &begun.branch, &begun.to, live)?;
    Ok((followed == Followed::Updated).then_some(begun.branch))
}

/// Returns the one command that merges a commit into a branch, and never into another one.
pub fn command_to_merge(root: &Path, branch: &str, commit: &str) -> Result<String, GitError> {
    let checkouts = checkouts(&Git::new(root).plumbing(), &format!("refs/heads/{branch}"))?;
    Ok(match checkouts.first() {
        Some((path, true)) => format!("{} merge {commit}", at(path)),
        Some((path, false)) => switch_and_merge(path, branch, commit),
        None => switch_and_merge(root, branch, commit),
    })
}

/// Returns the one command that moves a branch forward to a commit, or else merges that.
pub fn command_to_follow(
    root: &Path,
    (branch, commit): (&str, &str),
    live: &[String],
) -> Result<String, GitError> {
    let full = format!("refs/heads/{branch}");
    let checkouts = checkouts(&Git::new(root).plumbing(), &full)?;
    if let [(path, true)] = checkouts.as_slice() {
        let git = Git::at_top(path).plumbing();
        if git.is_ancestor(&full, commit)? {
            return Ok(forward_command(path, commit, &ready(&git, commit, live)?));
        }
    }
    command_to_merge(root, branch, commit)
}

/// Git refuses to switch in the middle of something, and then nothing is merged.
fn switch_and_merge(path: &Path, branch: &str, commit: &str) -> String {
    format!("{0} switch {1} && {0} merge {commit}", at(path), quoted(branch))
}

fn refused(reason: String, command_to_finish: String) -> Followed {
    Followed::Refused { reason, command_to_finish }
}

/// Finds where a branch is checked out, and whether it is so plainly or by a rebase.
fn checkouts(git: &Git, full: &str) -> Result<Vec<(PathBuf, bool)>, GitError> {
    let mut found = Vec::new();
    let common = git.common_dir()?;
    for mut worktree in git.worktrees()? {
        // Git takes its own directory for the main worktree where that lies elsewhere.
        if worktree.path == common && !worktree.bare {
            worktree.path = git.dir().to_path_buf();
        }
        // A worktree whose directory was deleted has no files that could be confused.
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

fn swap(git: &Git, full: &str, commit: &str, old: &str) -> Result<Followed, GitError> {
    let answer = git.ask(&["update-ref", "-m", "mow: follow the run", full, commit, old])?;
    failpoint::reach("follow.swapped");
    if answer.success {
        return Ok(Followed::Updated);
    }
    let command = format!("git fetch . {commit}:{}", quoted(full));
    Ok(refused(answer.complaint(), command))
}

/// Lets git move a branch forward where it is checked out, without regard to how the user merges into
/// it otherwise: that could be without a commit, or without what is merged.
///
/// Files that git ignores are the user's, too, and as a rule in no commit.
fn fast_forward(path: &Path, branch: &str, commit: &str) -> Result<Answer, GitError> {
    let options = format!("--config-env=branch.{branch}.mergeOptions={NOTHING}");
    let merge = ["merge", "--quiet", "--ff-only", "--no-overwrite-ignore", "--no-autostash"];
    let args = [&[options.as_str()], &merge[..], &["--no-stat", commit]].concat();
    let answer = Git::at_top(path).plumbing().with_env(NOTHING, "").ask(&args)?;
    failpoint::reach("follow.forwarded");
    Ok(answer)
}

/// Moves a branch forward that did not because of files that are not committed.
fn stage_and_forward(
    path: &Path,
    (branch, commit): (&str, &str),
    live: &[String],
) -> Result<Followed, GitError> {
    let git = Git::at_top(path).plumbing();
    let head = git.commit_of("HEAD")?;
    let begun = match &head {
        Some(head) => on_the_way(&git, (head, commit))?,
        None => None,
    };
    let written = match &begun {
        Some(begun) => begun::stage_written(&git, begun)?,
        None => Vec::new(),
    };
    failpoint::reach("follow.written");
    let (ready, mut staged) = (ready(&git, commit, live)?, Vec::new());
    for path in &ready {
        // Somebody may have the index locked, and nothing can be staged then.
        if git.ask(&["--literal-pathspecs", "add", "--force", "--sparse", "--", path])?.success {
            staged.push(path.clone().into_bytes());
        }
    }
    failpoint::reach("follow.staged");
    if let (None, Some(head)) = (&begun, &head) {
        begun::begin(&git, branch, (head, commit))?;
    }
    let answer = fast_forward(path, branch, commit)?;
    if answer.success && git.commit_of("HEAD")?.as_deref() == Some(commit) {
        begun::end(&git)?;
        return Ok(Followed::Updated);
    }
    let is_clean = written.is_empty() && !begun::has_written(&git)?;
    staged.extend(written);
    let unstaged = unstage(&git, &staged);
    if !is_clean {
        // Whatever is left is written to its end the next time.
        return Ok(refused(answer.complaint(), AGAIN.to_owned()));
    }
    unstaged?;
    begun::end(&git)?;
    let command = forward_command(path, commit, &ready);
    let reason = if answer.success {
        format!("git did not move {branch}, as settings of merges want it")
    } else {
        answer.complaint()
    };
    Ok(refused(reason, command))
}

/// Returns the files that are as a commit has them and not committed here.
fn ready(git: &Git, commit: &str, live: &[String]) -> Result<Vec<String>, GitError> {
    let mut ready = Vec::new();
    for path in dirty(git, live)? {
        if is_ready(git, commit, &path)? {
            ready.push(path);
        }
    }
    Ok(ready)
}

fn forward_command(path: &Path, commit: &str, ready: &[String]) -> String {
    let command = format!("{} merge --ff-only --no-overwrite-ignore {commit}", at(path));
    let add = format!("{} add -- {}", at(path), words(ready));
    if ready.is_empty() { command } else { format!("{add} && {command}") }
}

/// Returns those of some files, or of the files below them, that are not committed.
fn dirty(git: &Git, paths: &[String]) -> Result<Vec<String>, GitError> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let mut args = vec!["--literal-pathspecs", "status", "--porcelain", "-z", "--no-renames"];
    args.extend(["--untracked-files=all", "--"]);
    args.extend(paths.iter().map(String::as_str));
    let status = git.run(&args)?.stdout;
    // Two letters and a blank stand before each name.
    let lines = status.split(|byte| *byte == 0).filter(|line| line.len() > 3);
    Ok(lines.map(|line| String::from_utf8_lossy(&line[3..]).into_owned()).collect())
}

/// Returns whether a file is as the commit has it, and can be staged without loss.
fn is_ready(git: &Git, commit: &str, path: &str) -> Result<bool, GitError> {
    let (Some(wanted), head) = (blob(git, commit, path)?, blob(git, "HEAD", path)?) else {
        return Ok(false);
    };
    let index = git.ask(&["--literal-pathspecs", "ls-files", "--stage", "-z", "--", path])?;
    let in_index = index.text().split(' ').nth(1).map(str::to_owned);
    // Something else in the index is the user's.
    if in_index != head || in_index.as_ref() == Some(&wanted) || !git.dir().join(path).is_file() {
        return Ok(false);
    }
    Ok(git.run(&["hash-object", "--path", path, "--", path])?.text() == wanted)
}

/// Returns the beginning of a command that works in a directory.
fn at(path: &Path) -> String {
    format!("git -C {}", quoted(&path.to_string_lossy()))
}

fn words(paths: &[String]) -> String {
    paths.iter().map(|path| quoted(path)).collect::<Vec<_>>().join(" ")
}

/// Takes back what was staged, so that a refusal leaves no trace.
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
    Ok(entry.map(|Entry { object, .. }| object))
}

/// Returns a word as a shell reads it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests;
