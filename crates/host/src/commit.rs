//! Creates commits in a worktree, with trailers that identify them later.
//!
//! These commits contain the user's code, so the user's hooks and signing run; if they refuse, the
//! error carries their output. A caller that may be repeating a step asks
//! [`find_commit_with_trailer`] first. Without changes nothing is committed.

mod restore;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::git::in_process::{InProcessRepo, PreparedCommit};
use crate::git::private_index::PrivateIndex;
use crate::git::{Git, GitError, GitOutput, has_lfs, is_below};
use crate::history::{History, HistoryCommit, find_commit_with_trailers};

pub use restore::{restore_files, revert_files, revert_paths};

/// How much output of git and its hooks an error keeps.
const OUTPUT_BYTES_MAX: usize = 8192;
/// The largest directory that is committed as a whole, without listing what is new in it.
const DIRECTORY_ENTRIES_MAX: usize = 1_000;
/// How long another process may keep the worktree's index locked, and how often it is tried again.
const INDEX_LOCK_WAIT_MAX: Duration = Duration::from_secs(10);
const INDEX_LOCK_RETRY_EVERY: Duration = Duration::from_millis(20);
/// The first bytes of a Git LFS pointer file.
const LFS_POINTER: &[u8] = b"version https://git-lfs";
/// How often a commit is tried when other processes commit in between.
const PRIVATE_INDEX_TRIES_MAX: usize = 10;

/// The reason why nothing was committed.
#[derive(Debug, Error)]
pub enum CommitError {
    /// A git command failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The repository has no commit to build on.
    #[error("the repository at {dir} has no commits yet")]
    NoCommits {
        /// The worktree.
        dir: PathBuf,
    },
    /// Git knows no author name or email address.
    #[error("git does not know your name and email address: {message}")]
    NoIdentity {
        /// Git's error message.
        message: String,
    },
    /// Git, a hook or the signing program refused the commit.
    #[error("the commit was refused: {output}")]
    Refused {
        /// The end of their output, line by line.
        output: String,
    },
    /// A file belongs to Git LFS, but without the `git-lfs` program its content would be committed
    /// as it is.
    #[error(
        "{path} belongs to Git LFS by .gitattributes, but git-lfs is not installed; install git-lfs"
    )]
    LfsMissing {
        /// The path below the worktree's top.
        path: String,
    },
    /// A hook removed the trailers that identify the commit; the commit was taken back.
    #[error(
        "a hook changed the message of a commit: the line `{line}` is missing from its last \
         paragraph, and mow needs it to recognise the commit; make the commit-msg and \
         prepare-commit-msg hooks keep that paragraph"
    )]
    TrailersRemoved {
        /// The missing trailer line.
        line: String,
    },
}

/// Which changes to commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Paths {
    /// All changes and all untracked files that are not ignored.
    All,
    /// Only these files, or those below these directories, relative to the worktree.
    Only(Vec<String>),
    /// All changes and untracked files except those below this directory.
    AllExcept(String),
    /// Only changes below this directory, which the caller has just written to.
    Directory(String),
}

/// Returns the last commit of a worktree.
pub fn head_commit(worktree: &Git) -> Result<String, CommitError> {
    let none = || CommitError::NoCommits { dir: worktree.dir().to_path_buf() };
    worktree.commit_of("HEAD")?.ok_or_else(none)
}

/// Returns an error when git knows no author or committer identity.
pub fn check_identity(git: &Git) -> Result<(), CommitError> {
    for identity in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
        let answer = git.ask(&["var", identity])?;
        if !answer.success {
            return Err(CommitError::NoIdentity { message: answer.error_line() });
        }
    }
    Ok(())
}

/// Returns whether the user has configured an identity. An address that git derives from the host
/// name does not count.
pub fn has_identity(git: &Git) -> Result<bool, GitError> {
    let ask = |identity| git.ask(&["-c", "user.useConfigOnly=true", "var", identity]);
    Ok(ask("GIT_AUTHOR_IDENT")?.success && ask("GIT_COMMITTER_IDENT")?.success)
}

