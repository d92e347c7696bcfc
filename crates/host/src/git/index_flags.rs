//! Lists the files that the user told git not to check for changes (assume-unchanged,
//! skip-worktree).
//!
//! The index is read without git if it is a single file that lists every path. Otherwise git is
//! asked. Nothing is written here.

use std::path::Path;

use gix::index::Entry;
use gix::index::entry::Flags;

use super::{Git, GitError, in_process};

/// A file whose changes git ignores because of a flag in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlaggedFile {
    pub(crate) path: String,
    pub(crate) kind: IndexFileKind,
    pub(crate) object: String,
    /// Whether the flag is skip-worktree, so that the file may be absent.
    pub(crate) is_skipped: bool,
}

/// The kind of a file in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexFileKind {
    File,
    Executable,
    Link,
    /// A nested repository, of which git stores a commit.
    Repository,
}

impl IndexFileKind {
    fn of(mode: u32) -> Self {
        match mode {
            0o100_755 => Self::Executable,
            0o120_000 => Self::Link,
            0o160_000 => Self::Repository,
            _ => Self::File,
        }
    }
}

/// Lists the files whose changes git ignores.
pub(crate) fn list_flagged_files(worktree: &Git) -> Result<Vec<FlaggedFile>, GitError> {
    if let Some(found) = read_flagged_files(&worktree.git_dir()?.join("index")) {
        return Ok(found);
    }
    let listing = worktree.run(&["ls-files", "-v", "--stage", "-z"])?.stdout;
    Ok(listing.split(|byte| *byte == 0).filter_map(parse_line).collect())
}

/// Reads `<tag> <mode> <object> <stage>\t<path>`.
fn parse_line(line: &[u8]) -> Option<FlaggedFile> {
    let (tag @ (b'a'..=b'z' | b'S'), rest) = line.split_first()? else { return None };
    let text = String::from_utf8_lossy(rest);
    let (fields, path) = text.split_once('\t')?;
    Some(FlaggedFile {
        path: path.to_owned(),
        kind: IndexFileKind::of(u32::from_str_radix(fields.split_whitespace().next()?, 8).ok()?),
        object: fields.split_whitespace().nth(1)?.to_owned(),
        is_skipped: tag.eq_ignore_ascii_case(&b's'),
    })
}

/// Reads the flagged files from an index that lists every file itself.
fn read_flagged_files(index: &Path) -> Option<Vec<FlaggedFile>> {
    let index = in_process::index::read(index)?;
    let is_flagged =
        |entry: &&Entry| entry.flags.intersects(Flags::ASSUME_VALID | Flags::SKIP_WORKTREE);
    let flagged_file = |entry: &Entry| FlaggedFile {
        path: entry.path(&index).to_string(),
        kind: IndexFileKind::of(entry.mode.bits()),
        object: entry.id.to_string(),
        is_skipped: entry.flags.contains(Flags::SKIP_WORKTREE),
    };
    Some(index.entries().iter().filter(is_flagged).map(flagged_file).collect())
}

#[cfg(test)]
mod tests;
