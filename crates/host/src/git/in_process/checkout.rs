//! Writes the files and the index of a worktree that has neither, as `git reset --hard` would.
//!
//! Files are only created: existing files are never opened, and links are never followed. Settings
//! and attributes must not change contents. A process that dies or gives up leaves what a killed
//! git leaves: some of the files, and no index.

mod blob_cache;
mod index_writer;
mod tree;

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, SystemTime};

use gix::ObjectId;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat, Timespec, Timestamps};

use super::InProcessRepo;
use super::lock::LockFile;
use super::reference::{append_reflog, reflog_line};
use crate::git::Git;
use index_writer::IndexWriter;
use tree::{CheckoutTree, FileKind, TreeItem};

/// How far file mtimes are backdated, to keep entries of the new index from being racy: more than a
/// tick of the slowest clock.
///
/// mow reads every file again that is not older than the index, because it may have changed since;
/// a change gives a file a new mtime. Most builds of git compare whole seconds. Backdated by more
/// than a second, a file could be replaced by one of equal size and mtime without git noticing.
/// Build results from another worktree, made shortly before, would also seem newer.
const BACKDATED_BY: Duration = Duration::from_millis(20);

/// How directories are opened: never through a link.
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl InProcessRepo {
    /// Writes the files of the last commit and the index, in a worktree that has neither; `git`
    /// runs at its top.
    pub(crate) fn checkout(&self, git: &Git) -> Option<()> {
        let git_dir = &self.dirs.git_dir;
        let is_new = !git_dir.join("index").exists() && !git_dir.join("ORIG_HEAD").exists();
        if !is_new || !self.has_default_checkout_settings() || self.converts_all_files() {
            return None;
        }
        let [_, committer] = self.author_and_committer()?;
        let head = self.dirs.resolve_ref("HEAD")??;
        let id = ObjectId::from_hex(head.as_bytes()).ok()?;
        let tree = self.load_tree(self.tree_of(id)?)?;
        let mut lock = LockFile::acquire(&git_dir.join("index"))?;
        // The process that held the lock before may have written an index.
        if git_dir.join("index").exists() {
            return None;
        }
        let mut writer = IndexWriter::new(tree.count, backdated_times()?);
        let top = rustix::fs::openat(CWD, git.dir(), DIRECTORY, Mode::empty()).ok()?;
        self.write_files(top.as_fd(), &tree, &mut writer)?;
        failpoint::reach("worktree.files.written");
        let index = writer.finish(&tree)?;
        lock.write(|file| file.write_all(&index))?;
        lock.commit()?;

        let mut lock = LockFile::acquire(&git_dir.join("ORIG_HEAD"))?;
        // An `ORIG_HEAD` that a crash left empty would block the next attempt.
        lock.write(|file| writeln!(file, "{head}").and_then(|()| file.sync_all()))?;
        lock.commit()?;
        let line = reflog_line((id, id), &committer, "reset: moving to HEAD")?;
        append_reflog(&git_dir.join("logs/HEAD"), &line)
    }

    /// Creates the files of a directory and of its subdirectories.
    fn write_files(
        &self,
        dir: BorrowedFd<'_>,
        tree: &CheckoutTree,
        writer: &mut IndexWriter,
    ) -> Option<()> {
        for (name, item) in &tree.items {
            match item {
                TreeItem::Directory(inner) => {
                    let name = OsStr::from_bytes(name);
                    rustix::fs::mkdirat(dir, name, Mode::from(0o777)).ok()?;
                    let made = rustix::fs::openat(dir, name, DIRECTORY, Mode::empty()).ok()?;
                    let outer = writer.enter(name.as_bytes());
                    self.write_files(made.as_fd(), inner, writer)?;
                    writer.leave(outer);
                }
                TreeItem::File(kind, id) => {
                    let at = (dir, OsStr::from_bytes(name));
                    let make = |content: &[u8]| create_file(at, *kind, content, &writer.times);
                    let stat = self.with_content(*id, make)?;
                    writer.add(name, *kind, id, &stat);
                }
            }
        }
        Some(())
    }
}

/// Returns the access and modification time for new files.
fn backdated_times() -> Option<Timestamps> {
    let backdated =
        SystemTime::now().checked_sub(BACKDATED_BY)?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let tv_sec = backdated.as_secs().try_into().ok()?;
    let backdated = Timespec { tv_sec, tv_nsec: backdated.subsec_nanos().into() };
    Some(Timestamps { last_access: backdated, last_modification: backdated })
}

/// Creates a file or a link that must not exist yet.
fn create_file(
    (dir, name): (BorrowedFd<'_>, &OsStr),
    kind: FileKind,
    content: &[u8],
    times: &Timestamps,
) -> Option<Stat> {
    let mode = match kind {
        FileKind::Link => {
            rustix::fs::symlinkat(OsStr::from_bytes(content), dir, name).ok()?;
            rustix::fs::utimensat(dir, name, times, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            return rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        }
        FileKind::Executable => Mode::from(0o777),
        FileKind::Regular => Mode::from(0o666),
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(dir, name, flags, mode).ok()?);
    file.write_all(content).ok()?;
    rustix::fs::futimens(&file, times).ok()?;
    rustix::fs::fstat(&file).ok()
}

#[cfg(test)]
mod tests;