/// Commits changes and returns the commit; `None` when there are none.
///
/// With [`Paths::Only`] nothing else is committed, even when it is staged.
pub fn commit_paths(
    worktree: &Git,
    paths: &Paths,
    message: &str,
    trailers: &[(&str, &str)],
) -> Result<Option<String>, CommitError> {
    let before = head_commit(worktree)?;
    let message = with_trailers(message, trailers);
    let commit = commit_in_process_or_git(
        worktree,
        worktree.in_process().as_ref(),
        paths,
        (&before, &message),
    )?;
    if commit.is_some() {
        failpoint::reach("commit.made");
    }
    Ok(commit)
}

/// Commits changes in our own process if possible, otherwise with git.
fn commit_in_process_or_git(
    worktree: &Git,
    in_process: Option<&InProcessRepo>,
    paths: &Paths,
    (before, message): (&str, &str),
) -> Result<Option<String>, CommitError> {
    let Some(staged) = stage(worktree, in_process, paths, message)? else { return Ok(None) };
    failpoint::reach("commit.staged");
    match staged {
        Staged::ByGit(changed) => commit_staged(worktree, paths, &changed, (before, message)),
        Staged::InProcess(ready) => match ready.finish() {
            Some(commit) => Ok(Some(commit)),
            None => commit_in_process_or_git(worktree, None, paths, (before, message)),
        },
    }
}

/// Changes that are staged for a commit.
enum Staged<'a> {
    /// Everything but moving the branch is done in our own process.
    InProcess(Box<PreparedCommit<'a>>),
    /// Git has added these paths, separated by NUL bytes.
    ByGit(Vec<u8>),
}

/// Finds the changes to commit and stages them; `None` when there are none.
fn stage<'a>(
    worktree: &Git,
    in_process: Option<&'a InProcessRepo>,
    paths: &Paths,
    message: &str,
) -> Result<Option<Staged<'a>>, CommitError> {
    let ready =
        |changed: &[&[u8]]| in_process.and_then(|repo| repo.prepare_commit(changed, message));
    match in_process.and_then(|repo| repo.uncommitted_paths(paths)) {
        Some(found) if found.is_empty() => return Ok(None),
        Some(found) => {
            let found: Vec<_> = found.iter().map(|path| path.as_slice()).collect();
            if let Some(ready) = ready(&found) {
                return Ok(Some(Staged::InProcess(Box::new(ready))));
            }
        }
        None => {}
    }
    if let Some(whole) = whole_directory(worktree, paths)
        && worktree.ask_with(&add_args(), &whole)?.success
    {
        return Ok(Some(Staged::ByGit(whole)));
    }
    let ChangedPaths { all, to_add } = list_changed_paths(worktree, paths)?;
    if all.is_empty() {
        return Ok(None);
    }
    // With [`Paths::All`], a file staged as removed is committed as removed even if it still
    // exists; only git does that.
    let matches_worktree = *paths != Paths::All || all == to_add;
    if matches_worktree && let Some(ready) = ready(&split_names(&all)) {
        return Ok(Some(Staged::InProcess(Box::new(ready))));
    }
    if let Some(path) = find_unstorable_lfs_file(worktree, &to_add)? {
        return Err(CommitError::LfsMissing { path });
    }
    if !to_add.is_empty() {
        worktree.run_with(&add_args(), &to_add)?;
    }
    Ok(Some(Staged::ByGit(all)))
}

