//! Which files of a worktree git was told not to look at, read from its index without git.
//!
//! Only an index in one piece that lists every file is read. Whatever looks unusual is `None`, and then
//! git itself is asked. Nothing is written here.

use std::path::Path;

use gix::index::Entry;
use gix::index::entry::Flags;

use super::{Git, GitError, plain};

/// A file whose changes git was told not to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flagged {
    pub(crate) path: String,
    pub(crate) kind: Kind,
    pub(crate) object: String,
    /// Whether it need not be there at all.
    pub(crate) is_skipped: bool,
}

/// What git knows a file as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Executable,
    Link,
    /// A repository of its own, of which git knows a commit.
    Repository,
}

impl Kind {
    fn of(mode: u32) -> Self {
        match mode {
            0o100_755 => Self::Executable,
            0o120_000 => Self::Link,
            0o160_000 => Self::Repository,
            _ => Self::File,
        }
    }
}

/// Lists the files whose changes git was told not to see.
pub(crate) fn flagged(worktree: &Git) -> Result<Vec<Flagged>, GitError> {
    if let Some(found) = read(&worktree.git_dir()?.join("index")) {
        return Ok(found);
    }
    let listing = worktree.run(&["ls-files", "-v", "--stage", "-z"])?.stdout;
    Ok(listing.split(|byte| *byte == 0).filter_map(parse_line).collect())
}

/// Reads `<tag> <mode> <object> <stage>\t<path>`.
fn parse_line(line: &[u8]) -> Option<Flagged> {
    let (tag @ (b'a'..=b'z' | b'S'), rest) = line.split_first()? else { return None };
    let text = String::from_utf8_lossy(rest);
    let (about, path) = text.split_once('\t')?;
    Some(Flagged {
        path: path.to_owned(),
        kind: Kind::of(u32::from_str_radix(about.split_whitespace().next()?, 8).ok()?),
        object: about.split_whitespace().nth(1)?.to_owned(),
        is_skipped: tag.eq_ignore_ascii_case(&b's'),
    })
}

/// Reads them from an index that lists every file by itself.
fn read(index: &Path) -> Option<Vec<Flagged>> {
    let index = plain::index::read(index)?;
    let told = |entry: &&Entry| entry.flags.intersects(Flags::ASSUME_VALID | Flags::SKIP_WORKTREE);
    let flagged = |entry: &Entry| Flagged {
        path: entry.path(&index).to_string(),
        kind: Kind::of(entry.mode.bits()),
        object: entry.id.to_string(),
        is_skipped: entry.flags.contains(Flags::SKIP_WORKTREE),
    };
    Some(index.entries().iter().filter(told).map(flagged).collect())
}

#[cfg(test)]
mod tests;
