//! Finds changed files that `git status` does not show, by comparing the files themselves.
//!
//! Files are hidden by the `assume-unchanged` and `skip-worktree` flags, or by a manipulated index.

use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use crate::git::index_flags::{FlaggedFile, IndexFileKind, list_flagged_files};
use crate::git::private_index::PrivateIndex;
use crate::git::{Git, GitError, is_below, parse_names};

/// Returns the changed or missing files that an `assume-unchanged` or `skip-worktree` flag hides.
///
/// Files that a sparse checkout leaves out are not counted as hidden.
pub fn find_hidden_changes(worktree: &Git) -> Result<Vec<String>, GitError> {
    let (mut hidden, mut absent) = (Vec::new(), Vec::new());
    for file in list_flagged_files(worktree)? {
        match worktree.dir().join(&file.path).symlink_metadata() {
            Ok(metadata) if is_same(worktree, &file, &metadata)? => {}
            Err(_) if file.is_skipped => absent.push(file.path),
            _ => hidden.push(file.path),
        }
    }
    if !absent.is_empty() {
        hidden.extend(missing(worktree, absent)?);
        hidden.sort_unstable();
    }
    Ok(hidden)
}

/// Returns whether a file equals its index entry. A submodule always counts as equal.
fn is_same(worktree: &Git, file: &FlaggedFile, metadata: &Metadata) -> Result<bool, GitError> {
    let path = file.path.as_str();
    let now = match file.kind {
        IndexFileKind::Repository => return Ok(true),
        IndexFileKind::Link if metadata.is_symlink() => {
            let Ok(target) = fs::read_link(worktree.dir().join(path)) else { return Ok(false) };
            worktree.ask_with(&["hash-object", "--stdin"], target.as_os_str().as_bytes())?
        }
        // On file systems without symlinks, git stores the link target in a regular file.
        IndexFileKind::Link if is_on(worktree, "core.symlinks", true)? => return Ok(false),
        IndexFileKind::Link => worktree.ask(&["hash-object", "--no-filters", "--", path])?,
        IndexFileKind::File | IndexFileKind::Executable => {
            let is_executable = metadata.permissions().mode() & 0o100 != 0;
            let differs = is_executable != (file.kind == IndexFileKind::Executable);
            if !metadata.is_file() || (differs && is_on(worktree, "core.fileMode", true)?) {
                return Ok(false);
            }
            worktree.ask(&["hash-object", "--path", path, "--", path])?
        }
    };
    Ok(now.success && now.text() == file.object)
}

/// Returns the absent files that the rules of a sparse checkout want to be present.
fn missing(worktree: &Git, absent: Vec<String>) -> Result<Vec<String>, GitError> {
    if !is_on(worktree, "core.sparseCheckout", false)? {
        return Ok(absent);
    }
    let names: String = absent.iter().map(|path| format!("{path}\0")).collect();
    let answer = worktree.ask_with(&["sparse-checkout", "check-rules", "-z"], names.as_bytes())?;
    // Git before 2.41 has no `check-rules`; then no absent file counts as hidden.
    Ok(if answer.success { parse_names(&answer.stdout) } else { Vec::new() })
}

fn is_on(worktree: &Git, setting: &str, default: bool) -> Result<bool, GitError> {
    let answer = worktree.ask(&["config", "--type=bool", "--get", setting])?;
    Ok(if answer.success { answer.text() == "true" } else { default })
}

/// Inode, length and change time (seconds, nanoseconds) of an index file; `None` if it does not
/// exist.
///
/// Git replaces the file with every change, so an equal stamp means an unchanged index.
pub type IndexStamp = Option<(u64, u64, i64, i64)>;

/// Returns the stamp of a worktree's index file.
pub fn index_stamp(worktree: &Git) -> Result<IndexStamp, GitError> {
    let metadata = fs::metadata(worktree.git_dir()?.join("index")).ok();
    Ok(metadata.map(|file| (file.ino(), file.len(), file.ctime(), file.ctime_nsec())))
}

/// Returns whether the worktree's files equal a tree, without trusting the worktree's index.
///
/// Files below the directory `except` and untracked files do not count.
pub fn files_match_tree(worktree: &Git, tree: &str, except: &str) -> Result<bool, GitError> {
    let index = PrivateIndex::empty(&worktree.plumbing())?;
    index.read_tree(tree)?;
    // This fails if files differ; `diff-files` lists them below.
    index.git().ask(&["update-index", "-q", "--refresh"])?;
    let diff = ["diff-files", "--name-only", "--no-renames", "-z"];
    let list = |filter| index.git().run(&[&diff[..], &[filter]].concat()).map(|it| it.stdout);
    let counts = |name: &&[u8]| !name.is_empty() && !is_below(name, except.as_bytes());
    if list("--diff-filter=d")?.split(|byte| *byte == 0).any(|name| counts(&name)) {
        return Ok(false);
    }
    let absent = list("--diff-filter=D")?;
    let absent = absent.split(|byte| *byte == 0).filter(counts);
    let absent: Vec<_> = absent.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    Ok(absent.is_empty() || missing(worktree, absent)?.is_empty())
}

/// Clears the flags that hide changes of these files from git.
pub fn unhide_changes(worktree: &Git, paths: &[String]) -> Result<(), GitError> {
    for flag in ["--no-assume-unchanged", "--no-skip-worktree"] {
        let args = ["update-index", flag, "--"].into_iter();
        let args: Vec<&str> = args.chain(paths.iter().map(String::as_str)).collect();
        worktree.run(&args)?;
    }
    Ok(())
}
