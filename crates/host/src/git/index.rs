//! An index of our own, to build trees in without touching the index of any worktree.
//!
//! It is a file in the directory that git keeps for the worktree, and goes away with the value.
//! What a killed process left behind is removed by the next one that needs an index there.

#![expect(clippy::disallowed_methods, reason = "these files are made and removed here alone")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::leftovers;
use super::{Git, GitError};

const PREFIX: &str = "mow-index.";

static COUNT: AtomicU32 = AtomicU32::new(0);

/// One file in an index or a tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// Names of files are bytes.
    pub(crate) path: Vec<u8>,
    /// The kind of file, as git writes it: `100644`.
    pub(crate) mode: String,
    pub(crate) object: String,
}

/// An index that only this value uses.
pub(crate) struct PrivateIndex {
    git: Git,
    path: PathBuf,
}

impl Drop for PrivateIndex {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

impl PrivateIndex {
    /// Makes an index that holds nothing.
    pub(crate) fn empty(git: &Git) -> Result<Self, GitError> {
        let dir = git.git_dir()?;
        leftovers::sweep(&dir, PREFIX);
        let number = COUNT.fetch_add(1, Ordering::Relaxed).to_string();
        let path = leftovers::path(&dir, PREFIX, &number);
        // In a container a dead process may have had our number.
        for left in [&path, &path.with_added_extension("lock")] {
            fs::remove_file(left).ok();
        }
        let git = git.with_env("GIT_INDEX_FILE", path.as_os_str());
        Ok(Self { git, path })
    }

    /// Makes a copy of the worktree's own index, which knows which files are unchanged; one that
    /// holds the last commit when there is none that can be used.
    pub(crate) fn of_worktree(git: &Git) -> Result<Self, GitError> {
        let index = Self::empty(git)?;
        let own = git.git_dir()?.join("index");
        let is_usable = copy_with_time(&own, &index.path).is_ok()
            && index.git.ask(&["ls-files", "--unmerged"])?.success;
        if !is_usable {
            fs::remove_file(&index.path).ok();
            if git.commit_of("HEAD")?.is_some() {
                index.read_tree("HEAD")?;
            }
        }
        Ok(index)
    }

    /// Returns git with this index.
    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    /// Fills the index with a tree.
    pub(crate) fn read_tree(&self, tree: &str) -> Result<(), GitError> {
        self.git.run(&["read-tree", "--reset", tree]).map(drop)
    }

    /// Writes the index as a tree.
    pub(crate) fn write_tree(&self) -> Result<String, GitError> {
        Ok(self.git.run(&["write-tree"])?.text())
    }

    /// Removes paths, then sets entries.
    pub(crate) fn edit(&self, removed: &[Vec<u8>], set: &[Entry]) -> Result<(), GitError> {
        let mut input = Vec::new();
        // A mode of zero removes; the name of the object has no meaning then.
        let nothing = self.git.run(&["hash-object", "-t", "tree", "/dev/null"])?.text();
        for path in removed {
            input.extend_from_slice(format!("0 {nothing}\t").as_bytes());
            input.extend_from_slice(path);
            input.push(0);
        }
        input.extend(lines(set));
        if input.is_empty() {
            return Ok(());
        }
        self.git.run_with(&["update-index", "-z", "--index-info"], &input).map(drop)
    }
}

/// Sets entries of whatever index git uses.
pub(crate) fn put(git: &Git, set: &[Entry]) -> Result<(), GitError> {
    if set.is_empty() {
        return Ok(());
    }
    let args = ["update-index", "--add", "-z", "--index-info"];
    git.run_with(&args, &lines(set)).map(drop)
}

/// Returns entries as git reads them.
fn lines(set: &[Entry]) -> Vec<u8> {
    let line = |Entry { path, mode, object }: &Entry| {
        [format!("{mode} {object}\t").as_bytes(), path, b"\0"].concat()
    };
    set.iter().flat_map(line).collect()
}

/// Copies an index together with the time of its last change.
///
/// Git trusts what an index says of a file unless the file changed at that time or later. With a
/// later time it would overlook changes that were made right after the index was written.
fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    let time = fs::metadata(from)?.modified()?;
    fs::copy(from, to)?;
    fs::OpenOptions::new().write(true).open(to)?.set_modified(time)
}

/// Returns the files of a tree below the given paths; all of them without any.
pub(crate) fn tree_entries(git: &Git, tree: &str, paths: &[&str]) -> Result<Vec<Entry>, GitError> {
    let mut args = vec!["--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", tree, "--"];
    args.extend(paths);
    Ok(git.run(&args)?.stdout.split(|byte| *byte == 0).filter_map(parse_entry).collect())
}

/// Reads `<mode> <kind> <object>\t<path>`.
fn parse_entry(line: &[u8]) -> Option<Entry> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let mut words = std::str::from_utf8(&line[..tab]).ok()?.split(' ');
    let (mode, _kind, object) = (words.next()?, words.next()?, words.next()?);
    let path = line[tab + 1..].to_vec();
    Some(Entry { path, mode: mode.to_owned(), object: object.to_owned() })
}

#[cfg(test)]
mod tests;
