//! Changes that git was told not to see, or that its index denies, found by looking at the files
//! themselves.

use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use crate::git::flagged::{Flagged, Kind, flagged};
use crate::git::index::PrivateIndex;
use crate::git::{Git, GitError, is_below, parse_names};

/// Returns the files whose changes git was told not to see.
///
/// A sparse checkout has files that are not there at all; these hide nothing.
pub fn hidden(worktree: &Git) -> Result<Vec<String>, GitError> {
    let (mut hidden, mut absent) = (Vec::new(), Vec::new());
    for file in flagged(worktree)? {
        match worktree.dir().join(&file.path).symlink_metadata() {
            Ok(about) if is_same(worktree, &file, &about)? => {}
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

/// Returns whether a file is what the index says; a repository of its own is not looked into.
fn is_same(worktree: &Git, file: &Flagged, about: &Metadata) -> Result<bool, GitError> {
    let path = file.path.as_str();
    let now = match file.kind {
        Kind::Repository => return Ok(true),
        Kind::Link if about.is_symlink() => {
            let Ok(target) = fs::read_link(worktree.dir().join(path)) else { return Ok(false) };
            worktree.ask_with(&["hash-object", "--stdin"], target.as_os_str().as_bytes())?
        }
        // Where there are no links, a file names what one would point to.
        Kind::Link if is_on(worktree, "core.symlinks", true)? => return Ok(false),
        Kind::Link => worktree.ask(&["hash-object", "--no-filters", "--", path])?,
        Kind::File | Kind::Executable => {
            let runs = about.permissions().mode() & 0o100 != 0;
            let differs = runs != (file.kind == Kind::Executable);
            if !about.is_file() || (differs && is_on(worktree, "core.fileMode", true)?) {
                return Ok(false);
            }
            worktree.ask(&["hash-object", "--path", path, "--", path])?
        }
    };
    Ok(now.success && now.text() == file.object)
}

/// Returns which of some absent files should be there, by the rules of a sparse checkout.
fn missing(worktree: &Git, absent: Vec<String>) -> Result<Vec<String>, GitError> {
    if !is_on(worktree, "core.sparseCheckout", false)? {
        return Ok(absent);
    }
    let names: String = absent.iter().map(|path| format!("{path}\0")).collect();
    let answer = worktree.ask_with(&["sparse-checkout", "check-rules", "-z"], names.as_bytes())?;
    // Old ones cannot say.
    Ok(if answer.success { parse_names(&answer.stdout) } else { Vec::new() })
}

fn is_on(worktree: &Git, setting: &str, usual: bool) -> Result<bool, GitError> {
    let answer = worktree.ask(&["config", "--type=bool", "--get", setting])?;
    Ok(if answer.success { answer.text() == "true" } else { usual })
}

/// What tells one index from another: git replaces the file whenever it changes something in it.
pub type IndexStamp = Option<(u64, u64, i64, i64)>;

/// Returns which index a worktree has.
pub fn index_stamp(worktree: &Git) -> Result<IndexStamp, GitError> {
    let about = fs::metadata(worktree.git_dir()?.join("index")).ok();
    Ok(about.map(|about| (about.ino(), about.len(), about.ctime(), about.ctime_nsec())))
}

/// Returns whether files hold what a tree has, whatever the index says about them; those below a
/// directory do not count, and new ones neither.
pub fn holds(worktree: &Git, tree: &str, but: &str) -> Result<bool, GitError> {
    let index = PrivateIndex::empty(&worktree.plumbing())?;
    index.read_tree(tree)?;
    // It fails where files differ; which they are is asked after it.
    index.git().ask(&["update-index", "-q", "--refresh"])?;
    let diff = ["diff-files", "--name-only", "--no-renames", "-z"];
    let list = |filter| index.git().run(&[&diff[..], &[filter]].concat()).map(|it| it.stdout);
    let counts = |name: &&[u8]| !name.is_empty() && !is_below(name, but.as_bytes());
    if list("--diff-filter=d")?.split(|byte| *byte == 0).any(|name| counts(&name)) {
        return Ok(false);
    }
    let absent = list("--diff-filter=D")?;
    let absent = absent.split(|byte| *byte == 0).filter(counts);
    let absent: Vec<_> = absent.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    Ok(absent.is_empty() || missing(worktree, absent)?.is_empty())
}

/// Lets git see changes again that it was told not to see.
pub fn unhide(worktree: &Git, paths: &[String]) -> Result<(), GitError> {
    for flag in ["--no-assume-unchanged", "--no-skip-worktree"] {
        let args = ["update-index", flag, "--"].into_iter();
        let args: Vec<&str> = args.chain(paths.iter().map(String::as_str)).collect();
        worktree.run(&args)?;
    }
    Ok(())
}
