//! What is noted where a reference moves.

use std::fs;
use std::io::Write;
use std::path::Path;

use gix::ObjectId;
use gix::actor::Signature;

/// Returns a line of a reflog; one without words ends after the time.
pub(super) fn line(
    (from, to): (ObjectId, ObjectId),
    committer: &Signature,
    words: &str,
) -> Option<Vec<u8>> {
    let mut line = format!("{from} {to} ").into_bytes();
    committer.write_to(&mut line).ok()?;
    if !words.is_empty() {
        line.push(b'\t');
        line.extend_from_slice(words.as_bytes());
    }
    line.push(b'\n');
    Some(line)
}

/// Adds a line to a reflog, or begins it.
#[expect(clippy::disallowed_methods, reason = "git's own files, to which only lines are added")]
pub(super) fn append(file: &Path, line: &[u8]) -> Option<()> {
    fs::create_dir_all(file.parent()?).ok()?;
    let mut log = fs::OpenOptions::new().append(true).create(true).open(file).ok()?;
    log.write_all(line).ok()
}