/// Returns a file whose content belongs to Git LFS when `git-lfs` is not installed. Pointer files
/// are ordinary files.
fn find_unstorable_lfs_file(worktree: &Git, list: &[u8]) -> Result<Option<String>, GitError> {
    if has_lfs() || list.is_empty() {
        return Ok(None);
    }
    let answer = worktree.run_with(&["check-attr", "-z", "--stdin", "filter"], list)?.stdout;
    // Each answer is the path, the attribute and its value.
    let words: Vec<_> = answer.split(|byte| *byte == 0).collect();
    let of_lfs = words.chunks_exact(3).filter(|three| three[2] == b"lfs").map(|three| three[0]);
    let is_content = |path: &&[u8]| {
        let text = fs::read(worktree.dir().join(OsStr::from_bytes(path)));
        text.is_ok_and(|text| !text.starts_with(LFS_POINTER) && !text.is_empty())
    };
    let Some(path) = of_lfs.into_iter().find(is_content) else { return Ok(None) };
    // mow switches the filter off itself; the question is whether the user's settings require it.
    let required = worktree.ask(&["config", "--get-all", "filter.lfs.required"])?.text();
    let is_required = required.lines().any(|value| value == "true");
    Ok(is_required.then(|| String::from_utf8_lossy(path).into_owned()))
}

/// Arguments to pass paths on standard input, because a command line may be too short for all.
const FROM_LIST: [&str; 2] = ["--pathspec-from-file=-", "--pathspec-file-nul"];

fn add_args() -> Vec<&'static str> {
    [&["--literal-pathspecs", "add", "--all", "--sparse"], &FROM_LIST[..]].concat()
}

/// Commits the staged paths with git.
fn commit_staged(
    worktree: &Git,
    paths: &Paths,
    changed: &[u8],
    (before, message): (&str, &str),
) -> Result<Option<String>, CommitError> {
    let mut args =
        vec!["--literal-pathspecs", "-c", "maintenance.auto=false", "-c", "gc.auto=0", "commit"];
    args.extend(["--quiet", "--cleanup=whitespace", "--no-edit", "--message", message]);
    // During a merge git refuses a commit of only some changes, but not of all.
    let answer = if *paths == Paths::All {
        worktree.ask(&args)?
    } else {
        args.extend(["--only"].iter().chain(&FROM_LIST));
        worktree.ask_with(&args, &without_directories(worktree, changed))?
    };
    if answer.success {
        return find_own_commit(worktree, before, message).map(Some);
    }
    // The cause is only looked for after a failure, which is rare.
    if has_no_difference(worktree, changed)? {
        return Ok(None);
    }
    Err(refusal(worktree, &answer)?)
}

/// Returns the commit with our message that was made after `before`. Parallel agents and hooks may
/// have committed on top of it.
///
/// A commit whose trailers a hook removed is taken back.
fn find_own_commit(worktree: &Git, before: &str, message: &str) -> Result<String, CommitError> {
    let last_paragraph = message.lines().rev().take_while(|line| !line.is_empty());
    let ours: Vec<_> = last_paragraph.filter(|line| line.starts_with("Mow-")).collect();
    let (git, now) = (worktree.plumbing(), head_commit(worktree)?);
    let has = |one: &HistoryCommit, line: &str| {
        one.trailers.iter().any(|(key, value)| line == format!("{key}: {value}"))
    };
    // Take the oldest match: a later one may be a copy.
    let since = History::load(&git, before, &now)?.commits;
    let mut since = since.iter().rev();
    if let Some(own) = since.find(|one| ours.iter().all(|line| has(one, line))) {
        return Ok(own.commit.clone());
    }
    let last = git.run(&["log", "-1", "--format=%P%n%(trailers:only,unfold)", &now])?.text();
    if last.lines().next() == Some(before) {
        // Without trailers the commit could not be recognised; its changes become uncommitted
        // again.
        git.run(&["update-ref", "-m", "mow: taken back", "HEAD", before, &now])?;
    }
    let missing = ours.iter().find(|line| !last.lines().any(|one| one == **line));
    let line = missing.or(ours.first()).copied().unwrap_or_default().to_owned();
    Err(CommitError::TrailersRemoved { line })
}

/// Returns whether there is nothing to commit; `None` when only git can tell.
pub fn is_clean(worktree: &Git, paths: &Paths) -> Option<bool> {
    Some(worktree.in_process()?.uncommitted_paths(paths)?.is_empty())
}

