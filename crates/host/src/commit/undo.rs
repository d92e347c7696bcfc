//! Brings files back to what they were.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::{
    CommitError, FROM_LIST, commit_mark, head, identity_ok, names, own_since, said, with_trailers,
    without_folders,
};
use crate::git::{Git, GitError};

/// Brings some paths back to what they were in an earlier commit, by a commit of our own.
///
/// Nothing may be uncommitted, and nobody else may be at work in the worktree.
pub fn undo(
    worktree: &Git,
    paths: &[String],
    to: &str,
    message: &str,
    trailers: &[(&str, &str)],
) -> Result<String, CommitError> {
    let git = worktree.plumbing();
    let mut names = vec!["--literal-pathspecs", "diff", "--name-only", "--no-renames", "-z"];
    names.extend([to, "HEAD", "--"].into_iter().chain(paths.iter().map(String::as_str)));
    let changed = git.run(&names)?.stdout;
    if changed.is_empty() {
        return commit_mark(&git, message, trailers);
    }
    put_back(worktree, to, &changed, message, trailers)
}

/// Brings files of a list, each ended by a zero, back to what they were in an earlier commit, by a commit
/// of our own.
///
/// They may not be changed otherwise, and nobody else may be at work in the worktree.
pub fn put_back(
    worktree: &Git,
    to: &str,
    list: &[u8],
    message: &str,
    trailers: &[(&str, &str)],
) -> Result<String, CommitError> {
    let git = worktree.plumbing();
    identity_ok(&git)?;
    restore(&git, to, list)?;
    failpoint::reach("undo.restored");
    let (before, message) = (head(worktree)?, with_trailers(message, trailers));
    // Only these: an agent's git may have left an index that lacks what others committed.
    let commit = ["--literal-pathspecs", "commit", "--quiet", "--cleanup=whitespace", "--only"];
    let words = [&commit[..], &["--message", &message], &FROM_LIST].concat();
    let answer = git.ask_with(&words, &without_folders(&git, list))?;
    if !answer.success {
        return Err(CommitError::Refused { output: said(&answer) });
    }
    own_since(worktree, &before, &message)
}

/// Brings files of a list back to what they are in a commit.
///
/// What is not there goes first: a folder may have become a file, or a file a folder.
#[expect(clippy::disallowed_methods, reason = "what git had there goes, as git would do it")]
pub fn restore(worktree: &Git, to: &str, list: &[u8]) -> Result<(), GitError> {
    let git = worktree.plumbing();
    let there = git.run(&["ls-tree", "-r", "--name-only", "-z", to])?.stdout;
    let there: BTreeSet<_> = names(&there).into_iter().collect();
    let (back, gone): (Vec<_>, Vec<_>) =
        names(list).into_iter().partition(|name| there.contains(name));
    let listed = |names: &[&[u8]]| names.iter().flat_map(|name| [*name, b"\0"].concat()).collect();
    if !gone.is_empty() {
        let list: Vec<u8> = listed(&gone);
        git.run_with(&["update-index", "--force-remove", "-z", "--stdin"], &list)?;
        let there = gone.iter().map(|name| worktree.dir().join(OsStr::from_bytes(name)));
        // A folder in its place is not what was in the list, nor is what lies behind a link.
        let is_behind_link = |path: &Path| {
            let mut above = path.ancestors().skip(1).take_while(|above| *above != worktree.dir());
            above.any(Path::is_symlink)
        };
        there.filter(|path| !is_behind_link(path)).for_each(|path| drop(fs::remove_file(path)));
    }
    if !back.is_empty() {
        let source = format!("--source={to}");
        let restore = ["--literal-pathspecs", "restore", "--staged", "--worktree", &source];
        git.run_with(&[&restore[..], &FROM_LIST].concat(), &listed(&back))?;
    }
    Ok(())
}
