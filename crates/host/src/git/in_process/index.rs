//! Reads a worktree's index, and changes it under git's own lock.

use std::fs;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use filetime::FileTime;
use gix::bstr::{BStr, ByteSlice};
use gix::index::entry::{Flags, Mode, Stage};
use gix::index::extension::Tree;

use super::InProcessRepo;
use super::files::{FileState, WorktreeFile, stat_of};
use super::lock::LockFile;

/// The longest time that writing an index usually takes.
const INDEX_WRITE_MAX: Duration = Duration::from_millis(50);

/// An index that is locked by this process.
pub(super) struct LockedIndex {
    lock: LockFile,
    pub(super) index: gix::index::File,
    /// The last second (Unix time) in which the new index may be written without making more
    /// entries racy.
    racy_until: i64,
}

impl LockedIndex {
    /// Locks and reads an index. `None` when it does not list every file itself, or has conflicts
    /// or intent-to-add entries.
    pub(super) fn acquire(path: &Path) -> Option<Self> {
        let lock = LockFile::acquire(path)?;
        let index = read(path)?;
        let is_unsupported = |entry: &gix::index::Entry| {
            entry.stage() != Stage::Unconflicted || entry.flags.contains(Flags::INTENT_TO_ADD)
        };
        let racy_until = i64::MIN;
        (!index.entries().iter().any(is_unsupported)).then_some(Self { lock, index, racy_until })
    }

