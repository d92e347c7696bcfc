//! A private index file, to build trees without touching the index of any worktree.
//!
//! The file lies in the worktree's git directory and is removed when the value is dropped. Files
//! that a killed process left are removed by the next process that needs an index there.

#![expect(clippy::disallowed_methods, reason = "only this module creates and removes these files")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::process_files;
use super::{Git, GitError};

const PREFIX: &str = "mow-index.";

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A file in an index or a tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IndexEntry {
    /// Bytes, because file names need not be UTF-8.
    pub(crate) path: Vec<u8>,
    /// The mode as git writes it, for example `100644`.
    pub(crate) mode: String,
    pub(crate) object: String,
}

/// An index file that only this value uses.
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
    /// Creates an empty index.
    pub(crate) fn empty(git: &Git) -> Result<Self, GitError> {
        let dir = git.git_dir()?;
        process_files::remove_stale(&dir, PREFIX);
        let number = COUNT.fetch_add(1, Ordering::Relaxed).to_string();
        let path = process_files::path_for_this_process(&dir, PREFIX, &number);
        // In a container, a dead process may have had the same process id.
        for stale in [&path, &path.with_added_extension("lock")] {
            fs::remove_file(stale).ok();
        }
        let git = git.with_env("GIT_INDEX_FILE", path.as_os_str());
        Ok(Self { git, path })
    }

    /// Copies the worktree's own index, which knows unchanged files. If that is unusable, the index
    /// holds the last commit.
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

    /// Returns a [`Git`] that uses this index.
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
    pub(crate) fn edit(&self, removed: &[Vec<u8>], set: &[IndexEntry]) -> Result<(), GitError> {
        let mut input = Vec::new();
        // Mode zero removes an entry; the object hash is ignored then.
        let empty_tree = self.git.run(&["hash-object", "-t", "tree", "/dev/null"])?.text();
        for path in removed {
            input.extend_from_slice(format!("0 {empty_tree}\t").as_bytes());
            input.extend_from_slice(path);
            input.push(0);
        }
        input.extend(index_info(set));
        if input.is_empty() {
            return Ok(());
        }
        self.git.run_with(&["update-index", "-z", "--index-info"], &input).map(drop)
    }
}

/// Sets entries of the index that `git` uses.
pub(crate) fn set_index_entries(git: &Git, set: &[IndexEntry]) -> Result<(), GitError> {
    if set.is_empty() {
        return Ok(());
    }
    let args = ["update-index", "--add", "-z", "--index-info"];
    git.run_with(&args, &index_info(set)).map(drop)
}

/// Formats entries as `git update-index --index-info` reads them.
fn index_info(set: &[IndexEntry]) -> Vec<u8> {
    let line = |IndexEntry { path, mode, object }: &IndexEntry| {
        [format!("{mode} {object}\t").as_bytes(), path, b"\0"].concat()
    };
    set.iter().flat_map(line).collect()
}

/// Copies an index together with its mtime.
///
/// Git trusts an index entry unless the file was modified at the index's mtime or later. With a
/// later mtime, git would miss changes made right after the index was written.
fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    let time = fs::metadata(from)?.modified()?;
    fs::copy(from, to)?;
    fs::OpenOptions::new().write(true).open(to)?.set_modified(time)
}

/// Returns the files of a tree below the given paths, or all files if no path is given.
pub(crate) fn tree_entries(
    git: &Git,
    tree: &str,
    paths: &[&str],
) -> Result<Vec<IndexEntry>, GitError> {
    let mut args = vec!["--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", tree, "--"];
    args.extend(paths);
    Ok(git.run(&args)?.stdout.split(|byte| *byte == 0).filter_map(parse_entry).collect())
}

/// Reads `<mode> <kind> <object>\t<path>`.
fn parse_entry(line: &[u8]) -> Option<IndexEntry> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let mut words = std::str::from_utf8(&line[..tab]).ok()?.split(' ');
    let (mode, _kind, object) = (words.next()?, words.next()?, words.next()?);
    let path = line[tab + 1..].to_vec();
    Some(IndexEntry { path, mode: mode.to_owned(), object: object.to_owned() })
}

#[cfg(test)]
mod tests;