/// Returns the reason why git refused a commit.
fn refusal(worktree: &Git, answer: &GitOutput) -> Result<CommitError, CommitError> {
    check_identity(worktree)?;
    Ok(CommitError::Refused { output: output_tail(answer) })
}

/// Commits the changes of some paths while other agents work in the same worktree.
///
/// The worktree's own index may hold changes that they staged. A private index is used, so neither
/// the commit nor the user's hooks see other paths. The caller makes one such commit at a time.
pub fn commit_with_private_index(
    worktree: &Git,
    paths: &[String],
    message: &str,
    trailers: &[(&str, &str)],
) -> Result<Option<String>, CommitError> {
    let paths = Paths::Only(paths.to_vec());
    let mut tries = 1;
    loop {
        let before = head_commit(worktree)?;
        let index = PrivateIndex::of_worktree(worktree)?;
        let made = match commit_paths(index.git(), &paths, message, trailers) {
            // Another process committed in between.
            Err(CommitError::Refused { .. })
                if tries < PRIVATE_INDEX_TRIES_MAX && head_commit(worktree)? != before =>
            {
                tries += 1;
                continue;
            }
            made => made?,
        };
        if let Some(commit) = &made {
            refresh_index(worktree, commit)?;
            failpoint::reach("commit.indexed");
        }
        return Ok(made);
    }
}

/// Updates the worktree's own index to the files that a commit changed.
fn refresh_index(worktree: &Git, commit: &str) -> Result<(), GitError> {
    let names = ["diff-tree", "--no-commit-id", "--name-only", "--no-renames", "-r", "-z", commit];
    let changed = worktree.plumbing().run(&names)?.stdout;
    let reset = [&["--literal-pathspecs", "reset", "--quiet"], &FROM_LIST[..]].concat();
    let end = Instant::now() + INDEX_LOCK_WAIT_MAX;
    // An agent's git may hold the index lock for a moment.
    while !worktree.plumbing().ask_with(&reset, &changed)?.success {
        if Instant::now() >= end {
            return worktree.plumbing().run_with(&reset, &changed).map(drop);
        }
        thread::sleep(INDEX_LOCK_RETRY_EVERY);
    }
    Ok(())
}

/// Creates an empty commit that marks a step with its trailers.
pub fn commit_marker(
    worktree: &Git,
    message: &str,
    trailers: &[(&str, &str)],
) -> Result<String, CommitError> {
    let (before, message) = (head_commit(worktree)?, with_trailers(message, trailers));
    // The user's hooks check changes and format messages; a marker needs neither.
    let args = ["commit", "--quiet", "--allow-empty", "--only", "--cleanup=whitespace"];
    let answer = worktree.plumbing().ask(&[&args[..], &["--message", &message]].concat())?;
    if !answer.success {
        return Err(refusal(worktree, &answer)?);
    }
    failpoint::reach("commit.marked");
    find_own_commit(worktree, &before, &message)
}

/// Returns the newest commit after `base` that carries a trailer.
pub fn find_commit_with_trailer(
    worktree: &Git,
    base: &str,
    key: &str,
    value: &str,
) -> Result<Option<String>, CommitError> {
    let range = format!("{base}..HEAD");
    Ok(find_commit_with_trailers(worktree, &[&range], &[(key, value)])?)
}

/// Returns a message with trailers as its last paragraph.
pub fn with_trailers(message: &str, trailers: &[(&str, &str)]) -> String {
    let mut text = format!("{}\n", message.trim_end());
    for (at, (key, value)) in trailers.iter().enumerate() {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let gap = if at == 0 { "\n" } else { "" };
        text.push_str(&format!("{gap}{key}: {value}\n"));
    }
    text
}

/// Paths with uncommitted changes, each with a NUL byte after it.
#[derive(Default)]
struct ChangedPaths {
    all: Vec<u8>,
    /// The paths that are not staged as removed; `git add` would not find the removed ones.
    to_add: Vec<u8>,
}

