//! Writes the files of a worktree that has none yet, and its index: what `git reset --hard` does
//! there.
//!
//! Files are only ever made, never opened that are there, and never through a link. Nothing in the
//! settings or attributes may have a say in their contents. Whoever dies or gives up in the middle
//! leaves what a killed git leaves: some of the files, and no index.

mod contents;
mod folder;
mod stage;

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, SystemTime};

use gix::ObjectId;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat, Timespec, Timestamps};

use super::Plain;
use super::lock::Lock;
use super::reference::{append_log, log_line};
use crate::git::Git;
use folder::{Folder, Item, Kind};
use stage::Stage;

/// How much older than they are new files are said to be: more than a tick of the slowest clock.
///
/// We read every file again that is not older than the index, for it may have changed since. A change
/// gives a file the time of the change. Most builds of git compare whole seconds; with more than one
/// of them git would not look at a file that was replaced meanwhile by one as long and as old, and
/// what was built from another worktree shortly before would seem to be newer.
const AGE: Duration = Duration::from_millis(20);

/// How folders are opened: never through a link.
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Plain {
    /// Writes the files of the last commit and the index of a worktree, at its top, that has
    /// neither.
    pub(crate) fn checkout(&self, git: &Git) -> Option<()> {
        let own = &self.layout.own;
        let is_new = !own.join("index").exists() && !own.join("ORIG_HEAD").exists();
        if !is_new || !self.makes_worktrees_as_usual() || self.converts_everywhere() {
            return None;
        }
        let [_, committer] = self.people()?;
        let head = self.layout.commit("HEAD")??;
        let id = ObjectId::from_hex(head.as_bytes()).ok()?;
        let folder = self.known_folder(self.tree_of(id)?)?;
        let mut lock = Lock::take(&own.join("index"))?;
        // Whoever had it before may have made one.
        if own.join("index").exists() {
            return None;
        }
        let mut stage = Stage::new(folder.count, times()?);
        let top = rustix::fs::openat(CWD, git.dir(), DIRECTORY, Mode::empty()).ok()?;
        self.fill(top.as_fd(), &folder, &mut stage)?;
        failpoint::reach("worktree.files.written");
        let index = stage.finish(&folder)?;
        lock.write(|file| file.write_all(&index))?;
        lock.commit()?;

        let mut lock = Lock::take(&own.join("ORIG_HEAD"))?;
        // A reference that a crash of the machine left empty would be in the way of the next one.
        lock.write(|file| writeln!(file, "{head}").and_then(|()| file.sync_all()))?;
        lock.commit()?;
        let line = log_line((id, id), &committer, "reset: moving to HEAD")?;
        append_log(&own.join("logs/HEAD"), &line)
    }

    /// Makes the files of a folder, and those of the folders in it.
    fn fill(&self, dir: BorrowedFd<'_>, folder: &Folder, stage: &mut Stage) -> Option<()> {
        for (name, item) in &folder.items {
            match item {
                Item::Folder(inner) => {
                    let name = OsStr::from_bytes(name);
                    rustix::fs::mkdirat(dir, name, Mode::from(0o777)).ok()?;
                    let made = rustix::fs::openat(dir, name, DIRECTORY, Mode::empty()).ok()?;
                    let outer = stage.enter(name.as_bytes());
                    self.fill(made.as_fd(), inner, stage)?;
                    stage.leave(outer);
                }
                Item::File(kind, id) => {
                    let at = (dir, OsStr::from_bytes(name));
                    let make = |content: &[u8]| make(at, *kind, content, &stage.times);
                    let stat = self.with_content(*id, make)?;
                    stage.add(name, *kind, id, &stat);
                }
            }
        }
        Some(())
    }
}

/// Returns the times that new files get.
fn times() -> Option<Timestamps> {
    let then = SystemTime::now().checked_sub(AGE)?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let tv_sec = then.as_secs().try_into().ok()?;
    let then = Timespec { tv_sec, tv_nsec: then.subsec_nanos().into() };
    Some(Timestamps { last_access: then, last_modification: then })
}

/// Makes a file or a link that is not there yet.
fn make(
    (dir, name): (BorrowedFd<'_>, &OsStr),
    kind: Kind,
    content: &[u8],
    times: &Timestamps,
) -> Option<Stat> {
    let mode = match kind {
        Kind::Link => {
            rustix::fs::symlinkat(OsStr::from_bytes(content), dir, name).ok()?;
            rustix::fs::utimensat(dir, name, times, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            return rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        }
        Kind::Program => Mode::from(0o777),
        Kind::Text => Mode::from(0o666),
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(dir, name, flags, mode).ok()?);
    file.write_all(content).ok()?;
    rustix::fs::futimens(&file, times).ok()?;
    rustix::fs::fstat(&file).ok()
}

#[cfg(test)]
mod tests;