    /// Updates the entries of these files to their present state.
    pub(super) fn set(&mut self, repo: &InProcessRepo, files: &[WorktreeFile<'_>]) -> Option<()> {
        self.mark_racy_entries(repo);
        let gone = |file: &&WorktreeFile<'_>| matches!(file.state, FileState::Deleted);
        for file in files.iter().filter(gone) {
            if let Some(position) = self.find(file.path)? {
                self.index.remove_entry_at_index(position);
            }
        }
        let mut new = Vec::new();
        for file in files {
            let FileState::Present { kind, object, stat } = file.state else { continue };
            let mode = Mode::from(gix::objs::tree::EntryMode::from(kind));
            match self.find(file.path)? {
                Some(position) => {
                    let entry = &mut self.index.entries_mut()[position];
                    (entry.id, entry.mode, entry.stat) = (object, mode, stat);
                }
                None => new.push((stat, object, mode, file.path)),
            }
        }
        let is_new = !new.is_empty();
        for (stat, object, mode, path) in new {
            self.index.dangerously_push_entry(stat, object, Flags::empty(), mode, path);
        }
        if is_new {
            self.index.sort_entries();
        }
        for file in files {
            if let Some(tree) = self.index.tree_mut() {
                invalidate_cached_trees(tree, file.path);
            }
        }
        (!is_new || self.has_consistent_paths()).then_some(())
    }

    /// Writes the new index to the lock file. `None` also when writing took so long that more
    /// entries became racy.
    pub(super) fn write(&mut self) -> Option<()> {
        let Self { lock, index, racy_until } = self;
        let written = lock.write(|file| {
            let mut out = BufWriter::with_capacity(64 * 1024, &mut *file);
            let options = gix::index::write::Options::default();
            index.write_to(&mut out, options).map_err(io::Error::other)?;
            out.flush()?;
            drop(out);
            file.metadata()
        })?;
        (written.mtime() <= *racy_until).then_some(())
    }

    /// Replaces the old index with the new one.
    pub(super) fn replace(self) -> Option<()> {
        self.lock.commit()
    }

    /// Returns the position of a file's entry; `None` when the entry has flags that only git
    /// handles.
    fn find(&self, path: &BStr) -> Option<Option<usize>> {
        let Ok(position) = self.index.entry_index_by_path(path) else { return Some(None) };
        is_ordinary(self.index.entry(position)).then_some(Some(position))
    }

    /// Marks racy entries, so that git compares the contents of these files.
    ///
    /// A racy file was modified when the old index was written or later, so its mtime does not show
    /// whether it changed; git reads such files. The new index will be younger than they are. A
    /// size of zero makes git read them nevertheless. Most builds of git compare whole seconds, so
    /// they go on reading while the second is the same.
    fn mark_racy_entries(&mut self, repo: &InProcessRepo) {
        let index = &self.index;
        let second = index.timestamp().unix_seconds();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let is_later =
            i64::try_from((now + INDEX_WRITE_MAX).as_secs()).is_ok_and(|now| now > second);
        self.racy_until = if is_later { i64::MAX } else { second };
        let is_same = |entry: &gix::index::Entry| {
            repo.file(entry.path(index)).and_then(|file| stat_of(&file)) == Some(entry.stat)
        };
        let may_be_racy = |entry: &gix::index::Entry| {
            !is_older_than_index(entry, index)
                || (is_later && i64::from(entry.stat.mtime.secs) >= second)
        };
        let (mut marked, mut unread) = (Vec::new(), Vec::new());
        for (position, entry) in
            index.entries().iter().enumerate().filter(|(_, entry)| may_be_racy(entry))
        {
            match (is_same(entry), is_older_than_index(entry, index)) {
                (false, _) => marked.push(position),
                (true, true) => {}
                (true, false) => unread.push((position, entry)),
            }
        }
        let (positions, entries): (Vec<_>, Vec<_>) = unread.into_iter().unzip();
        let matching = repo.match_contents(index, &entries).unwrap_or(vec![false; entries.len()]);
        marked.extend(
            positions
                .into_iter()
                .zip(matching)
                .filter(|(_, matches)| !matches)
                .map(|(position, _)| position),
        );
        for position in marked {
            self.index.entries_mut()[position].stat.size = 0;
        }
    }

    /// Returns whether paths are unique and no path is both a file and a directory.
    fn has_consistent_paths(&self) -> bool {
        let paths: Vec<_> = self.index.entries().iter().map(|one| one.path(&self.index)).collect();
        let is_listed = |path: &BStr| paths.binary_search(&path).is_ok();
        let mut pairs = paths.windows(2);
        pairs.all(|pair| pair[0] < pair[1])
            && paths.iter().all(|path| {
                let mut ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
                !ends.any(|(end, _)| is_listed(path[..end].as_bstr()))
            })
    }
}

/// Reads an index that lists every file itself (neither split nor sparse).
///
/// gix could read the file too, but it maps the file into memory and silently merges a split index.
pub(in crate::git) fn read(path: &Path) -> Option<gix::index::File> {
    let mut file = fs::File::open(path).ok()?;
    let time = FileTime::from_last_modification_time(&file.metadata().ok()?);
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let kind = gix::hash::Kind::Sha1;
    let (content, sum) = bytes.split_at_checked(bytes.len().checked_sub(kind.len_in_bytes())?)?;
    // An index written with `index.skipHash` has zeros in place of its checksum.
    let is_whole = sum.iter().all(|byte| *byte == 0) || {
        let mut hasher = gix::hash::hasher(kind);
        hasher.update(content);
        hasher.try_finalize().ok()?.as_slice() == sum
    };
    if !is_whole {
        return None;
    }
    let options = gix::index::decode::Options::default();
    let (state, _) = gix::index::State::from_bytes(&bytes, time, kind, options).ok()?;
    let is_all = !state.is_sparse() && state.link().is_none();
    is_all.then(|| gix::index::File::from_state(state, path))
}

/// Returns whether an entry is a file or a link without conflict and without special flags.
pub(super) fn is_ordinary(entry: &gix::index::Entry) -> bool {
    let special = Flags::ASSUME_VALID | Flags::SKIP_WORKTREE | Flags::INTENT_TO_ADD;
    entry.stage() == Stage::Unconflicted
        && !entry.flags.intersects(special)
        && matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE | Mode::SYMLINK)
}

/// Returns whether a file was modified before the index was written, so that a later change shows
/// in its mtime.
pub(super) fn is_older_than_index(entry: &gix::index::Entry, index: &gix::index::File) -> bool {
    let (modified, written) = (&entry.stat.mtime, index.timestamp());
    (i64::from(modified.secs), modified.nsecs) < (written.unix_seconds(), written.nanoseconds())
}

/// Invalidates the cached trees that contain a file, so that git computes them again.
fn invalidate_cached_trees(tree: &mut Tree, path: &BStr) {
    tree.num_entries = None;
    let Some((dir, rest)) = path.split_once_str("/") else { return };
    if let Some(child) = tree.children.iter_mut().find(|child| child.name.as_slice() == dir) {
        invalidate_cached_trees(child, rest.as_bstr());
    }
}
