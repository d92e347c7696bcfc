//! Locks and moves refs, and writes their reflogs.
//!
//! Packed refs are only read: all processes share their lock, and a process that is killed while it
//! holds the lock would keep all others out.

use std::fs;
use std::io::Write;
use std::path::Path;

use gix::ObjectId;
use gix::actor::Signature;

use super::InProcessRepo;
use super::lock::LockFile;

impl InProcessRepo {
    /// Locks a ref if it points to the expected commit, or is absent as expected; `Some(None)` when
    /// it does not.
    pub(super) fn lock_ref(
        &self,
        name: &str,
        expected: Option<ObjectId>,
    ) -> Option<Option<LockFile>> {
        let lock = LockFile::acquire(&self.dirs.common_dir.join(name))?;
        let current = self.dirs.resolve_ref(name)?;
        Some((current == expected.map(|id| id.to_string())).then_some(lock))
    }

    /// Moves a ref below `refs/mow/`, which has no reflog; returns whether it pointed to `from`.
    pub(crate) fn move_own_ref(&self, name: &str, from: &str, to: &str) -> Option<bool> {
        let (from, to, common) = (Self::id(from)?, Self::id(to)?, &self.dirs.common_dir);
        let is_ours = name.starts_with("refs/mow/") && common.join(name).is_file();
        if !is_ours || common.join("logs").join(name).exists() {
            return None;
        }
        let Some(mut lock) = self.lock_ref(name, Some(from))? else { return Some(false) };
        lock.write(|file| writeln!(file, "{to}").and_then(|()| file.sync_all()))?;
        failpoint::reach("merge.ref.locked");
        lock.commit().map(|()| true)
    }
}

/// Returns one reflog line; without a message it ends after the time.
pub(super) fn reflog_line(
    (from, to): (ObjectId, ObjectId),
    committer: &Signature,
    message: &str,
) -> Option<Vec<u8>> {
    let mut line = format!("{from} {to} ").into_bytes();
    committer.write_to(&mut line).ok()?;
    if !message.is_empty() {
        line.push(b'\t');
        line.extend_from_slice(message.as_bytes());
    }
    line.push(b'\n');
    Some(line)
}

/// Appends a line to a reflog, and creates the reflog if needed.
#[expect(clippy::disallowed_methods, reason = "git's own files, to which only lines are added")]
pub(super) fn append_reflog(file: &Path, line: &[u8]) -> Option<()> {
    fs::create_dir_all(file.parent()?).ok()?;
    let mut log = fs::OpenOptions::new().append(true).create(true).open(file).ok()?;
    log.write_all(line).ok()
}