/// Lists the paths with uncommitted changes.
fn list_changed_paths(worktree: &Git, paths: &Paths) -> Result<ChangedPaths, GitError> {
    let mut args = vec!["--literal-pathspecs", "status", "--porcelain", "-z", "--no-renames"];
    args.extend(["--untracked-files=all", "--"]);
    match paths {
        Paths::Only(paths) if paths.is_empty() => return Ok(ChangedPaths::default()),
        Paths::Only(paths) => args.extend(paths.iter().map(String::as_str)),
        Paths::Directory(dir) => args.push(dir),
        Paths::All | Paths::AllExcept(_) => {}
    }
    let output = worktree.run(&args)?.stdout;
    let mut changed = ChangedPaths::default();
    let is_excepted = |path: &[u8]| match paths {
        Paths::AllExcept(dir) => is_below(path, dir.as_bytes()),
        _ => false,
    };
    // Two letters and a space stand before each path. A slash at the end marks a nested repository,
    // which is never committed.
    for line in output.split(|byte| *byte == 0).filter(|line| line.len() > 3) {
        if line.ends_with(b"/") || is_excepted(&line[3..]) {
            continue;
        }
        let path = [&line[3..], b"\0"].concat();
        changed.all.extend_from_slice(&path);
        if !line.starts_with(b"D ") {
            changed.to_add.extend(path);
        }
    }
    Ok(changed)
}

/// Splits a NUL-separated list of paths.
fn split_names(list: &[u8]) -> Vec<&[u8]> {
    list.split(|byte| *byte == 0).filter(|name| !name.is_empty()).collect()
}

/// Leaves out paths that were files and are directories now. Git would look for a repository there,
/// and the files in the directory replace the old file anyway.
fn without_directories(worktree: &Git, list: &[u8]) -> Vec<u8> {
    let names: BTreeSet<_> = split_names(list).into_iter().collect();
    let is_directory = |name: &[u8]| {
        let prefix = [name, b"/"].concat();
        let next = names.range(prefix.as_slice()..).next();
        let path = worktree.dir().join(OsStr::from_bytes(name));
        next.is_some_and(|next| next.starts_with(&prefix)) && path.is_dir() && !path.is_symlink()
    };
    let kept = names.iter().filter(|name| !is_directory(name));
    kept.flat_map(|name| [*name, b"\0"].concat()).collect()
}

/// Returns whether the staged paths are the same as in the last commit.
fn has_no_difference(worktree: &Git, paths: &[u8]) -> Result<bool, GitError> {
    let staged = worktree.run(&["diff", "--cached", "--name-only", "--no-renames", "-z"])?.stdout;
    let (staged, paths) = (split_names(&staged), BTreeSet::from_iter(split_names(paths)));
    let is_selected = |name: &&[u8]| {
        paths.contains(name) || (paths.len() == 1 && paths.iter().any(|dir| is_below(name, dir)))
    };
    Ok(!staged.iter().any(is_selected))
}

/// Returns a directory as a list of one path if it can be committed as a whole: it holds few files
/// and no nested repository.
fn whole_directory(worktree: &Git, paths: &Paths) -> Option<Vec<u8>> {
    let Paths::Directory(dir) = paths else { return None };
    let (mut left, mut count) = (vec![worktree.dir().join(dir)], 0);
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(dir).ok()? {
            let entry = entry.ok()?;
            count += 1;
            if entry.file_name() == ".git" || count > DIRECTORY_ENTRIES_MAX {
                return None;
            }
            if entry.file_type().ok()?.is_dir() {
                left.push(entry.path());
            }
        }
    }
    (count > 0).then(|| [dir.as_bytes(), b"\0"].concat())
}

fn output_tail(answer: &GitOutput) -> String {
    let both = [&answer.stdout[..], &answer.stderr[..]].concat();
    let from = both.len().saturating_sub(OUTPUT_BYTES_MAX);
    String::from_utf8_lossy(&both[from..]).trim().to_owned()
}

#[cfg(test)]
mod tests;
