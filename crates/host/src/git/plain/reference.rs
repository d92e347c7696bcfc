//! References: how they are locked and moved, and what is noted of that.
//!
//! Packed references are only read: their lock is everybody's, and whoever was killed with it would
//! keep all others out.

use std::fs;
use std::io::Write;
use std::path::Path;

use gix::ObjectId;
use gix::actor::Signature;

use super::Plain;
use super::lock::Lock;

impl Plain {
    /// Locks a reference if it stands where it should, or is not there as it should not;
    /// `Some(None)` when it is otherwise.
    pub(super) fn lock_at(&self, name: &str, at: Option<ObjectId>) -> Option<Option<Lock>> {
        let lock = Lock::take(&self.layout.common.join(name))?;
        let stands = self.layout.commit(name)?;
        Some((stands == at.map(|id| id.to_string())).then_some(lock))
    }

    /// Moves a reference of ours, of which nothing is noted; tells whether it stood where it should.
    pub(crate) fn swap(&self, name: &str, from: &str, to: &str) -> Option<bool> {
        let (from, to, common) = (Self::id(from)?, Self::id(to)?, &self.layout.common);
        let is_ours = name.starts_with("refs/mow/") && common.join(name).is_file();
        if !is_ours || common.join("logs").join(name).exists() {
            return None;
        }
        let Some(mut lock) = self.lock_at(name, Some(from))? else { return Some(false) };
        lock.write(|file| writeln!(file, "{to}").and_then(|()| file.sync_all()))?;
        failpoint::reach("merge.ref.locked");
        lock.commit().map(|()| true)
    }
}

/// Returns a line of a reflog; one without words ends after the time.
pub(super) fn log_line(
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
pub(super) fn append_log(file: &Path, line: &[u8]) -> Option<()> {
    fs::create_dir_all(file.parent()?).ok()?;
    let mut log = fs::OpenOptions::new().append(true).create(true).open(file).ok()?;
    log.write_all(line).ok()
}
