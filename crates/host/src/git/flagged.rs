//! Which files of a worktree git was told not to look at, read from its index without git.
//!
//! Only an index in one piece that lists every file is read. Whatever looks unusual is `None`, and then
//! git itself is asked. Nothing is written here.

use std::fs;

use super::{Git, GitError};

/// The length of what stands before the name of an object in an entry: times, sizes, kind.
const STAT_BYTES: usize = 40;
const MODE_AT: usize = 24;
const ASSUME_UNCHANGED: u16 = 0x8000;
const HAS_MORE: u16 = 0x4000;
const SKIP_WORKTREE: u16 = 0x4000;

/// A file whose changes git was told not to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flagged {
    pub(crate) path: String,
    /// Whether it is a file to read; not a link, nor a repository.
    pub(crate) is_file: bool,
    pub(crate) object: String,
    /// Whether it need not be there at all.
    pub(crate) is_skipped: bool,
}

/// Lists the files whose changes git was told not to see.
pub(crate) fn flagged(worktree: &Git) -> Result<Vec<Flagged>, GitError> {
    let hash = worktree.commit_of("HEAD")?.map(|commit| commit.len() / 2);
    let index = fs::read(worktree.git_dir()?.join("index"));
    if let Some(found) = hash.zip(index.ok()).and_then(|(hash, index)| parse(&index, hash)) {
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
        is_file: about.trim_start().starts_with("100"),
        object: about.split_whitespace().nth(1)?.to_owned(),
        is_skipped: tag.eq_ignore_ascii_case(&b's'),
    })
}

/// Reads an index whose names of objects have a length.
fn parse(index: &[u8], hash: usize) -> Option<Vec<Flagged>> {
    let mut rest = Rest(index.strip_prefix(b"DIRC")?);
    let (version, count) = (rest.number()?, rest.number()?);
    if !(2..=4).contains(&version) {
        return None;
    }
    let (mut found, mut path) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let before = rest.0.len();
        let stat = rest.take(STAT_BYTES)?;
        let object = rest.take(hash)?;
        let flags = rest.short()?;
        let more = if flags & HAS_MORE == 0 { 0 } else { rest.short()? };
        if version == 4 {
            let kept = path.len().checked_sub(rest.varint()?)?;
            path.truncate(kept);
        } else {
            path.clear();
        }
        let name = rest.until_zero()?;
        path.extend_from_slice(name);
        if path.is_empty() {
            return None;
        }
        if version < 4 {
            // Entries are filled up to a length that eight divides; one zero is read already.
            rest.take((8 - (before - rest.0.len()) % 8) % 8)?;
        }
        if flags & ASSUME_UNCHANGED != 0 || more & SKIP_WORKTREE != 0 {
            found.push(Flagged {
                path: String::from_utf8_lossy(&path).into_owned(),
                is_file: stat[MODE_AT + 2] >> 4 == 0b1000,
                object: object.iter().map(|byte| format!("{byte:02x}")).collect(),
                is_skipped: more & SKIP_WORKTREE != 0,
            });
        }
    }
    is_all(rest, hash).then_some(found)
}

/// Returns whether what follows the entries says nothing of further ones: in another file, or in
/// directories that are listed as one.
fn is_all(mut rest: Rest<'_>, hash: usize) -> bool {
    while rest.0.len() > hash {
        // What may not be passed over has a small letter.
        let is_known = rest.take(4).is_some_and(|name| name[0].is_ascii_uppercase());
        let length = rest.number().and_then(|length| usize::try_from(length).ok());
        if !is_known || length.and_then(|length| rest.take(length)).is_none() {
            return false;
        }
    }
    rest.0.len() == hash
}

/// What is still to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn short(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    /// Reads a number of git's own kind, seven bits a byte.
    fn varint(&mut self) -> Option<usize> {
        let mut byte = self.take(1)?[0];
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.take(1)?[0];
            value =
                value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        }
        Some(value)
    }

    fn until_zero(&mut self) -> Option<&'a [u8]> {
        let length = self.0.iter().position(|byte| *byte == 0)?;
        let name = self.take(length)?;
        self.take(1)?;
        Some(name)
    }
}

#[cfg(test)]
mod tests;
