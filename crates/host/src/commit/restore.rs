//! Restores files to an earlier commit, with or without a commit of the result.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::{
    CommitError, FROM_LIST, check_identity, commit_marker, find_own_commit, head_commit,
    output_tail, split_names, with_trailers, without_directories,
};
use crate::git::{Git, GitError};

/// Reverts some paths to an earlier commit, by a new commit, which is returned.
///
/// The caller ensures that nothing is uncommitted and that nobody else works in the worktree.
pub fn revert_paths(
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
        return commit_marker(&git, message, trailers);
    }
    revert_files(worktree, to, &changed, message, trailers)
}

/// Reverts a NUL-terminated list of files to an earlier commit, by a new commit, which is returned.
///
/// The caller ensures that the files have no other changes and that nobody else works in the
/// worktree.
pub fn revert_files(
    worktree: &Git,
    to: &str,
    list: &[u8],
    message: &str,
    trailers: &[(&str, &str)],
) -> Result<String, CommitError> {
    let git = worktree.plumbing();
    check_identity(&git)?;
    restore_files(&git, to, list)?;
    failpoint::reach("undo.restored");
    let (before, message) = (head_commit(worktree)?, with_trailers(message, trailers));
    // Commit only these files: an agent's git may have left an index that lacks other commits'
    // files.
    let commit = ["--literal-pathspecs", "commit", "--quiet", "--cleanup=whitespace", "--only"];
    let args = [&commit[..], &["--message", &message], &FROM_LIST].concat();
    let answer = git.ask_with(&args, &without_directories(&git, list))?;
    if !answer.success {
        return Err(CommitError::Refused { output: output_tail(&answer) });
    }
    find_own_commit(worktree, &before, &message)
}

/// Restores a NUL-separated list of files, in the worktree and the index, to a commit.
///
/// Files that the commit lacks are removed first: a directory may have become a file, or a file a
/// directory.
#[expect(clippy::disallowed_methods, reason = "removes tracked files, as git would")]
pub fn restore_files(worktree: &Git, to: &str, list: &[u8]) -> Result<(), GitError> {
    let git = worktree.plumbing();
    let in_commit = git.run(&["ls-tree", "-r", "--name-only", "-z", to])?.stdout;
    let in_commit: BTreeSet<_> = split_names(&in_commit).into_iter().collect();
    let (restored, removed): (Vec<_>, Vec<_>) =
        split_names(list).into_iter().partition(|name| in_commit.contains(name));
    let listed = |names: &[&[u8]]| names.iter().flat_map(|name| [*name, b"\0"].concat()).collect();
    if !removed.is_empty() {
        let list: Vec<u8> = listed(&removed);
        git.run_with(&["update-index", "--force-remove", "-z", "--stdin"], &list)?;
        let paths = removed.iter().map(|name| worktree.dir().join(OsStr::from_bytes(name)));
        // A directory in place of the file was not in the list; nor was a file behind a link.
        let is_behind_link = |path: &Path| {
            let mut above = path.ancestors().skip(1).take_while(|above| *above != worktree.dir());
            above.any(Path::is_symlink)
        };
        paths.filter(|path| !is_behind_link(path)).for_each(|path| drop(fs::remove_file(path)));
    }
    if !restored.is_empty() {
        let source = format!("--source={to}");
        let restore = ["--literal-pathspecs", "restore", "--staged", "--worktree", &source];
        git.run_with(&[&restore[..], &FROM_LIST].concat(), &listed(&restored))?;
    }
    Ok(())
}
